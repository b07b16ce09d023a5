/** SIGKILL under load, a few rounds; the soak has the many. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { buildEntry } from './testing/build-entry.ts'
import { KillRounds } from './testing/kill-rounds.ts'

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())

test('VC-01 three rounds of SIGKILL under load, then all at once: nothing acknowledged is lost or applied twice', async () => {
  const rounds = await KillRounds.open(hash, built.entry)
  try {
    for (let round = 0; round < 3; round++) {
      const killed = await rounds.kill(primary => (round % 2 === 0 ? primary : (primary + 1) % 3))
      console.log(`round ${round + 1}: ${JSON.stringify(killed)}`)
    }
    console.log(`young: ${JSON.stringify(await rounds.killYoung(1, 1))}`)
    console.log(`all at once: first acknowledgement after ${await rounds.killAll([1, 0, 2])} ms`)
    const { wrong, words } = await rounds.judge()
    console.log(words)
    expect(wrong).toEqual([])
  } finally {
    await rounds.close()
  }
})
