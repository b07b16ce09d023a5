/** What a cluster keeps in memory does not grow with what it has done. */
import { expect, test } from 'vitest'
import { heapAfter } from './testing/heap-after.ts'

const GROWTH_MAX = 0.2

test('after 200,000 committed ops the heap is what it was after 20,000, with evicted rings and client table full in both', async () => {
  const [before, after] = await heapAfter([20_000, 200_000])
  console.log(`heap ${(before! / 2 ** 20).toFixed(1)} MiB, then ${(after! / 2 ** 20).toFixed(1)} MiB`)
  expect(after! / before!).toBeLessThan(1 + GROWTH_MAX)
})
