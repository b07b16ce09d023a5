/** Figures of samples, with their spread (spec drills.md §4). */
import { Xoshiro256 } from '../../shared/bytes/random.ts'

export interface Spread {
  readonly count: number
  readonly min: number
  readonly median: number
  readonly max: number
}

export interface LatencyFigures {
  readonly count: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
  /** Population form. */
  readonly deviation: number
}

const ascending = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b)

/** By linear interpolation on rank share * (n - 1); `sorted` is not empty. */
export function percentile(sorted: readonly number[], share: number): number {
  const rank = share * (sorted.length - 1)
  const below = sorted[Math.floor(rank)]!
  return below + (sorted[Math.ceil(rank)]! - below) * (rank - Math.floor(rank))
}

export const median = (values: readonly number[]): number => percentile(ascending(values), 0.5)

export function spreadOf(values: readonly number[]): Spread {
  const sorted = ascending(values)
  return { count: sorted.length, min: sorted[0]!, median: percentile(sorted, 0.5), max: sorted.at(-1)! }
}

/** Every figure from the same raw samples: a smoothed series has lost its extremes. */
export function latencyFigures(samples: readonly number[]): LatencyFigures {
  const sorted = ascending(samples)
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length
  const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / sorted.length
  const at = (share: number) => percentile(sorted, share)
  return {
    count: sorted.length,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    p999: at(0.999),
    max: sorted.at(-1)!,
    deviation: Math.sqrt(variance),
  }
}

const RESAMPLES = 2000

/** 95 % interval of the median by resampling; the same values give the same interval. */
export function bootstrapInterval(values: readonly number[]): readonly [number, number] {
  const random = new Xoshiro256(BigInt(values.length))
  const medians = Array.from({ length: RESAMPLES }, () =>
    median(values.map(() => values[random.upTo(values.length - 1)]!)),
  )
  const sorted = ascending(medians)
  return [percentile(sorted, 0.025), percentile(sorted, 0.975)]
}

export const rounded = (value: number, digits = 2): number => Math.round(value * 10 ** digits) / 10 ** digits
