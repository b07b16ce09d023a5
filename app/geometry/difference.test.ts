import { describe, expect, it } from 'vitest'
import {
  type ChainOf,
  chainDifference,
  compareStretches,
  firstByte,
  type ListedBatch,
  type Stretch,
} from './difference.ts'

const batches = (count: number, from = 0): ListedBatch[] =>
  Array.from({ length: count }, (_, index) => ({
    positionBytes: from + index * 100,
    lengthBytes: 100,
    baseOffset: String(9_007_199_254_740_993n + BigInt(index * 3)),
    messages: 3,
    checksum: `c${index}`,
    verdict: 'valid',
  }))
const log = (node: number, list: readonly ListedBatch[], extra: Partial<Stretch> = {}): Stretch => ({
  node,
  batches: list,
  more: false,
  sizeBytes: list.length === 0 ? 0 : list.at(-1)!.positionBytes + 100,
  ...extra,
})
const but = (list: ListedBatch[], at: number, change: Partial<ListedBatch>): ListedBatch[] =>
  list.map((batch, index) => (index === at ? { ...batch, ...change } : batch))

describe('logs beside each other', () => {
  it('are alike to the end of the second longest; one that ends earlier is behind, and that is no difference', () => {
    expect(compareStretches([log(0, batches(5)), log(1, batches(4)), log(2, batches(2))], 0)).toEqual({
      equalBytes: 400,
      equalBatches: 4,
      ended: [
        { node: 2, atBytes: 200 },
        { node: 1, atBytes: 400 },
      ],
    })
    expect(compareStretches([log(0, []), log(1, batches(2)), log(2, batches(2))], 0)).toMatchObject({
      equalBytes: 200,
      ended: [
        { node: 0, atBytes: 0 },
        { node: 1, atBytes: 200 },
        { node: 2, atBytes: 200 },
      ],
    })
    expect(compareStretches([log(0, []), log(1, [])], 0)).toMatchObject({ equalBytes: 0, equalBatches: 0 })
  })

  it.each([
    ['place', { baseOffset: '9007199254740997' }],
    ['place', { lengthBytes: 101 }],
    ['place', { messages: 4 }],
    ['checksum', { checksum: 'other' }],
    ['verdict', { verdict: 'bad_checksum' }],
  ] as const)('differ first in the %s of a batch, and each says what it has there', (kind, change) => {
    const { equalBytes, difference } = compareStretches(
      [log(0, batches(5)), log(1, batches(1)), log(2, but(batches(5), 3, change))],
      0,
    )
    expect({ equalBytes, kind: difference?.kind, at: difference?.positionBytes }).toEqual({
      equalBytes: 300,
      kind,
      at: 300,
    })
    expect(difference?.cells.map(({ node, batch }) => [node, batch?.baseOffset])).toEqual([
      [0, batches(5)[3]!.baseOffset],
      [1, undefined],
      [2, { ...batches(5)[3], ...change }.baseOffset],
    ])
  })

  it('damage that all copies share is told all the same', () => {
    const torn = () => but(batches(3), 1, { verdict: 'bad_checksum' })
    expect(compareStretches([log(0, torn()), log(1, torn())], 0).difference).toMatchObject({
      kind: 'verdict',
      positionBytes: 100,
    })
  })

  it('a list that ends before its file is damage, and not a log that is behind', () => {
    const found = compareStretches([log(0, batches(5)), log(1, batches(2), { sizeBytes: 500 })], 0)
    expect(found).toMatchObject({ equalBytes: 200, difference: { kind: 'unreadable', positionBytes: 200 } })
    expect(found.difference?.cells.map(({ batch }) => batch?.positionBytes)).toEqual([200, undefined])
  })

  it('says nothing of what a cut list has not told', () => {
    expect(compareStretches([log(0, batches(2), { more: true }), log(1, batches(5))], 0)).toEqual({
      equalBytes: 200,
      equalBatches: 2,
      ended: [],
    })
  })

  it('the first byte that differs, as far as all reach', () => {
    expect(firstByte([new Uint8Array([1, 2, 3]), new Uint8Array([1, 2, 4, 5])])).toBe(2)
    expect(firstByte([new Uint8Array([1, 2]), new Uint8Array([1, 2, 4])])).toBeUndefined()
    expect(firstByte([])).toBeUndefined()
  })
})

describe('chains beside each other', () => {
  const chain = (node: number, ...segments: [string, boolean, number][]): ChainOf => ({
    node,
    segments: segments.map(([startOffset, sealed, sizeBytes]) => ({ startOffset, endOffset: '0', sealed, sizeBytes })),
  })
  it('that are only not as far are alike; a segment that one lacks, or that is sealed shorter, is a difference', () => {
    expect(
      chainDifference([
        chain(0, ['0', true, 10], ['9', false, 4]),
        chain(1, ['0', true, 10]),
        chain(2, ['0', false, 7]),
      ]),
    ).toBeUndefined()
    expect(chainDifference([chain(0, ['0', true, 10], ['9', false, 4]), chain(1, ['9', false, 4])])).toEqual({
      kind: 'absent',
      startOffset: '0',
      nodes: [1],
    })
    // 10 comes behind 9, whatever their first digits are.
    expect(
      chainDifference([chain(0, ['9', true, 5], ['10', true, 6]), chain(1, ['9', true, 4], ['10', true, 7])]),
    ).toEqual({ kind: 'sealed', startOffset: '9', nodes: [1] })
    expect(chainDifference([])).toBeUndefined()
  })
})
