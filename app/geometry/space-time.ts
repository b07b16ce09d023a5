/**
 * Where everything of a space-time diagram stands: time runs down, every node has a lane. Each busy stretch of time has a
 * scale of its own, so that a burst of milliseconds can be read beside seconds of waiting; the ruler beside it says so, and
 * what is cut out between two stretches is known to the digit. Marks stand at their true moment; only their words move
 * aside for each other. Pure; pixels.
 */
import { CONSOLE_NODE } from '../../shared/inspection/envelope.ts'
import { aboutOf, momentOf, type StateBar } from '../data/lane-states.ts'
import type { RingEvent } from '../data/ring.ts'
import { type CutAxis, placeOf, type Stretch, tickStep } from './cut-axis.ts'
import type { Message } from './messages.ts'

export interface Lane {
  readonly node: number
  /** The spine. */
  readonly x: number
  /** Words of the lane end here. */
  readonly right: number
}
export interface Mark {
  readonly event: RingEvent
  readonly lane: number
  readonly x: number
  readonly y: number
  /** Where its words stand; undefined: no room, the table and the panel have them. */
  readonly wordsY: number | undefined
  readonly wordsX: number
}
export interface Line {
  readonly message: Message
  readonly x1: number
  readonly y1: number
  readonly x2: number
  readonly y2: number
  readonly stub: boolean
}
export interface PlacedBar extends StateBar {
  readonly x: number
  readonly y1: number
  readonly y2: number
}
export interface Tick {
  readonly ms: number
  readonly px: number
}
export interface SpaceTime {
  readonly axis: CutAxis
  readonly lanes: readonly Lane[]
  /** In order of time. */
  readonly marks: readonly Mark[]
  readonly lines: readonly Line[]
  readonly bars: readonly PlacedBar[]
  readonly ticks: readonly Tick[]
  readonly width: number
  readonly height: number
}

export const RULER_PX = 78
export const CUT_PX = 26
const LANE_MIN = 168
const CONSOLE_LANE = 150
const TOP_PX = 14
const EVENT_PX = 19
const STRETCH_MIN_PX = 34
/** Without a cut, seconds of waiting must not make the picture endless. */
const UNCUT_MAX_PX = 20_000
const MARK_PX = 13
const SHIFTS_MAX = 4
const WORD_PX = 14
/** Words stand at most so far from their mark, and so far from the end of their stretch. */
const WORDS_ASIDE_PX = 44
const WORDS_EDGE_PX = 6
const STUB_PX = 46
const TICK_PX = 38
const EDGE_PX = 7

/** Longer than this without an event is quiet. */
export const QUIET_MS = 120

export interface BurstOptions {
  readonly startPx: number
  readonly cutPx: number
  /** Infinity: nothing is cut. */
  readonly quietMs: number
  readonly eventPx: number
  readonly leastPx: number
  readonly mostPx: number
}

/**
 * An axis on which every busy stretch is as long as its events need: within a stretch time is to scale, from one to the next
 * the scale may change. `moments` ascending, at least one.
 */
export function burstAxis(moments: readonly number[], options: BurstOptions): CutAxis {
  const bursts: { from: number; to: number; count: number }[] = []
  for (const at of moments) {
    const last = bursts.at(-1)
    if (last && at - last.to <= options.quietMs) {
      last.to = at
      last.count++
    } else bursts.push({ from: at, to: at, count: 1 })
  }
  const stretches: Stretch[] = []
  const cuts: Stretch[] = []
  let px = options.startPx
  for (const [index, burst] of bursts.entries()) {
    const room = Math.min(
      index === 0 ? Number.POSITIVE_INFINITY : burst.from - bursts[index - 1]!.to,
      index === bursts.length - 1 ? Number.POSITIVE_INFINITY : bursts[index + 1]!.from - burst.to,
    )
    // A little of the quiet on both sides belongs to the stretch, or its first mark would lie on the edge of the cut.
    const margin = Math.min(room / 3, Math.max(0.5, (burst.to - burst.from) / burst.count / 2))
    const fromMs = burst.from - margin
    const toMs = burst.to + margin
    const last = stretches.at(-1)
    if (last) {
      cuts.push({ fromMs: last.toMs, toMs: fromMs, fromPx: px, toPx: px + options.cutPx })
      px += options.cutPx
    }
    const length = Math.min(options.mostPx, Math.max(options.leastPx, burst.count * options.eventPx))
    stretches.push({ fromMs, toMs, fromPx: px, toPx: px + length })
    px += length
  }
  return { stretches, cuts, startPx: options.startPx, endPx: px }
}

export interface SpaceTimeInput {
  /** In any order; at least one. */
  readonly events: readonly RingEvent[]
  readonly messages: readonly Message[]
  readonly bars: readonly StateBar[]
  readonly nodes: readonly number[]
  readonly width: number
  readonly collapse: boolean
}

export function spaceTime(input: SpaceTimeInput): SpaceTime {
  const events = [...input.events].sort((a, b) => momentOf(a) - momentOf(b) || a.ordinal - b.ordinal)
  const laneOf = (event: RingEvent): number => {
    const about = aboutOf(event)
    if (about !== CONSOLE_NODE) return about
    return typeof event.data.from === 'number' ? event.data.from : CONSOLE_NODE
  }
  const lanes = lanesOf(
    input.nodes,
    input.width,
    events.some(event => laneOf(event) === CONSOLE_NODE),
  )
  const axis = burstAxis(events.map(momentOf), {
    startPx: TOP_PX,
    cutPx: CUT_PX,
    quietMs: input.collapse ? QUIET_MS : Number.POSITIVE_INFINITY,
    eventPx: EVENT_PX,
    leastPx: STRETCH_MIN_PX,
    mostPx: UNCUT_MAX_PX,
  })
  const place = placer(axis)
  const marks = placeMarks(events, laneOf, lanes, place, axis)
  const markOf = new Map(marks.map(mark => [mark.event.ordinal, mark]))
  const laneByNode = new Map(lanes.map(lane => [lane.node, lane]))
  const lines = input.messages.flatMap(message => lineOf(message, markOf, laneByNode) ?? [])
  const height = axis.endPx + TOP_PX
  const bars = input.bars.flatMap((bar): PlacedBar[] => {
    const lane = laneByNode.get(bar.node)
    if (!lane) return []
    const first = axis.stretches[0]!.fromMs
    const last = axis.stretches.at(-1)!.toMs
    if (bar.toMs <= first || bar.fromMs >= last) return []
    return [
      {
        ...bar,
        x: lane.x,
        y1: bar.fromMs <= first ? 0 : place(bar.fromMs),
        y2: bar.toMs >= last ? height : place(bar.toMs),
      },
    ]
  })
  return { axis, lanes, marks, lines, bars, ticks: rulerTicks(axis), width: lanes.at(-1)?.right ?? input.width, height }
}

/** Round moments in every stretch, clear of its edges; a stretch too short for one gets its middle. */
export function rulerTicks(axis: CutAxis): Tick[] {
  return axis.stretches.flatMap(stretch => {
    const perMs = (stretch.toPx - stretch.fromPx) / (stretch.toMs - stretch.fromMs)
    const step = Math.max(1, tickStep(perMs, TICK_PX))
    const ticks: Tick[] = []
    for (let ms = Math.ceil(stretch.fromMs / step) * step; ms <= stretch.toMs; ms += step) {
      const px = stretch.fromPx + (ms - stretch.fromMs) * perMs
      if (px >= stretch.fromPx + EDGE_PX && px <= stretch.toPx - EDGE_PX) ticks.push({ ms, px })
    }
    if (ticks.length === 0)
      ticks.push({ ms: (stretch.fromMs + stretch.toMs) / 2, px: (stretch.fromPx + stretch.toPx) / 2 })
    return ticks
  })
}

function lanesOf(nodes: readonly number[], width: number, withConsole: boolean): Lane[] {
  const left = RULER_PX + (withConsole ? CONSOLE_LANE : 0)
  const each = Math.max(LANE_MIN, (width - left) / Math.max(1, nodes.length))
  return [
    ...(withConsole ? [{ node: CONSOLE_NODE, x: RULER_PX + 14, right: left }] : []),
    ...nodes.map((node, index) => ({
      node,
      x: Math.round(left + index * each + 16),
      right: left + (index + 1) * each,
    })),
  ]
}

/** `placeOf` for thousands of moments: the stretch is found by halving. */
function placer(axis: CutAxis): (ms: number) => number {
  const { stretches } = axis
  return ms => {
    let low = 0
    let high = stretches.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (stretches[middle]!.toMs < ms) low = middle + 1
      else high = middle
    }
    const around = { ...axis, stretches: stretches.slice(Math.max(0, low - 1), low + 1) }
    const cut = axis.cuts[low - 1]
    return placeOf({ ...around, cuts: cut ? [cut] : [] }, ms)
  }
}

function placeMarks(
  events: readonly RingEvent[],
  laneOf: (event: RingEvent) => number,
  lanes: readonly Lane[],
  place: (ms: number) => number,
  axis: CutAxis,
): Mark[] {
  const laneBy = new Map(lanes.map(lane => [lane.node, lane]))
  // Marks that would lie on each other stand side by side; a row of them is followed by the words of them all.
  const rows = new Map<number, { y: number; events: { event: RingEvent; y: number }[] }[]>()
  for (const event of events) {
    const lane = laneOf(event)
    if (!laneBy.has(lane)) continue
    const y = place(momentOf(event))
    const own = rows.get(lane) ?? []
    const row = own.at(-1)
    if (row && y - row.y < MARK_PX && row.events.length <= SHIFTS_MAX) row.events.push({ event, y })
    else own.push({ y, events: [{ event, y }] })
    rows.set(lane, own)
  }
  const marks: Mark[] = []
  for (const [node, own] of rows) {
    const { x } = laneBy.get(node)!
    let wordsEnd = Number.NEGATIVE_INFINITY
    for (const [at, row] of own.entries()) {
      const { fromPx, toPx } = axis.stretches.find(stretch => stretch.toPx >= row.y) ?? axis.stretches.at(-1)!
      for (const [shift, { event, y }] of row.events.entries()) {
        // Words stay in their stretch: near its end they move up as far as there is room, and never into the cut.
        const lowest = toPx - WORDS_EDGE_PX - (row.events.length - 1 - shift) * WORD_PX
        const wanted = Math.max(Math.min(y, Math.max(lowest, fromPx + WORDS_EDGE_PX)), wordsEnd + WORD_PX)
        const fits = Math.abs(wanted - y) <= WORDS_ASIDE_PX && wanted <= toPx - WORDS_EDGE_PX
        if (fits) wordsEnd = wanted
        marks.push({
          event,
          lane: node,
          x: x + shift * MARK_PX,
          y,
          wordsY: fits ? wanted : undefined,
          wordsX: x + (longestBeside(own, at, wanted) - 1) * MARK_PX + 13,
        })
      }
    }
  }
  return marks.sort((a, b) => a.y - b.y || a.event.ordinal - b.event.ordinal)
}

function lineOf(
  message: Message,
  markOf: ReadonlyMap<number, Mark>,
  lanes: ReadonlyMap<number, Lane>,
): Line | undefined {
  const from = lanes.get(message.from)
  const to = lanes.get(message.to)
  if (!from || !to || from === to) return undefined
  const sent = message.sent && markOf.get(message.sent.ordinal)
  const received = message.received && markOf.get(message.received.ordinal)
  const direction = Math.sign(to.x - from.x)
  if (sent && received)
    return { message, x1: from.x, y1: sent.y, x2: to.x - direction * 9, y2: received.y, stub: false }
  if (received)
    return {
      message,
      x1: to.x - direction * STUB_PX,
      y1: received.y - 6,
      x2: to.x - direction * 9,
      y2: received.y,
      stub: true,
    }
  return (
    sent && {
      message,
      x1: from.x + direction * 6,
      y1: sent.y,
      x2: from.x + direction * STUB_PX,
      y2: sent.y + 6,
      stub: true,
    }
  )
}

/** How many marks stand side by side in the longest row that words at `y` stand beside, `at` and its neighbours looked at. */
function longestBeside(
  rows: readonly { readonly y: number; readonly events: readonly { readonly y: number }[] }[],
  at: number,
  y: number,
): number {
  let most = rows[at]!.events.length
  for (let index = Math.max(0, at - 3); index < rows.length && rows[index]!.y - MARK_PX <= y; index++) {
    const { events } = rows[index]!
    if (events.at(-1)!.y + MARK_PX >= y) most = Math.max(most, events.length)
  }
  return most
}

/** The mark at a point: the nearest within `reachPx`, else the one whose words stand there. */
export function markAt(marks: readonly Mark[], x: number, y: number, reachPx: number): Mark | undefined {
  let best: Mark | undefined
  let least = reachPx
  for (const mark of marks) {
    const distance = Math.hypot(mark.x - x, mark.y - y)
    if (distance > least) continue
    least = distance
    best = mark
  }
  return (
    best ??
    marks.find(
      mark =>
        mark.wordsY !== undefined &&
        Math.abs(mark.wordsY - y) <= WORD_PX / 2 &&
        x >= mark.wordsX &&
        x < mark.wordsX + LANE_MIN - 30,
    )
  )
}

/** Neighbour of a mark by keyboard: up and down in time, left and right the nearest in time of the next lane that has one. */
export function neighbour(
  picture: Pick<SpaceTime, 'marks' | 'lanes'>,
  here: Mark | undefined,
  key: 'up' | 'down' | 'left' | 'right' | 'first' | 'last',
): Mark | undefined {
  const { marks, lanes } = picture
  if (key === 'first' || (here === undefined && key === 'down')) return marks[0]
  if (key === 'last' || here === undefined) return marks.at(-1)
  const at = marks.findIndex(mark => mark.event.ordinal === here.event.ordinal)
  if (key === 'up' || key === 'down') return marks[at + (key === 'up' ? -1 : 1)] ?? here
  const step = key === 'left' ? -1 : 1
  const lane = lanes.findIndex(item => item.node === here.lane)
  for (let next = lane + step; next >= 0 && next < lanes.length; next += step) {
    const there = marks.filter(mark => mark.lane === lanes[next]!.node)
    if (there.length === 0) continue
    return there.reduce((best, mark) => (Math.abs(mark.y - here.y) < Math.abs(best.y - here.y) ? mark : best))
  }
  return here
}
