/**
 * A disk whose operations on files take a random number of turns, before or after they take effect, and fail on demand.
 * What two concurrent operations do to each other depends on the seed only.
 */
import { Xoshiro256 } from '../../bytes/random.ts'
import { type Disk, DiskError, type DiskFile, type FileStat, type OpenMode } from '../../storage/disk.ts'

export type FileOperation = 'open' | 'read' | 'write' | 'datasync' | 'sync'

export interface Fault {
  readonly operation: FileOperation
  /** Ending of the path. */
  readonly ending: string
  /** Turns before the failure shows. */
  readonly afterTurns?: number
  /** How often it fails; for ever when missing. */
  times?: number
}

const turn = () => new Promise<void>(resolve => setImmediate(resolve))

export class SlowDisk implements Disk {
  readonly inner: Disk
  readonly faults: Fault[] = []
  readonly log: { readonly operation: string; readonly path: string }[] = []
  private readonly random: Xoshiro256
  private readonly turnsMax: number
  /** Operations that have started and not ended. */
  running = 0
  bytesRead = 0
  /** A write that waits here until it is released. */
  gate: Promise<void> | undefined

  constructor(inner: Disk, seed = 1n, turnsMax = 3) {
    this.inner = inner
    this.random = new Xoshiro256(seed)
    this.turnsMax = turnsMax
  }

  count(operation: string, ending: string): number {
    return this.log.filter(entry => entry.operation === operation && entry.path.endsWith(ending)).length
  }

  async around<T>(operation: FileOperation, path: string, act: () => Promise<T>): Promise<T> {
    this.log.push({ operation, path })
    this.running++
    try {
      const fault = this.faults.find(
        candidate => candidate.operation === operation && path.endsWith(candidate.ending) && candidate.times !== 0,
      )
      if (fault) {
        if (fault.times !== undefined) fault.times--
        for (let left = fault.afterTurns ?? 0; left > 0; left--) await turn()
        throw new DiskError('NoSpace', operation, path)
      }
      if (operation === 'write' && this.gate) await this.gate
      for (let left = this.random.upTo(this.turnsMax); left > 0; left--) await turn()
      const result = await act()
      for (let left = this.random.upTo(this.turnsMax); left > 0; left--) await turn()
      return result
    } finally {
      this.running--
    }
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    return new SlowFile(this, await this.around('open', path, () => this.inner.open(path, mode)))
  }
  rename(from: string, to: string): Promise<void> {
    this.log.push({ operation: 'rename', path: to })
    return this.inner.rename(from, to)
  }
  unlink(path: string): Promise<void> {
    this.log.push({ operation: 'unlink', path })
    return this.inner.unlink(path)
  }
  list(path: string): Promise<string[]> {
    return this.inner.list(path)
  }
  stat(path: string): Promise<FileStat> {
    return this.inner.stat(path)
  }
  makeDirectory(path: string): Promise<void> {
    return this.inner.makeDirectory(path)
  }
  remove(path: string): Promise<void> {
    return this.inner.remove(path)
  }
  syncDirectory(path: string): Promise<void> {
    this.log.push({ operation: 'syncDirectory', path })
    return this.inner.syncDirectory(path)
  }
}

class SlowFile implements DiskFile {
  readonly path: string
  private readonly disk: SlowDisk
  private readonly inner: DiskFile

  constructor(disk: SlowDisk, inner: DiskFile) {
    this.disk = disk
    this.inner = inner
    this.path = inner.path
  }
  read(position: number, into: Uint8Array): Promise<number> {
    this.disk.bytesRead += into.length
    return this.disk.around('read', this.path, () => this.inner.read(position, into))
  }
  write(position: number, buffers: readonly Uint8Array[]): Promise<void> {
    return this.disk.around('write', this.path, () => this.inner.write(position, buffers))
  }
  datasync(): Promise<void> {
    return this.disk.around('datasync', this.path, () => this.inner.datasync())
  }
  sync(): Promise<void> {
    return this.disk.around('sync', this.path, () => this.inner.sync())
  }
  truncate(sizeBytes: number): Promise<void> {
    return this.inner.truncate(sizeBytes)
  }
  preallocate(sizeBytes: number): Promise<boolean> {
    return this.inner.preallocate(sizeBytes)
  }
  sizeBytes(): Promise<number> {
    return this.inner.sizeBytes()
  }
  close(): Promise<void> {
    return this.inner.close()
  }
}
