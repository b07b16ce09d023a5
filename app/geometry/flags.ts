/** Places words beside the lines they belong to: each in the first row where it does not lie on another. Pure. */
export interface Flag {
  /** The line it belongs to. */
  readonly x: number
  readonly width: number
}
export interface PlacedFlag {
  readonly left: number
  readonly row: number
}

/** Right of its line where there is room before `edge`, else left of it; `flags` in any order, the answer in theirs. */
export function placeFlags(flags: readonly Flag[], start: number, edge: number, gap = 4): PlacedFlag[] {
  const rows: { from: number; to: number }[][] = []
  const placed: PlacedFlag[] = new Array(flags.length)
  const order = flags.map((_, index) => index).sort((a, b) => flags[a]!.x - flags[b]!.x)
  for (const index of order) {
    const { x, width } = flags[index]!
    const left = x + width <= edge ? x : Math.max(start, x - width)
    let row = 0
    while (rows[row]?.some(taken => left < taken.to + gap && left + width + gap > taken.from)) row++
    rows[row] = [...(rows[row] ?? []), { from: left, to: left + width }]
    placed[index] = { left, row }
  }
  return placed
}
