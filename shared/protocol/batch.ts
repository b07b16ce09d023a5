/**
 * The batch record: one layout for the produce body, the prepare body, the `.log` file and poll replies (spec wire.md
 * §3.8.1, partition.md §2.1–2.3, §11).
 *
 *   batch header, 256 bytes
 *     0 partitionId u64 | 8 baseOffset u64 | 16 baseTimestamp u64 | 24 originTimestamp u64 | 32 batchLength u64
 *     40 checksum u64 | 48 messageCount u32 | 52 reserved 204, must be zero
 *   then message frames that tile the rest exactly, each
 *     0 checksum u64 | 8 id u128 | 24 offsetDelta u32 | 28 timestampDelta u32 | 32 userHeadersLength u32
 *     36 payloadLength u32 | 40 reserved 8, must be zero | 48 payload, then user headers
 *
 * A message checksum is XXH3-64 over its frame from byte 8 on. The batch checksum covers the header fields (with a message
 * count of four bytes) and the stored message checksums only: bodies are bound through their frames, so a verifying walk
 * must hash both.
 *
 * The walks run over whole files and on every produce, so they create no object per message: they read through one
 * DataView and answer one verdict per batch.
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { checked, type LayoutRecord, layout, u32, u64, u128 } from '../bytes/layout.ts'
import { Checksum, type Micros, type Offset } from '../bytes/units.ts'

export const BATCH_HEADER_BYTES = 256
export const MESSAGE_HEADER_BYTES = 48

export const batchHeaderLayout = layout(
  'BatchHeader',
  BATCH_HEADER_BYTES,
  {
    partitionId: u64(0),
    baseOffset: u64<Offset>(8),
    baseTimestamp: u64<Micros>(16),
    originTimestamp: u64<Micros>(24),
    batchLength: u64(32),
    checksum: u64<Checksum>(40),
    messageCount: u32(48),
  },
  [checked(52, 204)],
)
export type BatchHeader = LayoutRecord<typeof batchHeaderLayout>

export const messageHeaderLayout = layout(
  'MessageHeader',
  MESSAGE_HEADER_BYTES,
  {
    checksum: u64<Checksum>(0),
    id: u128(8),
    offsetDelta: u32(24),
    timestampDelta: u32(28),
    userHeadersLength: u32(32),
    payloadLength: u32(36),
  },
  [checked(40, 8)],
)
export type MessageHeader = LayoutRecord<typeof messageHeaderLayout>

const BATCH_LENGTH_AT = 32
const CHECKSUM_AT = 40
const COUNT_AT = 48
const RESERVED_AT = 52

/** What is wrong with a batch, in the order in which the checks run. */
export type BatchCheck =
  /** Fewer than 256 bytes are left. */
  | 'header_cut'
  /** `batchLength` below 256. */
  | 'batch_length'
  | 'batch_reserved'
  /** `batchLength` reaches past the end of the bytes. */
  | 'batch_cut'
  /** A frame reaches past the end of its batch. */
  | 'frame_length'
  | 'frame_reserved'
  | 'message_checksum'
  /** The frames tile the batch, but there are more or fewer than `messageCount`. */
  | 'message_count'
  | 'batch_checksum'

export type BatchVerdict =
  | {
      readonly ok: true
      /** Position one past the record. */
      readonly end: number
      readonly messageCount: number
    }
  | {
      readonly ok: false
      readonly check: BatchCheck
      /** First byte that the failed check concerns, counted from the start of `bytes`. */
      readonly position: number
      readonly message: string
    }

const damage = (check: BatchCheck, position: number, message: string): BatchVerdict => ({
  ok: false,
  check,
  position,
  message,
})

/** Length of the record whose complete header stands at `at`; unchecked, and as a number because a file is far below 2^53. */
export function batchLengthAt(bytes: Uint8Array, at: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return view.getUint32(at + BATCH_LENGTH_AT + 4, true) * 0x1_0000_0000 + view.getUint32(at + BATCH_LENGTH_AT, true)
}

/**
 * Walks one record at `at`; `bytes` may go on past it. Without `hash` it checks the layout only (§2.3): header, tiling and
 * count. With `hash` it also checks every message checksum and the batch checksum. Never throws.
 */
export function checkBatch(bytes: Uint8Array, at = 0, hash?: Hash): BatchVerdict {
  const available = bytes.length - at
  if (available < BATCH_HEADER_BYTES) {
    return damage(
      'header_cut',
      at,
      `a batch header needs ${BATCH_HEADER_BYTES} bytes, ${Math.max(0, available)} are left`,
    )
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const length = batchLengthAt(bytes, at)
  if (length < BATCH_HEADER_BYTES)
    return damage('batch_length', at + BATCH_LENGTH_AT, `batch length ${length} is below ${BATCH_HEADER_BYTES}`)
  for (let p = at + RESERVED_AT; p < at + BATCH_HEADER_BYTES; p += 4) {
    if (view.getUint32(p, true) !== 0)
      return damage('batch_reserved', firstNonZero(bytes, p), 'the batch header has a nonzero reserved byte')
  }
  if (length > available)
    return damage('batch_cut', at + available, `batch length ${length}, but ${available} bytes are left`)

  const end = at + length
  const count = view.getUint32(at + COUNT_AT, true)
  let frames = 0
  let p = at + BATCH_HEADER_BYTES
  while (p < end) {
    if (end - p < MESSAGE_HEADER_BYTES) return damage('frame_length', p, `${end - p} bytes are no message frame`)
    const frameLength = MESSAGE_HEADER_BYTES + view.getUint32(p + 32, true) + view.getUint32(p + 36, true)
    if (frameLength > end - p)
      return damage('frame_length', p + 32, `a frame of ${frameLength} bytes does not fit the ${end - p} left`)
    if (view.getUint32(p + 40, true) !== 0 || view.getUint32(p + 44, true) !== 0) {
      return damage('frame_reserved', firstNonZero(bytes, p + 40), 'a message frame has a nonzero reserved byte')
    }
    if (hash !== undefined && hash.xxh3(bytes.subarray(p + 8, p + frameLength)) !== view.getBigUint64(p, true)) {
      return damage('message_checksum', p, `the checksum of message ${frames} does not match`)
    }
    frames++
    p += frameLength
  }
  if (frames !== count) return damage('message_count', at + COUNT_AT, `${frames} frames, but the header says ${count}`)
  if (hash !== undefined && batchChecksum(hash, bytes, at) !== view.getBigUint64(at + CHECKSUM_AT, true)) {
    return damage('batch_checksum', at + CHECKSUM_AT, 'the batch checksum does not match')
  }
  return { ok: true, end, messageCount: frames }
}

function firstNonZero(bytes: Uint8Array, at: number): number {
  let p = at
  while (bytes[p] === 0) p++
  return p
}

const DECODE_CODE = {
  header_cut: 'TooShort',
  batch_length: 'BadSize',
  batch_reserved: 'ReservedNotZero',
  batch_cut: 'TooShort',
  frame_length: 'BadSize',
  frame_reserved: 'ReservedNotZero',
  message_checksum: 'BadBodyChecksum',
  message_count: 'BadCount',
  batch_checksum: 'BadChecksum',
} as const

/**
 * Decodes the header of a record that passes `checkBatch`.
 * @throws DecodeError on any damage; `context.actual` names the failed check.
 */
export function openBatch(bytes: Uint8Array, at = 0, hash?: Hash): BatchHeader {
  const verdict = checkBatch(bytes, at, hash)
  if (!verdict.ok)
    throw new DecodeError(DECODE_CODE[verdict.check], verdict.position, verdict.message, { actual: verdict.check })
  return batchHeaderLayout.decode(bytes, at)
}

/** Grown to the largest batch seen; hashing is synchronous and never re-entered. */
let checksumInput = new Uint8Array(4096)

/** Batch checksum over the header fields and the stored message checksums. The layout must have been checked. */
export function batchChecksum(hash: Hash, bytes: Uint8Array, at = 0): Checksum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const count = view.getUint32(at + COUNT_AT, true)
  const needed = 44 + 8 * count
  if (checksumInput.length < needed) checksumInput = new Uint8Array(needed * 2)
  checksumInput.set(bytes.subarray(at, at + CHECKSUM_AT), 0)
  checksumInput.set(bytes.subarray(at + COUNT_AT, at + COUNT_AT + 4), 40)
  const into = new DataView(checksumInput.buffer)
  let p = at + BATCH_HEADER_BYTES
  for (let index = 0, q = 44; index < count; index++, q += 8) {
    into.setUint32(q, view.getUint32(p, true), true)
    into.setUint32(q + 4, view.getUint32(p + 4, true), true)
    p += MESSAGE_HEADER_BYTES + view.getUint32(p + 32, true) + view.getUint32(p + 36, true)
  }
  return hash.xxh3(checksumInput.subarray(0, needed))
}

/** What the server writes into a producer's batch (§2.1): partition at admission, offset and time when it is journalled. */
export interface BatchStamp {
  readonly partitionId: number
  readonly baseOffset: Offset
  readonly baseTimestamp: Micros
}

/** Stamps a record in place and recomputes its checksum; message frames stay as they are. The layout must have been checked. */
export function stampBatch(hash: Hash, bytes: Uint8Array, at: number, stamp: BatchStamp): Checksum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  view.setBigUint64(at, BigInt(stamp.partitionId), true)
  view.setBigUint64(at + 8, stamp.baseOffset, true)
  view.setBigUint64(at + 16, stamp.baseTimestamp, true)
  const checksum = batchChecksum(hash, bytes, at)
  view.setBigUint64(at + CHECKSUM_AT, checksum, true)
  return checksum
}

/**
 * Part of a record for a poll reply: the messages `first` to `first + count - 1`, counted from 0. A new record with its
 * length, count and checksum rewritten; base offset, timestamps and every frame (offset delta included) are kept. The whole
 * batch comes back as a view of `bytes`, not as a copy. The layout must have been checked.
 */
export function sliceBatch(hash: Hash, bytes: Uint8Array, at: number, first: number, count: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const total = view.getUint32(at + COUNT_AT, true)
  if (!(first >= 0 && count >= 1 && first + count <= total))
    throw new RangeError(`messages ${first}+${count} of ${total}`)
  if (count === total) return bytes.subarray(at, at + batchLengthAt(bytes, at))
  let p = at + BATCH_HEADER_BYTES
  let from = p
  for (let index = 0; index < first + count; index++) {
    if (index === first) from = p
    p += MESSAGE_HEADER_BYTES + view.getUint32(p + 32, true) + view.getUint32(p + 36, true)
  }
  const part = new Uint8Array(BATCH_HEADER_BYTES + p - from)
  part.set(bytes.subarray(at, at + BATCH_HEADER_BYTES))
  part.set(bytes.subarray(from, p), BATCH_HEADER_BYTES)
  const into = new DataView(part.buffer)
  into.setBigUint64(BATCH_LENGTH_AT, BigInt(part.length), true)
  into.setUint32(COUNT_AT, count, true)
  into.setBigUint64(CHECKSUM_AT, batchChecksum(hash, part), true)
  return part
}

/** A message as a person or a program handles it. */
export interface Message {
  readonly header: MessageHeader
  readonly payload: Uint8Array
  /** TLV pairs (wire.md §4.5), undecoded. */
  readonly userHeaders: Uint8Array
}

/** A decoded record: for the client, the inspector and tests; the engine stays on the bytes. */
export interface Batch {
  readonly header: BatchHeader
  readonly messages: readonly Message[]
}

/** @throws DecodeError as `openBatch`. Payloads and user headers are views of `bytes`. */
export function decodeBatch(bytes: Uint8Array, at = 0, hash?: Hash): Batch {
  const header = openBatch(bytes, at, hash)
  const messages: Message[] = []
  let p = at + BATCH_HEADER_BYTES
  for (let index = 0; index < header.messageCount; index++) {
    const message = messageHeaderLayout.decode(bytes, p)
    const payloadAt = p + MESSAGE_HEADER_BYTES
    const headersAt = payloadAt + message.payloadLength
    p = headersAt + message.userHeadersLength
    messages.push({
      header: message,
      payload: bytes.subarray(payloadAt, headersAt),
      userHeaders: bytes.subarray(headersAt, p),
    })
  }
  return { header, messages }
}

/** Writes a decoded record back, every stored value as it is (checksums included). */
export function encodeBatch(batch: Batch): Uint8Array {
  const length = batch.messages.reduce(
    (sum, { payload, userHeaders }) => sum + MESSAGE_HEADER_BYTES + payload.length + userHeaders.length,
    BATCH_HEADER_BYTES,
  )
  const bytes = new Uint8Array(length)
  batchHeaderLayout.encode(batch.header, bytes)
  let p = BATCH_HEADER_BYTES
  for (const { header, payload, userHeaders } of batch.messages) {
    messageHeaderLayout.encode(header, bytes, p)
    bytes.set(payload, p + MESSAGE_HEADER_BYTES)
    bytes.set(userHeaders, p + MESSAGE_HEADER_BYTES + payload.length)
    p += MESSAGE_HEADER_BYTES + payload.length + userHeaders.length
  }
  return bytes
}

export interface ProducedMessage {
  /** Nonzero; the caller draws it (a UUID read as a number). */
  readonly id: bigint
  readonly payload: Uint8Array
  /** Encoded TLV pairs; empty when absent. */
  readonly userHeaders?: Uint8Array
  readonly originTimestamp: Micros
}

const NO_BYTES = new Uint8Array(0)
const TIMESTAMP_DELTA_MAX = 0xffff_ffffn

/**
 * Builds a producer's batch: partition, base offset and base timestamp 0, origin timestamp the minimum of the messages'.
 * @throws RangeError when there is no message, or when the origin timestamps lie further apart than a u32 of µs.
 */
export function produceBatch(hash: Hash, messages: readonly ProducedMessage[]): Uint8Array {
  if (messages.length === 0) throw new RangeError('a batch needs a message')
  let origin = messages[0]!.originTimestamp
  let length = BATCH_HEADER_BYTES
  for (const message of messages) {
    if (message.originTimestamp < origin) origin = message.originTimestamp
    length += MESSAGE_HEADER_BYTES + message.payload.length + (message.userHeaders?.length ?? 0)
  }
  const bytes = new Uint8Array(length)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(24, origin, true)
  view.setBigUint64(BATCH_LENGTH_AT, BigInt(length), true)
  view.setUint32(COUNT_AT, messages.length, true)
  let p = BATCH_HEADER_BYTES
  messages.forEach((message, index) => {
    const userHeaders = message.userHeaders ?? NO_BYTES
    const timestampDelta = message.originTimestamp - origin
    if (timestampDelta > TIMESTAMP_DELTA_MAX)
      throw new RangeError(`message ${index} is ${timestampDelta} µs after the first`)
    const header = {
      checksum: Checksum(0n),
      id: message.id,
      offsetDelta: index,
      timestampDelta: Number(timestampDelta),
      userHeadersLength: userHeaders.length,
      payloadLength: message.payload.length,
    }
    messageHeaderLayout.encode(header, bytes, p)
    bytes.set(message.payload, p + MESSAGE_HEADER_BYTES)
    bytes.set(userHeaders, p + MESSAGE_HEADER_BYTES + message.payload.length)
    const end = p + MESSAGE_HEADER_BYTES + message.payload.length + userHeaders.length
    view.setBigUint64(p, hash.xxh3(bytes.subarray(p + 8, end)), true)
    p = end
  })
  view.setBigUint64(CHECKSUM_AT, batchChecksum(hash, bytes), true)
  return bytes
}
