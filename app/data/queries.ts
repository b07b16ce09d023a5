/** Questions to the console: one place for paths, keys and how often each is asked again. */
import { keepPreviousData, QueryClient, queryOptions } from '@tanstack/react-query'
import { type StreamMessage, topicsAnswer } from '../../shared/inspection/api.ts'
import { filesAnswer, logAnswer } from '../../shared/inspection/files.ts'
import { FORWARDS_LIMIT_MAX, forwardsAnswer } from '../../shared/inspection/forwards.ts'
import { linksAnswer } from '../../shared/inspection/links.ts'
import {
  DIRECTORY_BOOT,
  journalSnapshot,
  sessionSnapshot,
  walEntrySnapshot,
  walScanSnapshot,
} from '../../shared/inspection/logs.ts'
import { groupAnswer } from '../../shared/inspection/node-api.ts'
import { consumersAnswer, type PollStrategyName, polledAnswer } from '../../shared/inspection/polls.ts'
import {
  batchesSnapshot,
  bytesSnapshot,
  clientSnapshot,
  indexSnapshot,
  partitionSnapshot,
  recoverySnapshot,
  superblocksSnapshot,
  walSnapshot,
} from '../../shared/inspection/snapshots.ts'
import { ask } from './ask.ts'
import { SourceError } from './source.ts'
import { asOf, paused } from './store.ts'

/** Bytes and slots change rarely; facts on the stream ask again sooner. */
const SLOW_MS = 2000
const QUICK_MS = 1000

/** Lines of a log that a screen shows. */
const LOG_LINES = 200

/** While the view is paused nothing on it may change. */
const every = (ms: number) => (): number | false => (paused.get() === undefined ? ms : false)

/** A list this long is a good part of a megabyte as an answer: it is asked for less often. */
const LONG_LIST = 1000
const isLong = (data: unknown): boolean =>
  ((data as { groups?: readonly unknown[] } | undefined)?.groups?.length ?? 0) > LONG_LIST
const byLength = (length = 0) => every(length > LONG_LIST ? SLOW_MS * 2 : QUICK_MS)()

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 500,
      gcTime: 60_000,
      refetchOnWindowFocus: () => paused.get() === undefined,
      placeholderData: keepPreviousData,
      // A node that is down is an answer, not an accident: the next interval asks again anyway.
      retry: (failures, error) => failures < 2 && error instanceof SourceError && error.status === 0,
    },
  },
})

export interface PartitionAt {
  readonly stream: string
  readonly topic: string
  readonly partition: string
}
/** How messages are polled; `value` and `consumer` as the address has them. */
export interface PollQuestion {
  readonly by: PollStrategyName
  readonly value: string
  readonly count: number
  readonly consumer: string
}
export const partitionPath = (node: number, at: PartitionAt): string =>
  `/api/nodes/${node}/partitions/${at.stream}/${at.topic}/${at.partition}`

export const queries = {
  topics: () =>
    queryOptions({
      queryKey: ['topics'],
      queryFn: ({ signal }) => ask('/api/topics', topicsAnswer, signal),
      refetchInterval: every(SLOW_MS),
    }),
  forwards: () =>
    queryOptions({
      queryKey: ['forwards'],
      queryFn: ({ signal }) => ask(`/api/forwards?limit=${FORWARDS_LIMIT_MAX}`, forwardsAnswer, signal),
      refetchInterval: every(QUICK_MS),
    }),
  links: () =>
    queryOptions({
      queryKey: ['links'],
      queryFn: ({ signal }) => ask('/api/links', linksAnswer, signal),
      refetchInterval: every(QUICK_MS),
    }),
  group: (node: number, group: string) =>
    queryOptions({
      queryKey: ['node', node, 'group', group],
      queryFn: ({ signal }) => ask(`/api/nodes/${node}/groups/${group}`, groupAnswer, signal),
      refetchInterval: every(QUICK_MS),
    }),
  superblocks: (node: number) =>
    queryOptions({
      queryKey: ['node', node, 'superblocks'],
      queryFn: ({ signal }) => ask(`/api/nodes/${node}/superblocks`, superblocksSnapshot, signal),
      refetchInterval: ({ state }) => every(isLong(state.data) ? SLOW_MS * 2 : SLOW_MS)(),
    }),
  wal: (node: number, everyMs = SLOW_MS) =>
    queryOptions({
      queryKey: ['node', node, 'wal'],
      queryFn: ({ signal }) => ask(`/api/nodes/${node}/wal`, walSnapshot, signal),
      // A file that nobody writes is read whole each time.
      refetchInterval: ({ state }) => every(state.data?.reporter.boot === DIRECTORY_BOOT ? SLOW_MS * 2 : everyMs)(),
    }),
  walEntry: (node: number, op: string) =>
    queryOptions({
      queryKey: ['node', node, 'wal', 'entry', op],
      queryFn: ({ signal }) => ask(`/api/nodes/${node}/wal/entries/${op}`, walEntrySnapshot, signal),
      refetchInterval: every(SLOW_MS * 2),
      placeholderData: () => undefined,
    }),
  /** Reads the whole file: asked for by hand, and by itself of a directory that nobody serves. */
  walScan: (node: number) =>
    queryOptions({
      queryKey: ['node', node, 'wal', 'scan'],
      queryFn: ({ signal }) => ask(`/api/nodes/${node}/wal/scan`, walScanSnapshot, signal),
      enabled: false,
      refetchInterval: ({ state }) => state.data?.reporter.boot === DIRECTORY_BOOT && every(SLOW_MS * 2)(),
      placeholderData: () => undefined,
    }),
  journal: (node: number, at: PartitionAt, everyMs = SLOW_MS) =>
    queryOptions({
      queryKey: ['node', node, 'partition', at.stream, at.topic, at.partition, 'journal'],
      queryFn: ({ signal }) => ask(`${partitionPath(node, at)}/journal`, journalSnapshot, signal),
      refetchInterval: every(everyMs),
      placeholderData: () => undefined,
    }),
  session: (node: number, client: string) =>
    queryOptions({
      queryKey: ['node', node, 'clients', client],
      queryFn: ({ signal }) => ask(`/api/nodes/${node}/clients/${client}`, sessionSnapshot, signal),
      refetchInterval: every(SLOW_MS),
      placeholderData: () => undefined,
    }),
  clients: (node: number) =>
    queryOptions({
      queryKey: ['node', node, 'clients'],
      queryFn: ({ signal }) => ask(`/api/nodes/${node}/clients`, clientSnapshot, signal),
      refetchInterval: every(SLOW_MS),
    }),
  recovery: (node: number) =>
    queryOptions({
      queryKey: ['node', node, 'recovery'],
      queryFn: ({ signal }) => ask(`/api/nodes/${node}/recovery`, recoverySnapshot, signal),
      refetchInterval: every(SLOW_MS * 2),
    }),
  files: (node: number) =>
    queryOptions({
      queryKey: ['node', node, 'files'],
      queryFn: ({ signal }) => ask(`/api/nodes/${node}/files`, filesAnswer, signal),
      refetchInterval: every(SLOW_MS * 2),
    }),
  log: (node: number) =>
    queryOptions({
      queryKey: ['node', node, 'log'],
      queryFn: ({ signal }) => ask(`/api/nodes/${node}/log?lines=${LOG_LINES}`, logAnswer, signal),
      refetchInterval: every(SLOW_MS),
    }),
  partition: (node: number, at: PartitionAt) =>
    queryOptions({
      queryKey: ['node', node, 'partition', at.stream, at.topic, at.partition],
      queryFn: ({ signal }) => ask(partitionPath(node, at), partitionSnapshot, signal),
      refetchInterval: ({ state }) => byLength(state.data?.segments.length),
    }),
  /** Index entries between two places of a segment, every n-th where there are many. */
  index: (node: number, at: PartitionAt, segment: string, from: number, to: number) =>
    queryOptions({
      queryKey: ['node', node, 'partition', at.stream, at.topic, at.partition, 'index', segment, from, to],
      queryFn: ({ signal }) =>
        ask(`${partitionPath(node, at)}/segments/${segment}/index?from=${from}&to=${to}`, indexSnapshot, signal),
      refetchInterval: ({ state }) => byLength(state.data?.entries.length),
    }),
  /** The entry that a read of an offset starts from, and the one behind it. */
  indexFloor: (node: number, at: PartitionAt, segment: string, offset: string) =>
    queryOptions({
      queryKey: ['node', node, 'partition', at.stream, at.topic, at.partition, 'index', segment, offset],
      queryFn: ({ signal }) =>
        ask(`${partitionPath(node, at)}/segments/${segment}/index?offset=${offset}&limit=2`, indexSnapshot, signal),
      refetchInterval: every(QUICK_MS),
      // What is known of another offset is no answer for this one.
      placeholderData: () => undefined,
    }),
  /** What a client of this node gets. Asked by hand: a reader's list does not move on by itself. */
  messages: (node: number, at: PartitionAt, { by, value, count, consumer }: PollQuestion) =>
    queryOptions({
      queryKey: ['node', node, 'messages', at.stream, at.topic, at.partition, by, value, count, consumer],
      queryFn: ({ signal }) => {
        const query = new URLSearchParams({ strategy: by, value, count: String(count), consumer })
        return ask(`${partitionPath(node, at)}/messages?${query}`, polledAnswer, signal)
      },
      staleTime: 'static',
      gcTime: 5_000,
      placeholderData: () => undefined,
    }),
  consumers: (node: number, at: PartitionAt) =>
    queryOptions({
      queryKey: ['node', node, 'partition', at.stream, at.topic, at.partition, 'consumers'],
      queryFn: ({ signal }) => ask(`${partitionPath(node, at)}/consumers`, consumersAnswer, signal),
      refetchInterval: every(SLOW_MS),
    }),
  batches: (node: number, at: PartitionAt, segment: string, from: number, limit: number) =>
    queryOptions({
      queryKey: ['node', node, 'partition', at.stream, at.topic, at.partition, 'batches', segment, from, limit],
      queryFn: ({ signal }) =>
        ask(
          `${partitionPath(node, at)}/segments/${segment}/batches?from=${from}&limit=${limit}`,
          batchesSnapshot,
          signal,
        ),
      refetchInterval: every(QUICK_MS),
    }),
  bytes: (node: number, at: PartitionAt, segment: string, file: 'log' | 'index', position: number, length: number) =>
    queryOptions({
      queryKey: [
        'node',
        node,
        'partition',
        at.stream,
        at.topic,
        at.partition,
        'bytes',
        segment,
        file,
        position,
        length,
      ],
      queryFn: ({ signal }) =>
        ask(
          `${partitionPath(node, at)}/segments/${segment}/bytes?kind=${file}&position=${position}&length=${length}`,
          bytesSnapshot,
          signal,
        ),
      refetchInterval: every(SLOW_MS * 2),
    }),
}

/** Facts that change what an answer says: the question is asked again at once instead of at its next turn. */
const REFRESHES: Readonly<Record<string, string>> = {
  superblock_durable: 'superblocks',
  view_started: 'group',
  view_adopted: 'group',
  view_change_started: 'group',
  start_view_change_received: 'group',
  do_view_change_received: 'group',
  segment_rolled: 'partition',
  segment_removed: 'partition',
  retention_removed: 'partition',
  partition_purged: 'partition',
  index_floored: 'partition',
}

/**
 * An election of 2,000 groups tells its facts by the ten thousand: whatever they ask for is asked once, half a second apart,
 * and never given up for being asked again. Long lists have their own pace, or the nodes would do nothing but list them.
 */
const AGAIN_MS = 500
const due = new Map<string, readonly (string | number)[]>()
let againTimer: ReturnType<typeof setTimeout> | undefined
let againMs = Number.NEGATIVE_INFINITY
let allTimer: ReturnType<typeof setTimeout> | undefined
let allMs = Number.NEGATIVE_INFINITY

function askAgain(queryKey: readonly (string | number)[]): void {
  due.set(queryKey.join(' '), queryKey)
  if (againTimer === undefined) againTimer = setTimeout(putAgain, Math.max(0, againMs + AGAIN_MS - performance.now()))
}

function putAgain(): void {
  againTimer = undefined
  againMs = performance.now()
  const keys = [...due.values()]
  due.clear()
  if (paused.get() !== undefined) return
  for (const queryKey of keys)
    void queryClient.invalidateQueries(
      { queryKey, predicate: query => !isLong(query.state.data) },
      { cancelRefetch: false },
    )
}

/** Kills and starts change every picture, and come in threes: all is asked at once, then again when it has been quiet. */
function askAllAgain(): void {
  const now = performance.now()
  clearTimeout(allTimer)
  if (now - allMs < AGAIN_MS) {
    allTimer = setTimeout(askAllAgain, allMs + AGAIN_MS - now)
    return
  }
  allMs = now
  if (paused.get() === undefined) void queryClient.invalidateQueries()
}

export function refreshFrom(message: StreamMessage): void {
  if (paused.get() !== undefined) return
  // A gap is never spliced: whatever was asked before is asked anew.
  if (message.event === 'gap' || message.event === 'hello' || message.event === 'nodes') askAllAgain()
  if (message.event !== 'batch') return
  for (const item of message.data) {
    const topic = REFRESHES[item.kind]
    if (topic !== undefined) askAgain(['node', item.node, topic])
    if (item.kind.startsWith('link_')) askAgain(['links'])
    if (item.kind.startsWith('topic_') || item.kind.startsWith('stream_') || item.kind === 'load_started')
      askAgain(['topics'])
  }
}

/**
 * Another moment: what was answered for the one before says nothing of it, so it is not shown for an instant longer. The
 * library of drills and the list of recordings are of no moment.
 */
const TIMELESS = new Set(['drills', 'recordings'])
asOf.subscribe(() => {
  void queryClient.resetQueries({ predicate: query => !TIMELESS.has(String(query.queryKey[0])) })
})

/** A timer that was set before the pause would ask once more, and so would what is on its way then. */
paused.subscribe(() => {
  if (paused.get() === undefined) return
  for (const query of queryClient.getQueryCache().getAll())
    for (const observer of query.observers) observer.setOptions(observer.options)
  void queryClient.cancelQueries({ predicate: query => query.state.data !== undefined })
})
