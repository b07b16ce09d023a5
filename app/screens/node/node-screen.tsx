/** One node: its process, one group of it in full, what its last boot did, its disk, its logs and its clients. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { livenessOf, replicaIds } from '../../../shared/inspection/belief.ts'
import { type ClusterView, msOf, type NodeView } from '../../../shared/inspection/view.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { shown } from '../../data/store.ts'
import { byGroup, groupName, METADATA, pathName } from '../../names.ts'
import type { Search } from '../../search.ts'
import { Age, StaleArea, useNowSeconds } from '../../ui/age.tsx'
import { bytesShort, clockShort, count, duration, grouped, timestamp, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { State } from '../../ui/state.tsx'
import { nodeState } from '../../ui/states.ts'
import { TableExport } from '../../ui/table-export.tsx'
import { NodeActs } from '../cluster/nodes-pane.tsx'
import { BootTab } from './boot-tab.tsx'
import { ClientsTab } from './clients-tab.tsx'
import { DiskTab } from './disk-tab.tsx'
import { GroupDetail } from './group-detail.tsx'
import { LogTab } from './log-tab.tsx'
import { nodeSituation } from './situation.ts'
import { WalTab } from './wal-tab.tsx'
import './node.css'

const route = getRouteApi('/cluster/nodes/$node')
const TABS = [
  { value: 'status', label: 'Group in full' },
  { value: 'boot', label: 'Last boot' },
  { value: 'disk', label: 'Disk' },
  { value: 'wal', label: 'Write-ahead log' },
  { value: 'clients', label: 'Clients' },
  { value: 'log', label: 'Log' },
] as const

export default function NodeScreen() {
  const params = route.useParams()
  const search: Search<'node'> = route.useSearch()
  const navigate = useNavigate()
  const view = useCell(shown, state => state.view)
  const now = useNowSeconds()
  const id = /^\d{1,2}$/.test(params.node) ? Number(params.node) : -1
  const node = view.nodes.get(id)
  const group = search.group ?? METADATA
  const tab = search.tab ?? 'status'
  const change = (patch: Partial<Record<keyof Search<'node'>, string | undefined>>): void =>
    void navigate({ to: '/cluster/nodes/$node', params, search: old => ({ ...old, ...patch }) as Search<'node'> })
  if (!node) {
    return (
      <div className="sheet">
        <h1 className="title">Node</h1>
        {view.nodes.size === 0 ? (
          <Skeleton what="the node" rows={6} />
        ) : (
          <p>
            This cluster has no node “{visible(params.node)}”; its nodes are{' '}
            {replicaIds(view)
              .map(other => `node-${other}`)
              .join(', ')}
            . <Link to="/cluster">Go to the cluster</Link>
          </p>
        )}
      </div>
    )
  }
  return (
    <div className="screen nd">
      <Now words={nodeSituation(view, node, now)} />
      <Head view={view} node={node} id={id} />
      <div className="nd-cols inner-scroll">
        <div className="nd-left">
          <ProcessPane node={node} id={id} />
          <GroupList
            view={view}
            id={id}
            group={group}
            onGroup={value => change({ group: value === METADATA ? undefined : value, tab: undefined })}
          />
        </div>
        <section className="pane nd-main" aria-label={`Details of node-${id}`}>
          <div className="tabs" role="tablist" aria-label="Details">
            {TABS.map(item => (
              <button
                key={item.value}
                type="button"
                role="tab"
                id={`tab-${item.value}`}
                aria-selected={item.value === tab}
                aria-controls="tab-panel"
                tabIndex={item.value === tab ? 0 : -1}
                onClick={() => change({ tab: item.value === 'status' ? undefined : item.value })}
                onKeyDown={event => {
                  const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
                  if (by === 0) return
                  const next = TABS[(TABS.findIndex(other => other.value === tab) + by + TABS.length) % TABS.length]!
                  change({ tab: next.value === 'status' ? undefined : next.value })
                  document.getElementById(`tab-${next.value}`)?.focus()
                }}
              >
                {item.label}
              </button>
            ))}
          </div>
          <div className="tab-panel" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`}>
            {tab === 'status' && <GroupDetail id={id} group={group} node={node} ids={replicaIds(view)} />}
            {tab === 'boot' && <BootTab id={id} node={node} />}
            {tab === 'wal' && <WalTab id={id} node={node} />}
            {tab === 'disk' && (
              <DiskTab id={id} only={search.only === '1'} onOnly={only => change({ only: only ? '1' : undefined })} />
            )}
            {tab === 'log' && <LogTab id={id} />}
            {tab === 'clients' && <ClientsTab id={id} node={node} />}
          </div>
        </section>
      </div>
    </div>
  )
}

function Head(props: { view: ClusterView; node: NodeView; id: number }) {
  const { view, node, id } = props
  const now = useNowSeconds()
  return (
    <div className="screen-head">
      <ol className="crumbs">
        <li>
          <Link to="/cluster">Cluster</Link>
        </li>
        <li>
          <h1>node-{id}</h1>
        </li>
      </ol>
      <State look={nodeState(view, METADATA, id, now)} />
      <Age atMs={node.heardMs} by="heard" />
      <span className="push" />
      <NodeActs node={node} id={id} />
    </div>
  )
}

function ProcessPane({ node, id }: { node: NodeView; id: number }) {
  const now = useNowSeconds()
  const { process, snapshot } = node
  return (
    <Pane title="Process" label={process?.adopted ? 'adopted: it ran before this console' : undefined} testId="process">
      <StaleArea atMs={node.heardMs} who={`node-${id}`} className="pane-body">
        <dl className="kv on-ground">
          <dt>pid</dt>
          <dd>{process?.pid ?? snapshot?.pid ?? 'none'}</dd>
          <dt>client port</dt>
          <dd>{process?.ports?.client ?? snapshot?.ports.client ?? 'none'}</dd>
          <dt>replica port</dt>
          <dd>{process?.ports?.replica ?? snapshot?.ports.replica ?? 'none'}</dd>
          <dt>inspection port</dt>
          <dd>{process?.ports?.inspection ?? snapshot?.ports.inspection ?? 'none'}</dd>
          <dt>started</dt>
          <dd>
            {snapshot ? startedWords(msOf(snapshot.startedWallUs), process?.pid === null ? undefined : now) : '?'}
          </dd>
          <dt>memory</dt>
          <dd>{snapshot ? bytesShort(snapshot.memoryBytes) : '?'}</dd>
          <dt>disk threads</dt>
          <dd>{snapshot?.threadPoolSize ?? '?'}</dd>
          <dt>fsync</dt>
          <dd className="t">
            {snapshot ? (snapshot.fsync === 'full' ? 'reaches the disk' : 'weaker on this system') : '?'}
          </dd>
          <dt>boot id</dt>
          <dd>{node.boot?.slice(0, 12) ?? '?'}</dd>
          <dt>peers</dt>
          <dd className="t">
            {snapshot && snapshot.peers.length > 0
              ? snapshot.peers
                  .map(peer => `node-${peer.replica} ${peer.connected ? 'linked' : 'not linked'}`)
                  .join(', ')
              : 'none'}
          </dd>
          <dt>directory</dt>
          <dd title={process?.dataDirectory ?? snapshot?.dataDirectory}>
            {visible(process?.dataDirectory ?? snapshot?.dataDirectory ?? '?')}
          </dd>
          {process?.exit && (
            <>
              <dt>last exit</dt>
              <dd className="t" title={timestamp(process.exit.atWallUs)}>
                {visible(process.exit.meaning)}
              </dd>
            </>
          )}
        </dl>
      </StaleArea>
    </Pane>
  )
}

/** Of a process that is gone, only when it began: how long ago says nothing of how long it ran. */
const startedWords = (atMs: number, nowMs: number | undefined): string =>
  `${clockShort(atMs)}${nowMs === undefined ? '' : `, ${duration(Math.max(0, nowMs - atMs))} ago`}`

function GroupList(props: { view: ClusterView; id: number; group: string; onGroup: (group: string) => void }) {
  const { view, id } = props
  const now = useNowSeconds()
  const names = useQuery(queries.topics()).data
  const groups = [...view.groups.values()]
    .filter(group => group.replicas.has(id))
    .sort((a, b) => byGroup(a.group, b.group))
  const shownGroups = groups.slice(0, LIST_MAX)
  return (
    <Pane
      title="Groups of this node"
      label={count(groups.length, 'group')}
      testId="node-groups"
      actions={
        <span className="push">
          <TableExport
            name={`groups of node-${id}`}
            rows={groups}
            columns={[
              { id: 'group', data: group => groupName(group.group) },
              { id: 'name', data: group => pathName(names, group.key) },
              { id: 'status', data: group => group.replicas.get(id)?.status },
              { id: 'role', data: group => group.replicas.get(id)?.role },
              { id: 'view', data: group => group.replicas.get(id)?.view },
              { id: 'op', data: group => group.replicas.get(id)?.op },
              { id: 'applied', data: group => group.replicas.get(id)?.commitMin },
              { id: 'commit', data: group => group.replicas.get(id)?.commitMax },
            ]}
          />
        </span>
      }
    >
      <Scroll name="Groups of this node">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Group</th>
              <th scope="col">State</th>
              <th scope="col" className="n">
                view
              </th>
              <th scope="col" className="n">
                applied
              </th>
            </tr>
          </thead>
          <tbody>
            {shownGroups.map(group => {
              const cell = group.replicas.get(id)!
              const look = nodeState(view, group.group, id, now)
              const picked = group.group === props.group
              return (
                <tr
                  key={group.group}
                  className={`pick${livenessOf(view.nodes.get(id), now) === 'live' ? '' : ' old'}`}
                  aria-selected={picked}
                  onClick={() => props.onGroup(group.group)}
                >
                  <th scope="row" className="mono" title={pathName(names, group.key)}>
                    <button type="button" className="pick-btn" aria-pressed={picked}>
                      {groupName(group.group)}
                    </button>
                  </th>
                  <td>
                    <span className="state">
                      <Glyph name={look.glyph} state={look.colour} />
                      {look.word}
                    </span>
                  </td>
                  <td className="n">v{cell.view}</td>
                  <td className="n">{grouped(cell.commitMin)}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
        {groups.length > LIST_MAX && (
          <p className="note micro">
            The first {LIST_MAX} are listed; <Link to="/partitions">all partitions</Link> has every one.
          </p>
        )}
      </Scroll>
    </Pane>
  )
}
const LIST_MAX = 200
