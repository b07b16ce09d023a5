/**
 * Segment files as a checker reads them: written from the format alone and sharing no code with the engine's walk (spec
 * partition.md §2.1–2.5, §6.4–6.8), so that a mistake there cannot hide here. Slow and plain on purpose.
 */
import type { Hash } from '../../bytes/hash.ts'

export interface ReadBatch {
  readonly position: number
  readonly bytes: number
  readonly base: bigint
  readonly count: number
  readonly timestamp: bigint
}

const HEADER = 256
const FRAME = 48

/** The whole, verified batch of this partition at `at`; undefined when there is none. */
export function readBatch(
  hash: Hash,
  bytes: Uint8Array,
  size: number,
  at: number,
  partition: number,
): ReadBatch | undefined {
  if (at + HEADER > size) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, size)
  const length = Number(view.getBigUint64(at + 32, true))
  const count = view.getUint32(at + 48, true)
  if (length < HEADER || at + length > size || count === 0) return undefined
  for (let index = at + 52; index < at + HEADER; index++) if (bytes[index] !== 0) return undefined
  const sealed = new Uint8Array(44 + 8 * count)
  sealed.set(bytes.subarray(at, at + 40))
  sealed.set(bytes.subarray(at + 48, at + 52), 40)
  let frame = at + HEADER
  for (let index = 0; index < count; index++) {
    if (frame + FRAME > at + length) return undefined
    const end = frame + FRAME + view.getUint32(frame + 32, true) + view.getUint32(frame + 36, true)
    if (end > at + length || view.getBigUint64(frame + 40, true) !== 0n) return undefined
    if (hash.xxh3(bytes.subarray(frame + 8, end)) !== view.getBigUint64(frame, true)) return undefined
    sealed.set(bytes.subarray(frame, frame + 8), 44 + 8 * index)
    frame = end
  }
  if (frame !== at + length || hash.xxh3(sealed) !== view.getBigUint64(at + 40, true)) return undefined
  if (view.getBigUint64(at, true) !== BigInt(partition)) return undefined
  const base = view.getBigUint64(at + 8, true)
  return { position: at, bytes: length, base, count, timestamp: view.getBigUint64(at + 16, true) }
}

export interface ReadSegment {
  readonly start: bigint
  readonly batches: readonly ReadBatch[]
  /** Exclusive; `start` when there is no batch. */
  readonly end: bigint
  /** Bytes of the whole batches from byte 0 on. */
  readonly walked: number
  /** A whole batch stands where another one belongs. */
  readonly contradicts: boolean
  /** Behind the bytes that are no batch another whole one follows. */
  readonly survivor: boolean
}

/** Every batch from byte 0 on; with `search`, what follows the first bytes that are none is looked through byte by byte. */
export function readSegment(
  hash: Hash,
  bytes: Uint8Array,
  size: number,
  start: bigint,
  partition: number,
  search = true,
): ReadSegment {
  const batches: ReadBatch[] = []
  let at = 0
  let end = start
  let contradicts = false
  for (
    let batch = readBatch(hash, bytes, size, 0, partition);
    batch;
    batch = readBatch(hash, bytes, size, at, partition)
  ) {
    contradicts = batch.base !== end
    if (contradicts) break
    batches.push(batch)
    at += batch.bytes
    end = batch.base + BigInt(batch.count)
  }
  let survivor = false
  for (let from = at + 1; search && !contradicts && !survivor && from + HEADER <= size; from++) {
    const batch = readBatch(hash, bytes, size, from, partition)
    survivor = batch !== undefined && batch.base >= end
  }
  return { start, batches, end, walked: at, contradicts, survivor }
}

/** What an anchor file says (§6.8); undefined when it proves nothing. */
export function readAnchorFile(
  hash: Hash,
  bytes: Uint8Array | undefined,
): { readonly planted: bigint; readonly sealedStart: bigint; readonly sealedEnd: bigint } | undefined {
  if (bytes?.length !== 40) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, 40)
  const magic = String.fromCharCode(...bytes.subarray(0, 8))
  if (magic !== 'IGGYANCH' || hash.xxh3(bytes.subarray(0, 32)) !== view.getBigUint64(32, true)) return undefined
  const [planted, sealedStart, sealedEnd] = [8, 16, 24].map(at => view.getBigUint64(at, true))
  return { planted: planted!, sealedStart: sealedStart!, sealedEnd: sealedEnd! }
}

/** Why these segments, in order, make no chain (§6.8); undefined when they do. */
export function brokenChain(
  segments: readonly ReadSegment[],
  anchorOf: (start: bigint) => ReturnType<typeof readAnchorFile>,
): string | undefined {
  for (const { start, survivor, contradicts } of segments) {
    if (survivor) return `segment ${start} is damaged in front of a whole batch`
    if (contradicts) return `segment ${start} holds a batch that does not follow the one before it`
  }
  for (const [index, next] of segments.entries()) {
    const before = segments[index - 1]
    if (before === undefined || (before.walked > 0 && before.end === next.start)) continue
    const anchor = anchorOf(next.start)
    const admitted =
      before.walked > 0 &&
      before.end < next.start &&
      anchor?.planted === next.start &&
      anchor.sealedStart === before.start &&
      anchor.sealedEnd === before.end - 1n
    if (!admitted) return `segment ${next.start} does not follow segment ${before.start}, which ends at ${before.end}`
  }
  return undefined
}
