/** One group of one node in full: what it holds, what is durable, timers, votes with thresholds, pipeline, repair. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { GroupSnapshotJson } from '../../../shared/inspection/snapshots.ts'
import { msOf, type NodeView } from '../../../shared/inspection/view.ts'
import { operationName } from '../../../shared/protocol/operations.ts'
import { queries } from '../../data/queries.ts'
import { groupName, METADATA } from '../../names.ts'
import { Age, StaleArea, useNowSeconds } from '../../ui/age.tsx'
import { duration, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { TableExport } from '../../ui/table-export.tsx'
import { Pair } from '../cluster/nodes-pane.tsx'
import { prepared, queued } from '../cluster/pipeline.ts'
import { PipelineSlots } from '../cluster/pipeline-slots.tsx'
import { TransferLine } from '../cluster/transfer.tsx'

export function GroupDetail(props: { id: number; group: string; node: NodeView; ids: readonly number[] }) {
  const running = props.node.process?.state === 'running'
  const answer = useQuery({ ...queries.group(props.id, props.group), enabled: running })
  const said = answer.data?.group.group === props.group ? answer.data : undefined
  // Who cannot be asked said this last: its snapshots have the metadata group in full.
  const last = running || props.group !== METADATA ? undefined : props.node.snapshot
  const data = last ? { reporter: last.reporter, group: last.metadata } : said
  if (!data) {
    if (answer.error)
      return (
        <Problem
          error={answer.error}
          what={`node-${props.id} did not describe the group`}
          retry={() => void answer.refetch()}
        />
      )
    if (!running)
      return (
        <p className="note">
          {props.node.process?.state === 'paused'
            ? 'The process is held and answers nobody.'
            : 'The process does not run.'}{' '}
          What it last said of this group is in the list of groups.
        </p>
      )
    return <Skeleton what="the group" rows={10} />
  }
  const takenMs = msOf(data.reporter.takenWallUs)
  const { group } = data
  return (
    <Scroll name={`Group ${groupName(props.group)} of node-${props.id}`} className="nd-scroll">
      <div className="pane-head sub">
        <h2>{groupName(props.group)}</h2>
        <span className="label">
          {group.role}, {group.status.replace('_', ' ')}, takes node-{group.primary} for the primary of view{' '}
          {group.view}
        </span>
        {group.key && (
          <Link
            className="small push"
            to="/partitions/$s/$t/$p"
            params={{ s: String(group.key.stream), t: String(group.key.topic), p: String(group.key.partition) }}
            search={{ node: String(props.id) }}
          >
            See its segment chain
          </Link>
        )}
        <Age atMs={takenMs} by={`node-${props.id}`} push={!group.key} />
      </div>
      {group.refusal && (
        <div className="verdict fail small">
          <Glyph name="refused" />
          <span>
            <b>{visible(group.refusal.code)}</b> {visible(group.refusal.message)}{' '}
            {group.refusal.path && <code>{visible(group.refusal.path)}</code>}
          </span>
        </div>
      )}
      <StaleArea atMs={takenMs} who={`node-${props.id}`}>
        {group.transfer && <TransferLine of={group.transfer} />}
        <div className="nd-grid">
          <Numbers group={group} />
          <Timers group={group} takenMs={takenMs} runs={running} />
        </div>
        <VoteTable group={group} />
        <PipelineTable group={group} ids={props.ids} />
      </StaleArea>
    </Scroll>
  )
}

function Numbers({ group }: { group: GroupSnapshotJson }) {
  return (
    <dl className="kv on-ground">
      <dt>view, durable</dt>
      <dd>
        <Pair live={group.view} durable={group.viewDurable} />
      </dd>
      <dt>log_view, durable</dt>
      <dd>
        <Pair live={group.logView} durable={group.logViewDurable} />
      </dd>
      <dt>newest view heard</dt>
      <dd>{group.observedNewerView}</dd>
      <dt>op</dt>
      <dd>{grouped(group.op)}</dd>
      <dt>applied, committed</dt>
      <dd>
        {grouped(group.commitMin)}, {grouped(group.commitMax)}
      </dd>
      {group.offsets && (
        <>
          <dt>next offset, visible to</dt>
          <dd>
            {grouped(group.offsets.next)}, {grouped(group.offsets.visible)}
          </dd>
          <dt>on disk to</dt>
          <dd>{grouped(group.offsets.persisted)}</dd>
        </>
      )}
      <dt>in flight, queued</dt>
      <dd>
        {prepared(group)}, {queued(group)}
      </dd>
      <dt>quorums</dt>
      <dd className="t">
        replicate {group.quorums.replication}, view change {group.quorums.viewChange}, nack {group.quorums.nack}
      </dd>
      <dt>state transfer</dt>
      <dd className="t">{group.transferStage.replace('_', ' ')}</dd>
      <dt>repair</dt>
      <dd className="t">
        {group.repair ? `from node-${group.repair.peer} to op ${grouped(group.repair.toOp)}` : 'none'}
      </dd>
    </dl>
  )
}

/** What is left of each timer: by now while its process runs, and as it last said once it does not. */
function Timers({ group, takenMs, runs }: { group: GroupSnapshotJson; takenMs: number; runs: boolean }) {
  const now = useNowSeconds()
  return (
    <ul className="timers" aria-label="Timers">
      {group.timers.map(timer => {
        const left = runs ? Math.max(0, timer.remainingMs - Math.max(0, now - takenMs)) : timer.remainingMs
        return (
          <li key={timer.name} className={timer.ticking ? undefined : 'off'}>
            <span>{timer.name.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)}</span>
            <i aria-hidden="true">
              <b
                style={{ width: timer.ticking ? `${Math.min(100, (left / Math.max(1, timer.periodMs)) * 100)}%` : 0 }}
              />
            </i>
            <span className="num">{timer.ticking ? (left > 0 ? duration(left) : 'due') : 'stopped'}</span>
          </li>
        )
      })}
    </ul>
  )
}

function VoteTable({ group }: { group: GroupSnapshotJson }) {
  const { votes, quorums } = group
  // A view that begins is made of them, and needs them no more.
  const letGo = group.status !== 'view_change' && votes.doViewChange.length === 0
  const voters = [...new Set([...votes.startViewChange, ...votes.doViewChange.map(vote => vote.replica)])].sort(
    (a, b) => a - b,
  )
  return (
    <>
      <div className="pane-head sub">
        <h3>Votes it has counted</h3>
        <span className="label">
          for view {group.view}
          {letGo ? ', which has begun' : ''}: StartViewChange {votes.startViewChange.length}, DoViewChange{' '}
          {letGo ? 'let go with that' : `${votes.doViewChange.length} of ${quorums.viewChange} that are needed`}
          {votes.parked ? '; merged, waits for repair' : ''}
        </span>
        {voters.length > 0 && (
          <span className="push">
            <TableExport
              name="votes"
              rows={voters.map(replica => ({
                replica,
                vote: votes.doViewChange.find(item => item.replica === replica),
              }))}
              columns={[
                { id: 'group', data: () => groupName(group.group) },
                { id: 'view', data: () => group.view },
                { id: 'voter', data: ({ replica }) => replica },
                { id: 'startViewChange', data: ({ replica }) => votes.startViewChange.includes(replica) },
                { id: 'doViewChange', data: ({ vote }) => vote !== undefined },
                { id: 'logView', data: ({ vote }) => vote?.logView },
                { id: 'op', data: ({ vote }) => vote && BigInt(vote.op) },
                { id: 'commit', data: ({ vote }) => vote && BigInt(vote.commit) },
              ]}
            />
          </span>
        )}
      </div>
      {voters.length === 0 ? (
        <p className="note micro">None: no view change is open on this node.</p>
      ) : (
        <table className="table">
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
            {voters.map(replica => {
              const vote = votes.doViewChange.find(item => item.replica === replica)
              return (
                <tr key={replica}>
                  <th scope="row">node-{replica}</th>
                  <td>{votes.startViewChange.includes(replica) ? 'counted' : 'none'}</td>
                  <td>{vote ? 'counted' : letGo ? 'not kept' : 'none'}</td>
                  <td className="n">{vote?.logView ?? ''}</td>
                  <td className="n">{vote ? grouped(vote.op) : ''}</td>
                  <td className="n">{vote ? grouped(vote.commit) : ''}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      )}
    </>
  )
}

function PipelineTable({ group, ids }: { group: GroupSnapshotJson; ids: readonly number[] }) {
  return (
    <>
      <div className="pane-head sub">
        <h3>Pipeline</h3>
        <span className="label">
          prepares without a commit, oldest first; {group.quorums.replication} acknowledgements commit one
        </span>
        {group.pipeline.length > 0 && (
          <TableExport
            name="pipeline"
            rows={group.pipeline}
            columns={[
              { id: 'op', data: entry => BigInt(entry.op) },
              { id: 'operation', data: entry => operationName(entry.operation) ?? entry.operation },
              { id: 'acknowledgedBy', data: entry => entry.acks.join(' ') },
              { id: 'quorum', data: entry => entry.quorum },
              { id: 'checksum', data: entry => entry.checksum },
            ]}
          />
        )}
      </div>
      <PipelineSlots group={group} ids={ids} />
      {group.pipeline.length === 0 ? (
        <p className="note micro">Empty: nothing waits for an acknowledgement here.</p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th scope="col" className="n">
                op
              </th>
              <th scope="col">Operation</th>
              <th scope="col">Acknowledged by</th>
              <th scope="col">Quorum</th>
              <th scope="col">Checksum</th>
            </tr>
          </thead>
          <tbody>
            {group.pipeline.map(entry => (
              <tr key={entry.op}>
                <td className="n">{grouped(entry.op)}</td>
                <td>{operationName(entry.operation) ?? `operation ${entry.operation}`}</td>
                <td>{entry.acks.map(id => `node-${id}`).join(', ')}</td>
                <td>{entry.quorum ? 'reached' : 'waits'}</td>
                <td className="m">{entry.checksum}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}
