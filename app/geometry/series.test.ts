import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seriesPath, stretchesOf, wholeSeries, wholeTicks } from './series.ts'

const second = (at: number, value: number) => ({ atMs: at * 1000, value })
const path = (samples: readonly { atMs: number; value: number }[]) =>
  seriesPath(
    wholeSeries(samples),
    ms => ms / 1000,
    value => value,
  )

describe('G46 a series of counts', () => {
  it('has a gap where a second is missing or is no number, and never a zero in its place', () => {
    const series = wholeSeries([second(1, 5), second(2, Number.NaN), second(3, 7), second(6, 8), second(5, 0)])
    expect(series.map(({ atMs, value }) => [atMs / 1000, value])).toEqual([
      [1, 5],
      [2, undefined],
      [3, 7],
      [4, undefined],
      [5, 0],
      [6, 8],
    ])
    expect(stretchesOf(series).map(stretch => stretch.length)).toEqual([1, 1, 2])
    expect(path([second(3, 7), second(5, 0), second(6, 8)])).toBe('M3.0 7.0h0.1M5.0 0.0L6.0 8.0')
  })

  it('draws one point, nothing of nothing, and no number that is none', () => {
    expect(path([second(1, 4)])).toBe('M1.0 4.0h0.1')
    expect(path([])).toBe('')
    expect(path([second(1, Number.NaN), { atMs: Number.NaN, value: 1 }])).toBe('')
  })

  it('has whole numbers on its axis, from 0 to what is at least as much as any value, also when all are zero', () => {
    expect(wholeTicks([])).toEqual([0, 1])
    expect(wholeTicks([0, 0, 0])).toEqual([0, 1])
    expect(wholeTicks([0, 1, 2])).toEqual([0, 1, 2])
    expect(wholeTicks([3, undefined, Number.NaN])).toEqual([0, 1, 2, 3])
    expect(wholeTicks([290])).toEqual([0, 100, 200, 300])
    fc.assert(
      fc.property(fc.array(fc.nat(10_000_000), { minLength: 1 }), values => {
        const ticks = wholeTicks(values)
        const step = ticks[1]! - ticks[0]!
        expect(ticks.every(tick => Number.isInteger(tick))).toBe(true)
        expect(new Set(ticks).size).toBe(ticks.length)
        expect(ticks.length).toBeLessThanOrEqual(5)
        expect(ticks.at(-1)!).toBeGreaterThanOrEqual(Math.max(...values))
        expect(ticks.at(-1)! - step).toBeLessThan(Math.max(1, ...values))
      }),
    )
  })
})
