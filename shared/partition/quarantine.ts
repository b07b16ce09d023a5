/**
 * Files of a partition that may not be served are moved into a sibling `{directory}.fenced.{n}`, never deleted (spec
 * partition.md §6.10). Superblock slots and `purge.gen` stay where they are: the identity of the partition is not in doubt.
 */
import type { Disk } from '../storage/disk.ts'
import { joinPath, parentOf } from '../storage/paths.ts'
import { classifyName } from '../storage/segment-names.ts'
import { freeFence } from './incarnation.ts'

/** Moves `names` out of `directory`, in this order, durably; answers where they went. Nothing to move: undefined. @throws DiskError */
export async function moveAside(disk: Disk, directory: string, names: readonly string[]): Promise<string | undefined> {
  if (names.length === 0) return undefined
  const to = await freeFence(disk, directory)
  await disk.makeDirectory(to)
  for (const name of names) await disk.rename(joinPath(directory, name), joinPath(to, name))
  for (const path of [to, directory, parentOf(directory)]) await disk.syncDirectory(path)
  return to
}

const SEGMENT_FILES: ReadonlySet<string> = new Set(['log', 'index', 'anchor', 'staging'])

/** Sets aside every segment file of a refused chain, oldest first. @throws DiskError */
export async function quarantineChain(disk: Disk, directory: string): Promise<string | undefined> {
  const names = (await disk.list(directory)).filter(name => SEGMENT_FILES.has(classifyName(name).kind)).sort()
  return moveAside(disk, directory, names)
}
