/**
 * Topics, partitions and segments (spec wire.md §3.5).
 *
 *   create topic:  Ident stream | partitionsCount u32 | name text8 | options
 *   update topic:  Ident stream | Ident topic | name text8 | options
 *   get, delete, purge topic: Ident stream | Ident topic
 *   create, delete partitions: Ident stream | Ident topic | count u32
 *   delete segments: Ident stream | Ident topic | partitionId u32 | segmentsCount u32
 *   TopicHeader: id u32 | createdAt u64 | partitionsCount u32 | messageExpiry u64 | compression u8 | maxTopicSize u64
 *                | sizeBytes u64 | messagesCount u64 | name text8 | explicit options, then derived ones, each in a block
 *                with a u32 length
 *   Partition, 40 bytes: id u32 | createdAt u64 | segmentsCount u32 | currentOffset u64 | sizeBytes u64 | messagesCount u64
 */
import type { Micros, Offset } from '../bytes/units.ts'
import { block32, type CodecValue, list32, listToEnd, name, orEmpty, struct, u8, u32, u64 } from './codec.ts'
import { ident } from './ident.ts'
import { options } from './tlv.ts'

const headerMembers = {
  id: u32,
  createdAt: u64<Micros>(),
  partitionsCount: u32,
  /** µs; 2^64-1 = never. */
  messageExpiry: u64(),
  /** 1 none, 2 gzip. */
  compression: u8,
  /** Bytes; 2^64-1 = unlimited. */
  maxTopicSize: u64(),
  sizeBytes: u64(),
  messagesCount: u64(),
  name,
  explicitOptions: block32(options),
  derivedOptions: block32(options),
} as const

export const topicHeader = struct(headerMembers)
export type TopicHeader = CodecValue<typeof topicHeader>

export const partitionInfo = struct({
  id: u32,
  createdAt: u64<Micros>(),
  segmentsCount: u32,
  /** Highest committed offset; 0 both for "empty" and for "one message". */
  currentOffset: u64<Offset>(),
  sizeBytes: u64(),
  messagesCount: u64(),
})
export type PartitionInfo = CodecValue<typeof partitionInfo>

export const createTopic = struct({ stream: ident, partitionsCount: u32, name, options })
export type CreateTopic = CodecValue<typeof createTopic>
export const updateTopic = struct({ stream: ident, topic: ident, name, options })
export type UpdateTopic = CodecValue<typeof updateTopic>
/** Request of get, delete and purge topic, and of list groups. */
export const topicRef = struct({ stream: ident, topic: ident })
export type TopicRef = CodecValue<typeof topicRef>
/** Request of create and delete partitions. */
export const partitionsChange = struct({ stream: ident, topic: ident, count: u32 })
export type PartitionsChange = CodecValue<typeof partitionsChange>
export const deleteSegments = struct({ stream: ident, topic: ident, partitionId: u32, segmentsCount: u32 })
export type DeleteSegments = CodecValue<typeof deleteSegments>

/** The topic with its partitions; also the reply of create. */
export const topicDetails = struct({ ...headerMembers, partitions: listToEnd(partitionInfo) })
export type TopicDetails = CodecValue<typeof topicDetails>
/** Reply of get; an empty body when stream or topic is missing. */
export const getTopicReply = orEmpty(topicDetails)
/** Reply of list: the only list with a count; a missing stream answers 0 topics. */
export const listTopicsReply = list32(topicHeader)
