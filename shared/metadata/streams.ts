/**
 * Apply rules of streams, topics and partitions (spec metadata-storage.md §4.5). Each takes the decoded body of a committed
 * op and the time in its prepare, checks in the order of the table, and either changes the state or answers a code; a
 * rejection changes nothing, which is also why every check comes before the first mutation.
 */
import type { Micros } from '../bytes/units.ts'
import { PARTITIONS_PER_TOPIC_MAX, STREAMS_MAX, TOPICS_PER_STREAM_MAX } from '../protocol/groups.ts'
import type { Ident } from '../protocol/ident.ts'
import type { Assignment } from '../protocol/replicated.ts'
import type { OptionEntry } from '../protocol/tlv.ts'
import { Slab } from './slab.ts'
import type { MetadataState, PartitionMeta, StreamMeta, TopicMeta } from './state.ts'
import { patchOptions, settingsOf, storeOptions } from './topic-options.ts'

/** Codes of a committed rejection (wire.md §5). */
export const Reject = {
  ResourceNotFound: 20,
  Unauthorized: 41,
  TokenAlreadyExists: 51,
  InvalidTokenExpiry: 56,
  StreamIdNotFound: 1009,
  StreamNameAlreadyExists: 1012,
  TooManyStreams: 1020,
  TopicIdNotFound: 2010,
  TopicNameAlreadyExists: 2013,
  InvalidPartitionsCount: 2019,
  TooManyTopics: 2021,
  PartitionNotFound: 3007,
  PartitionIdSpaceExhausted: 3013,
} as const

export type ApplyResult<T = undefined> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly code: number }
export const reject = (code: number): { readonly ok: false; readonly code: number } => ({ ok: false, code })
export const done: ApplyResult = { ok: true, value: undefined }

const U32_MAX = 0xffff_ffff

export function createStream(state: MetadataState, request: { name: string }, at: Micros): ApplyResult<StreamMeta> {
  if (state.stream({ kind: 'name', name: request.name })) return reject(Reject.StreamNameAlreadyExists)
  if (state.streams.nextKey() >= STREAMS_MAX) return reject(Reject.TooManyStreams)
  const value = state.streams.insert(id => ({
    id,
    name: request.name,
    createdAt: at,
    topics: new Slab<TopicMeta>(),
    options: [],
  }))
  return { ok: true, value }
}

export function updateStream(state: MetadataState, request: { stream: Ident; name: string }): ApplyResult {
  const stream = state.stream(request.stream)
  if (!stream) return reject(Reject.StreamIdNotFound)
  const owner = state.stream({ kind: 'name', name: request.name })
  if (owner && owner !== stream) return reject(Reject.StreamNameAlreadyExists)
  stream.name = request.name
  return done
}

export function deleteStream(state: MetadataState, request: { stream: Ident }): ApplyResult {
  const stream = state.stream(request.stream)
  if (!stream) return reject(Reject.StreamIdNotFound)
  state.streams.remove(stream.id)
  state.bumpRevision()
  return done
}

export function purgeStream(state: MetadataState, request: { stream: Ident }): ApplyResult {
  const stream = state.stream(request.stream)
  if (!stream) return reject(Reject.StreamIdNotFound)
  purge(state, [...stream.topics])
  return done
}

export function createTopic(
  state: MetadataState,
  request: {
    stream: Ident
    name: string
    explicit: readonly OptionEntry[]
    derived: readonly OptionEntry[]
    assignments: readonly Assignment[]
  },
  at: Micros,
): ApplyResult<TopicMeta> {
  const stream = state.stream(request.stream)
  if (!stream) return reject(Reject.StreamIdNotFound)
  if (state.topic(stream, { kind: 'name', name: request.name })) return reject(Reject.TopicNameAlreadyExists)
  if (stream.topics.nextKey() >= TOPICS_PER_STREAM_MAX) return reject(Reject.TooManyTopics)
  if (request.assignments.some(assignment => assignment.partitionId >= PARTITIONS_PER_TOPIC_MAX)) {
    return reject(Reject.PartitionIdSpaceExhausted)
  }
  if (hasDuplicates(request.assignments)) return reject(Reject.InvalidPartitionsCount)
  const revision = state.bumpRevision()
  const options = storeOptions(request.explicit, request.derived)
  const value = stream.topics.insert(id => ({
    id,
    name: request.name,
    createdAt: at,
    options,
    settings: settingsOf(options),
    partitions: newPartitions(state, request.assignments, 0, at, revision),
    consumerGroups: [],
    nextConsumerGroupId: 0n,
  }))
  return { ok: true, value }
}

export function updateTopic(
  state: MetadataState,
  request: { stream: Ident; topic: Ident; name: string; options: readonly OptionEntry[] },
): ApplyResult {
  const found = findTopic(state, request)
  if (!found.ok) return found
  const { stream, topic } = found.value
  const owner = state.topic(stream, { kind: 'name', name: request.name })
  if (owner && owner !== topic) return reject(Reject.TopicNameAlreadyExists)
  topic.name = request.name
  topic.options = patchOptions(topic.options, request.options)
  topic.settings = settingsOf(topic.options)
  return done
}

export function deleteTopic(state: MetadataState, request: { stream: Ident; topic: Ident }): ApplyResult {
  const found = findTopic(state, request)
  if (!found.ok) return found
  found.value.stream.topics.remove(found.value.topic.id)
  state.bumpRevision()
  return done
}

export function purgeTopic(state: MetadataState, request: { stream: Ident; topic: Ident }): ApplyResult {
  const found = findTopic(state, request)
  if (!found.ok) return found
  purge(state, [found.value.topic])
  return done
}

/** Assignments carry offsets from a base that is resolved here: one above the highest id. */
export function createPartitions(
  state: MetadataState,
  request: { stream: Ident; topic: Ident; assignments: readonly Assignment[] },
  at: Micros,
): ApplyResult {
  const found = findTopic(state, request)
  if (!found.ok) return found
  const { topic } = found.value
  const base = nextPartition(topic)
  if (
    request.assignments.some(assignment => base + assignment.partitionId > U32_MAX) ||
    hasDuplicates(request.assignments)
  ) {
    return reject(Reject.InvalidPartitionsCount)
  }
  if (request.assignments.some(assignment => base + assignment.partitionId >= PARTITIONS_PER_TOPIC_MAX)) {
    return reject(Reject.PartitionIdSpaceExhausted)
  }
  topic.partitions.push(...newPartitions(state, request.assignments, base, at, state.bumpRevision()))
  return done
}

export function deletePartitions(
  state: MetadataState,
  request: { stream: Ident; topic: Ident; count: number },
): ApplyResult {
  const found = findTopic(state, request)
  if (!found.ok) return found
  const { partitions } = found.value.topic
  if (request.count > partitions.length) return reject(Reject.InvalidPartitionsCount)
  if (request.count === 0) return done
  partitions.splice(partitions.length - request.count)
  state.bumpRevision()
  return done
}

/** Raises the delete watermark of a partition; the revision moves always, because it drives the removal of segments. */
export function truncatePartition(
  state: MetadataState,
  request: { stream: Ident; topic: Ident; partition: number; upToOffset: bigint },
): ApplyResult {
  const found = findTopic(state, request)
  if (!found.ok) return found
  const partition = found.value.topic.partitions.find(candidate => candidate.id === request.partition)
  if (!partition) return reject(Reject.PartitionNotFound)
  if (request.upToOffset > partition.deletedUpToOffset) partition.deletedUpToOffset = request.upToOffset
  state.bumpRevision()
  return done
}

function findTopic(
  state: MetadataState,
  { stream: streamIdent, topic: topicIdent }: { stream: Ident; topic: Ident },
): ApplyResult<{ stream: StreamMeta; topic: TopicMeta }> {
  const stream = state.stream(streamIdent)
  if (!stream) return reject(Reject.StreamIdNotFound)
  const topic = state.topic(stream, topicIdent)
  return topic ? { ok: true, value: { stream, topic } } : reject(Reject.TopicIdNotFound)
}

const nextPartition = (topic: TopicMeta): number => {
  const last = topic.partitions[topic.partitions.length - 1]
  return last ? last.id + 1 : 0
}

const hasDuplicates = (assignments: readonly Assignment[]): boolean =>
  new Set(assignments.map(assignment => assignment.partitionId)).size !== assignments.length

function newPartitions(
  state: MetadataState,
  assignments: readonly Assignment[],
  base: number,
  createdAt: Micros,
  createdRevision: bigint,
): PartitionMeta[] {
  for (const { consensusGroupId } of assignments) {
    if (consensusGroupId > state.highestConsensusGroup) state.highestConsensusGroup = consensusGroupId
  }
  return [...assignments]
    .sort((a, b) => a.partitionId - b.partitionId)
    .map(({ partitionId, consensusGroupId }) => ({
      id: base + partitionId,
      consensusGroup: consensusGroupId,
      createdAt,
      createdRevision,
      purgeGeneration: 0n,
      deletedUpToOffset: 0n,
    }))
}

/** Wraps the generation and clears the watermark in the same apply: a surviving one would trim what is written after. */
function purge(state: MetadataState, topics: readonly TopicMeta[]): void {
  let any = false
  for (const topic of topics) {
    for (const partition of topic.partitions) {
      partition.purgeGeneration = BigInt.asUintN(64, partition.purgeGeneration + 1n)
      partition.deletedUpToOffset = 0n
      any = true
    }
  }
  if (any) state.bumpRevision()
}
