/** Sessions as every node holds them: watermark, replies kept for a retry, who is let go first; and who is connected where. */
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { msOf } from '../../../shared/inspection/view.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { answers as answersNow, processWords } from '../../data/slots.ts'
import { SourceError } from '../../data/source.ts'
import { shown } from '../../data/store.ts'
import { type EachAnswer, useEach } from '../../data/use-each.ts'
import { useReplicaIds } from '../../data/use-replica-ids.ts'
import type { Search } from '../../search.ts'
import { Age, STALE_MS, useAgeMs } from '../../ui/age.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { count, grouped, visible } from '../../ui/format.ts'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import type { ExportColumn } from '../../ui/table-export.tsx'
import { Unasked } from '../superblocks/unasked.tsx'
import { SessionPane } from './session-pane.tsx'
import {
  agreedOn,
  leadingTable,
  type SessionField,
  type SessionRow,
  sessionRows,
  type TableEntry,
  type TableOf,
} from './sessions.ts'
import { clientsSituation } from './situation.ts'
import './clients.css'

const route = getRouteApi('/clients')

export default function ClientsScreen() {
  const search: Search<'clients'> = route.useSearch()
  const navigate = useNavigate()
  const nodes = useCell(shown, state => state.view.nodes)
  const ids = useReplicaIds()
  const answers = useEach(ids, queries.clients, id => answersNow(nodes.get(id)))
  // Whoever does not answer now is not compared: what it said last was of another moment, or of a life that has ended.
  const heard = useMemo(
    () => answers.filter(answer => answersNow(nodes.get(answer.node)) && !refused(answer.error) && answer.data),
    [answers, nodes],
  )
  const tables = useMemo(() => heard.map(({ node, data }): TableOf => ({ node, snapshot: data! })), [heard])
  const rows = useMemo(() => sessionRows(tables), [tables])
  const change = (patch: Partial<Record<keyof Search<'clients'>, string | undefined>>): void =>
    void navigate({
      to: '/clients',
      search: old => ({ ...old, ...patch }) as Search<'clients'>,
      replace: 'q' in patch || 'request' in patch,
    })
  const wanted = search.q?.toLowerCase() ?? ''
  const listed = rows
    .filter(row => row.client.includes(wanted))
    .sort((a, b) => (search.sort === 'slot' ? (a.slot ?? 1e9) - (b.slot ?? 1e9) : 0))
  const reporters = tables.map(({ node }) => node)
  const chosen = rows.find(row => row.client === search.client) ?? listed[0]
  const lead = leadingTable(tables)
  const missing = ids.filter(id => !reporters.includes(id)).map(id => `node-${id} ${processWords(nodes.get(id))}`)
  const taken = tables.map(({ snapshot }) => msOf(snapshot.reporter.takenWallUs))
  const oldestMs = taken.length > 0 ? Math.min(...taken) : undefined
  const ageMs = useAgeMs(oldestMs)
  const stale = ageMs !== undefined && ageMs > STALE_MS ? 'stale' : ''
  return (
    <>
      <h1 className="sr">Clients</h1>
      <div className="screen cls">
        <Now words={clientsSituation(rows, tables, missing, ageMs)} />
        <div className="cls-top">
          <Pane
            title="Sessions"
            className={stale}
            label={
              lead
                ? `${grouped(rows.length)} of ${count(lead.snapshot.slots, 'slot')}, by node-${lead.node}`
                : 'the replicated client table'
            }
            testId="sessions"
            actions={
              <span className="push row">
                <label className="field">
                  <span className="label">client</span>
                  <input
                    aria-label="Filter by client"
                    size={10}
                    value={search.q ?? ''}
                    onChange={event => change({ q: event.target.value === '' ? undefined : event.target.value })}
                  />
                </label>
                <Segmented
                  name="Order"
                  value={search.sort ?? 'eviction'}
                  options={[
                    { value: 'eviction', label: 'Evicted first', title: 'The oldest newest reply goes first' },
                    { value: 'slot', label: 'By slot' },
                  ]}
                  onChange={value => change({ sort: value === 'eviction' ? undefined : value })}
                />
                <Age atMs={oldestMs} by="oldest" />
              </span>
            }
          >
            <Unasked
              answers={answers}
              nodes={nodes}
              what="clients"
              asked={answersNow}
              then={() => 'A table is in the memory of its process; it is not compared here.'}
            />
            {search.client !== undefined && rows.length > 0 && chosen?.client !== search.client && (
              <p className="note" role="status" data-testid="client-gone">
                No node that answers holds a session of <code>{search.client}</code>: it has signed out, was let go, or
                never came. {chosen ? 'The first one listed is shown.' : ''}
              </p>
            )}
            {tables.length === 0 && answers.some(answer => answer.loading) ? (
              <Skeleton what="sessions" rows={8} />
            ) : (
              <DataTable
                name="sessions"
                testId="session-table"
                rows={listed}
                rowKey={row => row.client}
                selected={chosen?.client}
                onSelect={row => change({ client: row.client })}
                empty={
                  rows.length === 0
                    ? 'No session was registered yet: start the load, or sign in with a client.'
                    : 'No client has that in its id.'
                }
                columns={columnsOf(reporters)}
                fileColumns={fileColumnsOf(reporters)}
              />
            )}
          </Pane>
          {chosen && (
            <SessionPane
              key={chosen.client}
              row={chosen}
              nodes={reporters}
              request={search.request}
              className={stale}
              onRequest={request => change({ request })}
            />
          )}
        </div>
        <Connections answers={heard} className={stale} onClient={client => change({ client })} />
      </div>
    </>
  )
}

/** The node has not answered. A console that is not reached says nothing of any node: what was heard stays, and grows old. */
const refused = (error: unknown): boolean => error !== null && !(error instanceof SourceError && error.status === 0)

const anyOf = (row: SessionRow): TableEntry => [...row.on.values()][0]!

function columnsOf(nodes: readonly number[]): Column<SessionRow>[] {
  const value = (field: SessionField) => (row: SessionRow) => <Value row={row} nodes={nodes} field={field} />
  return [
    {
      id: 'client',
      head: 'Client',
      align: 'm',
      cell: row => (
        <span title={row.client}>
          {row.client.slice(0, 12)}
          {row.client.length > 12 && '…'}
        </span>
      ),
    },
    { id: 'evictionRank', head: 'evicted as', align: 'n', data: row => row.rank ?? null },
    { id: 'slot', head: 'slot', align: 'n', data: row => row.slot ?? null },
    { id: 'user', head: 'user', align: 'n', cell: value('user') },
    {
      id: 'session',
      head: <span title="The op of its latest Register">session epoch</span>,
      align: 'n',
      cell: value('session'),
    },
    {
      id: 'watermark',
      head: <span title="Highest committed request number">watermark</span>,
      align: 'n',
      cell: value('watermark'),
    },
    {
      id: 'latestCommit',
      head: <span title="Op of its newest reply; the smallest one of a full table is let go first">newest reply</span>,
      align: 'n',
      cell: value('latestCommit'),
    },
    { id: 'cachedReplies', head: 'replies kept', align: 'n', cell: value('cachedReplies') },
  ]
}

/** A file has every node's own word. */
const fileColumnsOf = (nodes: readonly number[]): ExportColumn<SessionRow>[] => [
  { id: 'client', data: row => row.client },
  { id: 'evictionRank', data: row => row.rank ?? null },
  { id: 'slot', data: row => row.slot ?? null },
  ...nodes.flatMap((node): ExportColumn<SessionRow>[] =>
    (['user', 'session', 'watermark', 'latestCommit', 'cachedReplies'] as const).map(field => ({
      id: `node${node}.${field}`,
      data: row => {
        const held = row.on.get(node)
        return held ? BigInt(held[field]) : null
      },
    })),
  ),
]

/** One value where all agree; where they do not, each node's own. */
function Value(props: { row: SessionRow; nodes: readonly number[]; field: SessionField }) {
  const { row, nodes, field } = props
  const agreed = agreedOn(row, nodes, field)
  if (agreed !== undefined) return grouped(agreed)
  const told = nodes.map(node => row.on.get(node)?.[field])
  if (new Set(told.filter(value => value !== undefined).map(String)).size === 1 && field !== 'session')
    return grouped(String(anyOf(row)[field]))
  return (
    <span className="differs">
      {nodes.map((node, index) => `n${node} ${told[index] === undefined ? 'none' : grouped(told[index])}`).join(', ')}
    </span>
  )
}

type Answer = EachAnswer<{
  readonly reporter: { readonly takenWallUs: string }
  readonly connections: TableOf['snapshot']['connections']
}>

function Connections(props: { answers: readonly Answer[]; className: string; onClient: (client: string) => void }) {
  const rows = props.answers.flatMap(answer =>
    (answer.data?.connections ?? []).map(item => ({ node: answer.node, ...item })),
  )
  const taken = props.answers.flatMap(answer => (answer.data ? [msOf(answer.data.reporter.takenWallUs)] : []))
  return (
    <Pane
      title="Connections"
      className={props.className}
      label="as each node that answers has them"
      testId="connections"
      actions={<Age atMs={taken.length > 0 ? Math.min(...taken) : undefined} by="oldest answer" push />}
    >
      <DataTable
        name="connections"
        rows={rows}
        rowKey={row => `${row.node} ${row.connection}`}
        empty="Nobody is connected to any node. Start the load to see clients come."
        columns={[
          { id: 'node', head: 'Node', data: row => `node-${row.node}` },
          { id: 'connection', head: '#', align: 'n', data: row => row.connection },
          { id: 'address', head: 'Address', align: 'm', data: row => row.address, cell: row => visible(row.address) },
          {
            id: 'client',
            head: 'Client',
            align: 'm',
            data: row => row.client ?? '',
            cell: row =>
              row.client === undefined ? (
                'not signed in'
              ) : (
                <button type="button" className="link mono" onClick={() => props.onClient(row.client!)}>
                  {visible(row.client)}
                </button>
              ),
          },
          {
            id: 'session',
            head: 'session',
            align: 'n',
            data: row => (row.session === undefined ? null : BigInt(row.session)),
          },
          { id: 'user', head: 'user', align: 'n', data: row => row.user ?? null },
        ]}
      />
    </Pane>
  )
}
