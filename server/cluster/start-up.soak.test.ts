/** The start of a cluster, over and over. Prints what it measured. */
import { afterAll, beforeAll, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { buildEntry } from './testing/build-entry.ts'
import { startInAnyOrder, startWithoutNode0 } from './testing/fresh-starts.ts'

const ROUNDS = 20
const SPREAD_MS = 10_000

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())

test(`three nodes started in any order within ${SPREAD_MS} ms settle in view 0 on both planes, ${ROUNDS} times of ${ROUNDS}`, async () => {
  for (let round = 1; round <= ROUNDS; round++) {
    const delays = [0, 1, 2].map(() => Math.floor(Math.random() * SPREAD_MS))
    await startInAnyOrder(built.entry, hash, delays)
    console.log(`round ${round}: delays ${delays.join(', ')} ms, view 0`)
  }
})

test('without node 0 the other two elect and serve, five times of five', async () => {
  for (let round = 1; round <= 5; round++) {
    console.log(`served after ${await startWithoutNode0(built.entry, hash)} ms`)
  }
})
