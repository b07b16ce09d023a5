import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arcPath, COMPACT_WIDTH_MIN, type RingNode, ringLayout, ringSizes } from './ring.ts'

const height = fc.integer({ min: 375, max: 900 })
const wide = fc.record({
  count: fc.constantFrom(1, 3, 5),
  width: fc.integer({ min: COMPACT_WIDTH_MIN, max: 1400 }),
  height,
})
/** A phone holds three nodes; more than that it shows as a table. */
const size = fc.oneof(
  fc.record({
    count: fc.integer({ min: 1, max: 5 }),
    width: fc.integer({ min: COMPACT_WIDTH_MIN, max: 1400 }),
    height,
  }),
  fc.record({ count: fc.integer({ min: 1, max: 3 }), width: fc.integer({ min: 320, max: 1400 }), height }),
)

describe('ringLayout', () => {
  it('keeps every node and its words inside the pane', () => {
    fc.assert(
      fc.property(size, ({ count, width, height }) => {
        const { radius, wordsHeight, wordsWidth } = ringSizes(count)
        for (const node of ringLayout(count, width, height).nodes) {
          expect(node.x - radius).toBeGreaterThanOrEqual(0)
          expect(node.x + radius).toBeLessThanOrEqual(width)
          expect(node.y - radius).toBeGreaterThanOrEqual(0)
          if (node.words === 'below') expect(node.y + radius + wordsHeight).toBeLessThanOrEqual(height)
          else expect(node.wordsAt.x + wordsWidth).toBeLessThanOrEqual(width)
        }
      }),
    )
  })

  it('never puts two nodes on one place', () => {
    fc.assert(
      fc.property(size, ({ count, width, height }) => {
        const { nodes, radius } = ringLayout(count, width, height)
        for (const a of nodes) {
          for (const b of nodes)
            if (a.index < b.index) expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThan(radius * 2)
        }
      }),
    )
  })

  it('never lays the words of a node on those of another, or on its circle', () => {
    fc.assert(
      fc.property(wide, ({ count, width, height }) => {
        const { radius, wordsHeight, wordsWidth } = ringSizes(count)
        const words = ({ words, wordsAt, x, y }: RingNode) =>
          words === 'below'
            ? { left: x - wordsWidth / 2, right: x + wordsWidth / 2, top: y + radius, bottom: y + radius + wordsHeight }
            : { left: wordsAt.x, right: wordsAt.x + wordsWidth, top: y - radius, bottom: y - radius + wordsHeight }
        const circle = ({ x, y }: RingNode) => ({
          left: x - radius,
          right: x + radius,
          top: y - radius,
          bottom: y + radius,
        })
        type Box = ReturnType<typeof circle>
        const apart = (a: Box, b: Box) =>
          a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top
        const { nodes } = ringLayout(count, width, height)
        for (const one of nodes)
          for (const other of nodes) {
            if (one === other) continue
            const boxes = { count, width, height, one: one.index, other: other.index }
            expect({ ...boxes, apart: apart(words(one), words(other)) }).toEqual({ ...boxes, apart: true })
            expect({ ...boxes, free: apart(words(one), circle(other)) }).toEqual({ ...boxes, free: true })
          }
      }),
    )
  })

  it('links every pair once, and no link enters a circle', () => {
    fc.assert(
      fc.property(size, ({ count, width, height }) => {
        const layout = ringLayout(count, width, height)
        expect(layout.links.length).toBe((count * (count - 1)) / 2)
        for (const link of layout.links) {
          const from = layout.nodes[link.from]!
          expect(Math.hypot(link.a.x - from.x, link.a.y - from.y)).toBeGreaterThanOrEqual(layout.radius)
        }
      }),
    )
  })

  it('puts the first of three on top and the others below it, mirrored', () => {
    const [top, left, right] = ringLayout(3, 452, 420).nodes
    expect(top!.x).toBeCloseTo(226)
    expect(left!.y).toBeCloseTo(right!.y)
    expect(left!.x + right!.x).toBeCloseTo(452)
    expect(top!.y).toBeLessThan(left!.y)
  })
})

describe('arcPath', () => {
  it('starts at twelve o clock and takes the long way round for more than half', () => {
    expect(arcPath({ x: 50, y: 50 }, 40, 0)).toBe('')
    expect(arcPath({ x: 50, y: 50 }, 40, 0.25)).toBe('M50 10A40 40 0 0 1 90 50')
    expect(arcPath({ x: 50, y: 50 }, 40, 0.75)).toBe('M50 10A40 40 0 1 1 10 50')
  })
})
