/** The anchor beside a segment behind a gap, on disk (spec partition.md §6.8; bytes: storage/anchor-file.ts). */
import type { Hash } from '../bytes/hash.ts'
import { ANCHOR_BYTES, type Anchor, decodeAnchor, encodeAnchor } from '../storage/anchor-file.ts'
import { type Disk, isNotFound, readFile } from '../storage/disk.ts'
import { segmentPath } from './segment.ts'

/** Writes the anchor durably; to be done before its segment exists. Throws DiskError. */
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

/** The anchor of the segment at `start`; absent, too long or damaged proves nothing. Throws DiskError. */
export async function readAnchor(
  disk: Disk,
  hash: Hash,
  directory: string,
  start: bigint,
): Promise<Anchor | undefined> {
  const path = segmentPath(directory, start, 'anchor')
  try {
    if ((await disk.stat(path)).sizeBytes !== ANCHOR_BYTES) return undefined
    return decodeAnchor(hash, await readFile(disk, path, ANCHOR_BYTES))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
