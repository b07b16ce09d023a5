import { expect, test } from 'vitest'
import { fuzzClientPort } from './testing/port-fuzz.ts'

const HEAP_GROWTH_MAX = 64 * 1024 * 1024

test.each([2n, 3n])('100,000 frames of the grammar (seed %s) are each answered as the model says', async seed => {
  const report = await fuzzClientPort(seed, 100_000)
  expect(report.heapGrowthBytes).toBeLessThan(HEAP_GROWTH_MAX)
  console.log(report)
})
