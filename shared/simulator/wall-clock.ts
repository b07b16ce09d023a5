/**
 * Wall clocks that are wrong (spec drills.md §2.2): each says so much more than the time of the world, and may step back. The
 * monotonic clock of a node never does.
 */
import type { Dice } from './dice.ts'

export type ClockShape =
  /** Ever further off: microseconds in a second. */
  | { readonly kind: 'drift'; readonly perSecondMicros: number }
  /** To and fro. */
  | { readonly kind: 'periodic'; readonly amplitudeMs: number; readonly periodMs: number }
  /** Anywhere between so much too early and too late, each time that it is read. */
  | { readonly kind: 'noisy'; readonly amplitudeMs: number }

const MICROS_PER_MS = 1_000
const MICROS_PER_SECOND = 1_000_000

/** How far off this clock is, in microseconds. */
export function clockError(shape: ClockShape, nowMicros: number, dice: Dice): bigint {
  switch (shape.kind) {
    case 'drift':
      return BigInt(Math.round((shape.perSecondMicros * nowMicros) / MICROS_PER_SECOND))
    case 'periodic': {
      const turns = nowMicros / (shape.periodMs * MICROS_PER_MS)
      // A triangle: its corners are where drift turns round.
      const height = 4 * Math.abs(turns - Math.floor(turns) - 0.5) - 1
      return BigInt(Math.round(shape.amplitudeMs * MICROS_PER_MS * height))
    }
    case 'noisy':
      return BigInt(dice.between(-shape.amplitudeMs, shape.amplitudeMs) * MICROS_PER_MS)
  }
}
