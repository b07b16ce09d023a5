import { expect, test } from 'vitest'
import { Dice } from './dice.ts'
import { type ClockShape, clockError } from './wall-clock.ts'

const at = (shape: ClockShape, ms: number) => Number(clockError(shape, ms * 1_000, new Dice(1n, 'test'))) / 1_000

test('a clock that drifts is ever further off', () => {
  const shape = { kind: 'drift', perSecondMicros: -200 } as const
  expect([at(shape, 0), at(shape, 1_000), at(shape, 10_000)].map(Math.abs)).toEqual([0, 0.2, 2])
  expect(at(shape, 10_000)).toBeLessThan(0)
})

test('one that sways comes back, and steps nowhere', () => {
  const shape = { kind: 'periodic', amplitudeMs: 50, periodMs: 1_000 } as const
  expect([0, 250, 500, 750, 1_000].map(ms => at(shape, ms))).toEqual([50, 0, -50, 0, 50])
})

test('one that stutters stays within its bounds, and is seldom the same twice', () => {
  const dice = new Dice(1n, 'test')
  const errors = Array.from(
    { length: 50 },
    () => Number(clockError({ kind: 'noisy', amplitudeMs: 5 }, 0, dice)) / 1_000,
  )
  expect(Math.max(...errors.map(Math.abs))).toBeLessThanOrEqual(5)
  expect(new Set(errors).size).toBeGreaterThan(5)
})
