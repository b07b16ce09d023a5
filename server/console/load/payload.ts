/**
 * The payload of a load message. It names itself and carries a checksum over everything else, so that a reader needs no
 * memory to tell whose message it is and whether it is whole.
 *
 *   0 magic u32 'QSLD' | 4 lane u32 | 8 run u64 | 16 sequence u64 | 24 checksum u64 | 32 filler
 *
 * checksum = XXH3-64 over bytes 0..24 and the filler. The filler is derived from the sequence, so that two messages never
 * share one and nothing compresses away.
 */
import type { Hash } from '../../../shared/bytes/hash.ts'

export const PAYLOAD_HEADER_BYTES = 32
const MAGIC = 0x444c_5351

export interface LoadMessage {
  readonly run: bigint
  readonly lane: number
  readonly seq: number
  readonly intact: boolean
}

export function encodePayload(hash: Hash, run: bigint, lane: number, seq: number, sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(Math.max(sizeBytes, PAYLOAD_HEADER_BYTES))
  const view = new DataView(bytes.buffer)
  view.setUint32(0, MAGIC, true)
  view.setUint32(4, lane, true)
  view.setBigUint64(8, run, true)
  view.setBigUint64(16, BigInt(seq), true)
  let word = (seq * 2654435761 + lane) >>> 0 || 1
  for (let at = PAYLOAD_HEADER_BYTES; at < bytes.length; at++) {
    if (at % 4 === 0) {
      // xorshift32
      word ^= word << 13
      word ^= word >>> 17
      word ^= word << 5
    }
    bytes[at] = word >>> ((at % 4) * 8)
  }
  view.setBigUint64(24, checksumOf(hash, bytes), true)
  return bytes
}

/** Undefined for a message that no load made. */
export function decodePayload(hash: Hash, bytes: Uint8Array): LoadMessage | undefined {
  if (bytes.length < PAYLOAD_HEADER_BYTES) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (view.getUint32(0, true) !== MAGIC) return undefined
  return {
    run: view.getBigUint64(8, true),
    lane: view.getUint32(4, true),
    seq: Number(view.getBigUint64(16, true)),
    intact: view.getBigUint64(24, true) === checksumOf(hash, bytes),
  }
}

const checksumOf = (hash: Hash, bytes: Uint8Array): bigint =>
  hash.xxh3Stream().update(bytes.subarray(0, 24)).update(bytes.subarray(PAYLOAD_HEADER_BYTES)).digest()
