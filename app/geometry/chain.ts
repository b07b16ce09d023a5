/**
 * The segment chain to scale: bytes of the log along x, the same scale for every node, so that a copy which is behind is
 * drawn shorter. Columns are segments, named by start offset; a segment that one node rolled and another did not yet is
 * a column with an empty place. Pure.
 *
 * Room: the active segment may still grow to its limit. When that room would squeeze the data (a gigabyte of room behind
 * a megabyte of log), it is cut to a band that says so instead of being drawn to scale.
 */
export interface ChainSegment {
  readonly startOffset: string
  readonly sizeBytes: number
  readonly maxSizeBytes: number
  readonly sealed: boolean
}
export interface ChainInput {
  readonly node: number
  readonly segments: readonly ChainSegment[]
}
export interface ChainColumn {
  readonly startOffset: string
  readonly x: number
  readonly width: number
  /** Largest size of this segment on any node. */
  readonly bytes: number
  /** Bytes of room behind the data, when this is the active segment. */
  readonly roomBytes: number
  readonly roomWidth: number
  readonly roomToScale: boolean
}
export interface ChainBar {
  readonly node: number
  readonly column: number
  readonly x: number
  readonly width: number
  readonly sizeBytes: number
  readonly sealed: boolean
  /** Bytes that the longest copy of this segment has more. */
  readonly missingBytes: number
}
export interface ChainLayout {
  readonly columns: readonly ChainColumn[]
  readonly bars: readonly ChainBar[]
  readonly pixelsPerByte: number
  /** What is left out because columns would be narrower than MIN_COLUMN; its bytes are stated instead. */
  readonly older: Hidden
  readonly newer: Hidden
}
/** Columns left out at one end, and the width of the band that says so. */
export interface Hidden {
  readonly columns: number
  readonly bytes: number
  readonly width: number
}

const GAP = 2
const MIN_COLUMN = 14
const HIDDEN_BAND = 64
/** Room wider than this share of the data is cut. */
const ROOM_SHARE_MAX = 0.5
const ROOM_CUT_SHARE = 0.12

/** @param chosen start offset of a segment that must not be left out; otherwise the newest are kept */
export function chainLayout(inputs: readonly ChainInput[], left: number, right: number, chosen?: string): ChainLayout {
  const starts = [...new Set(inputs.flatMap(input => input.segments.map(segment => segment.startOffset)))].sort(
    byNumber,
  )
  const largest = new Map<string, { bytes: number; room: number; empty: number }>()
  for (const input of inputs) {
    for (const segment of input.segments) {
      const known = largest.get(segment.startOffset) ?? { bytes: 0, room: 0, empty: 0 }
      known.bytes = Math.max(known.bytes, segment.sizeBytes)
      known.room = Math.max(known.room, segment.maxSizeBytes)
      largest.set(segment.startOffset, known)
    }
  }
  const width = Math.max(0, right - left)
  const [first, end] = windowOf(starts.length, width, chosen === undefined ? -1 : starts.indexOf(chosen))
  const shown = starts.slice(first, end)
  const hiddenAt = (some: readonly string[]): Hidden => ({
    columns: some.length,
    bytes: some.reduce((sum, start) => sum + largest.get(start)!.bytes, 0),
    width: some.length > 0 ? HIDDEN_BAND : 0,
  })
  const older = hiddenAt(starts.slice(0, first))
  const newer = hiddenAt(starts.slice(end))

  const dataBytes = shown.reduce((sum, start) => sum + largest.get(start)!.bytes, 0)
  const last = shown.at(-1)
  const tail = last === undefined ? undefined : largest.get(last)!
  const active =
    newer.columns === 0 &&
    inputs.some(input => input.segments.some(segment => segment.startOffset === last && !segment.sealed))
  const roomBytes = tail && active ? Math.max(0, tail.room - tail.bytes) : 0
  const roomToScale = roomBytes <= Math.max(dataBytes, 1) * ROOM_SHARE_MAX
  const space = Math.max(1, width - older.width - newer.width - GAP * Math.max(0, shown.length - 1))
  const fixedRoom = roomBytes > 0 && !roomToScale ? Math.round(space * ROOM_CUT_SHARE) : 0
  const scaledBytes = dataBytes + (roomToScale ? roomBytes : 0)
  const pixelsPerByte = scaledBytes > 0 ? (space - fixedRoom) / scaledBytes : 0

  let x = left + older.width
  const columns = shown.map((startOffset, index): ChainColumn => {
    const { bytes } = largest.get(startOffset)!
    const isLast = index === shown.length - 1
    // A pane of one empty segment still draws its room.
    const dataWidth = pixelsPerByte * bytes
    const roomWidth =
      isLast && roomBytes > 0 ? (roomToScale ? pixelsPerByte * roomBytes : scaledBytes === 0 ? space : fixedRoom) : 0
    const column = {
      startOffset,
      x,
      width: dataWidth,
      bytes,
      roomBytes: isLast ? roomBytes : 0,
      roomWidth,
      roomToScale,
    }
    x += dataWidth + roomWidth + GAP
    return column
  })

  const columnOf = new Map(shown.map((start, column) => [start, column]))
  const bars: ChainBar[] = []
  for (const input of inputs) {
    for (const segment of input.segments) {
      const column = columnOf.get(segment.startOffset)
      if (column === undefined) continue
      const place = columns[column]!
      bars.push({
        node: input.node,
        column,
        x: place.x,
        width: pixelsPerByte * segment.sizeBytes,
        sizeBytes: segment.sizeBytes,
        sealed: segment.sealed,
        missingBytes: place.bytes - segment.sizeBytes,
      })
    }
  }
  return { columns, bars, pixelsPerByte, older, newer }
}

/** First and end of the columns that are wide enough to be told apart: the newest, or those around the chosen one. */
function windowOf(count: number, width: number, chosen: number): [first: number, end: number] {
  const room = (bands: number): number => Math.max(1, Math.floor((width - bands * HIDDEN_BAND) / (MIN_COLUMN + GAP)))
  if (count <= Math.max(1, Math.floor(width / (MIN_COLUMN + GAP)))) return [0, count]
  const atEnd = count - room(1)
  if (chosen < 0 || chosen >= atEnd) return [atEnd, count]
  if (chosen < room(1)) return [0, room(1)]
  const first = chosen - Math.floor(room(2) / 2)
  return [first, Math.min(count, first + room(2))]
}

const byNumber = (a: string, b: string): number =>
  a.length === b.length ? (a < b ? -1 : a > b ? 1 : 0) : a.length - b.length

/** Position of a byte in a lens `[from, from + span)` drawn from `left` to `right`; may lie outside. */
export const lensX = (position: number, from: number, span: number, left: number, right: number): number =>
  left + ((position - from) / Math.max(1, span)) * (right - left)

export interface LensMark<T> {
  readonly x: number
  readonly width: number
  /** One item, or several that would be narrower than a pixel each and share a density bar. */
  readonly items: readonly T[]
}

/** Items to scale in a lens; neighbours narrower than `minWidth` pixels merge into one mark that stands for all of them. */
export function lensMarks<T>(
  items: readonly T[],
  place: (item: T) => { position: number; length: number },
  window: { from: number; span: number; left: number; right: number },
  minWidth: number,
): LensMark<T>[] {
  const marks: { x: number; end: number; items: T[] }[] = []
  for (const item of items) {
    const { position, length } = place(item)
    if (position + length <= window.from || position >= window.from + window.span) continue
    const x = Math.max(window.left, lensX(position, window.from, window.span, window.left, window.right))
    const end = Math.min(window.right, lensX(position + length, window.from, window.span, window.left, window.right))
    const open = marks.at(-1)
    if (open && end - open.x < minWidth) {
      open.end = Math.max(open.end, end)
      open.items.push(item)
    } else marks.push({ x, end, items: [item] })
  }
  return marks.map(mark => ({ x: mark.x, width: Math.max(0, mark.end - mark.x), items: mark.items }))
}

/** Round positions for the byte axis of a lens: 1, 2, 2.5 or 5 times a power of ten, at most `most` of them. */
export function niceTicks(from: number, span: number, most: number): number[] {
  if (!(span > 0) || most < 1) return []
  const rough = span / most
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, [1, 2, 2.5, 5, 10].map(factor => factor * power).find(size => size >= rough) ?? rough)
  const whole = Math.ceil(step)
  const ticks: number[] = []
  for (let at = Math.ceil(from / whole) * whole; at <= from + span && ticks.length <= most; at += whole) ticks.push(at)
  return ticks
}
