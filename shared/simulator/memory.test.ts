/** What a cluster keeps in memory does not grow with what it has done: the short look; `memory.soak.test.ts` is the long one. */
import { expect, test } from 'vitest'
import { heapAfter } from './testing/heap-after.ts'

/** 250 bytes for each op, over three nodes: less than what one would keep of it. */
const GROWTH_MAX = 0.1

test('8,000 committed ops leave no more on the heap than 2,000 did', async () => {
  const [before, after] = await heapAfter([2_000, 8_000])
  expect(after! / before!).toBeLessThan(1 + GROWTH_MAX)
}, 240_000)
