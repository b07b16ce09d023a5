/**
 * Wall time of the console in microseconds. The system clock gives milliseconds, the monotonic one gives the rest: the sum
 * follows the system clock when that is set or when the machine has slept.
 */
let offsetMs = performance.timeOrigin
const DRIFT_MS = 2

export function wallMs(): number {
  const now = performance.now()
  if (Math.abs(offsetMs + now - Date.now()) > DRIFT_MS) offsetMs = Date.now() - now
  return offsetMs + now
}

export const usOfMs = (ms: number): string => Math.round(ms * 1000).toString()
export const wallUs = (): string => usOfMs(wallMs())
