/** Directories that a loss of power does not take: a name is durable only once the directory that holds it is synced. */
import { type Disk, isNotFound } from './disk.ts'
import { joinPath, parentOf, pathParts } from './paths.ts'

/**
 * mkdir -p; every name on the way is durable when it resolves. Each is synced before anything is made in it, so a directory
 * that holds something is durable already; an empty one may be what a process left that died before the sync.
 * @throws DiskError
 */
export async function makeDurableDirectory(disk: Disk, path: string): Promise<void> {
  let at = ''
  for (const part of pathParts('mkdir', path)) {
    at = joinPath(at, part)
    if (await holdsSomething(disk, at)) continue
    await disk.makeDirectory(at)
    await disk.syncDirectory(parentOf(at))
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
