/**
 * The anchor file that legitimises a gap in front of a segment (spec partition.md §6.8, example §11.7): without it a boot
 * takes the gap for a lost segment and refuses the chain.
 *
 *   0 magic "IGGYANCH" | 8 planted_start u64 | 16 sealed_start u64 | 24 sealed_end u64 (inclusive) | 32 XXH3-64 of 0..31
 */
import type { Hash } from '../bytes/hash.ts'
import { layout, u64 } from '../bytes/layout.ts'
import { Checksum } from '../bytes/units.ts'

const MAGIC = 0x48434e4159474749n

export const ANCHOR_BYTES = 40

export const anchorLayout = layout('Anchor', ANCHOR_BYTES, {
  magic: u64(0),
  plantedStart: u64(8),
  sealedStart: u64(16),
  sealedEnd: u64(24),
  checksum: u64<Checksum>(32),
})

export interface Anchor {
  readonly plantedStart: bigint
  readonly sealedStart: bigint
  /** Last offset of the sealed segment. */
  readonly sealedEnd: bigint
}

export function encodeAnchor(hash: Hash, anchor: Anchor): Uint8Array {
  const bytes = anchorLayout.encode({ magic: MAGIC, ...anchor, checksum: Checksum(0n) })
  return anchorLayout.encode({ magic: MAGIC, ...anchor, checksum: hash.xxh3(bytes.subarray(0, 32)) }, bytes)
}

/** The anchor in `bytes`, or undefined: a damaged one proves nothing and is no error. */
export function decodeAnchor(hash: Hash, bytes: Uint8Array): Anchor | undefined {
  if (bytes.length !== ANCHOR_BYTES) return undefined
  const { magic, checksum, ...anchor } = anchorLayout.decode(bytes)
  return magic === MAGIC && checksum === hash.xxh3(bytes.subarray(0, 32)) ? anchor : undefined
}
