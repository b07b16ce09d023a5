import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arcPath, NODE_RADIUS, ringLayout, WORDS_HEIGHT, WORDS_WIDTH } from './ring.ts'

const height = fc.integer({ min: 420, max: 900 })
/** A phone holds three nodes; more than that it shows as a table. */
const size = fc.oneof(
  fc.record({ count: fc.integer({ min: 1, max: 7 }), width: fc.integer({ min: 420, max: 1400 }), height }),
  fc.record({ count: fc.integer({ min: 1, max: 3 }), width: fc.integer({ min: 320, max: 1400 }), height }),
)

describe('ringLayout', () => {
  it('keeps every node and its words inside the pane', () => {
    fc.assert(
      fc.property(size, ({ count, width, height }) => {
        for (const node of ringLayout(count, width, height).nodes) {
          expect(node.x - NODE_RADIUS).toBeGreaterThanOrEqual(0)
          expect(node.x + NODE_RADIUS).toBeLessThanOrEqual(width)
          expect(node.y - NODE_RADIUS).toBeGreaterThanOrEqual(0)
          if (node.words === 'below') expect(node.y + NODE_RADIUS + WORDS_HEIGHT).toBeLessThanOrEqual(height)
          else expect(node.wordsAt.x + WORDS_WIDTH).toBeLessThanOrEqual(width)
        }
      }),
    )
  })

  it('never puts two nodes on one place', () => {
    fc.assert(
      fc.property(size, ({ count, width, height }) => {
        const { nodes } = ringLayout(count, width, height)
        for (const a of nodes) {
          for (const b of nodes)
            if (a.index < b.index) expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThan(NODE_RADIUS * 2)
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
          expect(Math.hypot(link.a.x - from.x, link.a.y - from.y)).toBeGreaterThanOrEqual(NODE_RADIUS)
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
