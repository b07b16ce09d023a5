/** Nodes whose slots cannot be asked for, because nothing runs that could answer; the files can be read without them. */
import type { NodeView } from '../../../shared/inspection/view.ts'
import type { EachAnswer } from '../../data/use-each.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { Glyph } from '../../ui/glyph.tsx'
import { Problem } from '../../ui/problem.tsx'

export function Unasked<T>(props: {
  answers: readonly EachAnswer<T>[]
  nodes: ReadonlyMap<number, NodeView>
  what: string
}) {
  return props.answers
    .filter(answer => !answer.data && (answer.error || props.nodes.get(answer.node)?.process?.state !== 'running'))
    .map(answer => {
      const process = props.nodes.get(answer.node)?.process
      if (process?.state === 'running')
        return (
          <Problem key={answer.node} error={answer.error} what={`node-${answer.node} did not show its ${props.what}`} />
        )
      return (
        <p key={answer.node} className="note row unasked">
          <Glyph name="down" state="danger" />
          <span>
            <b>node-{answer.node}</b> does not run and cannot be asked. Its files can be read without it.
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
