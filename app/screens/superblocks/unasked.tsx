/** Nodes whose slots cannot be asked for, because nothing runs that could answer; the files can be read without them. */
import type { NodeView } from '../../../shared/inspection/view.ts'
import type { EachAnswer } from '../../data/use-each.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { Glyph } from '../../ui/glyph.tsx'
import { Problem } from '../../ui/problem.tsx'
import { processLook } from '../../ui/states.ts'

export function Unasked<T>(props: {
  answers: readonly EachAnswer<T>[]
  nodes: ReadonlyMap<number, NodeView>
  what: string
  asked: (node: NodeView | undefined) => boolean
}) {
  return props.answers
    .filter(answer => !answer.data && (answer.error || !props.asked(props.nodes.get(answer.node))))
    .map(answer => {
      const process = props.nodes.get(answer.node)?.process
      if (props.asked(props.nodes.get(answer.node)))
        return (
          <Problem key={answer.node} error={answer.error} what={`node-${answer.node} did not show its ${props.what}`} />
        )
      const look = process && processLook[process.state]
      return (
        <p key={answer.node} className="note row unasked">
          <Glyph name={look?.glyph ?? 'unknown'} state={look?.colour ?? 'none'} />
          <span>
            <b>node-{answer.node}</b> ({look?.word.toLowerCase() ?? 'not known yet'}) cannot be asked now. Its files can
            be read without it.
          </span>
          {process && (
            <CopyButton
              text={`npm run -s quorumscope -- inspect ${process.dataDirectory} --verify`}
              label="Copy the command"
              className="btn small push"
            />
          )}
        </p>
      )
    })
}
