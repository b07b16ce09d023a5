import { Micros } from '../../shared/bytes/units.ts'
import type { Clock } from '../../shared/storage/ports.ts'

/**
 * Wall time at microsecond resolution, and monotonic time since this clock was made. Wall time is read anew each time: it
 * follows the system's clock, steps included.
 */
export function systemClock(): Clock {
  const started = process.hrtime.bigint()
  // `Date.now()` has whole milliseconds; the fraction comes from the monotonic clock, re-anchored at each new millisecond,
  // so that two readings in one millisecond differ and never run ahead of the next one.
  let anchorMs = Date.now()
  let anchorNs = started
  return {
    nowMicros() {
      const ms = Date.now()
      const ns = process.hrtime.bigint()
      if (ms !== anchorMs) {
        anchorMs = ms
        anchorNs = ns
      }
      const sinceUs = (ns - anchorNs) / 1000n
      return Micros(BigInt(ms) * 1000n + (sinceUs > 999n ? 999n : sinceUs))
    },
    monoMicros: () => Number((process.hrtime.bigint() - started) / 1000n),
  }
}
