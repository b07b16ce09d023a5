/**
 * The client tables of several nodes laid side by side, in the order in which a full table would let its sessions go
 * (spec metadata-storage.md §5). Every node holds the same table once it has applied the same ops; what differs is drawn.
 * Pure.
 */
import type { SessionSnapshot } from '../../../shared/inspection/logs.ts'
import type { ClientSnapshot } from '../../../shared/inspection/snapshots.ts'

export type TableEntry = ClientSnapshot['table'][number]
export interface TableOf {
  readonly node: number
  readonly snapshot: ClientSnapshot
}

export interface SessionRow {
  readonly client: string
  /** By node; undefined where it has no session. */
  readonly on: ReadonlyMap<number, TableEntry>
  /** As the leading reporter has it, 1 goes first; undefined where only others have it. */
  readonly rank: number | undefined
  readonly slot: number | undefined
}

/** The smallest latest commit goes first, ties to the lowest slot. */
export const evictionOrder = (table: readonly TableEntry[]): TableEntry[] =>
  [...table].sort((a, b) => compare(BigInt(a.latestCommit), BigInt(b.latestCommit)) || a.slot - b.slot)

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)

/** Whose table is taken for the order: the one that has applied the most. */
export function leadingTable(tables: readonly TableOf[]): TableOf | undefined {
  const newest = (of: TableOf): bigint =>
    of.snapshot.table.reduce(
      (most, entry) => (BigInt(entry.latestCommit) > most ? BigInt(entry.latestCommit) : most),
      -1n,
    )
  return [...tables].sort((a, b) => compare(newest(b), newest(a)) || a.node - b.node)[0]
}

export function sessionRows(tables: readonly TableOf[]): SessionRow[] {
  const lead = leadingTable(tables)
  const ranks = new Map(evictionOrder(lead?.snapshot.table ?? []).map((entry, index) => [entry.client, index + 1]))
  const rows = new Map<string, Map<number, TableEntry>>()
  for (const { node, snapshot } of tables)
    for (const entry of snapshot.table) {
      const on = rows.get(entry.client) ?? new Map<number, TableEntry>()
      rows.set(entry.client, on.set(node, entry))
    }
  return [...rows]
    .map(([client, on]): SessionRow => {
      const here = lead && on.get(lead.node)
      return { client, on, rank: ranks.get(client), slot: here?.slot }
    })
    .sort((a, b) => (a.rank ?? Number.MAX_SAFE_INTEGER) - (b.rank ?? Number.MAX_SAFE_INTEGER))
}

const FIELDS = ['session', 'user', 'watermark', 'latestCommit', 'cachedReplies'] as const
export type SessionField = (typeof FIELDS)[number]

/** Fields in which the nodes that have answered differ; a session that one of them lacks differs in all. */
export function differences(row: SessionRow, nodes: readonly number[]): ReadonlySet<SessionField> {
  const held = nodes.map(node => row.on.get(node))
  if (held.some(entry => entry === undefined)) return new Set(FIELDS)
  return new Set(FIELDS.filter(field => new Set(held.map(entry => String(entry![field]))).size > 1))
}

/** What all nodes that have answered agree on; undefined when they differ. */
export const agreedOn = (row: SessionRow, nodes: readonly number[], field: SessionField): string | undefined =>
  differences(row, nodes).has(field) ? undefined : String(row.on.get(nodes[0]!)![field])

export type RetryVerdict = 'new' | 'duplicate' | 'already_applied' | 'no_session'
export const RETRY_WORDS: Readonly<Record<RetryVerdict, string>> = {
  new: 'runs: above the watermark, so nobody has applied it',
  duplicate: 'runs no second time: the kept reply is sent again',
  already_applied: 'runs no second time: it was applied, and its reply is not kept any more',
  no_session: 'is refused: there is no session, the client must sign in',
}

/** What becomes of a request of this session's own epoch (§5, request check). */
export function retryVerdict(session: SessionSnapshot | undefined, request: bigint): RetryVerdict {
  if (!session) return 'no_session'
  if (request > BigInt(session.watermark)) return 'new'
  return session.replies.some(reply => BigInt(reply.request) === request) ? 'duplicate' : 'already_applied'
}
