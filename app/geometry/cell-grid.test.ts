import { describe, expect, it } from 'vitest'
import { cellAt, cellCorner, cellGrid, cellsPath } from './cell-grid.ts'

describe('a grid of cells', () => {
  it('holds every cell inside its width, in rows that begin at powers of two', () => {
    for (const [count, width] of [
      [1024, 760],
      [4096, 760],
      [65_536, 760],
      [16, 300],
      [1, 300],
      [1000, 300],
    ] as const) {
      const grid = cellGrid(count, width, 320)
      expect(grid.width).toBeLessThanOrEqual(width)
      expect(Math.log2(grid.columns) % 1).toBe(0)
      expect(grid.columns * grid.rows).toBeGreaterThanOrEqual(count)
      expect((grid.rows - 1) * grid.columns).toBeLessThan(count)
    }
    expect(cellGrid(1024, 760, 320)).toMatchObject({ columns: 64, rows: 16 })
  })

  it('finds the cell that a point is in, and none outside', () => {
    const grid = cellGrid(1000, 760, 320)
    for (const index of [0, 1, 63, 64, 999]) {
      const { x, y } = cellCorner(grid, index)
      expect(cellAt(grid, 1000, x + grid.pitch / 2, y + grid.pitch / 2)).toBe(index)
    }
    const { x, y } = cellCorner(grid, 1000)
    expect(cellAt(grid, 1000, x + 1, y + 1)).toBeUndefined()
    expect(cellAt(grid, 1000, -1, 0)).toBeUndefined()
    expect(cellAt(grid, 1000, grid.width + 1, 0)).toBeUndefined()
  })

  it('draws many cells as one path', () => {
    const grid = cellGrid(1024, 760, 320)
    expect(cellsPath(grid, [0, 65], 1).match(/M/g)).toHaveLength(2)
  })
})
