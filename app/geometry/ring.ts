/**
 * Where the ring puts its nodes, links and words for a pane of a given size. Pure: words keep their size whatever the
 * pane, so the places are computed anew for each size instead of scaling one picture.
 */
export interface Point {
  readonly x: number
  readonly y: number
}
export interface RingNode extends Point {
  readonly index: number
  /** Words stand beside the topmost node and under the others. */
  readonly words: 'right' | 'below'
  readonly wordsAt: Point
}
export interface RingLink {
  readonly from: number
  readonly to: number
  /** Ends of the line, outside the circles of both nodes. */
  readonly a: Point
  readonly b: Point
  readonly middle: Point
  /** Unit vector from `a` to `b`, for frames that stand on the line. */
  readonly along: Point
}
export interface RingLayout {
  readonly width: number
  readonly height: number
  readonly radius: number
  readonly nodes: readonly RingNode[]
  readonly links: readonly RingLink[]
}

export interface RingSizes {
  readonly radius: number
  /** Room of the words of a node. */
  readonly wordsHeight: number
  readonly wordsWidth: number
}
/** Up to this many nodes have room for four lines of words and both slots. */
export const ROOMY_MAX = 3
const ROOMY: RingSizes = { radius: 36, wordsHeight: 104, wordsWidth: 150 }
/** Three lines and no slots. */
const COMPACT: RingSizes = { radius: 24, wordsHeight: 52, wordsWidth: 110 }
export const ringSizes = (count: number): RingSizes => (count <= ROOMY_MAX ? ROOMY : COMPACT)
/** A narrower pane cannot hold the words of more than ROOMY_MAX nodes. */
export const COMPACT_WIDTH_MIN = 420

const MARGIN = 12
const WORDS_GAP = 14
/** Air between a circle and the end of a link. */
const LINK_GAP = 8

/** Nodes of a ring, the first on top, the others counter-clockwise, as readers number them from the left below. */
export function ringLayout(count: number, width: number, height: number): RingLayout {
  const { radius, wordsHeight, wordsWidth } = ringSizes(count)
  const top = MARGIN + radius
  const bottom = height - MARGIN - wordsHeight - radius
  const left = MARGIN + wordsWidth / 2
  const right = width - MARGIN - wordsWidth / 2
  const centre: Point = { x: width / 2, y: (top + Math.max(top, bottom)) / 2 }
  const reach: Point = { x: Math.max(0, (right - left) / 2), y: Math.max(0, (bottom - top) / 2) }

  // A regular polygon does not fill its box: stretch its own bounds to ours.
  const unit = Array.from({ length: count }, (_, index) => {
    const angle = -Math.PI / 2 - (index * 2 * Math.PI) / count
    return { x: Math.cos(angle), y: Math.sin(angle) }
  })
  const low = Math.min(...unit.map(point => point.y))
  const high = Math.max(...unit.map(point => point.y))
  const widest = Math.max(...unit.map(point => Math.abs(point.x)), Number.EPSILON)
  const nodes = unit.map((point, index): RingNode => {
    const alone = count === 1
    const place = alone ? centre.x : centre.x + (point.x / widest) * reach.x
    // In a narrow pane the topmost node gives way to its own words.
    const x =
      index === 0 && !alone
        ? Math.max(MARGIN + radius, Math.min(place, width - MARGIN - wordsWidth - WORDS_GAP - radius))
        : place
    const y = alone || high - low < 1e-9 ? centre.y : top + ((point.y - low) / (high - low)) * reach.y * 2
    const words = index === 0 && !alone ? 'right' : 'below'
    const wordsAt =
      words === 'right'
        ? { x: x + radius + WORDS_GAP, y: y - radius + 6 }
        : { x, y: y + radius + (count <= ROOMY_MAX ? 24 : 16) }
    return { index, x, y, words, wordsAt }
  })

  const links: RingLink[] = []
  for (let from = 0; from < count; from++) {
    for (let to = from + 1; to < count; to++) links.push(linkBetween(nodes[from]!, nodes[to]!, radius + LINK_GAP))
  }
  return { width, height, radius, nodes, links }
}

function linkBetween(one: RingNode, other: RingNode, keepOff: number): RingLink {
  const dx = other.x - one.x
  const dy = other.y - one.y
  const length = Math.hypot(dx, dy) || 1
  const along = { x: dx / length, y: dy / length }
  const off = Math.min(keepOff, length / 2)
  const a = { x: one.x + along.x * off, y: one.y + along.y * off }
  const b = { x: other.x - along.x * off, y: other.y - along.y * off }
  return { from: one.index, to: other.index, a, b, middle: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }, along }
}

/** Path of an arc around `centre` that starts at twelve o'clock and covers `share` (0..1) of the circle clockwise. */
export function arcPath(centre: Point, radius: number, share: number): string {
  const part = Math.min(0.9999, Math.max(0, share))
  if (part === 0) return ''
  const angle = part * 2 * Math.PI - Math.PI / 2
  const x = centre.x + radius * Math.cos(angle)
  const y = centre.y + radius * Math.sin(angle)
  const round = (value: number): number => Math.round(value * 10) / 10
  return `M${round(centre.x)} ${round(centre.y - radius)}A${radius} ${radius} 0 ${part > 0.5 ? 1 : 0} 1 ${round(x)} ${round(y)}`
}
