/** Nodes that do not answer now: what their process does, and what can be known of them without it. */
import type { NodeView } from '../../../shared/inspection/view.ts'
import { processWords } from '../../data/slots.ts'
import { SourceError } from '../../data/source.ts'
import type { EachAnswer } from '../../data/use-each.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Problem } from '../../ui/problem.tsx'
import { processLook } from '../../ui/states.ts'

export const inspectCommand = (dataDirectory: string): string =>
  `npm run -s quorumscope -- inspect ${dataDirectory} --verify`

export function Unasked<T>(props: {
  answers: readonly EachAnswer<T>[]
  nodes: ReadonlyMap<number, NodeView>
  /** What it would show: "slots". */
  what: string
  asked: (node: NodeView | undefined) => boolean
  /** What follows from it, in a sentence; `kept`: an earlier answer of it is shown. */
  then: (kept: boolean) => string
  /** Its files say as much: with the command that reads them. */
  files?: boolean
}) {
  return props.answers.map(({ node: id, data, error }) => {
    const node = props.nodes.get(id)
    const kept = data !== undefined
    if (props.asked(node)) {
      // That the console is not reached is said by the bar on top, once.
      if (!error || (kept && error instanceof SourceError && error.status === 0)) return null
      return kept ? (
        <p key={id} className="note row unasked" data-testid={`unasked-${id}`}>
          <Glyph name="unknown" state="none" />
          <span>
            <b>node-{id}</b> did not answer:{' '}
            {visible(error instanceof Error ? error.message : String(error)).replace(/\.$/, '')}. {props.then(kept)}
          </span>
        </p>
      ) : (
        <Problem key={id} error={error} what={`node-${id} did not show its ${props.what}`} />
      )
    }
    const process = node?.process
    const look = process && processLook[process.state]
    return (
      <p key={id} className="note row unasked" data-testid={`unasked-${id}`}>
        <Glyph name={look?.glyph ?? 'unknown'} state={look?.colour ?? 'none'} />
        <span>
          <b>node-{id}</b> {processWords(node)}. {props.then(kept)}
        </span>
        {process && props.files && (
          <CopyButton
            text={inspectCommand(process.dataDirectory)}
            label="Copy the command"
            className="btn small push"
          />
        )}
      </p>
    )
  })
}
