/** Waits before reconnecting: doubling from BASE to CAP, each drawn from the upper half, so that many tabs don't march in step. */
const BASE_MS = 250
const CAP_MS = 8000

/** Milliseconds to wait before attempt `attempt` (0 = first retry); `chance` is uniform in [0, 1). */
export function backoffMs(attempt: number, chance: number): number {
  const ceiling = Math.min(CAP_MS, BASE_MS * 2 ** Math.min(attempt, 30))
  return Math.round(ceiling / 2 + (ceiling / 2) * chance)
}
