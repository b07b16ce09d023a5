/**
 * The bytes of one file of a volatile disk: what is on the real one, and over it the writes that no sync has carried there.
 * A write or a truncation takes effect in memory at once; a sync takes what is there when it begins.
 */
import { DiskError, type DiskFile } from '../../../shared/storage/disk.ts'

export const WRITEBACK_BYTES = 64 * 1024 * 1024

interface Extent {
  readonly at: number
  readonly bytes: Uint8Array
}

export class VolatileFile {
  size: number
  modifiedMs: number
  /** Bytes of the real file that still count; behind them it reads as zeros. */
  private backed: number
  /** Unsynced, sorted, apart from each other. */
  private extents: Extent[] = []
  private dirtyBytes = 0
  /** The shortest truncation since the sync that is under way began. */
  private cut = Number.POSITIVE_INFINITY
  /** Counts what can change bytes under a read that waits. */
  private version = 0
  private real: Promise<DiskFile> | undefined
  private readonly openReal: () => Promise<DiskFile>
  private syncing: Promise<void> = Promise.resolve()
  private opens = 0

  constructor(size: number, modifiedMs: number, openReal: () => Promise<DiskFile>) {
    this.size = size
    this.backed = size
    this.modifiedMs = modifiedMs
    this.openReal = openReal
  }

  handle(path: string, writable: boolean): DiskFile {
    this.opens += 1
    let closed = false
    const mayWrite = (operation: string): void => {
      if (!writable) throw new DiskError('Io', operation, path, new Error('opened for reading'))
    }
    return {
      path,
      read: (position, into) => this.read(position, into),
      write: async (position, buffers) => {
        mayWrite('write')
        this.write(position, buffers)
        if (this.dirtyBytes > WRITEBACK_BYTES) await this.sync()
      },
      datasync: () => this.sync(),
      sync: () => this.sync(),
      truncate: async sizeBytes => {
        mayWrite('truncate')
        this.truncate(sizeBytes)
      },
      preallocate: async () => false,
      sizeBytes: async () => this.size,
      close: async () => {
        if (closed) return
        closed = true
        this.opens -= 1
        await this.syncing
        await this.letGo()
      },
    }
  }

  truncate(size: number): void {
    this.extents = this.extents.flatMap(({ at, bytes }) =>
      at + bytes.length <= size ? [{ at, bytes }] : at < size ? [{ at, bytes: bytes.subarray(0, size - at) }] : [],
    )
    this.size = size
    this.backed = Math.min(this.backed, size)
    this.cut = Math.min(this.cut, size)
    this.touched()
  }

  /** Makes the real file, empty. */
  async materialise(): Promise<void> {
    await this.file()
    await this.letGo()
  }

  /** The name is about to go: whoever has the file open needs its descriptor from now on. */
  async keepOpen(): Promise<void> {
    if (this.opens > 0) await this.file()
  }

  private write(position: number, buffers: readonly Uint8Array[]): void {
    const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
    if (length === 0) return
    const bytes = new Uint8Array(length)
    let filled = 0
    for (const buffer of buffers) {
      bytes.set(buffer, filled)
      filled += buffer.length
    }
    const end = position + length
    const last = this.extents.at(-1)
    if (!last || last.at + last.bytes.length <= position) this.extents.push({ at: position, bytes })
    else {
      const around = this.extents.flatMap(extent => outside(extent, position, end))
      this.extents = [...around, { at: position, bytes }].sort((a, b) => a.at - b.at)
    }
    this.size = Math.max(this.size, end)
    this.touched()
  }

  private touched(): void {
    this.version += 1
    this.modifiedMs = Date.now()
    this.dirtyBytes = this.extents.reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  private async read(position: number, into: Uint8Array): Promise<number> {
    for (;;) {
      const { version, backed } = this
      const fromReal = Math.max(0, Math.min(into.length, backed - position))
      into.fill(0)
      if (fromReal > 0) await (await this.file()).read(position, into.subarray(0, fromReal))
      if (this.version !== version) continue
      for (const { at, bytes } of this.extents) {
        const start = Math.max(at, position)
        const end = Math.min(at + bytes.length, position + into.length)
        if (start < end) into.set(bytes.subarray(start - at, end - at), start - position)
      }
      return Math.max(0, Math.min(into.length, this.size - position))
    }
  }

  private sync(): Promise<void> {
    const done = this.syncing.then(() => this.carry())
    this.syncing = done.catch(() => {})
    return done
  }

  private async carry(): Promise<void> {
    const { size, backed } = this
    const extents = [...this.extents]
    this.cut = Number.POSITIVE_INFINITY
    const file = await this.file()
    if ((await file.sizeBytes()) > backed) await file.truncate(backed)
    for (const { at, bytes } of extents) await file.write(at, [bytes])
    if ((await file.sizeBytes()) < size) await file.truncate(size)
    await file.datasync()
    const carried = new Set(extents)
    this.extents = this.extents.filter(extent => !carried.has(extent))
    this.backed = Math.min(size, this.cut)
    this.version += 1
    this.dirtyBytes = this.extents.reduce((sum, { bytes }) => sum + bytes.length, 0)
    await this.letGo()
  }

  private file(): Promise<DiskFile> {
    this.real ??= this.openReal()
    return this.real
  }

  private async letGo(): Promise<void> {
    if (this.opens > 0) return
    const { real } = this
    this.real = undefined
    await (await real)?.close()
  }
}

/** The parts of an extent before `from` and from `to` on. */
function outside({ at, bytes }: Extent, from: number, to: number): Extent[] {
  const end = at + bytes.length
  if (end <= from || at >= to) return [{ at, bytes }]
  const parts: Extent[] = []
  if (at < from) parts.push({ at, bytes: bytes.subarray(0, from - at) })
  if (end > to) parts.push({ at: to, bytes: bytes.subarray(to - at) })
  return parts
}
