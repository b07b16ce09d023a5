/** SIGKILL under load: thirty rounds of one node, five of all. Prints what it measured. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { buildEntry } from './testing/build-entry.ts'
import { HEARTBEAT_MS, type Killed, KillRounds } from './testing/kill-rounds.ts'

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())

const ORDERS = [
  [0, 1, 2],
  [2, 1, 0],
  [1, 2, 0],
  [0, 2, 1],
  [2, 0, 1],
]

test('VC-01 thirty rounds of SIGKILL under load, the metadata primary and a random node in turn', async () => {
  const rounds = await KillRounds.open(hash, built.entry)
  const killed: Killed[] = []
  try {
    for (let round = 0; round < 30; round++) {
      const one = await rounds.kill(primary => (round % 2 === 0 ? primary : Math.floor(Math.random() * 3)))
      killed.push(one)
      console.log(`round ${round + 1}: ${JSON.stringify(one)}`)
    }
    const times = killed.filter(({ wasPrimary }) => wasPrimary).map(({ metadataMs }) => metadataMs)
    const late = times.filter(ms => ms > HEARTBEAT_MS + 3_000)
    console.log(`after a kill of the primary: at most ${Math.max(...times)} ms, ${late.length} of ${times.length} late`)
    const { wrong, words } = await rounds.judge()
    console.log(words)
    expect(wrong).toEqual([])
  } finally {
    await rounds.close()
  }
})

test('VC-01 thirty rounds of SIGKILL within the first second after a start', async () => {
  const rounds = await KillRounds.open(hash, built.entry)
  try {
    for (let round = 0; round < 30; round++) {
      // Every third round has two short lives in a row.
      const one = await rounds.killYoung(Math.floor(Math.random() * 3), round % 3 === 2 ? 2 : 1)
      console.log(`round ${round + 1}: ${JSON.stringify(one)}`)
    }
    const { wrong, words } = await rounds.judge()
    console.log(words)
    expect(wrong).toEqual([])
  } finally {
    await rounds.close()
  }
})

test('all three at once, five times, started in each order: metadata loses nothing', async () => {
  const rounds = await KillRounds.open(hash, built.entry)
  try {
    for (const order of ORDERS) {
      console.log(`started as ${order.join(', ')}: first acknowledgement after ${await rounds.killAll(order)} ms`)
    }
    const { wrong, words } = await rounds.judge()
    console.log(words)
    expect(wrong).toEqual([])
  } finally {
    await rounds.close()
  }
})
