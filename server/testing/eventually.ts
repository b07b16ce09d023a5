import { vi } from 'vitest'

/** Waits until `check` passes; so long that only what never comes is missed, however busy the machine. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 20_000, interval: 5 })
