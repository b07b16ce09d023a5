/**
 * A disk whose every call is written down and can be made to fail, for tests of what a format does when the disk does not
 * do its part. `dead` turns the process off: the call that dies has no effect, and nothing after it reaches the disk.
 */
import { type Disk, DiskError, type DiskFile, type FileStat, type OpenMode } from '../disk.ts'

export class ScriptedDisk implements Disk {
  /** `operation path`, in order, e.g. `sync metadata/superblock.a.tmp`. */
  readonly calls: string[] = []
  /** Asked before each call; true makes it fail with Io. */
  fails: (call: string, number: number) => boolean = () => false
  /** Asked before each call; true ends all life: this call and every later one never completes. */
  dies: (call: string, number: number) => boolean = () => false
  /** Bytes of the dying write that still land. */
  tornBytes = 0
  private dead = false
  private readonly inner: Disk

  constructor(inner: Disk) {
    this.inner = inner
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    await this.enter('open', path)
    const file = await this.inner.open(path, mode)
    return {
      path,
      read: async (position, into) => {
        await this.enter('read', path)
        return file.read(position, into)
      },
      write: async (position, buffers) => {
        await this.enter('write', path, async () => {
          const whole = Uint8Array.from(buffers.flatMap(buffer => [...buffer]))
          if (this.tornBytes > 0) await file.write(position, [whole.subarray(0, this.tornBytes)])
        })
        return file.write(position, buffers)
      },
      datasync: async () => {
        await this.enter('datasync', path)
        return file.datasync()
      },
      sync: async () => {
        await this.enter('sync', path)
        return file.sync()
      },
      truncate: async size => {
        await this.enter('truncate', path)
        return file.truncate(size)
      },
      preallocate: size => file.preallocate(size),
      sizeBytes: async () => {
        await this.enter('size', path)
        return file.sizeBytes()
      },
      close: async () => {
        if (!this.dead) await file.close()
      },
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await this.enter('rename', from)
    return this.inner.rename(from, to)
  }

  async unlink(path: string): Promise<void> {
    await this.enter('unlink', path)
    return this.inner.unlink(path)
  }

  async list(path: string): Promise<string[]> {
    await this.enter('list', path)
    return this.inner.list(path)
  }

  async stat(path: string): Promise<FileStat> {
    await this.enter('stat', path)
    return this.inner.stat(path)
  }

  async makeDirectory(path: string): Promise<void> {
    await this.enter('mkdir', path)
    return this.inner.makeDirectory(path)
  }

  async remove(path: string): Promise<void> {
    await this.enter('remove', path)
    return this.inner.remove(path)
  }

  async syncDirectory(path: string): Promise<void> {
    await this.enter('syncDirectory', path)
    return this.inner.syncDirectory(path)
  }

  private async enter(operation: string, path: string, dying?: () => Promise<void>): Promise<void> {
    const call = `${operation} ${path}`
    if (this.dead) return new Promise(() => {})
    this.calls.push(call)
    if (this.dies(call, this.calls.length)) {
      this.dead = true
      await dying?.()
      return new Promise(() => {})
    }
    if (this.fails(call, this.calls.length)) throw new DiskError('Io', operation, path, new Error('scripted failure'))
  }
}
