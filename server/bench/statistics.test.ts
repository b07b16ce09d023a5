import { expect, it } from 'vitest'
import { bootstrapInterval, latencyFigures, median, percentile, spreadOf } from './statistics.ts'

it('equal samples have no deviation, and it stays 0 as JSON', () => {
  const figures = latencyFigures([5, 5, 5])
  expect(figures).toMatchObject({ count: 3, p50: 5, max: 5, deviation: 0 })
  expect(JSON.parse(JSON.stringify(figures))).toEqual(figures)
})

it('one outlier among ten thousand is the maximum, and moves no percentile below its place', () => {
  const samples = Array.from({ length: 10_000 }, () => 1)
  samples[1234] = 900
  expect(latencyFigures(samples)).toMatchObject({ p50: 1, p99: 1, p999: 1, max: 900 })
})

it('percentiles interpolate between ranks', () => {
  expect(percentile([1, 2, 3, 4], 0.5)).toBe(2.5)
  expect(percentile([1, 2, 3, 4], 1)).toBe(4)
  expect(median([9, 1, 5])).toBe(5)
  expect(spreadOf([2, 8, 4])).toEqual({ count: 3, min: 2, median: 4, max: 8 })
})

it('the interval of a median holds it, is the same each time, and is a point where the values are', () => {
  const values = [1.7, 1.8, 1.9, 1.85, 1.95, 1.6, 1.8, 1.82]
  const [low, high] = bootstrapInterval(values)
  expect(low).toBeLessThanOrEqual(median(values))
  expect(high).toBeGreaterThanOrEqual(median(values))
  expect(low).toBeLessThan(high)
  expect(bootstrapInterval(values)).toEqual([low, high])
  expect(bootstrapInterval([2, 2, 2])).toEqual([2, 2])
})
