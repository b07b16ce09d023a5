/** OR-01 to OR-03, OR-14, OR-25 to OR-27 over random histories: no offset is ever confirmed for two payloads. */
import { describe, expect, test } from 'vitest'
import { type History, live } from './testing/histories.ts'

const EAGER = { enforceFsync: true, messagesRequiredToSave: 1 }
const SEEDS = Number(process.env.NO_REUSE_SEEDS ?? 3)
const FIRST = Number(process.env.NO_REUSE_FIRST ?? 1)
const seeds = Array.from({ length: SEEDS }, (_, index) => BigInt(FIRST + index))
const HISTORIES: readonly [string, History][] = [
  [
    'solo, default topic',
    { nodes: 1, topic: { messagesRequiredToSave: 8 }, rounds: 8, kinds: ['process'], leaseOffsets: 20 },
  ],
  ['solo, eager topic, power lost', { nodes: 1, topic: EAGER, rounds: 8, kinds: ['drop', 'part'], leaseOffsets: 20 }],
  [
    'three nodes, default topic',
    { nodes: 3, topic: { messagesRequiredToSave: 8 }, rounds: 5, kinds: ['process'], leaseOffsets: 20 },
  ],
  ['three nodes, eager topic', { nodes: 3, topic: EAGER, rounds: 5, kinds: ['process'], leaseOffsets: 20 }],
  [
    'three nodes, default topic, power lost',
    { nodes: 3, topic: {}, rounds: 5, kinds: ['drop', 'part'], leaseOffsets: 20 },
  ],
]

describe.each(HISTORIES)('OR-27 %s', (_name, history) => {
  test.each(seeds)('no offset twice, one log in the end (seed %s)', async seed => {
    const { ledger, contents, world } = await live(seed, history)
    expect(ledger.acknowledged.size).toBeGreaterThan(10)
    for (const other of contents) expect(other).toEqual(contents[0])
    if (history.nodes === 1 && history.topic === EAGER)
      for (const [offset, payload] of ledger.acknowledged) expect(contents[0]!.get(offset)).toBe(payload)
    expect(world.factsOf('partition_refused')).toEqual([])
  })
})
