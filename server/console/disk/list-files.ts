/** The plain files below a directory, with their sizes and times. It changes nothing and follows no link. */
import type { Dirent } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { FileState } from '../../../shared/inspection/files.ts'
import { NODE_LOCK } from '../../node/directory-lock.ts'
import { RUNTIME_DIRECTORY } from '../../node/ready-file.ts'

/** Twice the files of a partition of 10,000 segments. */
const FILES_MAX = 20_000
/** Superblocks, offsets, settings: what is rewritten in place is small, and its time alone says nothing. */
const HASHED_BYTES_MAX = 64 * 1024
const HASHED_FILES_MAX = 500

export interface Listing {
  readonly files: ReadonlyMap<string, FileState>
  readonly leftOut: number
}

/** An absent directory has no files. The lock and the ready file of a process are its life, and not its data. */
export async function listFiles(root: string, hash: Hash): Promise<Listing> {
  const files = new Map<string, FileState>()
  let leftOut = 0
  let hashed = 0
  const visit = async (path: string): Promise<void> => {
    for (const entry of (await entries(join(root, path))).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const child = path === '' ? entry.name : `${path}/${entry.name}`
      if (child === NODE_LOCK || child === RUNTIME_DIRECTORY) continue
      if (entry.isDirectory()) await visit(child)
      else if (!entry.isFile() || files.size >= FILES_MAX) leftOut++
      else {
        const stat = await orGone(lstat(join(root, child)))
        if (!stat) continue
        const small = stat.size <= HASHED_BYTES_MAX && hashed < HASHED_FILES_MAX
        if (small) hashed++
        const bytes = small ? await orGone(readFile(join(root, child))) : undefined
        files.set(child, {
          sizeBytes: stat.size,
          modifiedWallMs: Math.round(stat.mtimeMs),
          ...(bytes && { checksum: hash.xxh3(bytes).toString(16).padStart(16, '0') }),
        })
      }
    }
  }
  await visit('')
  return { files, leftOut }
}

const entries = async (directory: string): Promise<Dirent[]> =>
  (await orGone(readdir(directory, { withFileTypes: true }))) ?? []

/** A process works on the directory meanwhile: what has gone between two looks is gone. */
async function orGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
