/** A grid of equal cells, left to right and down: where each stands, and which one a point is in. Pure. */
export interface CellGrid {
  readonly columns: number
  readonly rows: number
  /** Side of a cell with its gap. */
  readonly pitch: number
  readonly width: number
  readonly height: number
}

const PITCH_MAX = 18
const PITCH_MIN = 5

/** The largest cells that fit; a power of two of columns, so that rows begin at round numbers. */
export function cellGrid(count: number, width: number, heightMax: number): CellGrid {
  let best: CellGrid | undefined
  for (let columns = 8; columns <= 512; columns *= 2) {
    const rows = Math.max(1, Math.ceil(count / columns))
    const pitch = Math.min(PITCH_MAX, Math.floor(width / columns), Math.floor(heightMax / rows))
    if (
      pitch >= PITCH_MIN &&
      (!best || pitch > best.pitch || (pitch === best.pitch && columns > best.columns && count > best.columns))
    )
      best = { columns, rows, pitch, width: columns * pitch, height: rows * pitch }
  }
  if (best) return best
  // Too many for the box: the smallest cells, as many in a row as fit, and the box scrolls.
  const columns = 2 ** Math.max(3, Math.floor(Math.log2(Math.max(8, width / PITCH_MIN))))
  const rows = Math.ceil(count / columns)
  return { columns, rows, pitch: PITCH_MIN, width: columns * PITCH_MIN, height: rows * PITCH_MIN }
}

export const cellCorner = (grid: CellGrid, index: number): { readonly x: number; readonly y: number } => ({
  x: (index % grid.columns) * grid.pitch,
  y: Math.floor(index / grid.columns) * grid.pitch,
})

/** Undefined outside the cells. */
export function cellAt(grid: CellGrid, count: number, x: number, y: number): number | undefined {
  const [column, row] = [Math.floor(x / grid.pitch), Math.floor(y / grid.pitch)]
  if (column < 0 || column >= grid.columns || row < 0) return undefined
  const index = row * grid.columns + column
  return index < count ? index : undefined
}

/** One path for many cells. `inset` shrinks each towards its middle. */
export function cellsPath(grid: CellGrid, indices: readonly number[], inset = 1): string {
  const side = grid.pitch - 2 * inset
  return indices
    .map(index => {
      const { x, y } = cellCorner(grid, index)
      return `M${x + inset} ${y + inset}h${side}v${side}h${-side}z`
    })
    .join('')
}
