/**
 * `purge.gen` of a partition (spec partition.md §2.7): 0 generation u64 | 8 created revision u64. It names the purge that
 * was applied and the incarnation that the directory belongs to. A short file is never read as 0: that would purge live
 * data again. It is replaced through a temp file, so a crash leaves the old one or the new one.
 */
import { type LayoutRecord, layout, u64 } from '../bytes/layout.ts'
import type { Disk } from './disk.ts'
import { joinPath } from './paths.ts'

export const PURGE_GEN_FILE = 'purge.gen'
export const PURGE_GEN_BYTES = 16

export const purgeGenLayout = layout('PurgeGeneration', PURGE_GEN_BYTES, {
  generation: u64(0),
  createdRevision: u64(8),
})
export type PurgeGeneration = LayoutRecord<typeof purgeGenLayout>

export type PurgeGenVerdict =
  | ({ readonly kind: 'valid' } & PurgeGeneration)
  | { readonly kind: 'torn'; readonly bytes: number }

export function decodePurgeGen(bytes: Uint8Array): PurgeGenVerdict {
  if (bytes.length < PURGE_GEN_BYTES) return { kind: 'torn', bytes: bytes.length }
  return { kind: 'valid', ...purgeGenLayout.decode(bytes) }
}

/** Temp, write, sync, rename, sync of the directory. Throws DiskError. */
export async function writePurgeGen(disk: Disk, directory: string, value: PurgeGeneration): Promise<void> {
  const target = joinPath(directory, PURGE_GEN_FILE)
  const temp = `${target}.tmp`
  const file = await disk.open(temp, 'create')
  try {
    await file.write(0, [purgeGenLayout.encode(value)])
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.rename(temp, target)
  await disk.syncDirectory(directory)
}
