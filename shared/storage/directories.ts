/** Directories that a loss of power does not take: a name is durable only once the directory that holds it is synced. */
import { type Disk, isNotFound } from './disk.ts'
import { pathParts } from './paths.ts'

/**
 * mkdir -p; every name on the way is durable when it resolves. Each is synced before anything is made in it, so a directory
 * that holds something is durable already, and so is the way to it; an empty one may be what a process left that died
 * before the sync. Looked at from the inside out: the directories outside have the most names in them.
 * @throws DiskError
 */
export async function makeDurableDirectory(disk: Disk, path: string): Promise<void> {
  const parts = pathParts('mkdir', path)
  const at = (depth: number): string => parts.slice(0, depth).join('/')
  let durable = parts.length
  while (durable > 0 && !(await holdsSomething(disk, at(durable)))) durable--
  for (let depth = durable + 1; depth <= parts.length; depth++) {
    await disk.makeDirectory(at(depth))
    await disk.syncDirectory(at(depth - 1))
  }
}

async function holdsSomething(disk: Disk, path: string): Promise<boolean> {
  try {
    return (await disk.list(path)).length > 0
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
