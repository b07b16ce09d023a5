/**
 * The anchor file that legitimises a gap in front of a segment (spec partition.md §6.8, example §11.7): without it the
 * next boot would take the gap for a lost segment and refuse the chain.
 *
 *   0 magic "IGGYANCH" | 8 planted_start u64 | 16 sealed_start u64 | 24 sealed_end u64 (inclusive) | 32 XXH3-64 of 0..31
 */
import type { Hash } from '../bytes/hash.ts'
import { layout, u64 } from '../bytes/layout.ts'
import { type Checksum, U64_MAX } from '../bytes/units.ts'
import type { Disk } from '../storage/disk.ts'
import { dataView } from './record.ts'
import { segmentPath } from './segment.ts'

const MAGIC = 0x48434e4159474749n

export const anchorLayout = layout('Anchor', 40, {
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
  const bytes = anchorLayout.encode({ magic: MAGIC, ...anchor, checksum: 0n as Checksum })
  dataView(bytes).setBigUint64(32, hash.xxh3(bytes.subarray(0, 32)) & U64_MAX, true)
  return bytes
}

/** The anchor in `bytes`, or undefined: a damaged one proves nothing and is no error. */
export function decodeAnchor(hash: Hash, bytes: Uint8Array): Anchor | undefined {
  if (bytes.length !== anchorLayout.size) return undefined
  const { magic, checksum, ...anchor } = anchorLayout.decode(bytes)
  return magic === MAGIC && checksum === hash.xxh3(bytes.subarray(0, 32)) ? anchor : undefined
}

/** Writes the anchor durably; to be done before its segment exists. */
export async function writeAnchor(disk: Disk, hash: Hash, directory: string, anchor: Anchor): Promise<void> {
  const path = segmentPath(directory, anchor.plantedStart, 'anchor')
  const staging = `${path}.staging`
  const file = await disk.open(staging, 'create')
  try {
    await file.write(0, [encodeAnchor(hash, anchor)])
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.rename(staging, path)
  await disk.syncDirectory(directory)
}
