/**
 * Event to pixel, measured where it happens: from the console's receipt of an event to the frame after the one in which
 * the page drew it. A window of samples, read by the benchmark and by the settings screen.
 */
const SAMPLES_MAX = 2048
const samples = new Float64Array(SAMPLES_MAX)
let taken = 0

export function recordLag(ms: number): void {
  samples[taken % SAMPLES_MAX] = ms
  taken++
}

export interface LagSummary {
  readonly samples: number
  readonly p50Ms: number
  readonly p95Ms: number
  readonly maxMs: number
}
/** Of the last SAMPLES_MAX batches; undefined before the first. */
export function lagSummary(): LagSummary | undefined {
  const held = Math.min(taken, SAMPLES_MAX)
  if (held === 0) return undefined
  const sorted = samples.slice(0, held).sort()
  const at = (share: number): number => sorted[Math.min(held - 1, Math.floor(share * held))]!
  return { samples: held, p50Ms: at(0.5), p95Ms: at(0.95), maxMs: sorted[held - 1]! }
}
export function resetLag(): void {
  taken = 0
}
