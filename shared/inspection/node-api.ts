/**
 * The inspection endpoint of one node: loopback HTTP, GET only, JSON. A failure is `{code, message}` with a status of 400
 * (bad request), 404 (no such thing here) or 500. Paths and queries are built here for both sides.
 *
 * `/events` is newline-delimited JSON that never ends: each line is an array of events and gaps (an EventBatch), an empty
 * array being a heartbeat, sent at least every second. `after` with the `boot` it belongs to resumes; when the boot differs
 * the stream starts with the oldest event kept of the present one.
 */
import type { PartitionKey } from '../protocol/groups.ts'

export const NODE_PATHS = {
  snapshot: '/snapshot',
  topics: '/topics',
  superblocks: '/superblocks',
  wal: '/wal',
  clients: '/clients',
  recovery: '/recovery',
  events: '/events',
} as const

const partition = ({ stream, topic, partition }: PartitionKey) => `/partitions/${stream}/${topic}/${partition}`

export const nodePath = {
  group: (group: string) => `/groups/${group}`,
  partition,
  index: (key: PartitionKey, base: string) => `${partition(key)}/segments/${base}/index`,
  batches: (key: PartitionKey, base: string, fromPosition: number, limit: number) =>
    `${partition(key)}/segments/${base}/batches?from=${fromPosition}&limit=${limit}`,
  bytes: (key: PartitionKey, base: string, kind: 'log' | 'index', position: number, length: number) =>
    `${partition(key)}/segments/${base}/bytes?kind=${kind}&position=${position}&length=${length}`,
  events: (after: number, boot: string | undefined) =>
    `/events?after=${after}${boot === undefined ? '' : `&boot=${boot}`}`,
} as const

/** Silence on `/events` longer than this means that the node hangs: it beats once a second. */
export const NODE_HEARTBEAT_MS = 1_000
/** Bounds of one answer. */
export const BATCHES_LIMIT_MAX = 500
export const BYTES_LENGTH_MAX = 65_536
