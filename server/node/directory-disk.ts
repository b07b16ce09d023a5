/**
 * The Disk port over a directory of the real file system.
 *
 * Writes are positional and vectored, at most 1024 buffers a call (the limit of the system call), and short writes go on
 * where they stopped. A file is opened without following a link in its last part and must be a regular file, so that a
 * fifo or a device in a data directory can neither hang nor answer. With `readOnly` nothing can be changed through it and
 * links are not followed anywhere: a directory reached through one counts as no directory. A dry run asks for
 * `linkedDirectories`, or it would plan another boot than the one that is to come.
 */
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import {
  type Disk,
  DiskError,
  type DiskErrorCode,
  type DiskFile,
  type FileStat,
  type OpenMode,
} from '../../shared/storage/disk.ts'
import { parentOf, pathParts } from '../../shared/storage/paths.ts'

/** IOV_MAX on Linux and macOS. */
const BUFFERS_PER_CALL = 1024

const FLAGS: Record<OpenMode, number> = {
  read: constants.O_RDONLY,
  write: constants.O_RDWR,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC,
  append: constants.O_RDWR | constants.O_CREAT,
}

export interface DirectoryDiskOptions {
  readonly readOnly?: boolean
  /** With `readOnly`: see links in the middle of a path as a node sees them. */
  readonly linkedDirectories?: boolean
}

export class DirectoryDisk implements Disk {
  readonly root: string
  private readonly readOnly: boolean
  private readonly confined: boolean
  private realRoot: Promise<string> | undefined

  /** `root` need not exist yet; `makeDirectory('')` makes it. */
  constructor(root: string, options: DirectoryDiskOptions = {}) {
    this.root = resolve(root)
    this.readOnly = options.readOnly ?? false
    this.confined = this.readOnly && !options.linkedDirectories
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    if (mode !== 'read') this.mayChange('open', path)
    const target = this.locate('open', path)
    return attempt('open', path, async () => {
      await this.confine('open', path, parentOf(path))
      const handle = await open(target, FLAGS[mode] | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o644)
      try {
        if (!(await handle.stat()).isFile()) throw new Error('not a regular file')
      } catch (error) {
        await handle.close()
        throw error
      }
      return new DirectoryFile(path, handle)
    })
  }

  async rename(from: string, to: string): Promise<void> {
    this.mayChange('rename', from)
    const source = this.locate('rename', from)
    const target = this.locate('rename', to)
    await attempt('rename', from, () => rename(source, target))
  }

  async unlink(path: string): Promise<void> {
    this.mayChange('unlink', path)
    const target = this.locate('unlink', path)
    await attempt('unlink', path, () => unlink(target))
  }

  async list(path: string): Promise<string[]> {
    const target = this.locate('list', path)
    const names = await attempt('list', path, async () => {
      await this.confine('list', path, path)
      return readdir(target)
    })
    return names.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  }

  async stat(path: string): Promise<FileStat> {
    const target = this.locate('stat', path)
    return attempt('stat', path, async () => {
      if (path !== '') await this.confine('stat', path, parentOf(path))
      const found = this.confined ? await lstat(target) : await stat(target)
      return { kind: kindOf(found), sizeBytes: found.isFile() ? found.size : 0, modifiedMs: found.mtimeMs }
    })
  }

  async makeDirectory(path: string): Promise<void> {
    this.mayChange('mkdir', path)
    const target = this.locate('mkdir', path)
    await attempt('mkdir', path, async () => {
      try {
        const first = await mkdir(target, { recursive: true })
        // What lies in a directory is worth nothing when a loss of power takes its name.
        for (let made = first === undefined ? '' : target; made.length >= (first?.length ?? 1); made = dirname(made))
          await syncDirectory(dirname(made))
      } catch (error) {
        // mkdir -p answers EEXIST where the last part is a file.
        if (errnoOf(error) === 'EEXIST') throw new DiskError('NotADirectory', 'mkdir', path, error)
        throw error
      }
    })
  }

  async remove(path: string): Promise<void> {
    this.mayChange('remove', path)
    const target = this.locate('remove', path)
    await attempt('remove', path, async () => {
      if (path !== '') return rm(target, { recursive: true, force: true })
      for (const name of await readdir(target)) await rm(join(target, name), { recursive: true, force: true })
    })
  }

  async syncDirectory(path: string): Promise<void> {
    this.mayChange('sync', path)
    const target = this.locate('sync', path)
    await attempt('sync', path, async () => {
      await syncDirectory(target)
    })
  }

  private locate(operation: string, path: string): string {
    return join(this.root, ...pathParts(operation, path))
  }

  private mayChange(operation: string, path: string): void {
    if (this.readOnly) throw new DiskError('ReadOnly', operation, path)
  }

  /** Read-only disks judge foreign directories: each part of `directory` must be a real directory. */
  private async confine(operation: string, path: string, directory: string): Promise<void> {
    if (!this.confined) return
    this.realRoot ??= realpath(this.root)
    const expected = join(await this.realRoot, ...pathParts(operation, directory))
    if ((await realpath(this.locate(operation, directory))) !== expected) {
      throw new DiskError('Io', operation, path, new Error('a part of the path is a link, which is not followed'))
    }
  }
}

class DirectoryFile implements DiskFile {
  readonly path: string
  private readonly handle: FileHandle

  constructor(path: string, handle: FileHandle) {
    this.path = path
    this.handle = handle
  }

  read(position: number, into: Uint8Array): Promise<number> {
    return attempt('read', this.path, async () => {
      let read = 0
      while (read < into.length) {
        const { bytesRead } = await this.handle.read(into, read, into.length - read, position + read)
        if (bytesRead === 0) break
        read += bytesRead
      }
      return read
    })
  }

  write(position: number, buffers: readonly Uint8Array[]): Promise<void> {
    return attempt('write', this.path, async () => {
      let at = position
      for (let first = 0; first < buffers.length; first += BUFFERS_PER_CALL) {
        at = await this.writeChunk(at, buffers.slice(first, first + BUFFERS_PER_CALL))
      }
    })
  }

  /** Writes all of `pending` at `position`; answers the position behind it. */
  private async writeChunk(position: number, pending: Uint8Array[]): Promise<number> {
    let at = position
    let left = pending.filter(buffer => buffer.length > 0)
    while (left.length > 0) {
      const { bytesWritten } = await this.handle.writev(left, at)
      if (bytesWritten === 0) throw new Error(`no byte was taken at ${at}`)
      at += bytesWritten
      left = behind(left, bytesWritten)
    }
    return at
  }

  datasync(): Promise<void> {
    return attempt('datasync', this.path, () => this.handle.datasync())
  }

  sync(): Promise<void> {
    return attempt('sync', this.path, () => this.handle.sync())
  }

  truncate(sizeBytes: number): Promise<void> {
    return attempt('truncate', this.path, () => this.handle.truncate(sizeBytes))
  }

  /** Node offers no fallocate: space is never reserved here, and the caller goes on without. */
  async preallocate(): Promise<boolean> {
    return false
  }

  sizeBytes(): Promise<number> {
    return attempt('stat', this.path, async () => (await this.handle.stat()).size)
  }

  close(): Promise<void> {
    return attempt('close', this.path, () => this.handle.close())
  }
}

/** What is left of `buffers` when their first `count` bytes are written. */
export function behind(buffers: readonly Uint8Array[], count: number): Uint8Array[] {
  let skip = count
  for (const [index, buffer] of buffers.entries()) {
    if (skip < buffer.length) return [buffer.subarray(skip), ...buffers.slice(index + 1)]
    skip -= buffer.length
  }
  return []
}

async function syncDirectory(target: string): Promise<void> {
  const handle = await open(target, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function kindOf(found: Stats): FileStat['kind'] {
  return found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other'
}

const errnoOf = (error: unknown): string | undefined => (error as { code?: string } | undefined)?.code

const CODES: Readonly<Record<string, DiskErrorCode>> = {
  ENOENT: 'NotFound',
  EEXIST: 'Exists',
  ENOTEMPTY: 'Exists',
  ENOTDIR: 'NotADirectory',
  ENOSPC: 'NoSpace',
  EDQUOT: 'NoSpace',
  EROFS: 'ReadOnly',
}

async function attempt<T>(operation: string, path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof DiskError) throw error
    throw new DiskError(CODES[errnoOf(error) ?? ''] ?? 'Io', operation, path, error)
  }
}
