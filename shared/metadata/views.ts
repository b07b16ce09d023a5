/** How streams, topics and partitions look in a reply (spec wire.md §3.4, §3.5). */
import { Offset } from '../bytes/units.ts'
import type { PartitionKey } from '../protocol/groups.ts'
import type { StreamDetails } from '../protocol/streams.ts'
import type { OptionEntry } from '../protocol/tlv.ts'
import type { PartitionInfo, TopicDetails, TopicHeader } from '../protocol/topics.ts'
import type { PartitionMeta, StreamMeta, TopicMeta } from './state.ts'
import type { StoredOption } from './topic-options.ts'

/** What a node counts of one partition; not part of the replicated state. */
export interface PartitionStats {
  readonly segments: number
  readonly currentOffset: Offset
  readonly sizeBytes: bigint
  readonly messages: bigint
}
export type StatsOf = (key: PartitionKey) => PartitionStats

/** What the reply of a create says, on every replica alike: nothing is there yet. */
export const NO_STATS: StatsOf = () => ({ segments: 0, currentOffset: Offset(0n), sizeBytes: 0n, messages: 0n })

const side = (options: readonly StoredOption[], explicit: boolean): OptionEntry[] =>
  options.filter(option => option.explicit === explicit)

export function topicView(stream: number, topic: TopicMeta, stats: StatsOf): TopicHeader {
  const partitions = topic.partitions.map(partition => stats({ stream, topic: topic.id, partition: partition.id }))
  return {
    id: topic.id,
    createdAt: topic.createdAt,
    partitionsCount: topic.partitions.length,
    messageExpiry: topic.settings.messageExpiry,
    compression: topic.settings.compression,
    maxTopicSize: topic.settings.maxTopicSize,
    sizeBytes: sum(partitions, partition => partition.sizeBytes),
    messagesCount: sum(partitions, partition => partition.messages),
    name: topic.name,
    explicitOptions: side(topic.options, true),
    derivedOptions: side(topic.options, false),
  }
}

export function topicDetailsView(stream: number, topic: TopicMeta, stats: StatsOf): TopicDetails {
  const partitions = topic.partitions.map(partition => partitionView(stream, topic.id, partition, stats))
  return { ...topicView(stream, topic, stats), partitions }
}

function partitionView(stream: number, topic: number, partition: PartitionMeta, stats: StatsOf): PartitionInfo {
  const { segments, currentOffset, sizeBytes, messages } = stats({ stream, topic, partition: partition.id })
  return {
    id: partition.id,
    createdAt: partition.createdAt,
    segmentsCount: segments,
    currentOffset,
    sizeBytes,
    messagesCount: messages,
  }
}

export function streamDetailsView(stream: StreamMeta, stats: StatsOf): StreamDetails {
  const topics = [...stream.topics].map(topic => topicView(stream.id, topic, stats))
  return {
    id: stream.id,
    createdAt: stream.createdAt,
    topicsCount: topics.length,
    sizeBytes: sum(topics, topic => topic.sizeBytes),
    messagesCount: sum(topics, topic => topic.messagesCount),
    name: stream.name,
    options: [],
    topics,
  }
}

const sum = <T>(items: readonly T[], of: (item: T) => bigint): bigint =>
  items.reduce((total, item) => total + of(item), 0n)
