import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chainLayout, lensMarks, niceTicks } from './chain.ts'

const segment = (startOffset: string, sizeBytes: number, sealed: boolean, maxSizeBytes = 1000) => ({
  startOffset,
  sizeBytes,
  sealed,
  maxSizeBytes,
})

describe('chainLayout', () => {
  it('draws equal bytes equally wide, and a copy that is behind shorter by exactly its gap', () => {
    const layout = chainLayout(
      [
        { node: 0, segments: [segment('0', 1000, true), segment('10', 800, false)] },
        { node: 1, segments: [segment('0', 1000, true), segment('10', 600, false)] },
      ],
      100,
      1100,
    )
    const [first, second, third, fourth] = layout.bars
    expect(first!.width).toBe(third!.width)
    expect(second!.x).toBe(fourth!.x)
    expect(second!.width - fourth!.width).toBeCloseTo(200 * layout.pixelsPerByte)
    expect(fourth!.missingBytes).toBe(200)
    expect(second!.missingBytes).toBe(0)
  })

  it('fills the width with data and room that are to scale', () => {
    const { columns } = chainLayout(
      [{ node: 0, segments: [segment('0', 1000, true), segment('5', 900, false)] }],
      0,
      1002,
    )
    const last = columns.at(-1)!
    expect(last.roomToScale).toBe(true)
    expect(last.x + last.width + last.roomWidth).toBeCloseTo(1002)
  })

  it('cuts a gigabyte of room behind a megabyte of log, and says that it is cut', () => {
    const { columns } = chainLayout([{ node: 0, segments: [segment('0', 2 ** 20, false, 2 ** 30)] }], 0, 1000)
    expect(columns[0]!.roomToScale).toBe(false)
    expect(columns[0]!.width).toBeGreaterThan(800)
    expect(columns[0]!.width + columns[0]!.roomWidth).toBeCloseTo(1000)
  })

  it('sorts segments by number, not as text', () => {
    const { columns } = chainLayout(
      [{ node: 0, segments: [segment('100', 5, true), segment('9', 5, true), segment('20', 5, false)] }],
      0,
      500,
    )
    expect(columns.map(column => column.startOffset)).toEqual(['9', '20', '100'])
  })

  it('keeps every bar inside the pane and in order, for any chain', () => {
    const chain = fc.array(
      fc.record({ size: fc.nat({ max: 2 ** 30 }), nodes: fc.array(fc.nat({ max: 2 ** 30 }), { maxLength: 2 }) }),
      { minLength: 1, maxLength: 200 },
    )
    fc.assert(
      fc.property(chain, fc.integer({ min: 200, max: 2000 }), (sizes, width) => {
        const build = (pick: (item: (typeof sizes)[number]) => number | undefined) =>
          sizes.flatMap((item, index) => {
            const size = pick(item)
            return size === undefined ? [] : [segment(String(index * 10), size, index < sizes.length - 1, 2 ** 30)]
          })
        const layout = chainLayout(
          [
            { node: 0, segments: build(item => item.size) },
            { node: 1, segments: build(item => item.nodes[0]) },
          ],
          50,
          50 + width,
        )
        let end = 50
        for (const column of layout.columns) {
          expect(column.x).toBeGreaterThanOrEqual(end - 1e-6)
          end = column.x + column.width + column.roomWidth
        }
        expect(end).toBeLessThanOrEqual(50 + width + 1e-6)
        for (const bar of layout.bars) expect(bar.x + bar.width).toBeLessThanOrEqual(50 + width + 1e-6)
        expect(layout.older.columns + layout.columns.length + layout.newer.columns).toBe(sizes.length)
      }),
    )
  })
})

describe('a chain of 10,000 segments', () => {
  const chain = Array.from({ length: 10_000 }, (_, at) => segment(String(at * 7), 100 + (at % 3), at < 9_999))
  const nodes = [0, 1, 2].map(node => ({ node, segments: chain }))
  const whole = chain.reduce((sum, item) => sum + item.sizeBytes, 0)
  const drawn = (chosen?: string) => chainLayout(nodes, 86, 1086, chosen)

  it('is drawn as what the pane has room for, and the rest is counted to the byte', () => {
    for (const chosen of [undefined, '0', '35000', '69993']) {
      const { columns, bars, older, newer } = drawn(chosen)
      expect(columns.length).toBeLessThanOrEqual(1000 / 16)
      expect(bars.length).toBe(columns.length * 3)
      expect(older.columns + columns.length + newer.columns).toBe(10_000)
      expect(older.bytes + newer.bytes + columns.reduce((sum, column) => sum + column.bytes, 0)).toBe(whole)
    }
  })

  it('always draws the chosen segment, and the newest where none is chosen', () => {
    for (const chosen of ['0', '700', '35000', '69300', '69993'])
      expect(drawn(chosen).columns.map(column => column.startOffset)).toContain(chosen)
    expect(drawn().newer.columns).toBe(0)
    expect(drawn('0').older.columns).toBe(0)
    expect(drawn('35000').columns.at(-1)!.roomBytes).toBe(0)
  })
})

describe('lensMarks', () => {
  const place = (item: { at: number; length: number }) => ({ position: item.at, length: item.length })

  it('loses no item inside the window, however narrow', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 300 }),
        fc.nat({ max: 20_000 }),
        fc.integer({ min: 1, max: 40_000 }),
        (lengths, from, span) => {
          let at = 0
          const items = lengths.map(length => {
            const item = { at, length }
            at += length
            return item
          })
          const marks = lensMarks(items, place, { from, span, left: 0, right: 600 }, 3)
          const inside = items.filter(item => item.at + item.length > from && item.at < from + span)
          expect(marks.flatMap(mark => mark.items)).toEqual(inside)
          for (const mark of marks) {
            expect(mark.x).toBeGreaterThanOrEqual(0)
            expect(mark.x + mark.width).toBeLessThanOrEqual(600 + 1e-6)
          }
          // Bounded marks: the picture never holds more than its pixels allow.
          expect(marks.length).toBeLessThanOrEqual(600 / 1.5 + 2)
        },
      ),
    )
  })

  it('keeps wide neighbours apart', () => {
    const marks = lensMarks(
      [
        { at: 0, length: 50 },
        { at: 50, length: 50 },
      ],
      place,
      { from: 0, span: 100, left: 0, right: 100 },
      3,
    )
    expect(marks.map(mark => [mark.x, mark.width])).toEqual([
      [0, 50],
      [50, 50],
    ])
  })
})

describe('niceTicks', () => {
  it('gives whole, ascending positions inside the window and never too many', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 2 ** 31 }),
        fc.integer({ min: 1, max: 2 ** 30 }),
        fc.integer({ min: 1, max: 12 }),
        (from, span, most) => {
          const ticks = niceTicks(from, span, most)
          expect(ticks.length).toBeLessThanOrEqual(most + 1)
          for (const tick of ticks) {
            expect(Number.isInteger(tick)).toBe(true)
            expect(tick).toBeGreaterThanOrEqual(from)
            expect(tick).toBeLessThanOrEqual(from + span)
          }
        },
      ),
    )
  })
})
