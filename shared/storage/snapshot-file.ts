/**
 * The frame of `snapshot.bin` (spec metadata-storage.md §3.1): a MessagePack payload, then a trailer of 20 bytes: u32 magic
 * "SNPI", u128 XXH3-64 of the payload. A file without the magic is a legacy one, whole payload, which only a pairing in
 * the superblock can vouch for: one flipped bit in the magic makes the same shape.
 */
import type { Hash } from '../bytes/hash.ts'
import type { Checksum } from '../bytes/units.ts'
import type { DiskFile } from './disk.ts'
import { SCAN_WINDOW_BYTES } from './file-scanner.ts'

export const SNAPSHOT_FILE = 'snapshot.bin'
export const SNAPSHOT_TRAILER_BYTES = 20
export const SNAPSHOT_MAGIC = 0x49534e50
export const SNAPSHOT_FORMAT_VERSION = 3n

/** Enough for the array header and three integers of nine bytes. */
const PEEK_BYTES = 32

export interface SnapshotReading {
  readonly payloadBytes: number
  readonly sealed: boolean
  /** Checksum of the payload bytes: what a superblock pairs with. */
  readonly computed: Checksum
  /** What the trailer says; undefined when there is none. */
  readonly stored?: bigint
  /** First and third element of the root array, when the bytes can be read that far. */
  readonly version?: bigint
  readonly op?: bigint
}

/** Reads a snapshot file in windows and hashes its payload. Decodes nothing but the three leading integers. Throws DiskError. */
export async function readSnapshotFrame(file: DiskFile, sizeBytes: number, hash: Hash): Promise<SnapshotReading> {
  const trailer = new Uint8Array(Math.min(SNAPSHOT_TRAILER_BYTES, sizeBytes))
  await file.read(sizeBytes - trailer.length, trailer)
  const view = new DataView(trailer.buffer)
  const sealed = trailer.length === SNAPSHOT_TRAILER_BYTES && view.getUint32(0, true) === SNAPSHOT_MAGIC
  const payloadBytes = sealed ? sizeBytes - SNAPSHOT_TRAILER_BYTES : sizeBytes
  const stream = hash.xxh3Stream()
  const window = new Uint8Array(Math.min(SCAN_WINDOW_BYTES, payloadBytes))
  let head = new Uint8Array(0)
  for (let at = 0; at < payloadBytes; ) {
    const wanted = Math.min(window.length, payloadBytes - at)
    const read = await file.read(at, window.subarray(0, wanted))
    if (read === 0) break
    if (at === 0) head = window.slice(0, Math.min(PEEK_BYTES, read))
    stream.update(window.subarray(0, read))
    at += read
  }
  return {
    payloadBytes,
    sealed,
    computed: stream.digest(),
    ...(sealed ? { stored: view.getBigUint64(4, true) | (view.getBigUint64(12, true) << 64n) } : {}),
    ...peekIntegers(head),
  }
}

/** Version and op of `[version, created_at, op, …]`, as far as the bytes are what they should be. */
export function peekIntegers(bytes: Uint8Array): { version?: bigint; op?: bigint } {
  // fixarray, or array16
  let at = bytes[0] === undefined ? -1 : (bytes[0] & 0xf0) === 0x90 ? 1 : bytes[0] === 0xdc ? 3 : -1
  if (at < 0) return {}
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const next = (): bigint | undefined => {
    const tag = bytes[at]
    if (tag === undefined) return undefined
    if (tag < 0x80) {
      at++
      return BigInt(tag)
    }
    if (tag < 0xcc || tag > 0xcf) return undefined
    const size = 1 << (tag - 0xcc)
    if (at + 1 + size > bytes.length) return undefined
    let value = 0n
    for (let index = 0; index < size; index++) value = (value << 8n) | BigInt(view.getUint8(at + 1 + index))
    at += 1 + size
    return value
  }
  const version = next()
  if (version === undefined) return {}
  next()
  const op = next()
  return { version, ...(op === undefined ? {} : { op }) }
}
