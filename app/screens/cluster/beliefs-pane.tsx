/** Who believes what: rows are reporters, and nothing is averaged. Below, the votes or the pipeline of the chosen group. */
import type { BeliefMatrix, BeliefRow } from '../../../shared/inspection/belief.ts'
import { beliefMatrix, livenessOf, primaryOf, replicaIds } from '../../../shared/inspection/belief.ts'
import type { GroupSnapshotJson } from '../../../shared/inspection/snapshots.ts'
import type { ClusterView } from '../../../shared/inspection/view.ts'
import { groupName } from '../../names.ts'
import { Age, useNowSeconds } from '../../ui/age.tsx'
import { ageShort, count, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { State } from '../../ui/state.tsx'
import { beliefLook, livenessWord } from '../../ui/states.ts'
import { TableSave } from '../../ui/table-save.tsx'
import { prepared, queued } from './pipeline.ts'
import { PipelineSlots } from './pipeline-slots.tsx'

type Details = ReadonlyMap<number, { readonly group: GroupSnapshotJson; readonly atMs: number }>
/** Prepares that are listed; the slots above show all. */
const SHOWN_MAX = 4

export function BeliefsPane(props: { view: ClusterView; group: string; details: Details }) {
  const now = useNowSeconds()
  const matrix = beliefMatrix(props.view, props.group, now)
  return (
    <Pane
      title="Who believes what"
      label="each row is one node's own report"
      className="p-beliefs"
      testId="beliefs"
      actions={
        <span className="push">
          <TableSave
            name="beliefs"
            rows={matrix.rows.flatMap(row => row.beliefs.map(belief => ({ row, belief })))}
            columns={[
              { id: 'group', data: () => groupName(props.group) },
              { id: 'reporter', data: ({ row }) => row.reporter },
              { id: 'liveness', data: ({ row }) => row.liveness },
              { id: 'ageMs', data: ({ row }) => row.ageMs },
              { id: 'about', data: ({ belief }) => belief.about },
              { id: 'belief', data: ({ belief }) => belief.word },
              { id: 'view', data: ({ belief }) => belief.view },
              { id: 'disagrees', data: ({ belief }) => belief.disagrees },
              { id: 'why', data: ({ belief }) => belief.why },
            ]}
          />
        </span>
      }
    >
      <Scroll name="Beliefs, votes and pipeline">
        <Matrix matrix={matrix} ids={replicaIds(props.view)} />
        <Disagreements matrix={matrix} />
        <Votes {...props} />
        <LogTail {...props} />
      </Scroll>
    </Pane>
  )
}

function Matrix(props: { matrix: BeliefMatrix; ids: readonly number[] }) {
  return (
    <table className={`table beliefs${props.ids.length > 3 ? ' many' : ''}`}>
      <caption className="sr">Rows are reporters, columns the nodes they speak about</caption>
      <thead>
        <tr>
          <th scope="col">Reporter</th>
          {props.ids.map(id => (
            <th key={id} scope="col" className="split">
              {props.ids.length <= 3 ? 'about ' : <span className="sr">about </span>}node-{id}
            </th>
          ))}
          <th scope="col" className="n">
            age
          </th>
        </tr>
      </thead>
      <tbody>
        {props.matrix.rows.map(row => (
          <tr
            key={row.reporter}
            className={row.liveness === 'live' ? '' : 'old'}
            data-testid={`belief-row-${row.reporter}`}
          >
            <th scope="row">node-{row.reporter}</th>
            {row.beliefs.map(belief => (
              <td key={belief.about} className={`split${belief.disagrees ? ' mark' : ''}`} title={belief.why}>
                <span className={belief.disagrees ? 'differs' : undefined}>
                  <State look={beliefLook[belief.word]}>
                    {belief.view === undefined ? undefined : `v${belief.view}`}
                  </State>
                </span>
                {belief.disagrees && <span className="sr"> differs from its peers</span>}
              </td>
            ))}
            <td className="n">
              <RowAge row={row} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function RowAge({ row }: { row: BeliefRow }) {
  const words = row.ageMs === undefined ? 'never' : ageShort(row.ageMs)
  return row.liveness === 'live' ? (
    words
  ) : (
    <span className="stale-note">
      {words}, {livenessWord[row.liveness]}
    </span>
  )
}

function Disagreements({ matrix }: { matrix: BeliefMatrix }) {
  const first = matrix.disagreements[0]
  return (
    <p className="micro disagree">
      <Glyph name={first === undefined ? 'ok' : 'gap'} state={first === undefined ? 'ok' : 'none'} />
      {first === undefined
        ? 'No live node contradicts another.'
        : `${first}${matrix.disagreements.length > 1 ? `, and ${count(matrix.disagreements.length - 1, 'more contradiction')}` : ''}.`}
    </p>
  )
}

/** Votes while a view change runs, with their thresholds; otherwise what the primary has in flight. */
function Votes(props: { view: ClusterView; group: string; details: Details }) {
  const ids = replicaIds(props.view)
  const changing = [...props.details].filter(([, detail]) => detail.group.status === 'view_change')
  const top = changing.sort((a, b) => b[1].group.view - a[1].group.view)[0]
  if (!top) return <Pipeline {...props} />
  const [collector, { group, atMs }] = top
  const candidate = ids.length > 0 ? group.view % ids.length : 0
  const votes = new Map(group.votes.doViewChange.map(vote => [vote.replica, vote]))
  return (
    <>
      <div className="pane-head sub">
        <h3>Votes for view {group.view}</h3>
        <span className="label">
          {group.view} mod {ids.length} = {candidate}: node-{candidate} leads
        </span>
        <Age atMs={atMs} by={`node-${collector}`} push />
        <TableSave
          name="votes"
          rows={ids}
          columns={[
            { id: 'group', data: () => groupName(props.group) },
            { id: 'view', data: () => group.view },
            { id: 'collector', data: () => collector },
            { id: 'voter', data: id => id },
            { id: 'startViewChange', data: id => group.votes.startViewChange.includes(id) },
            { id: 'doViewChange', data: id => votes.has(id) },
            { id: 'logView', data: id => votes.get(id)?.logView },
            { id: 'op', data: id => decimalOf(votes.get(id)?.op) },
            { id: 'commit', data: id => decimalOf(votes.get(id)?.commit) },
          ]}
        />
      </div>
      <p className="in-flight-line small">
        SVC <b>{group.votes.startViewChange.length}</b>, DVC <b>{group.votes.doViewChange.length}</b> of{' '}
        {group.quorums.viewChange}
      </p>
      <table className="table votes" data-testid="votes">
        <thead>
          <tr>
            <th scope="col">Voter</th>
            <th scope="col">StartViewChange</th>
            <th scope="col">DoViewChange</th>
            <th scope="col" className="n">
              log_view
            </th>
            <th scope="col" className="n">
              op
            </th>
            <th scope="col" className="n">
              commit
            </th>
          </tr>
        </thead>
        <tbody>
          {ids.map(id => {
            const vote = votes.get(id)
            const svc = group.votes.startViewChange.includes(id)
            return (
              <tr key={id}>
                <th scope="row">node-{id}</th>
                <td>
                  <span className="state">
                    <Glyph name={svc ? 'ok' : 'absent'} state={svc ? 'ok' : 'none'} />
                    {svc ? 'counted' : 'none'}
                  </span>
                </td>
                <td>
                  <span className="state">
                    <Glyph name={vote ? 'ok' : 'absent'} state={vote ? 'ok' : 'none'} />
                    {vote ? 'counted' : 'none'}
                  </span>
                </td>
                <td className="n">{vote?.logView ?? ''}</td>
                <td className="n">{vote ? grouped(vote.op) : ''}</td>
                <td className="n">{vote ? grouped(vote.commit) : ''}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </>
  )
}

function Pipeline(props: { view: ClusterView; group: string; details: Details }) {
  // Whom the live majority says: a dead node goes on saying that it leads.
  const verdict = primaryOf(props.view, props.group, useNowSeconds())
  const leader = verdict.kind === 'primary' ? verdict.node : undefined
  const ids = replicaIds(props.view)
  const detail = leader === undefined ? undefined : props.details.get(leader)
  const group = detail?.group
  const shown = group?.pipeline.slice(0, SHOWN_MAX) ?? []
  const more = (group?.pipeline.length ?? 0) - shown.length
  return (
    <div data-testid="in-flight">
      <div className="pane-head sub">
        <h3>In flight</h3>
        <span className="label">
          {leader === undefined ? 'nobody leads' : `${groupName(props.group)}, by node-${leader}, its primary`}
        </span>
        {detail && <Age atMs={detail.atMs} push />}
        {group && shown.length > 0 && (
          <TableSave
            name="in flight"
            rows={group.pipeline}
            columns={[
              { id: 'group', data: () => groupName(props.group) },
              { id: 'op', data: entry => decimalOf(entry.op) },
              { id: 'acknowledgedBy', data: entry => entry.acks.join(' ') },
              { id: 'quorum', data: entry => entry.quorum },
              { id: 'checksum', data: entry => entry.checksum },
            ]}
          />
        )}
      </div>
      {group && (
        <>
          <p className="in-flight-line small">
            <b>{prepared(group)}</b> prepared, <b>{queued(group)}</b> queued, quorum <b>{group.quorums.replication}</b>
          </p>
          <PipelineSlots group={group} ids={ids} />
        </>
      )}
      {shown.length > 0 ? (
        <table className="table">
          <thead>
            <tr>
              <th scope="col" className="n">
                op
              </th>
              {ids.map(id => (
                <th key={id} scope="col">
                  node-{id}
                </th>
              ))}
              <th scope="col">quorum</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(entry => (
              <tr key={entry.op}>
                <td className="n">{grouped(entry.op)}</td>
                {ids.map(id => {
                  const acked = entry.acks.includes(id)
                  return (
                    <td key={id}>
                      <Glyph
                        name={acked ? 'acked' : 'prepared'}
                        state={acked ? 'ok' : 'none'}
                        label={acked ? 'acknowledged' : 'not yet'}
                      />
                    </td>
                  )
                })}
                <td>{entry.quorum ? 'reached' : 'waits'}</td>
              </tr>
            ))}
            {more > 0 && (
              <tr>
                <td colSpan={ids.length + 2}>{grouped(more)} younger ones wait behind these</td>
              </tr>
            )}
          </tbody>
        </table>
      ) : (
        <p className="note micro">
          {leader !== undefined
            ? 'Every prepare is committed: nothing waits for an acknowledgement.'
            : 'Without a primary nothing is prepared; what was in flight waits for the next view.'}
        </p>
      )}
    </div>
  )
}

const decimalOf = (text: string | undefined): bigint | undefined => (text === undefined ? undefined : BigInt(text))

const TAIL = 6

/** The last ops around the commit, as each node has them: committed, prepared, or not there. */
function LogTail(props: { view: ClusterView; group: string }) {
  const group = props.view.groups.get(props.group)
  const ids = replicaIds(props.view)
  const now = useNowSeconds()
  if (!group || group.replicas.size === 0) return null
  let head = 0n
  for (const cell of group.replicas.values()) if (cell.op > head) head = cell.op
  const first = head >= BigInt(TAIL) ? head - BigInt(TAIL) + 1n : 1n
  const ops: bigint[] = []
  for (let op = first; op <= head; op++) ops.push(op)
  if (ops.length === 0) return null
  return (
    <table className="table tails">
      <thead>
        <tr>
          <th scope="col">Log tail</th>
          {ops.map(op => (
            <th key={op.toString()} scope="col" className="op num">
              {grouped(op)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {ids.map(id => {
          const cell = group.replicas.get(id)
          return (
            <tr key={id} className={cell && livenessOf(props.view.nodes.get(id), now) === 'live' ? '' : 'old'}>
              <th scope="row">node-{id}</th>
              {ops.map(op => {
                const held = cell !== undefined && op <= cell.op
                const done = cell !== undefined && op <= cell.commitMin
                return (
                  <td key={op.toString()} className="op">
                    {held ? (
                      <Glyph
                        name={done ? 'ok' : 'prepared'}
                        state={done ? 'ok' : 'backup'}
                        label={done ? 'applied' : 'prepared'}
                      />
                    ) : (
                      <>
                        <span className="ink-3" aria-hidden="true">
                          ·
                        </span>
                        <span className="sr">{cell ? 'not held' : 'no report'}</span>
                      </>
                    )}
                  </td>
                )
              })}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
