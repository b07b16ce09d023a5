import { describe, expect, it } from 'vitest'
import type { BatchesSnapshot, PartitionSnapshot } from '../../../shared/inspection/snapshots.ts'
import { floorEntry } from '../../geometry/lookup.ts'
import { earliestOf, placeOf } from './offset-place.ts'

const LARGE = 2n ** 53n
const segment = (start: bigint, end: bigint | undefined, sealed = true) => ({
  startOffset: String(start),
  endOffset: String(end ?? start),
  empty: end === undefined,
  sealed,
})
/** A chain whose list is in no order: 100 to 199, a gap, then 300 to 349 on disk and 350 to 359 in memory. */
const chain = (start = 100n) =>
  ({
    segments: [segment(start + 200n, start + 249n, false), segment(start, start + 99n)],
    group: { offsets: { next: String(start + 260n), persisted: String(start + 250n), visible: String(start + 260n) } },
  }) as unknown as PartitionSnapshot
/** Batches of ten messages, a hundred bytes each. */
const listed = (start: bigint, count: number, from = 0, next?: number) =>
  ({
    fromPositionBytes: from,
    ...(next !== undefined && { nextPositionBytes: next }),
    batches: Array.from({ length: count }, (_, index) => ({
      positionBytes: from + index * 100,
      lengthBytes: 100,
      baseOffset: String(start + BigInt(from / 10) + BigInt(index * 10)),
      messages: 10,
    })),
  }) as unknown as BatchesSnapshot
const entries = (start: bigint) => [
  { number: 0, offset: String(start), positionBytes: 0 },
  { number: 1, offset: String(start + 30n), positionBytes: 300 },
]

describe('an offset that is looked up', () => {
  it.each([
    ['below the earliest', 99n, { kind: 'below', earliest: 100n }],
    ['in a gap, at its first offset', 200n, { kind: 'gap', last: 199n, next: 300n }],
    ['in a gap, at its last offset', 299n, { kind: 'gap', last: 199n, next: 300n }],
    ['in memory, at the border to the disk', 350n, { kind: 'memory', persisted: 350n }],
    ['at the last offset that was given', 359n, { kind: 'memory', persisted: 350n }],
    ['at the next one', 360n, { kind: 'beyond', next: 360n }],
    ['at the end of all offsets', 2n ** 64n - 1n, { kind: 'beyond', next: 360n }],
  ])('is told to be %s', (_, offset, place) => {
    expect(placeOf(offset, chain(), undefined, listed(300n, 5))).toEqual(place)
  })

  it.each([
    ['the first of a segment', 0n, 0, 100, 1],
    ['the last in front of an entry', 29n, 0, 300, 3],
    ['the offset of an entry', 30n, 300, 100, 1],
    ['the last of a segment', 99n, 300, 700, 7],
  ])('is found from its floor: %s', (_, at, fromBytes, scanBytes, batches) => {
    for (const start of [100n, LARGE]) {
      const offset = start + at
      const place = placeOf(offset, chain(start), floorEntry(entries(start), offset), listed(start, 10))
      expect(place).toMatchObject({ kind: 'found', fromBytes, scanBytes, batches })
    }
  })

  it('is scanned for from the start of a segment whose index begins later', () => {
    expect(placeOf(125n, chain(), floorEntry([], 125n), listed(100n, 10))).toMatchObject({
      kind: 'found',
      fromBytes: 0,
      scanBytes: 300,
    })
  })

  it('counts no batches that are not listed, and claims nothing of bytes that were not read', () => {
    const floor = floorEntry(entries(100n), 150n)
    expect(placeOf(150n, chain(), floor, listed(100n, 5, 400))).toMatchObject({ kind: 'found', batches: undefined })
    expect(placeOf(150n, chain(), floor, listed(100n, 2, 0, 200))).toEqual({ kind: 'unknown' })
    expect(placeOf(150n, chain(), floor, undefined)).toEqual({ kind: 'unknown' })
    expect(placeOf(150n, undefined, floor, undefined)).toEqual({ kind: 'unknown' })
    // Read to the end of the file, and not there: damage, or a boot that cut the log.
    expect(placeOf(150n, chain(), floor, listed(100n, 3))).toEqual({ kind: 'nowhere' })
  })
})

it('the earliest offset is the least by number', () => {
  expect(earliestOf([segment(1000n, 1999n), segment(900n, 999n)] as never)).toBe(900n)
  expect(earliestOf([])).toBeUndefined()
})
