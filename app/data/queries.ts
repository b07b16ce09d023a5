/** Questions to the console: one place for paths, keys and how often each is asked again. */
import { keepPreviousData, QueryClient, queryOptions } from '@tanstack/react-query'
import { type StreamMessage, topicsAnswer } from '../../shared/inspection/api.ts'
import { FORWARDS_LIMIT_MAX, forwardsAnswer } from '../../shared/inspection/forwards.ts'
import { linksAnswer } from '../../shared/inspection/links.ts'
import { groupAnswer } from '../../shared/inspection/node-api.ts'
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
import { liveSource } from './live.ts'
import { SourceError } from './source.ts'
import { paused } from './store.ts'

/** Bytes and slots change rarely; facts on the stream ask again sooner. */
const SLOW_MS = 2000
const QUICK_MS = 1000

/** While the view is paused nothing on it may change. */
const every = (ms: number) => (): number | false => (paused.get() === undefined ? ms : false)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 500,
      gcTime: 60_000,
      refetchOnWindowFocus: true,
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
const partitionPath = (node: number, at: PartitionAt): string =>
  `/api/nodes/${node}/partitions/${at.stream}/${at.topic}/${at.partition}`

export const queries = {
  topics: () =>
    queryOptions({
      queryKey: ['topics'],
      queryFn: ({ signal }) => liveSource.read('/api/topics', topicsAnswer, signal),
      refetchInterval: every(SLOW_MS),
    }),
  forwards: () =>
    queryOptions({
      queryKey: ['forwards'],
      queryFn: ({ signal }) => liveSource.read(`/api/forwards?limit=${FORWARDS_LIMIT_MAX}`, forwardsAnswer, signal),
      refetchInterval: every(QUICK_MS),
    }),
  links: () =>
    queryOptions({
      queryKey: ['links'],
      queryFn: ({ signal }) => liveSource.read('/api/links', linksAnswer, signal),
      refetchInterval: every(QUICK_MS),
    }),
  group: (node: number, group: string) =>
    queryOptions({
      queryKey: ['node', node, 'group', group],
      queryFn: ({ signal }) => liveSource.read(`/api/nodes/${node}/groups/${group}`, groupAnswer, signal),
      refetchInterval: every(QUICK_MS),
    }),
  superblocks: (node: number) =>
    queryOptions({
      queryKey: ['node', node, 'superblocks'],
      queryFn: ({ signal }) => liveSource.read(`/api/nodes/${node}/superblocks`, superblocksSnapshot, signal),
      refetchInterval: every(SLOW_MS),
    }),
  wal: (node: number) =>
    queryOptions({
      queryKey: ['node', node, 'wal'],
      queryFn: ({ signal }) => liveSource.read(`/api/nodes/${node}/wal`, walSnapshot, signal),
      refetchInterval: every(SLOW_MS),
    }),
  clients: (node: number) =>
    queryOptions({
      queryKey: ['node', node, 'clients'],
      queryFn: ({ signal }) => liveSource.read(`/api/nodes/${node}/clients`, clientSnapshot, signal),
      refetchInterval: every(SLOW_MS),
    }),
  recovery: (node: number) =>
    queryOptions({
      queryKey: ['node', node, 'recovery'],
      queryFn: ({ signal }) => liveSource.read(`/api/nodes/${node}/recovery`, recoverySnapshot, signal),
      refetchInterval: every(SLOW_MS * 2),
    }),
  partition: (node: number, at: PartitionAt) =>
    queryOptions({
      queryKey: ['node', node, 'partition', at.stream, at.topic, at.partition],
      queryFn: ({ signal }) => liveSource.read(partitionPath(node, at), partitionSnapshot, signal),
      refetchInterval: every(QUICK_MS),
    }),
  index: (node: number, at: PartitionAt, segment: string) =>
    queryOptions({
      queryKey: ['node', node, 'partition', at.stream, at.topic, at.partition, 'index', segment],
      queryFn: ({ signal }) =>
        liveSource.read(`${partitionPath(node, at)}/segments/${segment}/index`, indexSnapshot, signal),
      refetchInterval: every(QUICK_MS),
    }),
  batches: (node: number, at: PartitionAt, segment: string, from: number, limit: number) =>
    queryOptions({
      queryKey: ['node', node, 'partition', at.stream, at.topic, at.partition, 'batches', segment, from, limit],
      queryFn: ({ signal }) =>
        liveSource.read(
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
        liveSource.read(
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
  index_floored: 'partition',
}

export function refreshFrom(message: StreamMessage): void {
  if (paused.get() !== undefined) return
  // A gap is never spliced: whatever was asked before is asked anew.
  if (message.event === 'gap' || message.event === 'hello' || message.event === 'nodes')
    void queryClient.invalidateQueries()
  if (message.event !== 'batch') return
  const asked = new Set<string>()
  for (const item of message.data) {
    const topic = REFRESHES[item.kind]
    if (topic !== undefined && !asked.has(`${item.node} ${topic}`)) {
      asked.add(`${item.node} ${topic}`)
      void queryClient.invalidateQueries({ queryKey: ['node', item.node, topic] })
    }
    if (item.kind.startsWith('link_')) {
      if (!asked.has('links')) {
        asked.add('links')
        void queryClient.invalidateQueries({ queryKey: ['links'] })
      }
    }
    if (item.kind.startsWith('topic_') || item.kind.startsWith('stream_') || item.kind === 'load_started') {
      void queryClient.invalidateQueries({ queryKey: ['topics'] })
    }
  }
}
