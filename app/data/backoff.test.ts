import fc from 'fast-check'
import { expect, it } from 'vitest'
import { backoffMs } from './backoff.ts'

it('grows to its cap and never leaves the upper half of its step', () => {
  fc.assert(
    fc.property(fc.nat({ max: 1000 }), fc.double({ min: 0, max: 0.999999, noNaN: true }), (attempt, chance) => {
      const wait = backoffMs(attempt, chance)
      const step = Math.min(8000, 250 * 2 ** Math.min(attempt, 30))
      expect(wait).toBeGreaterThanOrEqual(step / 2)
      expect(wait).toBeLessThanOrEqual(step)
    }),
  )
})

it('G49 spreads tabs that lost the same console', () => {
  expect(new Set([0, 0.2, 0.4, 0.6, 0.8].map(chance => backoffMs(4, chance))).size).toBe(5)
})
