/**
 * One life of a simulated process. Everything that comes back to it (a disk, a timer, a frame) is tied to it here: once the
 * life has ended, its promises stay unsettled and its callbacks never run.
 */
import type { Timeline } from './timeline.ts'

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
    // One after the other, in the order in which they came; a nap in between keeps the rest.
    const next = () => {
      if (this.asleep || this.over) return
      const run = this.held.shift()
      if (!run) return
      this.timeline.after(1, next)
      run()
    }
    this.asleep = false
    this.timeline.after(0, next)
  }

  /** Runs `run` when the process can run; drops it when the process is gone. */
  run(run: () => void): void {
    if (this.over) return
    if (this.asleep || this.held.length > 0) this.held.push(run)
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
