/**
 * Ticks of 10 ms that keep to the monotonic clock: a late timer is followed by the ticks it owes, so that timeouts last as
 * long as they say. When the loop was blocked, or the process stopped by a signal, the debt is forgiven above a bound: a
 * node that slept must not wake up believing that it had heard nothing for hundreds of ticks in which it could not listen.
 */
import { TICK_MS } from '../../shared/bytes/units.ts'

/** Ticks that one late timer may make up for: 100 ms, ten times what a healthy loop needs. */
export const CATCH_UP_TICKS_MAX = 10

export interface TickerOptions {
  readonly monoMicros: () => number
  readonly onTick: () => void
  /** The loop was blocked for `lateMs`; `skipped` ticks will never fire. */
  readonly onStall: (stall: { readonly lateMs: number; readonly skipped: number }) => void
  readonly setTimer?: (run: () => void, ms: number) => () => void
}

const realTimer = (run: () => void, ms: number): (() => void) => {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

/** Starts ticking; the first tick is due in 10 ms. Returns the way to stop. */
export function startTicker({ monoMicros, onTick, onStall, setTimer = realTimer }: TickerOptions): () => void {
  const nowMs = (): number => monoMicros() / 1000
  let due = nowMs() + TICK_MS
  let stopped = false
  let cancel: () => void

  const arm = (): void => {
    cancel = setTimer(run, Math.max(0, due - nowMs()))
  }
  const run = (): void => {
    const late = nowMs() - due
    // A timer may fire a fraction early; that is not a tick yet.
    const owed = late < -1 ? 0 : Math.max(1, Math.floor(late / TICK_MS) + 1)
    const fired = Math.min(owed, CATCH_UP_TICKS_MAX)
    due += owed * TICK_MS
    for (let tick = 0; tick < fired && !stopped; tick++) onTick()
    if (owed > fired && !stopped) onStall({ lateMs: Math.round(late), skipped: owed - fired })
    if (!stopped) arm()
  }
  arm()
  return () => {
    stopped = true
    cancel()
  }
}
