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
import type { Hash, HashStream } from '../bytes/hash.ts'
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
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const bad = checkHeader(bytes, view, at)
  if (bad !== undefined) return bad
  const end = at + batchLengthAt(bytes, at)
  let frames = 0
  let p = at + BATCH_HEADER_BYTES
  while (p < end) {
    const length = checkFrame(bytes, view, p, end)
    if (typeof length !== 'number') return length
    if (hash !== undefined && hash.xxh3(bytes.subarray(p + 8, p + length)) !== view.getBigUint64(p, true))
      return wrongMessage(p, frames)
    frames++
    p += length
  }
  const count = view.getUint32(at + COUNT_AT, true)
  if (frames !== count) return wrongCount(at, frames, count)
  if (hash !== undefined && batchChecksum(hash, bytes, at) !== view.getBigUint64(at + CHECKSUM_AT, true))
    return wrongBatch(at)
  return { ok: true, end, messageCount: frames }
}

/** How much a walk has done since it last gave way, in bytes that are hashed in about the same time. */
export interface WorkMeter {
  cost: number
  /** Frames hashed since the beginning. */
  frames: number
}

/** A call of the hash takes as long as the hashing of some thousand bytes. */
export const FRAME_COST = 4096
/** Of a frame that is looked at and not hashed. */
const LOOK_COST = 64
/** A millisecond or two, so that it stays short on a machine that is busy elsewhere. */
export const SLICE_COST = 1024 * 1024
const SEAL_GATHERED_BYTES = 1024

/**
 * `checkBatch` with `hash` for records that would take too long in one go: yields whenever `meter` has reached SLICE_COST,
 * and returns the same verdict. `bytes` must stay as they are until it has.
 */
export function* checkBatchInSlices(
  bytes: Uint8Array,
  at: number,
  hash: Hash,
  meter: WorkMeter,
): Generator<void, BatchVerdict> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const bad = checkHeader(bytes, view, at)
  if (bad !== undefined) return bad
  const end = at + batchLengthAt(bytes, at)
  const count = view.getUint32(at + COUNT_AT, true)
  const seal = new SealStream(hash, bytes, at)
  let frames = 0
  let p = at + BATCH_HEADER_BYTES
  while (p < end) {
    const length = checkFrame(bytes, view, p, end)
    if (typeof length !== 'number') return length
    const body = bytes.subarray(p + 8, p + length)
    meter.frames++
    const checksum = body.length > SLICE_COST ? yield* xxh3InSlices(hash, body, meter) : hash.xxh3(body)
    if (checksum !== view.getBigUint64(p, true)) return wrongMessage(p, frames)
    seal.add(view, p)
    frames++
    p += length
    meter.cost += FRAME_COST + (length > SLICE_COST ? 0 : length)
    if (meter.cost >= SLICE_COST) yield* pause(meter)
  }
  if (frames !== count) return wrongCount(at, frames, count)
  return seal.digest() === view.getBigUint64(at + CHECKSUM_AT, true)
    ? { ok: true, end, messageCount: frames }
    : wrongBatch(at)
}

/**
 * What a record must fulfil that is cheap to find out: layout, batch checksum, and no frame at `badFrame`, which is known to
 * be wrong. Costs a fiftieth of `checkBatchInSlices` for small messages; a record that passes may still be damaged.
 */
export function* sealHoldsInSlices(
  bytes: Uint8Array,
  hash: Hash,
  meter: WorkMeter,
  badFrame: number | undefined,
): Generator<void, boolean> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (checkHeader(bytes, view, 0) !== undefined) return false
  const end = batchLengthAt(bytes, 0)
  const seal = new SealStream(hash, bytes, 0)
  let frames = 0
  for (let p = BATCH_HEADER_BYTES; p < end; frames++) {
    const length = checkFrame(bytes, view, p, end)
    if (typeof length !== 'number' || p === badFrame) return false
    seal.add(view, p)
    p += length
    meter.cost += LOOK_COST
    if (meter.cost >= SLICE_COST) yield* pause(meter)
  }
  return frames === view.getUint32(COUNT_AT, true) && seal.digest() === view.getBigUint64(CHECKSUM_AT, true)
}

/** The batch checksum of a long record, whose frames are met one by one: a call of the hash for each would be most of the work. */
class SealStream {
  private readonly stream: HashStream
  private readonly gathered: Uint8Array
  private readonly view: DataView
  private used = 0

  constructor(hash: Hash, bytes: Uint8Array, at: number) {
    this.stream = hash
      .xxh3Stream()
      .update(bytes.subarray(at, at + CHECKSUM_AT))
      .update(bytes.subarray(at + COUNT_AT, at + COUNT_AT + 4))
    // No frame is shorter than its header, whatever the count claims.
    const frames = Math.ceil(batchLengthAt(bytes, at) / MESSAGE_HEADER_BYTES)
    this.gathered = new Uint8Array(Math.min(8 * frames, SEAL_GATHERED_BYTES))
    this.view = new DataView(this.gathered.buffer)
  }

  /** The stored checksum of the frame at `p`. */
  add(view: DataView, p: number): void {
    if (this.used === this.gathered.length) {
      this.stream.update(this.gathered)
      this.used = 0
    }
    this.view.setUint32(this.used, view.getUint32(p))
    this.view.setUint32(this.used + 4, view.getUint32(p + 4))
    this.used += 8
  }

  digest(): Checksum {
    return this.stream.update(this.gathered.subarray(0, this.used)).digest()
  }
}

function* xxh3InSlices(hash: Hash, bytes: Uint8Array, meter: WorkMeter): Generator<void, Checksum> {
  const stream = hash.xxh3Stream()
  for (let from = 0; from < bytes.length; from += SLICE_COST) {
    stream.update(bytes.subarray(from, from + SLICE_COST))
    meter.cost += SLICE_COST
    yield* pause(meter)
  }
  return stream.digest()
}

function* pause(meter: WorkMeter): Generator<void> {
  yield
  meter.cost = 0
}

/** What is wrong with the header at `at`, or with the length that it claims. */
function checkHeader(bytes: Uint8Array, view: DataView, at: number): BatchVerdict | undefined {
  const available = bytes.length - at
  if (available < BATCH_HEADER_BYTES) {
    return damage(
      'header_cut',
      at,
      `a batch header needs ${BATCH_HEADER_BYTES} bytes, ${Math.max(0, available)} are left`,
    )
  }
  const length = batchLengthAt(bytes, at)
  if (length < BATCH_HEADER_BYTES)
    return damage('batch_length', at + BATCH_LENGTH_AT, `batch length ${length} is below ${BATCH_HEADER_BYTES}`)
  for (let p = at + RESERVED_AT; p < at + BATCH_HEADER_BYTES; p += 4) {
    if (view.getUint32(p, true) !== 0)
      return damage('batch_reserved', firstNonZero(bytes, p), 'the batch header has a nonzero reserved byte')
  }
  if (length > available)
    return damage('batch_cut', at + available, `batch length ${length}, but ${available} bytes are left`)
  return undefined
}

/** Length of the frame at `p`, or what is wrong with its layout. */
function checkFrame(bytes: Uint8Array, view: DataView, p: number, end: number): number | BatchVerdict {
  if (end - p < MESSAGE_HEADER_BYTES) return damage('frame_length', p, `${end - p} bytes are no message frame`)
  const length = MESSAGE_HEADER_BYTES + view.getUint32(p + 32, true) + view.getUint32(p + 36, true)
  if (length > end - p)
    return damage('frame_length', p + 32, `a frame of ${length} bytes does not fit the ${end - p} left`)
  if (view.getUint32(p + 40, true) !== 0 || view.getUint32(p + 44, true) !== 0)
    return damage('frame_reserved', firstNonZero(bytes, p + 40), 'a message frame has a nonzero reserved byte')
  return length
}

const wrongMessage = (p: number, frames: number): BatchVerdict =>
  damage('message_checksum', p, `the checksum of message ${frames} does not match`)
const wrongCount = (at: number, frames: number, count: number): BatchVerdict =>
  damage('message_count', at + COUNT_AT, `${frames} frames, but the header says ${count}`)
const wrongBatch = (at: number): BatchVerdict =>
  damage('batch_checksum', at + CHECKSUM_AT, 'the batch checksum does not match')

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
