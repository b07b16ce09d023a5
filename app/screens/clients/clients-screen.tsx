/** Sessions as every node holds them: watermark, replies kept for a retry, who is let go first; and who is connected where. */
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { msOf } from '../../../shared/inspection/view.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { shown } from '../../data/store.ts'
import { type EachAnswer, useEach } from '../../data/use-each.ts'
import { useReplicaIds } from '../../data/use-replica-ids.ts'
import type { Search } from '../../search.ts'
import { Age } from '../../ui/age.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { count, grouped, visible } from '../../ui/format.ts'
import { Now, type NowWords } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Unasked } from '../superblocks/unasked.tsx'
import { SessionPane } from './session-pane.tsx'
import { differences, leadingTable, type SessionRow, sessionRows, type TableEntry, type TableOf } from './sessions.ts'
import './clients.css'

const route = getRouteApi('/clients')

export default function ClientsScreen() {
  const search: Search<'clients'> = route.useSearch()
  const navigate = useNavigate()
  const nodes = useCell(shown, state => state.view.nodes)
  const ids = useReplicaIds()
  const answers = useEach(ids, queries.clients, id => nodes.get(id)?.process?.state === 'running')
  const tables = useMemo(
    () =>
      answers.flatMap((answer): TableOf[] =>
        answer.data?.reporter.node === answer.node ? [{ node: answer.node, snapshot: answer.data }] : [],
      ),
    [answers],
  )
  const rows = useMemo(() => sessionRows(tables), [tables])
  const change = (patch: Partial<Record<keyof Search<'clients'>, string | undefined>>): void =>
    void navigate({ to: '/clients', search: old => ({ ...old, ...patch }) as Search<'clients'>, replace: 'q' in patch })
  const wanted = search.q?.toLowerCase() ?? ''
  const listed = rows
    .filter(row => row.client.includes(wanted))
    .sort((a, b) => (search.sort === 'slot' ? (a.slot ?? 1e9) - (b.slot ?? 1e9) : 0))
  const reporters = tables.map(({ node }) => node)
  const chosen = rows.find(row => row.client === search.client) ?? listed[0]
  const lead = leadingTable(tables)
  return (
    <>
      <h1 className="sr">Clients</h1>
      <div className="screen cls">
        <Now words={situation(rows, tables)} />
        <div className="cls-top">
          <Pane
            title="Sessions"
            label={
              lead
                ? `${count(rows.length, 'session')} of ${count(lead.snapshot.slots, 'slot')}; order as node-${lead.node} holds it`
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
              </span>
            }
          >
            <Unasked
              answers={answers}
              nodes={nodes}
              what="clients"
              asked={node => node?.process?.state === 'running'}
            />
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
              />
            )}
          </Pane>
          {chosen && <SessionPane row={chosen} nodes={reporters} />}
        </div>
        <Connections answers={answers} onClient={client => change({ client })} />
      </div>
    </>
  )
}

function columnsOf(nodes: readonly number[]): Column<SessionRow>[] {
  const any = (row: SessionRow): TableEntry => [...row.on.values()][0]!
  return [
    {
      id: 'client',
      head: 'Client',
      align: 'm',
      data: row => row.client,
      cell: row => (
        <span title={row.client}>
          {row.client.slice(0, 12)}
          {row.client.length > 12 && '…'}
        </span>
      ),
    },
    { id: 'evictionRank', head: 'evicted as', align: 'n', data: row => row.rank ?? null },
    { id: 'slot', head: 'slot', align: 'n', data: row => row.slot ?? null },
    { id: 'user', head: 'user', align: 'n', data: row => any(row).user },
    { id: 'session', head: 'session', align: 'n', data: row => BigInt(any(row).session) },
    ...nodes.flatMap((node): Column<SessionRow>[] => [
      {
        id: `node${node}.watermark`,
        head: <>watermark n{node}</>,
        align: 'n',
        data: row => valueOn(row, node, 'watermark'),
        cell: row => <Value row={row} node={node} nodes={nodes} field="watermark" />,
      },
      {
        id: `node${node}.latestCommit`,
        head: <>commit n{node}</>,
        align: 'n',
        data: row => valueOn(row, node, 'latestCommit'),
        cell: row => <Value row={row} node={node} nodes={nodes} field="latestCommit" />,
      },
    ]),
  ]
}

const valueOn = (row: SessionRow, node: number, field: 'watermark' | 'latestCommit'): bigint | null => {
  const held = row.on.get(node)
  return held ? BigInt(held[field]) : null
}

function Value(props: {
  row: SessionRow
  node: number
  nodes: readonly number[]
  field: 'watermark' | 'latestCommit' | 'cachedReplies'
}) {
  const held = props.row.on.get(props.node)
  const differs = differences(props.row, props.nodes).has(props.field)
  if (!held)
    return (
      <span className="differs" title="it has no session for this client">
        none
      </span>
    )
  return <span className={differs ? 'differs' : undefined}>{grouped(held[props.field])}</span>
}

function situation(rows: readonly SessionRow[], tables: readonly TableOf[]): NowWords {
  const nodes = tables.map(({ node }) => node)
  const base = {
    label: 'Client table',
    why: 'Each session keeps its highest request number and up to five replies, so that a retried request runs once.',
  } as const
  if (tables.length === 0)
    return {
      ...base,
      tone: 'plain',
      glyph: 'unknown',
      colour: 'none',
      what: 'No node has shown its table.',
      next: 'Start a node.',
    }
  const lead = leadingTable(tables)!
  const free = lead.snapshot.slots - lead.snapshot.table.length
  const next =
    rows.length === 0
      ? 'A client that signs in gets a session: the op of its Register is its number.'
      : free > 0
        ? `${count(free, 'slot')} ${free === 1 ? 'is' : 'are'} free; only a full table lets a session go.`
        : `The next new client pushes out ${visible(rows[0]!.client)}: its newest reply is the oldest.`
  const differing = rows.filter(row => differences(row, nodes).size > 0)
  if (differing.length > 0)
    return {
      ...base,
      tone: 'change',
      glyph: 'change',
      colour: 'change',
      what: `${count(differing.length, 'session')} ${differing.length === 1 ? 'differs' : 'differ'} between nodes now.`,
      why: 'Answers are taken one after the other, and a node that is behind has not applied what the others have; once still, all tables are equal.',
      next,
    }
  return {
    ...base,
    tone: 'good',
    glyph: 'ok',
    colour: 'ok',
    what:
      rows.length === 0
        ? 'No session was registered yet.'
        : `${count(rows.length, 'session')}, the same on ${nodes.length === 1 ? `node-${nodes[0]}, which alone has answered` : `all ${nodes.length} nodes that answered`}.`,
    next,
  }
}

type Answer = EachAnswer<{
  readonly reporter: { readonly takenWallUs: string }
  readonly connections: TableOf['snapshot']['connections']
}>

function Connections(props: { answers: readonly Answer[]; onClient: (client: string) => void }) {
  const rows = props.answers.flatMap(answer =>
    (answer.data?.connections ?? []).map(item => ({ node: answer.node, ...item })),
  )
  const taken = props.answers.flatMap(answer => (answer.data ? [msOf(answer.data.reporter.takenWallUs)] : []))
  return (
    <Pane
      title="Connections"
      label="who is connected to which node now"
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
