/**
 * Planting an anchor, which legitimises a gap in front of a segment (spec partition.md §6.8; codec: storage/anchor-file.ts).
 */
import type { Hash } from '../bytes/hash.ts'
import { type Anchor, encodeAnchor } from '../storage/anchor-file.ts'
import type { Disk } from '../storage/disk.ts'
import { segmentPath } from './segment.ts'

export { type Anchor, anchorLayout, decodeAnchor, encodeAnchor } from '../storage/anchor-file.ts'

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
