/** A disk that writes down every call that changes something, in order (design.md §7, `--plan`). */
import type { Hash } from '../bytes/hash.ts'
import type { Disk, DiskFile, FileStat, OpenMode } from './disk.ts'

export type ChangeKind = 'create' | 'write' | 'truncate' | 'rename' | 'unlink' | 'mkdir' | 'remove'

export interface PlannedWrite {
  readonly path: string
  readonly operation: ChangeKind
  /** Of a write, and of a truncate: where the file ends. */
  readonly offset?: number
  readonly length?: number
  /** XXH3-64 of what is written, hexadecimal. */
  readonly hash?: string
  /** Of a rename. */
  readonly to?: string
}

export class TraceDisk implements Disk {
  readonly writes: PlannedWrite[] = []
  private readonly inner: Disk
  private readonly hash: Hash

  constructor(inner: Disk, hash: Hash) {
    this.inner = inner
    this.hash = hash
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    // Opened for appending, a file that is not there is made.
    const makes = mode === 'create' || (mode === 'append' && !(await this.isThere(path)))
    const file = await this.inner.open(path, mode)
    if (makes) this.writes.push({ path, operation: 'create' })
    return {
      path,
      read: (position, into) => file.read(position, into),
      write: async (position, buffers) => {
        const stream = this.hash.xxh3Stream()
        let length = 0
        for (const buffer of buffers) {
          stream.update(buffer)
          length += buffer.length
        }
        const hash = stream.digest().toString(16).padStart(16, '0')
        this.writes.push({ path, operation: 'write', offset: position, length, hash })
        await file.write(position, buffers)
      },
      truncate: async size => {
        this.writes.push({ path, operation: 'truncate', offset: size })
        await file.truncate(size)
      },
      datasync: () => file.datasync(),
      sync: () => file.sync(),
      preallocate: size => file.preallocate(size),
      sizeBytes: () => file.sizeBytes(),
      close: () => file.close(),
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await this.inner.rename(from, to)
    this.writes.push({ path: from, operation: 'rename', to })
  }

  async unlink(path: string): Promise<void> {
    await this.inner.unlink(path)
    this.writes.push({ path, operation: 'unlink' })
  }

  /** Only what was not there yet is a change. */
  async makeDirectory(path: string): Promise<void> {
    const there = await this.isThere(path)
    await this.inner.makeDirectory(path)
    if (!there) this.writes.push({ path, operation: 'mkdir' })
  }

  private isThere(path: string): Promise<boolean> {
    return this.inner.stat(path).then(
      () => true,
      () => false,
    )
  }

  async remove(path: string): Promise<void> {
    await this.inner.remove(path)
    this.writes.push({ path, operation: 'remove' })
  }

  list(path: string): Promise<string[]> {
    return this.inner.list(path)
  }

  stat(path: string): Promise<FileStat> {
    return this.inner.stat(path)
  }

  syncDirectory(path: string): Promise<void> {
    return this.inner.syncDirectory(path)
  }
}
