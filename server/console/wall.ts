/** Wall time of the console in microseconds; steps with the system clock, resolution below a millisecond. */
export const wallMs = (): number => performance.timeOrigin + performance.now()
export const wallUs = (): string => Math.round(wallMs() * 1000).toString()
export const usOfMs = (ms: number): string => Math.round(ms * 1000).toString()
