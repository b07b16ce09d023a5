import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Ledger, verdictOf } from './ledger.ts'

const one = (options: { windowMessages?: number } = {}) => new Ledger({ lanes: 1, partitions: 1, ...options })

describe('one message', () => {
  it('counts as read back whether it is met before or after its acknowledgement', () => {
    for (const metFirst of [true, false]) {
      const ledger = one()
      const seq = ledger.start(0, 0, 1)
      if (metFirst) ledger.met(0, seq, 0, 5n, true)
      ledger.acked(0, seq, 1, 5n)
      if (!metFirst) ledger.met(0, seq, 0, 5n, true)
      expect(ledger.counts).toMatchObject({ sent: 1, acked: 1, readBack: 1, lost: 0, corrupt: 0, duplicate: 0 })
      expect(verdictOf(ledger).kind).toBe('nothing_lost')
    }
  })

  it('is lost only once the reader has passed its offset', () => {
    const ledger = one()
    const seq = ledger.start(0, 0, 1)
    ledger.acked(0, seq, 1, 5n)
    ledger.passed(0, 5n)
    expect(ledger.counts.lost).toBe(0)
    expect(verdictOf(ledger).kind).toBe('not_all_read')
    ledger.passed(0, 6n)
    expect(ledger.counts.lost).toBe(1)
    expect(verdictOf(ledger)).toEqual({ kind: 'lost', words: '1 acknowledged message not in the log' })
  })

  it('is lost when another message stands at the offset that was acknowledged for it', () => {
    const ledger = one()
    const a = ledger.start(0, 0, 1)
    ledger.acked(0, a, 1, 5n)
    const b = ledger.start(0, 0, 1)
    ledger.acked(0, b, 1, 5n)
    ledger.met(0, b, 0, 5n, true)
    ledger.passed(0, 6n)
    expect(ledger.counts).toMatchObject({ acked: 2, readBack: 1, lost: 1 })
  })

  it('is out of place when it is met at another offset, early or late', () => {
    for (const metFirst of [true, false]) {
      const ledger = one()
      const seq = ledger.start(0, 0, 1)
      if (metFirst) ledger.met(0, seq, 0, 9n, true)
      ledger.acked(0, seq, 1, 5n)
      if (!metFirst) ledger.met(0, seq, 0, 9n, true)
      expect(ledger.counts.corrupt).toBe(1)
      expect(verdictOf(ledger).kind).toBe('corrupt')
    }
    const late = one()
    const seq = late.start(0, 0, 1)
    late.acked(0, seq, 1, 5n)
    late.passed(0, 6n)
    late.met(0, seq, 0, 9n, true)
    expect(late.counts).toMatchObject({ lost: 0, corrupt: 1, readBack: 1 })
  })

  it('with unknown outcome is found at any later time, and a second copy is a duplicate', () => {
    const ledger = one()
    const seq = ledger.start(0, 0, 1)
    ledger.unknown(0, seq, 1)
    ledger.passed(0, 100n)
    expect(ledger.counts).toMatchObject({ unknown: 1, unknownFound: 0, lost: 0 })
    ledger.met(0, seq, 0, 200n, true)
    expect(ledger.counts).toMatchObject({ unknownFound: 1, duplicate: 0 })
    ledger.met(0, seq, 0, 201n, true)
    expect(ledger.counts).toMatchObject({ unknownFound: 1, duplicate: 1 })
  })

  it('that was refused and is stored all the same is a fault', () => {
    for (const metFirst of [true, false]) {
      const ledger = one()
      const seq = ledger.start(0, 0, 1)
      if (metFirst) ledger.met(0, seq, 0, 5n, true)
      ledger.refused(0, seq, 1)
      if (!metFirst) ledger.met(0, seq, 0, 5n, true)
      expect(ledger.counts.refusedFound).toBe(1)
      expect(verdictOf(ledger).kind).toBe('corrupt')
    }
  })

  it('met twice is a duplicate, damaged or never sent is corrupt', () => {
    const ledger = one()
    const seq = ledger.start(0, 0, 1)
    ledger.acked(0, seq, 1, 5n)
    ledger.met(0, seq, 0, 5n, true)
    ledger.met(0, seq, 0, 6n, true)
    expect(verdictOf(ledger)).toEqual({ kind: 'duplicate', words: '1 message stored twice' })
    ledger.met(0, seq, 0, 7n, false)
    ledger.met(0, seq + 1, 0, 8n, true)
    ledger.met(3, 0, 0, 8n, true)
    expect(ledger.counts).toMatchObject({ duplicate: 1, corrupt: 3 })
  })

  it('acknowledged without an offset is never called lost, only not read yet', () => {
    const ledger = one()
    const seq = ledger.start(0, 0, 1)
    ledger.acked(0, seq, 1, undefined)
    ledger.passed(0, 1000n)
    expect(ledger.counts.lost).toBe(0)
    expect(verdictOf(ledger).kind).toBe('not_all_read')
    ledger.met(0, seq, 0, 1000n, true)
    expect(verdictOf(ledger).kind).toBe('nothing_lost')
  })
})

it('stops the sender at the edge of its window, and lets it go on when the reader has caught up', () => {
  const ledger = one({ windowMessages: 4 })
  const seq = ledger.start(0, 0, 4)
  expect(ledger.mayStart(0, 1)).toBe(false)
  expect(() => ledger.start(0, 0, 1)).toThrow(RangeError)
  ledger.acked(0, seq, 4, 0n)
  expect(ledger.mayStart(0, 1)).toBe(false)
  for (let i = 0; i < 4; i++) ledger.met(0, seq + i, 0, BigInt(i), true)
  expect(ledger.mayStart(0, 4)).toBe(true)
  // An unknown outcome does not hold the window: it may stay unknown for ever.
  const later = ledger.start(0, 0, 4)
  ledger.unknown(0, later, 4)
  expect(ledger.mayStart(0, 4)).toBe(true)
})

it('refuses a second outcome for one message', () => {
  const ledger = one()
  const seq = ledger.start(0, 0, 1)
  ledger.acked(0, seq, 1, 0n)
  expect(() => ledger.unknown(0, seq, 1)).toThrow(RangeError)
})

describe('against a model', () => {
  /** What the world does with one batch. */
  const fate = fc.constantFrom('acked', 'acked', 'acked', 'lost', 'unknown_stored', 'unknown_gone', 'refused', 'twice')
  const batch = fc.record({
    lane: fc.nat({ max: 2 }),
    partition: fc.nat({ max: 1 }),
    count: fc.integer({ min: 1, max: 3 }),
    fate,
  })

  it('counts exactly what happened, however reads and answers interleave, with any window', () => {
    fc.assert(
      fc.property(
        fc.array(batch, { maxLength: 60 }),
        fc.array(fc.nat({ max: 3 }), { maxLength: 400 }),
        fc.integer({ min: 9, max: 200 }),
        (batches, turns, window) => {
          const ledger = new Ledger({ lanes: 3, partitions: 2, windowMessages: window })
          const logs: ({ lane: number; seq: number } | undefined)[][] = [[], []]
          const cursors = [0, 0]
          const expected = { sent: 0, acked: 0, unknown: 0, refused: 0, lost: 0, duplicate: 0, unknownFound: 0 }
          const answers: (() => void)[] = []
          const read = (partition: number) => {
            const log = logs[partition]!
            const at = cursors[partition]!
            if (at >= log.length) return
            const found = log[at]
            if (found) ledger.met(found.lane, found.seq, partition, BigInt(at), true)
            cursors[partition] = at + 1
            ledger.passed(partition, BigInt(at + 1))
          }
          const drain = () => {
            for (const answer of answers.splice(0)) answer()
            for (const partition of [0, 1]) for (let left = logs[partition]!.length; left >= 0; left--) read(partition)
          }
          const todo = [...batches]
          let turn = 0
          while (todo.length > 0) {
            const choice = turns.length > 0 ? turns[turn++ % turns.length]! : 0
            if (choice === 1) read(0)
            else if (choice === 2) read(1)
            else if (choice === 3) answers.shift()?.()
            if (choice !== 0 && turn % 7 !== 0) continue
            const { lane, partition, count, fate } = todo[0]!
            if (!ledger.mayStart(lane, count)) {
              drain()
              continue
            }
            todo.shift()
            const first = ledger.start(lane, partition, count)
            const log = logs[partition]!
            const base = log.length
            const store = () => {
              for (let i = 0; i < count; i++) log.push({ lane, seq: first + i })
            }
            expected.sent += count
            if (fate === 'acked' || fate === 'lost' || fate === 'twice') {
              expected.acked += count
              if (fate === 'lost') for (let i = 0; i < count; i++) log.push(undefined)
              else store()
              if (fate === 'lost') expected.lost += count
              if (fate === 'twice') {
                store()
                expected.duplicate += count
              }
              answers.push(() => ledger.acked(lane, first, count, BigInt(base)))
            } else if (fate === 'refused') {
              expected.refused += count
              answers.push(() => ledger.refused(lane, first, count))
            } else {
              expected.unknown += count
              if (fate === 'unknown_stored') {
                store()
                expected.unknownFound += count
              }
              answers.push(() => ledger.unknown(lane, first, count))
            }
          }
          drain()
          expect(ledger.counts).toEqual({
            ...expected,
            readBack: expected.acked - expected.lost,
            refusedFound: 0,
            corrupt: 0,
            untracked: 0,
          })
          expect(ledger.inFlight).toBe(0)
          expect(ledger.unverified).toBe(0)
        },
      ),
      { numRuns: 300 },
    )
  })
})
