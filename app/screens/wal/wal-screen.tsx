/**
 * The log of one node: the metadata group's, on disk, slot by slot and to the byte; and of a partition group the ops that
 * are in memory, which is all the log that it has beside its segments.
 */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { shown } from '../../data/store.ts'
import { useReplicaIds } from '../../data/use-replica-ids.ts'
import { byGroup, groupName, METADATA, pathName } from '../../names.ts'
import type { Search } from '../../search.ts'
import { visible } from '../../ui/format.ts'
import { Picker } from '../../ui/picker.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Journal } from './journal.tsx'
import { Metadata } from './metadata.tsx'
import './wal.css'

const route = getRouteApi('/wal/$node')
export type Change = (patch: Partial<Record<keyof Search<'wal'>, string | undefined>>) => void

export default function WalScreen() {
  const params = route.useParams()
  const search: Search<'wal'> = route.useSearch()
  const navigate = useNavigate()
  const nodes = useCell(shown, state => state.view.nodes)
  const id = /^\d{1,2}$/.test(params.node) ? Number(params.node) : -1
  const group = search.group ?? METADATA
  const change: Change = patch =>
    void navigate({ to: '/wal/$node', params, search: old => ({ ...old, ...patch }) as Search<'wal'> })
  const node = nodes.get(id)
  if (!node)
    return (
      <div className="sheet">
        <h1 className="title">Write-ahead log</h1>
        {nodes.size === 0 ? (
          <Skeleton what="the nodes" rows={6} />
        ) : (
          <p>
            This cluster has no node “{visible(params.node)}”. <Link to="/cluster">Go to the cluster</Link>
          </p>
        )}
      </div>
    )
  return (
    <div className="screen wl">
      <div className="screen-head">
        <h1>Write-ahead log</h1>
        <NodeChoice id={id} search={search} />
        <GroupChoice
          id={id}
          group={group}
          onGroup={value => change({ group: value, op: undefined, slot: undefined, field: undefined })}
        />
        <span className="push" />
        <Link to="/cluster/nodes/$node" params={{ node: String(id) }} className="small">
          node-{id} in full
        </Link>
      </div>
      {group === METADATA ? (
        <Metadata key={id} node={node} search={search} change={change} />
      ) : (
        <Journal key={`${id} ${group}`} node={node} group={group} search={search} change={change} />
      )}
    </div>
  )
}

function NodeChoice({ id, search }: { id: number; search: Search<'wal'> }) {
  const navigate = useNavigate()
  const ids = useReplicaIds()
  return (
    <Segmented
      name="Node"
      value={String(id)}
      options={ids.map(other => ({ value: String(other), label: `node-${other}` }))}
      onChange={node => void navigate({ to: '/wal/$node', params: { node }, search })}
    />
  )
}

/** Groups named in a menu at most; thousands are chosen on the partitions screen. */
const GROUPS_LISTED = 200

function GroupChoice(props: { id: number; group: string; onGroup: (group: string | undefined) => void }) {
  const groups = useCell(shown, state => state.view.groups)
  const names = useQuery(queries.topics()).data
  const here = [...groups.values()]
    .filter(item => item.replicas.has(props.id))
    .sort((a, b) => byGroup(a.group, b.group))
  const listed = here.slice(0, GROUPS_LISTED)
  const chosen = groups.get(props.group)
  return (
    <Picker
      name="Group"
      value={props.group}
      shown={groupName(props.group)}
      testId="wal-group"
      onChange={value => props.onGroup(value === METADATA ? undefined : value)}
      options={(chosen && !listed.includes(chosen) ? [chosen, ...listed] : listed).map(item => ({
        value: item.group,
        label: groupName(item.group),
        hint: item.group === METADATA ? 'on disk' : pathName(names, item.key),
      }))}
    />
  )
}
