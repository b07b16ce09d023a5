/** A short instance of what start-up.soak.test.ts does over and over. */
import { afterAll, beforeAll, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { buildEntry } from './testing/build-entry.ts'
import { startInAnyOrder, startWithoutNode0 } from './testing/fresh-starts.ts'

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())

test.each([
  ['all at once', [0, 0, 0]],
  ['node 0 last, after nine seconds', [9_000, 0, 3_000]],
])('three fresh nodes, %s, settle in view 0 on both planes without an election', async (_, delays) => {
  await startInAnyOrder(built.entry, hash, delays)
})

test('without node 0 the other two elect and serve', async () => {
  await startWithoutNode0(built.entry, hash)
})
