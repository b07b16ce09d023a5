/** The named points of a disk's calls (scenario/failpoints.ts) in the simulated world. */
import { type ArmedPoint, type DiskMoment, FailpointNames, globMatches, parsePoint } from '../scenario/failpoints.ts'
import type { FailpointEffect } from '../scenario/language.ts'
import { type Disk, DiskError, type DiskFile } from '../storage/disk.ts'

interface Armed {
  readonly text: string
  readonly point: ArmedPoint
  readonly effect: FailpointEffect
  after: number
  times: number
  reached: number
}

export interface FailpointWorld {
  /** Ends the process that this disk belongs to, now. */
  kill(): void
  delay(ms: number): Promise<void>
}

/** What is armed on one node; it outlives the lives of the node. */
export class Failpoints {
  private readonly armed: Armed[] = []
  private readonly names = new FailpointNames()
  private readonly held = new Map<string, (() => void)[]>()

  arm(text: string, effect: FailpointEffect, after: number, times: number): void {
    this.armed.push({ text, point: parsePoint(text), effect, after, times, reached: 0 })
  }

  disarm(text: string): void {
    for (let index = this.armed.length - 1; index >= 0; index--)
      if (this.armed[index]!.text === text) this.armed.splice(index, 1)
    this.release(text)
  }

  release(text: string): void {
    for (const go of this.held.get(text) ?? []) go()
    this.held.delete(text)
  }

  /** Undefined: it is not armed. */
  reachedOf(text: string): number | undefined {
    return this.armed.find(armed => armed.text === text)?.reached
  }

  /** Counts are of one life. */
  restarted(): void {
    for (const armed of this.armed) armed.reached = 0
  }

  /** Settles when the call may go on; rejects with the error that it is to end with. */
  async reached(moment: DiskMoment, world: FailpointWorld): Promise<{ killed: boolean }> {
    const names = this.names.at(moment)
    for (const armed of this.armed) {
      const { name, glob } = armed.point
      if (armed.times === 0 || !names.includes(name)) continue
      if (glob !== undefined && !globMatches(glob, moment.path)) continue
      armed.reached++
      if (armed.effect.effect === 'count') continue
      if (armed.after > 0) {
        armed.after--
        continue
      }
      armed.times--
      const { effect } = armed
      if (effect.effect === 'kill') return { killed: true }
      if (effect.effect === 'error') throw new DiskError(effect.error, moment.operation, moment.path)
      if (effect.effect === 'delay') await world.delay(effect.ms)
      else
        await new Promise<void>(resolve => {
          this.held.set(armed.text, [...(this.held.get(armed.text) ?? []), resolve])
        })
    }
    return { killed: false }
  }

  /** A point on the way of a handler: it cannot wait, so only a kill happens here. True: the node is to die now. */
  passed(name: string): boolean {
    for (const armed of this.armed) {
      if (armed.times === 0 || armed.point.name !== name || armed.effect.effect !== 'kill') continue
      if (armed.after > 0) armed.after--
      else {
        armed.times--
        return true
      }
    }
    return false
  }

  wrap(disk: Disk, world: FailpointWorld): Disk {
    const passing = async (moment: DiskMoment, half?: () => Promise<unknown>): Promise<void> => {
      const { killed } = await this.reached(moment, world)
      if (!killed) return
      if (half) await half()
      world.kill()
      await new Promise<never>(() => {})
    }
    const around = async <T>(
      moment: Omit<DiskMoment, 'when'>,
      work: () => Promise<T>,
      half?: () => Promise<unknown>,
    ): Promise<T> => {
      await passing({ ...moment, when: 'before' }, half)
      const value = await work()
      await passing({ ...moment, when: 'after' })
      return value
    }
    const wrapFile = (file: DiskFile): DiskFile => {
      const { path } = file
      return {
        path,
        read: (position, into) => around({ operation: 'read', path }, () => file.read(position, into)),
        write: (position, buffers) => {
          // A process that dies before a write may have begun it.
          const first = buffers[0]
          const half = first ? () => file.write(position, [first.subarray(0, first.length >> 1)]) : undefined
          return around(
            { operation: 'write', path },
            () => file.write(position, buffers),
            isSuperblock(path) ? half : undefined,
          )
        },
        datasync: () => around({ operation: 'datasync', path }, () => file.datasync()),
        sync: () => around({ operation: 'sync', path }, () => file.sync()),
        truncate: size => around({ operation: 'truncate', path }, () => file.truncate(size)),
        preallocate: size => file.preallocate(size),
        sizeBytes: () => file.sizeBytes(),
        close: () => file.close(),
      }
    }
    return {
      open: async (path, mode) =>
        wrapFile(await around({ operation: mode === 'create' ? 'create' : 'open', path }, () => disk.open(path, mode))),
      rename: (from, to) => around({ operation: 'rename', path: from, to }, () => disk.rename(from, to)),
      unlink: path => around({ operation: 'unlink', path }, () => disk.unlink(path)),
      list: path => around({ operation: 'list', path }, () => disk.list(path)),
      stat: path => around({ operation: 'stat', path }, () => disk.stat(path)),
      makeDirectory: path => around({ operation: 'makeDirectory', path }, () => disk.makeDirectory(path)),
      remove: path => around({ operation: 'remove', path }, () => disk.remove(path)),
      syncDirectory: path => around({ operation: 'syncDirectory', path }, () => disk.syncDirectory(path)),
    }
  }
}

const isSuperblock = (path: string): boolean => path.includes('superblock.')
