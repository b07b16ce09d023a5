/** All nodes at once under load, twenty rounds, started in each order. Prints what it measured. */
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

const ROUNDS = 20
const ORDERS = [
  [0, 1, 2],
  [2, 1, 0],
  [1, 2, 0],
  [0, 2, 1],
  [2, 0, 1],
  [1, 0, 2],
]

test('OR-27 all three nodes are SIGKILLed at once under load, twenty times', async () => {
  const kills = await WholeKills.open(hash, built.entry)
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const order = ORDERS[round % ORDERS.length]!
      console.log(`round ${round + 1}, started as ${order.join(', ')}: ${await kills.killAll(order)} ms`)
    }
    const { wrong, words, story } = await kills.judge()
    console.log(words)
    if (wrong.length > 0) console.log(story)
    expect(wrong).toEqual([])
  } finally {
    await kills.close()
  }
})
