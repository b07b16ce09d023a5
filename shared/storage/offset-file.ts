/**
 * The file of one consumer's stored offset (spec partition.md §2.6): 0 offset u64 | 8 checksum u64 = XXH3-64 of the first
 * eight bytes. Written in place, so a reader must tell a torn file from a rotten one: torn counts as absent.
 */
import type { Hash } from '../bytes/hash.ts'
import { type LayoutRecord, layout, u64 } from '../bytes/layout.ts'
import { Checksum, Offset } from '../bytes/units.ts'

export const OFFSET_FILE_BYTES = 16

export const offsetFileLayout = layout('ConsumerOffset', OFFSET_FILE_BYTES, {
  offset: u64<Offset>(0),
  checksum: u64<Checksum>(8),
})
export type OffsetRecord = LayoutRecord<typeof offsetFileLayout>

export type OffsetFileVerdict =
  | { readonly kind: 'valid'; readonly offset: Offset }
  /** Eight bytes without a checksum, as older builds wrote; the next write upgrades it. */
  | { readonly kind: 'legacy'; readonly offset: Offset }
  | { readonly kind: 'torn'; readonly bytes: number }
  | { readonly kind: 'corrupt'; readonly offset: Offset; readonly expected: Checksum; readonly actual: Checksum }

/** Bytes past the sixteenth are ignored, as every build does. */
export function decodeOffsetFile(bytes: Uint8Array, hash: Hash): OffsetFileVerdict {
  if (bytes.length < 8) return { kind: 'torn', bytes: bytes.length }
  if (bytes.length < OFFSET_FILE_BYTES) {
    return { kind: 'legacy', offset: Offset(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true)) }
  }
  const { offset, checksum } = offsetFileLayout.decode(bytes)
  const expected = hash.xxh3(bytes.subarray(0, 8))
  return checksum === expected ? { kind: 'valid', offset } : { kind: 'corrupt', offset, expected, actual: checksum }
}

export function encodeOffsetFile(offset: Offset, hash: Hash): Uint8Array {
  const bytes = offsetFileLayout.encode({ offset, checksum: Checksum(0n) })
  const checksum = hash.xxh3(bytes.subarray(0, 8))
  return offsetFileLayout.encode({ offset, checksum }, bytes)
}
