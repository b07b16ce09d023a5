/**
 * Paths of the Disk port: relative to the data directory, parts separated by `/`, the root written as the empty string.
 * Both disks check them here, so that no path of the engine can name anything outside its directory.
 */
import { DiskError } from './disk.ts'

/** Parts of `path`. Throws DiskError Io for an absolute path, an empty part, `.`, `..` or a NUL. */
export function pathParts(operation: string, path: string): readonly string[] {
  if (path === '') return []
  const parts = path.split('/')
  for (const part of parts) {
    if (part === '' || part === '.' || part === '..' || part.includes('\0')) {
      throw new DiskError('Io', operation, path, new RangeError('the path leaves the data directory or is not normal'))
    }
  }
  return parts
}

/** Directory that holds `path`; the root, the empty string, for a top-level name. */
export function parentOf(path: string): string {
  const cut = path.lastIndexOf('/')
  return cut < 0 ? '' : path.slice(0, cut)
}

/** Last part of `path`. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** `directory/name`, without a leading slash at the root. */
export function joinPath(directory: string, name: string): string {
  return directory === '' ? name : `${directory}/${name}`
}
