/**
 * Sending, polling and consumer offsets (spec wire.md §3.7, §3.8).
 *
 *   send:  metadataLength u32 | [ Ident stream | Ident topic | Partitioning | messagesCount u32 ] | batch
 *     Partitioning: kind u8 | length u8 | value     1 balanced, 0 bytes; 2 partition id, u32; 3 messages key, 1..255 bytes
 *     reply: count u32 | per confirmation: streamId u32 | topicId u32 | partitionId u32 | baseOffset u64
 *   poll:  Consumer | Ident stream | Ident topic | PartFlag | strategy u8 | value u64 | count u32 | autoCommit u8
 *     PartFlag: flag u8 | partition u32, always five bytes
 *     reply: partitionId u32 | currentOffset u64 | count u32 | batch records back to back
 *   offset get:    Consumer | Ident stream | Ident topic | PartFlag          store: … | offset u64 | ack u8
 *   flush: Ident stream | Ident topic | partitionId u32 | fsync u8
 *   offset delete: … | ack u8      reply of get: partitionId u32 | currentOffset u64 | storedOffset u64, or nothing
 */
import { DecodeError } from '../bytes/errors.ts'
import { fromHex, toHex } from '../bytes/hex.ts'
import type { Micros, Offset } from '../bytes/units.ts'
import { decodeBatch } from './batch.ts'
import { block32, bool, type Codec, type CodecValue, list32, orEmpty, rest, struct, u8, u32, u64 } from './codec.ts'
import { consumer, ident } from './ident.ts'

export type Partitioning =
  /** The server picks, round-robin per topic. */
  | { readonly kind: 'balanced' }
  | { readonly kind: 'partition'; readonly partition: number }
  /** The server picks by XXH32 of the key; 1..255 bytes. */
  | { readonly kind: 'key'; readonly key: Uint8Array }

export const partitioning: Codec<Partitioning> = {
  read(reader) {
    const at = reader.at
    const kind = reader.u8()
    const length = reader.u8()
    if (kind === 1) {
      if (length !== 0) throw new DecodeError('BadSize', at + 1, `balanced has no value, not ${length} bytes`)
      return { kind: 'balanced' }
    }
    if (kind === 2) {
      if (length !== 4) throw new DecodeError('BadSize', at + 1, `a partition id has 4 bytes, not ${length}`)
      return { kind: 'partition', partition: reader.u32() }
    }
    if (kind !== 3) throw new DecodeError('BadValue', at, `partitioning kind ${kind} is unknown`)
    if (length === 0) throw new DecodeError('BadSize', at + 1, 'a messages key is empty')
    return { kind: 'key', key: reader.raw(length) }
  },
  write(writer, value) {
    if (value.kind === 'balanced') {
      writer.u8(1)
      writer.u8(0)
    } else if (value.kind === 'partition') {
      writer.u8(2)
      writer.u8(4)
      writer.u32(value.partition)
    } else {
      if (value.key.length === 0) throw new RangeError('a messages key is empty')
      writer.u8(3)
      writer.u8(value.key.length)
      writer.raw(value.key)
    }
  },
  toJson: value => (value.kind === 'key' ? { kind: 'key', key: toHex(value.key) } : value),
  fromJson: json => {
    const value = json as { kind: string; partition?: number; key?: string }
    if (value.kind === 'balanced') return { kind: 'balanced' }
    if (value.kind === 'partition') return { kind: 'partition', partition: Number(value.partition) }
    if (value.kind === 'key') return { kind: 'key', key: fromHex(value.key ?? '') }
    throw new TypeError(`${value.kind} is no partitioning`)
  },
}

export const sendMetadata = struct({ stream: ident, topic: ident, partitioning, messagesCount: u32 })
export type SendMetadata = CodecValue<typeof sendMetadata>
/** `batch` is the record as it stands (batch.ts); decoding gives a view of the body. */
export const sendMessages = struct({ metadata: block32(sendMetadata), batch: rest })
export type SendMessages = CodecValue<typeof sendMessages>

export const confirmation = struct({ streamId: u32, topicId: u32, partitionId: u32, baseOffset: u64<Offset>() })
export type Confirmation = CodecValue<typeof confirmation>
/** One confirmation, or none when the offset could not be resolved. An empty body means the same. */
export const sendReply = list32(confirmation)

/** An absent partition is written as 0; what stands beside a flag of 0 means nothing and is not held against a client. */
const partFlag: Codec<number | undefined> = {
  read(reader) {
    const at = reader.at
    const flag = reader.u8()
    const partition = reader.u32()
    if (flag > 1) throw new DecodeError('BadValue', at, `partition flag ${flag} is neither 0 nor 1`)
    return flag === 1 ? partition : undefined
  },
  write(writer, value) {
    writer.u8(value === undefined ? 0 : 1)
    writer.u32(value ?? 0)
  },
  toJson: value => value ?? null,
  fromJson: json => (json === null ? undefined : Number(json)),
}

export const PollKind = { offset: 1, timestamp: 2, first: 3, last: 4, next: 5 } as const

/**
 * `strategy` is left a number, because an unknown one is answered with an empty poll and not with an error (§3.8.3).
 * `value` is an offset or a time in µs; other strategies carry 0.
 */
export const pollMessages = struct({
  consumer,
  stream: ident,
  topic: ident,
  partition: partFlag,
  strategy: u8,
  value: u64(),
  count: u32,
  autoCommit: bool,
})
export type PollMessages = CodecValue<typeof pollMessages>

/** Partition id of a poll reply that tells a group member to synchronise again. */
export const RESYNC_PARTITION = 0xffff_ffff

export const pollReply = struct({ partitionId: u32, currentOffset: u64<Offset>(), count: u32, records: rest })
export type PollReply = CodecValue<typeof pollReply>

/** A polled message with the numbers that its batch gives it. */
export interface PolledMessage {
  readonly offset: Offset
  /** Append time; one for the whole batch. */
  readonly timestamp: Micros
  readonly originTimestamp: Micros
  readonly id: bigint
  readonly checksum: bigint
  readonly payload: Uint8Array
  /** Encoded pairs, see `userHeaders` in tlv.ts. */
  readonly userHeaders: Uint8Array
}

/**
 * The messages of a poll reply, in order; the layout of every record is checked, and their number against `count`.
 * @throws DecodeError with positions from the start of `records`.
 */
export function polledMessages(reply: PollReply): PolledMessage[] {
  const messages: PolledMessage[] = []
  for (let at = 0; at < reply.records.length; ) {
    const batch = decodeBatch(reply.records, at)
    const { baseOffset, baseTimestamp, originTimestamp, batchLength } = batch.header
    for (const { header, payload, userHeaders } of batch.messages) {
      messages.push({
        offset: (baseOffset + BigInt(header.offsetDelta)) as Offset,
        timestamp: baseTimestamp,
        originTimestamp: (originTimestamp + BigInt(header.timestampDelta)) as Micros,
        id: header.id,
        checksum: header.checksum,
        payload,
        userHeaders,
      })
    }
    at += Number(batchLength)
  }
  if (messages.length !== reply.count) {
    throw new DecodeError('BadCount', 0, `${messages.length} messages, but the reply says ${reply.count}`)
  }
  return messages
}

/** `fsync`: force the bytes to the disk, also where the topic does not ask for it. */
export const flushBuffer = struct({ stream: ident, topic: ident, partition: u32, fsync: bool })
export type FlushBuffer = CodecValue<typeof flushBuffer>

const offsetTarget = { consumer, stream: ident, topic: ident, partition: partFlag } as const
export const getOffset = struct(offsetTarget)
export type GetOffset = CodecValue<typeof getOffset>
/** `ack`: 0 = the primary's own write is enough, 1 = a quorum. */
export const storeOffset = struct({ ...offsetTarget, offset: u64<Offset>(), ack: u8 })
export type StoreOffset = CodecValue<typeof storeOffset>
export const deleteOffset = struct({ ...offsetTarget, ack: u8 })
export type DeleteOffset = CodecValue<typeof deleteOffset>
export const storedOffset = struct({ partitionId: u32, currentOffset: u64<Offset>(), storedOffset: u64<Offset>() })
export type StoredOffset = CodecValue<typeof storedOffset>
export const getOffsetReply = orEmpty(storedOffset)
