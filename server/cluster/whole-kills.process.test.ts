/** All nodes at once under load, two rounds; the soak has twenty. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { buildEntry } from './testing/build-entry.ts'
import { WholeKills } from './testing/whole-kills.ts'

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())

test('OR-27 all three nodes are SIGKILLed at once under load, twice: eager keeps all, no offset is confirmed twice', async () => {
  const kills = await WholeKills.open(hash, built.entry)
  try {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
    ])
      console.log(`started as ${order.join(', ')}: both topics acknowledge after ${await kills.killAll(order)} ms`)
    const { wrong, words, story } = await kills.judge()
    console.log(words)
    if (wrong.length > 0) console.log(story)
    expect(wrong).toEqual([])
  } finally {
    await kills.close()
  }
})
