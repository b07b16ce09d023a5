/** A disk whose renames are not followed by a sync of their directory: what a rule keeps a replica from (protocol/rules.ts, R17). */
import type { Disk } from './disk.ts'
import { parentOf } from './paths.ts'

/** Passes every call on but the first sync of a directory after a rename into it. Names made or removed are synced as before. */
export function withUnsyncedRenames(disk: Disk): Disk {
  const renamed = new Set<string>()
  return {
    open: (path, mode) => disk.open(path, mode),
    rename: async (from, to) => {
      await disk.rename(from, to)
      renamed.add(parentOf(to))
    },
    unlink: path => disk.unlink(path),
    list: path => disk.list(path),
    stat: path => disk.stat(path),
    makeDirectory: path => disk.makeDirectory(path),
    remove: path => disk.remove(path),
    syncDirectory: async path => {
      if (!renamed.delete(path)) await disk.syncDirectory(path)
    },
  }
}
