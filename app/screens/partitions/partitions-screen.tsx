/** Every partition of the cluster: who leads it, how far each node is, and how much there is. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef } from 'react'
import { gapOf, livenessOf, primaryOf, replicaIds, standingOf } from '../../../shared/inspection/belief.ts'
import type { ClusterView, GroupView } from '../../../shared/inspection/view.ts'
import { actOnLoad, useForbidden } from '../../data/actions.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { shown } from '../../data/store.ts'
import { byGroup, groupName, METADATA, pathName } from '../../names.ts'
import type { Search } from '../../search.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { useNowSeconds } from '../../ui/age.tsx'
import { bytesShort, count, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Picker } from '../../ui/picker.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Spacer } from '../../ui/spacer.tsx'
import { State } from '../../ui/state.tsx'
import { nodeState, verdictLook } from '../../ui/states.ts'
import { type ExportColumn, TableFoot } from '../../ui/table-export.tsx'
import { heardNodes, leftOverOf } from './left-over.ts'
import { partitionsSituation } from './situation.ts'
import './partitions.css'

const ROW = 26
const route = getRouteApi('/partitions')
type Sort = NonNullable<Search<'partitions'>['sort']>
const SORTS: readonly { readonly value: Sort; readonly label: string }[] = [
  { value: 'group', label: 'by number' },
  { value: 'name', label: 'by name' },
  { value: 'offsets', label: 'most messages first' },
  { value: 'lag', label: 'most behind first' },
]

interface Line {
  readonly group: GroupView
  readonly name: string
  readonly next: bigint
  readonly lag: bigint
}

export default function PartitionsScreen() {
  const search: Search<'partitions'> = route.useSearch()
  const navigate = useNavigate()
  const view = useCell(shown, state => state.view)
  const names = useQuery(queries.topics()).data
  const now = useNowSeconds()
  const ids = replicaIds(view)
  const sort: Sort = search.sort ?? 'group'
  const text = (search.q ?? '').toLowerCase()
  const heardKey = heardNodes(view, now).join(' ')
  const heard = useMemo(() => (heardKey === '' ? [] : heardKey.split(' ').map(Number)), [heardKey])
  const lines = useMemo(() => {
    const list = [...view.groups.values()]
      .filter(group => group.group !== METADATA && leftOverOf(heard, group) === undefined)
      .map((group): Line => {
        let next = 0n
        let lag = 0n
        for (const cell of group.replicas.values()) {
          if (cell.offsets && cell.offsets.next > next) next = cell.offsets.next
          const gap = gapOf(group, cell)
          if (gap > lag) lag = gap
        }
        return { group, name: pathName(names, group.key) ?? '', next, lag }
      })
      .filter(
        line => text === '' || line.name.toLowerCase().includes(text) || groupName(line.group.group).startsWith(text),
      )
    return list.sort(ORDER[sort])
  }, [view.groups, names, text, sort, heard])
  const change = (patch: Search<'partitions'>): void =>
    void navigate({ to: '/partitions', search: old => ({ ...old, ...patch }) as Search<'partitions'>, replace: true })
  const box = useRef<HTMLElement>(null)
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 4,
  })
  const items = rows.getVirtualItems()
  const partitions = [...view.groups.values()].filter(group => group.group !== METADATA)
  const every = partitions.filter(group => leftOverOf(heard, group) === undefined)
  const all = every.length
  return (
    <div className="screen pts">
      <Now words={partitionsSituation(view, every, now)} />
      <div className="screen-head">
        <h1>Partitions</h1>
        <span className="label">
          {view.nodes.size > 0 &&
            `${lines.length === all ? count(all, 'partition') : `${grouped(lines.length)} of ${count(all, 'partition')}`}, `}
          each its own consensus group
        </span>
        <span className="push" />
        <label className="field">
          <span className="label">Find</span>
          <input
            aria-label="Find partitions by name or number"
            value={search.q ?? ''}
            maxLength={255}
            onChange={event => change({ q: event.target.value === '' ? undefined : event.target.value })}
          />
        </label>
        <Picker
          name="Order"
          value={sort}
          shown={SORTS.find(item => item.value === sort)?.label}
          options={SORTS}
          onChange={value => change({ sort: value === 'group' ? undefined : (value as Sort) })}
        />
      </div>
      <Pane
        title="All partitions"
        label="offsets by the primary; a number of a node is its own word"
        testId="partitions"
        className="inner-scroll"
      >
        {view.nodes.size === 0 ? (
          <Skeleton what="partitions" rows={8} />
        ) : all === 0 ? (
          <NoPartitions />
        ) : (
          <Scroll name="Partitions" ref={box}>
            <table className="table">
              <thead>
                <tr>
                  <th scope="col">Partition</th>
                  <th scope="col">Name</th>
                  <th scope="col" className="split">
                    Status
                  </th>
                  <th scope="col">Primary</th>
                  <th scope="col" className="n split">
                    next offset
                  </th>
                  <th scope="col" className="n">
                    on disk to
                  </th>
                  <th scope="col" className="n">
                    log bytes
                  </th>
                  {ids.map(id => (
                    <th key={id} scope="col" className="split">
                      node-{id}, op applied
                    </th>
                  ))}
                  <th scope="col" className="n split">
                    lag
                  </th>
                </tr>
              </thead>
              <tbody>
                <Spacer height={items[0]?.start ?? 0} />
                {items.map(item => (
                  <PartitionRow
                    key={lines[item.index]!.group.group}
                    line={lines[item.index]!}
                    view={view}
                    ids={ids}
                    now={now}
                  />
                ))}
                <Spacer height={items.length > 0 ? rows.getTotalSize() - items.at(-1)!.end : 0} />
              </tbody>
            </table>
            {lines.length === 0 && (
              <p className="note">No partition has “{visible(search.q ?? '')}” in its name or number.</p>
            )}
          </Scroll>
        )}
        {partitions.length > all && (
          <p className="note micro" data-testid="left-over">
            {count(partitions.length - all, 'partition is', 'partitions are')} not listed: only nodes that are not heard
            any more spoke of {partitions.length - all === 1 ? 'it' : 'them'}.
          </p>
        )}
        {all > 0 && <TableFoot name="partitions" rows={lines} columns={columnsOf(view, ids, now)} />}
      </Pane>
    </div>
  )
}

/** What the list is saved with: every partition that the search leaves, each number by the node that said it. */
function columnsOf(view: ClusterView, ids: readonly number[], now: number): ExportColumn<Line>[] {
  const leads = (line: Line): number | undefined => {
    const verdict = primaryOf(view, line.group.group, now)
    return verdict.kind === 'primary' ? verdict.node : undefined
  }
  const own = (line: Line) => line.group.replicas.get(leads(line) ?? -1)?.offsets
  return [
    { id: 'partition', data: line => groupName(line.group.group) },
    { id: 'name', data: line => line.name },
    { id: 'group', data: line => BigInt(line.group.group) },
    { id: 'primary', data: leads },
    { id: 'nextOffset', data: line => own(line)?.next },
    { id: 'persistedOffset', data: line => own(line)?.persisted },
    ...ids.flatMap((id): ExportColumn<Line>[] => [
      { id: `node${id}.view`, data: line => line.group.replicas.get(id)?.view },
      { id: `node${id}.applied`, data: line => line.group.replicas.get(id)?.commitMin },
      { id: `node${id}.status`, data: line => line.group.replicas.get(id)?.status },
    ]),
    { id: 'lag', data: line => line.lag },
  ]
}

const ORDER: Readonly<Record<Sort, (a: Line, b: Line) => number>> = {
  group: (a, b) => byGroup(a.group.group, b.group.group),
  name: (a, b) => a.name.localeCompare(b.name) || byGroup(a.group.group, b.group.group),
  offsets: (a, b) => (a.next < b.next ? 1 : a.next > b.next ? -1 : byGroup(a.group.group, b.group.group)),
  lag: (a, b) => (a.lag < b.lag ? 1 : a.lag > b.lag ? -1 : byGroup(a.group.group, b.group.group)),
}

function PartitionRow(props: { line: Line; view: ClusterView; ids: readonly number[]; now: number }) {
  const { line, view, ids, now } = props
  const { group } = line
  const key = group.key
  const verdict = primaryOf(view, group.group, now)
  const leader = verdict.kind === 'primary' ? verdict.node : undefined
  const own = leader === undefined ? undefined : group.replicas.get(leader)?.offsets
  const at = key && { stream: String(key.stream), topic: String(key.topic), partition: String(key.partition) }
  const chain = useQuery({
    ...queries.partition(leader ?? 0, at ?? { stream: '0', topic: '0', partition: '0' }),
    enabled: leader !== undefined && at !== undefined,
    refetchInterval: 5000,
  }).data
  const size = leader === undefined ? undefined : chain?.segments.reduce((sum, segment) => sum + segment.sizeBytes, 0)
  const name = groupName(group.group)
  return (
    <tr data-testid={`partition-${name}`}>
      <th scope="row" className="mono">
        {at ? (
          <Link to="/partitions/$s/$t/$p" params={{ s: at.stream, t: at.topic, p: at.partition }}>
            {name}
          </Link>
        ) : (
          name
        )}
      </th>
      <td className="ellipsis">{line.name}</td>
      <td className="split">
        <State look={verdictLook(verdict)} />
      </td>
      <td>{leader === undefined ? 'none' : `node-${leader}, v${group.replicas.get(leader)?.view ?? '?'}`}</td>
      <td className="n split">{own ? grouped(own.next) : '?'}</td>
      <td className="n">{own ? grouped(own.persisted) : '?'}</td>
      <td className="n">{size === undefined ? '?' : bytesShort(size)}</td>
      {ids.map(id => {
        const cell = group.replicas.get(id)
        const standing = standingOf(view, group.group, id, now)
        const look = nodeState(view, group.group, id, now)
        return (
          <td key={id} className={`split${livenessOf(view.nodes.get(id), now) === 'live' ? '' : ' old'}`}>
            <Glyph
              name={look.glyph}
              state={look.colour}
              label={standing.kind === 'silent' ? look.word : standing.words}
            />{' '}
            <span className={`num${standing.kind === 'behind' ? ' differs' : ''}`}>
              {cell ? grouped(cell.commitMin) : ''}
            </span>
          </td>
        )
      })}
      <td className="n split">{grouped(line.lag)}</td>
    </tr>
  )
}

/** Teaches: a partition begins with a topic, and the load makes one. */
function NoPartitions() {
  const forbidden = useForbidden()
  return (
    <div className="empty" data-testid="no-partitions">
      <p>
        <b>No partition yet.</b> A topic brings its partitions, each with a primary of its own; the load creates the
        topic <code>load/steady</code> with three.
      </p>
      <ActButton
        name="Start load"
        pendingKey={['load']}
        onAct={() => void actOnLoad({ action: 'start' })}
        why={forbidden}
        className="btn small main-act"
      >
        <Glyph name="play" />
        Start load
      </ActButton>
    </div>
  )
}
