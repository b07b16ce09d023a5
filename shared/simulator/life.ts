/**
 * One life of a simulated process. Everything that comes back to it (a disk, a timer, a frame) is tied to it here: once the
 * life has ended, its promises stay unsettled and its callbacks never run.
 */
import type { Disk, DiskFile } from '../storage/disk.ts'
import type { Timeline } from './timeline.ts'

export interface Latency {
  /** Microseconds of the next operation. */
  next(): number
}

export class Life {
  private readonly timeline: Timeline
  private over = false
  private asleep = false
  private readonly held: (() => void)[] = []

  constructor(timeline: Timeline) {
    this.timeline = timeline
  }

  get ended(): boolean {
    return this.over
  }

  get paused(): boolean {
    return this.asleep
  }

  end(): void {
    this.over = true
    this.held.length = 0
  }

  /** A stopped process (SIGSTOP): what reaches it waits until it goes on. */
  pause(): void {
    this.asleep = true
  }

  resume(): void {
    this.asleep = false
    for (const run of this.held.splice(0)) this.timeline.after(0, () => this.run(run))
  }

  /** Runs `run` when the process can run; drops it when the process is gone. */
  run(run: () => void): void {
    if (this.over) return
    if (this.asleep) this.held.push(run)
    else run()
  }

  after(delayMicros: number, run: () => void): void {
    this.timeline.after(delayMicros, () => this.run(run))
  }

  /** Does `work` after a while, as the outside world of this life; settles only while it lasts. */
  async outside<T>(delayMicros: number, work: () => Promise<T>): Promise<T> {
    await new Promise<void>(resolve => this.after(delayMicros, resolve))
    try {
      const value = await work()
      if (this.over) await never()
      return value
    } catch (error) {
      if (this.over) await never()
      throw error
    }
  }
}

const never = (): Promise<never> => new Promise<never>(() => {})

/** A disk that answers this life alone, and takes its time. */
export function diskOfLife(disk: Disk, life: Life, latency: Latency): Disk {
  const outside = <T>(work: () => Promise<T>) => life.outside(latency.next(), work)
  return {
    open: async (path, mode) => fileOfLife(await outside(() => disk.open(path, mode)), outside),
    rename: (from, to) => outside(() => disk.rename(from, to)),
    unlink: path => outside(() => disk.unlink(path)),
    list: path => outside(() => disk.list(path)),
    stat: path => outside(() => disk.stat(path)),
    makeDirectory: path => outside(() => disk.makeDirectory(path)),
    remove: path => outside(() => disk.remove(path)),
    syncDirectory: path => outside(() => disk.syncDirectory(path)),
  }
}

function fileOfLife(file: DiskFile, outside: <T>(work: () => Promise<T>) => Promise<T>): DiskFile {
  return {
    path: file.path,
    read: (position, into) => outside(() => file.read(position, into)),
    write: (position, buffers) => outside(() => file.write(position, buffers)),
    datasync: () => outside(() => file.datasync()),
    sync: () => outside(() => file.sync()),
    truncate: sizeBytes => outside(() => file.truncate(sizeBytes)),
    preallocate: sizeBytes => outside(() => file.preallocate(sizeBytes)),
    sizeBytes: () => outside(() => file.sizeBytes()),
    close: () => outside(() => file.close()),
  }
}
