/**
 * The inspection endpoint of one node: loopback HTTP, JSON. A failure is `{error: {code, message}}` with status 400 (bad
 * request), 404 (no such thing here) or 5xx. Every answer carries its `reporter`.
 *
 * `/events` is newline-delimited JSON that never ends: each line is an event or a gap; an empty line is a heartbeat, sent
 * each second when nothing else is. `after` with the `boot` it belongs to resumes; when the boot differs the stream starts
 * with the oldest event kept of the present one.
 */
import { z } from 'zod'
import type { PartitionKey } from '../protocol/groups.ts'
import { groupSnapshot, reporter, topicNames } from './snapshots.ts'

const partition = ({ stream, topic, partition }: PartitionKey) => `/partitions/${stream}/${topic}/${partition}`

export const nodePath = {
  snapshot: '/node',
  topics: '/topics',
  superblocks: '/superblocks',
  wal: '/wal',
  walEntry: (op: string) => `/wal/entries/${op}`,
  walScan: '/wal/scan',
  clients: '/clients',
  session: (client: string) => `/clients/${client}`,
  journal: (key: PartitionKey) => `${partition(key)}/journal`,
  recovery: '/recovery',
  forwards: (limit: number) => `/forwards?limit=${limit}`,
  group: (group: string) => `/groups/${group}`,
  counters: (group: string) => `/groups/${group}/counters`,
  /** POST: every flow event of the group for the next 30 s. */
  watch: (group: string) => `/watch/${group}`,
  partition,
  /** Entries from the one at or before byte `from` up to byte `to`; with `offset` instead, from its floor on. */
  index: (key: PartitionKey, base: string, ask: IndexAsk) =>
    `${partition(key)}/segments/${base}/index?limit=${ask.limit}${ask.offset === undefined ? `&from=${ask.from}&to=${ask.to}` : `&offset=${ask.offset}`}`,
  batches: (key: PartitionKey, base: string, fromPosition: number, limit: number) =>
    `${partition(key)}/segments/${base}/batches?from=${fromPosition}&limit=${limit}`,
  bytes: (key: PartitionKey, base: string, kind: 'log' | 'index', position: number, length: number) =>
    `${partition(key)}/segments/${base}/bytes?kind=${kind}&position=${position}&length=${length}`,
  events: (after: number, boot: string | undefined) =>
    `/events?after=${after}${boot === undefined ? '' : `&boot=${boot}`}`,
} as const

export const groupAnswer = z.object({ reporter, group: groupSnapshot })
export const countersAnswer = z.object({ reporter, counters: z.record(z.string(), z.number()) })
export const nodeTopicsAnswer = topicNames.extend({ reporter })

export interface IndexAsk {
  readonly limit: number
  readonly from: number
  readonly to: number
  readonly offset?: string | undefined
}

/** Silence on `/events` longer than a few of these means that the node hangs. */
export const NODE_HEARTBEAT_MS = 1_000
/** Bounds of one answer. */
export const BATCHES_LIMIT_MAX = 1000
export const INDEX_LIMIT_MAX = 1000
/** Beyond the end of any segment. */
export const POSITION_MAX_BYTES = 2 ** 40
export const BYTES_LENGTH_MAX = 65_536
