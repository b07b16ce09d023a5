/**
 * Streams (spec wire.md §3.4).
 *
 *   create: name text8 | options            get, delete, purge: Ident          update: Ident | name text8 | options
 *   Stream: id u32 | createdAt u64 | topicsCount u32 | sizeBytes u64 | messagesCount u64 | name text8
 *           | options, in a block with a u32 length
 */
import type { Micros } from '../bytes/units.ts'
import { block32, type CodecValue, listToEnd, name, orEmpty, struct, u32, u64 } from './codec.ts'
import { ident } from './ident.ts'
import { options } from './tlv.ts'
import { topicHeader } from './topics.ts'

const streamMembers = {
  id: u32,
  createdAt: u64<Micros>(),
  topicsCount: u32,
  sizeBytes: u64(),
  messagesCount: u64(),
  name,
  options: block32(options),
} as const

export const stream = struct(streamMembers)
export type Stream = CodecValue<typeof stream>

export const createStream = struct({ name, options })
export type CreateStream = CodecValue<typeof createStream>
export const updateStream = struct({ stream: ident, name, options })
export type UpdateStream = CodecValue<typeof updateStream>
/** Request of get, delete and purge. */
export const streamRef = struct({ stream: ident })
export type StreamRef = CodecValue<typeof streamRef>

/** Reply of get: the stream with its topics; an empty body when there is no such stream. */
export const streamDetails = struct({ ...streamMembers, topics: listToEnd(topicHeader) })
export type StreamDetails = CodecValue<typeof streamDetails>
export const getStreamReply = orEmpty(streamDetails)
/** Reply of list: to the end of the body, without a count. */
export const listStreamsReply = listToEnd(stream)
