/**
 * A disk that fails as told: before and after each call its failpoints are asked, by operation and path. An error that
 * comes after a call says that a call failed which had its effect, as real disks do.
 */
import type { DiskMoment, DiskOperation } from '../../../shared/scenario/failpoints.ts'
import { type Disk, DiskError, type DiskFile, type FileStat, type OpenMode } from '../../../shared/storage/disk.ts'
import type { Failpoints } from './failpoints.ts'

export class FaultDisk implements Disk {
  private readonly inner: Disk
  private readonly points: Failpoints

  constructor(inner: Disk, points: Failpoints) {
    this.inner = inner
    this.points = points
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const call = <T>(operation: DiskOperation, work: () => Promise<T>): Promise<T> => this.call(operation, path, work)
    const file = await call(mode === 'create' ? 'create' : 'open', () => this.inner.open(path, mode))
    return {
      path,
      read: (position, into) => call('read', () => file.read(position, into)),
      write: (position, buffers) => this.write(file, position, buffers),
      datasync: () => call('datasync', () => file.datasync()),
      sync: () => call('sync', () => file.sync()),
      truncate: size => call('truncate', () => file.truncate(size)),
      preallocate: size => file.preallocate(size),
      sizeBytes: () => file.sizeBytes(),
      close: () => file.close(),
    }
  }

  rename(from: string, to: string): Promise<void> {
    return this.call('rename', from, () => this.inner.rename(from, to), to)
  }

  unlink(path: string): Promise<void> {
    return this.call('unlink', path, () => this.inner.unlink(path))
  }

  list(path: string): Promise<string[]> {
    return this.call('list', path, () => this.inner.list(path))
  }

  stat(path: string): Promise<FileStat> {
    return this.call('stat', path, () => this.inner.stat(path))
  }

  makeDirectory(path: string): Promise<void> {
    return this.call('makeDirectory', path, () => this.inner.makeDirectory(path))
  }

  remove(path: string): Promise<void> {
    return this.call('remove', path, () => this.inner.remove(path))
  }

  syncDirectory(path: string): Promise<void> {
    return this.call('syncDirectory', path, () => this.inner.syncDirectory(path))
  }

  private async call<T>(operation: DiskOperation, path: string, work: () => Promise<T>, to?: string): Promise<T> {
    await this.at({ when: 'before', operation, path, ...(to !== undefined && { to }) })
    const result = await work()
    await this.at({ when: 'after', operation, path, ...(to !== undefined && { to }) })
    return result
  }

  private async at(moment: DiskMoment): Promise<void> {
    const effect = this.points.reached(moment)
    if (effect) await this.points.suffer(effect, moment)
  }

  /** At `sb.tempHalf` half of the record is on the disk when the effect comes; a short write takes what it was told. */
  private async write(file: DiskFile, position: number, buffers: readonly Uint8Array[]): Promise<void> {
    const { path } = file
    const moment = { when: 'before', operation: 'write', path } as const
    const effect = this.points.reached(moment)
    if (effect) {
      const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
      if (effect.effect === 'short') {
        await file.write(position, [first(buffers, Math.min(effect.bytes, length))])
        throw new DiskError(effect.error, 'write', path, new Error('a fault that was asked for'))
      }
      if (/superblock\.[ab]\.tmp$/.test(path)) await file.write(position, [first(buffers, length >> 1)])
      await this.points.suffer(effect, moment)
    }
    await file.write(position, buffers)
    await this.at({ when: 'after', operation: 'write', path })
  }
}

function first(buffers: readonly Uint8Array[], count: number): Uint8Array {
  const bytes = new Uint8Array(count)
  let at = 0
  for (const buffer of buffers) {
    const part = buffer.subarray(0, count - at)
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
