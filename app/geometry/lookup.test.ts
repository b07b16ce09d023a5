import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batchOf, boundaryBefore, estimatePosition, floorEntry, segmentOf } from './lookup.ts'

const entry = (number: number, offset: bigint, positionBytes: number) => ({
  number,
  offset: offset.toString(),
  positionBytes,
})

describe('floorEntry', () => {
  it('is the last entry not above the offset, for any ascending index', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.bigInt({ min: 0n, max: 1n << 64n }), { maxLength: 40 }),
        fc.bigInt({ min: 0n, max: 1n << 64n }),
        (offsets, wanted) => {
          const sorted = [...offsets].sort((a, b) => (a < b ? -1 : 1))
          const entries = sorted.map((offset, index) => entry(index, offset, index * 10))
          const below = sorted.filter(offset => offset <= wanted)
          const floor = floorEntry(entries, wanted)
          expect(floor?.entry.offset).toBe(below.at(-1)?.toString())
          if (floor) {
            const next = sorted[floor.entry.number + 1]
            expect(floor.validTo).toBe(next === undefined ? undefined : next - 1n)
          }
        },
      ),
    )
  })

  it('answers nothing before the first entry', () => {
    expect(floorEntry([entry(0, 10n, 0)], 9n)).toBeUndefined()
    expect(floorEntry([], 0n)).toBeUndefined()
  })
})

it('finds the segment by number, not by the order of the list or of the text', () => {
  const segments = [{ startOffset: '100' }, { startOffset: '9' }, { startOffset: '20' }]
  expect(segmentOf(segments, 99n)?.startOffset).toBe('20')
  expect(segmentOf(segments, 100n)?.startOffset).toBe('100')
  expect(segmentOf(segments, 8n)).toBeUndefined()
})

it('finds the batch that holds an offset, first and last message included, and none in a gap', () => {
  const batches = [
    { baseOffset: '0', messages: 10, positionBytes: 0, lengthBytes: 5 },
    { baseOffset: '20', messages: 5, positionBytes: 5, lengthBytes: 5 },
  ]
  expect(batchOf(batches, 0n)?.positionBytes).toBe(0)
  expect(batchOf(batches, 9n)?.positionBytes).toBe(0)
  expect(batchOf(batches, 10n)).toBeUndefined()
  expect(batchOf(batches, 24n)?.positionBytes).toBe(5)
  expect(batchOf(batches, 25n)).toBeUndefined()
})

it('starts reading at a boundary that is never after the window', () => {
  const entries = [entry(0, 0n, 0), entry(1, 80n, 2000), entry(2, 160n, 4000)]
  expect([0, 1999, 2000, 3999, 9999].map(position => boundaryBefore(entries, position))).toEqual([
    0, 0, 2000, 2000, 4000,
  ])
})

it('estimates a position between the entries around it, and never outside', () => {
  const entries = [entry(0, 0n, 0), entry(1, 100n, 1000)]
  const end = { offset: 199n, position: 2000 }
  expect(estimatePosition(floorEntry(entries, 50n)!, entries, 50n, end)).toBe(500)
  expect(estimatePosition(floorEntry(entries, 100n)!, entries, 100n, end)).toBe(1000)
  expect(estimatePosition(floorEntry(entries, 150n)!, entries, 150n, end)).toBe(1500)
  expect(estimatePosition(floorEntry(entries, 9999n)!, entries, 9999n, end)).toBe(2000)
})
