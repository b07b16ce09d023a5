import { expect, test } from 'vitest'
import { fuzzClientPort } from './testing/port-fuzz.ts'

const HEAP_GROWTH_MAX = 64 * 1024 * 1024

test('20,000 frames of the grammar: the invalid ones change nothing, the valid ones what the model says', async () => {
  const report = await fuzzClientPort(1n, 20_000)
  expect(Math.min(report.valid, report.invalid)).toBeGreaterThan(8_000)
  // Every kind was there, the rare ones too.
  expect(Object.keys(report.byKind).length).toBeGreaterThanOrEqual(30)
  expect(report.heapGrowthBytes).toBeLessThan(HEAP_GROWTH_MAX)
}, 300_000)
