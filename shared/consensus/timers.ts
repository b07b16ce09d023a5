/**
 * The seven timers of a group, plus the repair retry that is counted by its session (spec consensus.md §4). A timer fires
 * on every tick once nothing remains and it still ticks, so whoever handles it must reset, back off or stop it.
 */
import type { Xoshiro256 } from '../bytes/random.ts'
import type { TimerTicks } from './contract.ts'

/** Factor by which the back-off of the Prepare timer is bounded: 16 times its period, before jitter. */
const BACKOFF_SHIFT_MAX = 4

export class Timer {
  readonly period: number
  remaining = 0
  attempts = 0
  ticking = false

  constructor(period: number) {
    this.period = period
  }

  /** Arms it for one period, or for `first` ticks this time. */
  start(first = this.period): void {
    this.remaining = first
    this.attempts = 0
    this.ticking = true
  }

  /** Like start, but a stopped timer stays stopped: a dead timer. Use start when unsure. */
  reset(): void {
    this.remaining = this.period
    this.attempts = 0
  }

  stop(): void {
    this.remaining = 0
    this.attempts = 0
    this.ticking = false
  }

  /** Doubles the wait, up to 16 periods, and spreads it over as much again. */
  backOff(random: Xoshiro256): void {
    this.attempts++
    const base = this.period << Math.min(this.attempts, BACKOFF_SHIFT_MAX)
    this.remaining = base + random.upTo(base)
  }

  get fired(): boolean {
    return this.ticking && this.remaining === 0
  }
}

export interface Timers {
  readonly normalHeartbeat: Timer
  readonly startViewChangeMessage: Timer
  readonly doViewChangeMessage: Timer
  readonly prepare: Timer
  readonly commitMessage: Timer
  readonly requestStartView: Timer
  readonly viewChangeStatus: Timer
}

/** In the order in which fired timers are handled. */
export const TIMER_ORDER = [
  'normalHeartbeat',
  'startViewChangeMessage',
  'doViewChangeMessage',
  'prepare',
  'commitMessage',
  'requestStartView',
  'viewChangeStatus',
] as const satisfies readonly (keyof Timers)[]

export const createTimers = (ticks: TimerTicks): Timers => ({
  normalHeartbeat: new Timer(ticks.normalHeartbeat),
  startViewChangeMessage: new Timer(ticks.startViewChangeMessage),
  doViewChangeMessage: new Timer(ticks.doViewChangeMessage),
  prepare: new Timer(ticks.prepare),
  commitMessage: new Timer(ticks.commitMessage),
  requestStartView: new Timer(ticks.requestStartView),
  viewChangeStatus: new Timer(ticks.viewChangeStatus),
})
