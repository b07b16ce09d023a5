/**
 * Decoders of what lies on a disk, for checkers: written from the format alone and sharing no code with the engine's
 * (metadata-storage.md §1.2, §1.6, §2.1), so that a mistake there cannot hide here.
 */
import type { Hash } from '../../bytes/hash.ts'

export interface SlotState {
  readonly sequence: bigint
  readonly view: number
  readonly logView: number
  readonly commitMax: bigint
  readonly checkpointOp: bigint
  readonly checkpointChecksum: bigint
  readonly offsetFrontier: bigint
  readonly offsetReserved: bigint
}

/** `undefined`: there is no record; `corrupt`: there is one that does not verify. */
export function decodeSlot(hash: Hash, bytes: Uint8Array | undefined): SlotState | 'corrupt' | undefined {
  if (bytes === undefined || bytes.length === 0) return undefined
  if (bytes.length < 36) return 'corrupt'
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const length = view.getUint32(24, true)
  if (view.getUint32(0, true) !== 0x53424c4b || view.getUint16(4, true) !== 1) return 'corrupt'
  if (bytes.length !== 28 + length + 8 || (length !== 74 && length !== 58)) return 'corrupt'
  if (hash.xxh3(bytes.subarray(0, 28 + length)) !== view.getBigUint64(28 + length, true)) return 'corrupt'
  const at = 28
  return {
    sequence: view.getBigUint64(8, true),
    view: view.getUint32(at + 18, true),
    logView: view.getUint32(at + 22, true),
    commitMax: view.getBigUint64(at + 26, true),
    checkpointOp: view.getBigUint64(at + 34, true),
    checkpointChecksum: view.getBigUint64(at + 42, true) | (view.getBigUint64(at + 50, true) << 64n),
    offsetFrontier: length === 74 ? view.getBigUint64(at + 58, true) : 0n,
    offsetReserved: length === 74 ? view.getBigUint64(at + 66, true) : 0n,
  }
}

/** The newer of two slots; undefined when nothing was ever written, `corrupt` when either is damaged. */
export function newerSlot(
  a: SlotState | 'corrupt' | undefined,
  b: SlotState | 'corrupt' | undefined,
): SlotState | 'corrupt' | undefined {
  if (a === 'corrupt' || b === 'corrupt') return 'corrupt'
  if (a === undefined || b === undefined) return a ?? b
  return a.sequence >= b.sequence ? a : b
}

export interface SnapshotState {
  readonly op: bigint
  readonly checksum: bigint
}

/** The seal of a snapshot file, and the op that it is of (metadata-storage.md §3.1, §3.2). */
export function decodeSnapshotFile(hash: Hash, bytes: Uint8Array): SnapshotState | 'corrupt' {
  const end = bytes.length - 20
  if (end < 4) return 'corrupt'
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const checksum = view.getBigUint64(end + 4, true)
  if (view.getUint32(end, true) !== 0x49534e50 || hash.xxh3(bytes.subarray(0, end)) !== checksum) return 'corrupt'
  // [version, created at, op, …]: unsigned integers of one byte, or of a tag and 1, 2, 4 or 8 bytes.
  let at = 1
  const next = (): bigint => {
    const tag = bytes[at++]!
    if (tag < 0x80) return BigInt(tag)
    const size = 1 << (tag - 0xcc)
    let value = 0n
    for (let index = 0; index < size; index++) value = (value << 8n) | BigInt(bytes[at++]!)
    return value
  }
  next()
  next()
  return { op: next(), checksum }
}

export interface LogEntry {
  readonly position: number
  readonly op: bigint
  readonly view: number
  readonly checksum: bigint
  readonly parent: bigint
  readonly client: bigint
  readonly request: bigint
  readonly operation: number
}

/** Whole, verified entries from `from` on; stops at the first that is not, or behind `entriesMax` of them. */
export function decodeLog(
  hash: Hash,
  bytes: Uint8Array,
  size: number,
  from = 0,
  entriesMax = Number.POSITIVE_INFINITY,
): { entries: LogEntry[]; end: number } {
  const entries: LogEntry[] = []
  let at = from
  while (at + 256 <= size && entries.length < entriesMax) {
    const view = new DataView(bytes.buffer, bytes.byteOffset + at, 256)
    const length = view.getUint32(48, true)
    if (length < 256 || at + length > size || view.getUint8(60) !== 6) break
    const identity = bytes.slice(at, at + 256)
    identity.fill(0, 0, 16)
    identity.fill(0, 52, 56)
    const checksum = view.getBigUint64(0, true)
    // Every entry written here is sealed: one without a seal is what a torn write left, and it will be cut.
    if (checksum !== hash.xxh3(identity)) break
    const body = view.getBigUint64(16, true)
    if (body !== 0n && body !== hash.xxh3(bytes.subarray(at + 256, at + length))) break
    entries.push({
      position: at,
      op: view.getBigUint64(176, true),
      view: view.getUint32(52, true),
      checksum,
      parent: view.getBigUint64(144, true),
      client: view.getBigUint64(128, true) | (view.getBigUint64(136, true) << 64n),
      request: view.getBigUint64(200, true),
      operation: view.getUint8(208),
    })
    at += length
  }
  return { entries, end: at }
}
