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

/** Whole, verified entries from `from` on; stops at the first that is not. */
export function decodeLog(hash: Hash, bytes: Uint8Array, size: number, from = 0): { entries: LogEntry[]; end: number } {
  const entries: LogEntry[] = []
  let at = from
  while (at + 256 <= size) {
    const view = new DataView(bytes.buffer, bytes.byteOffset + at, 256)
    const length = view.getUint32(48, true)
    if (length < 256 || at + length > size || view.getUint8(60) !== 6) break
    const identity = bytes.slice(at, at + 256)
    identity.fill(0, 0, 16)
    identity.fill(0, 52, 56)
    const checksum = view.getBigUint64(0, true)
    if (checksum !== 0n && checksum !== hash.xxh3(identity)) break
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
