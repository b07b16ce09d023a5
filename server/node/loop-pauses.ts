/**
 * The longest time for which the event loop was busy with one thing and answered nobody. Of the time between two turns only
 * what the process has computed counts: who waits for a processor that others hold does not stand still by his own doing.
 */
import { performance } from 'node:perf_hooks'

const TURN_MS = 10

export interface PauseClock {
  readonly wallMs: () => number
  /** Of all threads, so never less than what the loop has computed. */
  readonly cpuMs: () => number
}

const processClock: PauseClock = {
  wallMs: () => performance.now(),
  cpuMs: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
}

export class LoopPauses {
  private longest = 0
  private readonly clock: PauseClock
  private last: { readonly wallMs: number; readonly cpuMs: number }

  constructor(clock: PauseClock = processClock) {
    this.clock = clock
    this.last = this.now()
  }

  /** Looks at every turn from here on, for as long as the process lives; keeps nothing alive. */
  static watching(): LoopPauses {
    const pauses = new LoopPauses()
    setInterval(() => pauses.turn(), TURN_MS).unref()
    return pauses
  }

  get longestMs(): number {
    return Math.round(this.longest)
  }

  /** The loop has come round. */
  turn(): void {
    const now = this.now()
    const wall = now.wallMs - this.last.wallMs - TURN_MS
    this.longest = Math.max(this.longest, Math.min(wall, now.cpuMs - this.last.cpuMs))
    this.last = now
  }

  private now(): { readonly wallMs: number; readonly cpuMs: number } {
    return { wallMs: this.clock.wallMs(), cpuMs: this.clock.cpuMs() }
  }
}
