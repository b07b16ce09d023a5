/** The nodes at a moment of a run, each by its own word: role, view on the wire and on disk, and how far it has come. */
import type { DrillReplay } from '../../../shared/inspection/drills.ts'
import { grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { type ExportColumn, TableFoot } from '../../ui/table-export.tsx'

type Group = NonNullable<DrillReplay['standings'][number]['groups']>[number]

export function NodesNow({ replay, at }: { replay: DrillReplay; at: number }) {
  const { states } = replay.moments[at]!
  return (
    <div className="replay-files" data-testid="replay-nodes">
      <div className="replay-bar">
        <h3>Nodes</h3>
        <span className="label">by now, each by its own word</span>
      </div>
      <Scroll name="Nodes by now">
        <table className="table">
          <thead>
            <tr>
              {['Node', 'Group', 'Role', 'View, durable'].map(head => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
              {['Op', 'Applied', 'Next offset', 'On disk to'].map(head => (
                <th key={head} scope="col" className="n">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          {states.map((state, node) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: nodes are their numbers
            <tbody key={node}>
              <NodeRows node={node} state={state} groups={groupsOf(replay, node, at)} />
            </tbody>
          ))}
        </table>
        <TableFoot name="nodes of the run" rows={linesOf(replay, at)} columns={LINE_COLUMNS} />
      </Scroll>
    </div>
  )
}

/** What the node has said last by now; nothing when it did not answer. */
const groupsOf = ({ standings }: DrillReplay, node: number, at: number): readonly Group[] | null =>
  standings.findLast(each => each.node === node && each.at <= at)?.groups ?? null

interface Line {
  readonly node: number
  readonly state: DrillReplay['moments'][number]['states'][number]
  readonly group: Group | undefined
}
/** A row for each group that a node spoke of, and one for a node that spoke of none. */
const linesOf = (replay: DrillReplay, at: number): readonly Line[] =>
  replay.moments[at]!.states.flatMap((state, node): Line[] => {
    const groups = state === 'running' ? groupsOf(replay, node, at) : null
    return groups === null ? [{ node, state, group: undefined }] : groups.map(group => ({ node, state, group }))
  })
const LINE_COLUMNS: readonly ExportColumn<Line>[] = [
  { id: 'node', data: line => line.node },
  { id: 'process', data: line => line.state },
  ...(
    [
      'group',
      'status',
      'role',
      'view',
      'logView',
      'viewDurable',
      'logViewDurable',
      'op',
      'commitMin',
      'next',
      'persisted',
    ] as const
  ).map((id): ExportColumn<Line> => ({ id, data: line => line.group?.[id] })),
]

const STATES = {
  stopped: 'no process',
  paused: 'stopped by a signal',
  crashed: 'ended by itself',
  refused: 'refused to boot',
} as const

function NodeRows(props: {
  node: number
  state: DrillReplay['moments'][number]['states'][number]
  groups: readonly Group[] | null
}) {
  const { node, state, groups } = props
  if (state === 'running' && groups)
    return groups.map(group => <GroupRow key={group.group} node={node} group={group} />)
  return (
    <tr>
      <th scope="row">node-{node}</th>
      <td colSpan={7} className="ink-3">
        {state === 'running' ? 'not asked yet' : STATES[state]}
      </td>
    </tr>
  )
}

function GroupRow({ node, group }: { node: number; group: Group }) {
  const { status, role, view, logView, viewDurable, logViewDurable, op, commitMin, next, persisted } = group
  const normal = status === 'normal'
  const behind = view !== viewDurable || logView !== logViewDurable
  return (
    <tr data-changed={behind || !normal}>
      <th scope="row">{group.group === 'metadata' ? `node-${node}` : <span className="sr">node-{node}</span>}</th>
      <td className="m">{group.group}</td>
      <td>
        <Glyph name={normal ? role : 'recover'} state={normal ? role : 'recover'} />{' '}
        {normal ? role : status.replaceAll('_', ' ')}
      </td>
      <td className="m">
        {view}/{logView}, {viewDurable}/{logViewDurable}
      </td>
      <td className="n">{grouped(op)}</td>
      <td className="n">{grouped(commitMin)}</td>
      <td className="n">{next === undefined ? '' : grouped(next)}</td>
      <td className="n">{persisted === undefined ? '' : grouped(persisted)}</td>
    </tr>
  )
}
