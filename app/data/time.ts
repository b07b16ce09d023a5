/**
 * Where in time the page stands: the present, or one moment of the past. A moment is folded again from history, so what is
 * drawn of it is what was known then; the present goes on unseen.
 */
import { TICK_MS } from '../../shared/bytes/units.ts'
import { createCell } from './cell.ts'
import { wordsOfRing } from './event-query.ts'
import type { Place } from './history.ts'
import { asOf, history, type Moment, paused, pauseView, resumeView, ring, shown, sourceKind, viewNow } from './store.ts'

export type Step = 'event' | 'message' | 'tick' | 'turn'
export const STEP_NAMES: Readonly<Record<Step, string>> = {
  event: 'event',
  message: 'message between nodes',
  tick: `tick (${TICK_MS} ms)`,
  turn: 'change of view or process',
}
const TURNS = new Set([
  'view_started',
  'view_change_started',
  'view_adopted',
  'process_exited',
  'process_started',
  'process_paused',
  'process_resumed',
])
const STOPS: Readonly<Record<Exclude<Step, 'tick'>, (kind: string, fact: boolean, framed: boolean) => boolean>> = {
  event: (_kind, fact) => fact,
  // A heartbeat that moved nothing is told as one, and is no step of anything.
  message: (kind, _fact, framed) => framed && !kind.startsWith('heartbeat_'),
  turn: kind => TURNS.has(kind),
}

/** How fast a moment moves on by itself; undefined: it stands. */
export const playing = createCell<number | undefined>(undefined)
export const SPEEDS = [0.1, 0.25, 1, 4, 16] as const
export const speed = createCell<number>(1)
const PLAY_STEP_MS = 50

/** Asked for a moment that this tab does not hold; answers whether it does now. */
type Reach = (place: { readonly seq: number } | { readonly ms: number }) => Promise<boolean>
let reach: Reach | undefined
export const onOutOfReach = (handler: Reach): void => {
  reach = handler
}

/** Where the page stands: the moment that is shown, else the pause, else now. */
function here(): Place {
  const moment = asOf.get()
  if (moment) return moment
  return { until: paused.get()?.events ?? ring.next, atMs: paused.get()?.atMs ?? viewNow.get() }
}
const edge = (): Place => ({ until: paused.get()?.events ?? ring.next, atMs: paused.get()?.atMs ?? viewNow.get() })

/** Shows the picture at a place; false when it is not held. */
export function showPlace(place: Place): boolean {
  pauseView()
  const limit = edge()
  const within = addressable({ until: Math.min(place.until, limit.until), atMs: Math.min(place.atMs, limit.atMs) })
  const view = history.at(within)
  if (!view) return false
  const moment: Moment = { ...within, view, seq: ring.consoleSeqAt(within.until - 1) || view.seq }
  asOf.set(moment)
  viewNow.set(moment.atMs)
  shown.set(moment)
  return true
}

/** To the neighbouring event, message, tick, or change of view or process. Forward beyond the pause changes nothing. */
export function step(direction: -1 | 1, by: Step): void {
  playing.set(undefined)
  pauseView()
  if (by === 'tick') {
    scrubTo(here().atMs + direction * TICK_MS)
    return
  }
  if (stepWithin(direction, by) || direction > 0) return
  reachFor(
    () => ({ seq: Math.max(0, earliestSeq() - 1) }),
    () => stepWithin(direction, by),
  )
}

/** Within what this tab holds; answers whether there was such an event. */
function stepWithin(direction: -1 | 1, by: Exclude<Step, 'tick'>): boolean {
  const from = here()
  // A moment right behind an event is that event's: the step leads away from it.
  const behindLast = from.until > ring.first && from.atMs - ring.momentAt(from.until - 1) <= 1
  const start = direction > 0 ? from.until : from.until - (behindLast ? 2 : 1)
  const found = ring.nearest(start, direction, STOPS[by])
  return found !== undefined && found < edge().until && showPlace(placeOf(found))
}

/** The last moment not after `ms`. */
export function scrubTo(ms: number): void {
  const show = () => showPlace({ until: untilMs(ms), atMs: ms })
  if (!show()) reachFor(() => ({ ms }), show)
}

/** The moment that an address names: `SEQ`, or `SEQ.US` for so many microseconds after that event. */
export function showAddress(at: string): boolean {
  const place = placeOfAddress(at)
  return place !== undefined && showPlace(place)
}
/** Whether what is held goes beyond the event that an address names: whatever stood at that moment is held, or never was. */
export const hasReadTo = (at: string): boolean => ring.consoleSeqAt(ring.next - 1) > Number(at.split('.')[0])
export function addressOf(moment: Moment): string {
  const after = afterUs(moment)
  return after > 0 ? `${moment.seq}.${after}` : String(moment.seq)
}
/** Microseconds from the last event of a place to its moment. */
const afterUs = ({ until, atMs }: Place): number =>
  until > ring.first ? Math.max(0, Math.round((atMs - ring.momentAt(until - 1)) * 1000)) : 0
/** The place as its address names it: whoever opens that sees this very moment, and no other state that came near it. */
const addressable = (place: Place): Place =>
  place.until > ring.first
    ? { until: place.until, atMs: ring.momentAt(place.until - 1) + afterUs(place) / 1000 }
    : place
function placeOfAddress(at: string): Place | undefined {
  const [seq = 0, after = 0] = at.split('.').map(Number)
  const until = ring.behind(seq)
  if (until <= ring.first || (until === ring.next && ring.consoleSeqAt(until - 1) < seq)) return undefined
  return { until, atMs: ring.momentAt(until - 1) + after / 1000 }
}

export const placeOf = (ordinal: number): Place => ({ until: ordinal + 1, atMs: ring.momentAt(ordinal) })
const earliestSeq = (): number => ring.consoleSeqAt(history.first?.until ?? ring.first)

function untilMs(ms: number): number {
  let [low, high] = [ring.first, edge().until]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ring.momentAt(middle) <= ms) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * The hole in history that a place lies in: after the last event before it and before the first behind it. What is shown
 * there is what was known when the hole began.
 */
export function holeAt({ until, atMs }: Place): { fromMs: number; toMs: number; words: string } | undefined {
  const next = ring.at(until)
  if (!next?.gap || until === ring.first) return undefined
  const [fromMs, toMs] = [ring.momentAt(until - 1), ring.momentAt(until)]
  return atMs > fromMs && atMs < toMs ? { fromMs, toMs, words: wordsOfRing(next) } : undefined
}

let reaching = false
/** Reads back until `then` finds what it looks for, or nothing earlier comes. */
async function reachUntil(handler: Reach, place: () => Parameters<Reach>[0], then: () => boolean): Promise<void> {
  for (let before = Number.POSITIVE_INFINITY; earliestSeq() < before; ) {
    before = earliestSeq()
    if (!(await handler(place())) || then()) return
  }
}
function reachFor(place: () => Parameters<Reach>[0], then: () => boolean): void {
  if (!reach || reaching) return
  reaching = true
  void reachUntil(reach, place, then).finally(() => {
    reaching = false
  })
}

/** Lets the moment that is shown move on, at the chosen speed, up to the pause; or stops that. */
export function togglePlay(): void {
  if (playing.get() !== undefined) {
    playing.set(undefined)
    return
  }
  if (asOf.get() === undefined) return
  let lastMs = performance.now()
  const timer = window.setInterval(() => {
    const now = performance.now()
    const from = asOf.get()
    if (playing.get() !== timer || from === undefined) {
      clearInterval(timer)
      return
    }
    const target = from.atMs + (now - lastMs) * speed.get()
    lastMs = now
    const limit = edge()
    if (target < limit.atMs) {
      showPlace({ until: untilMs(target), atMs: target })
      return
    }
    clearInterval(timer)
    playing.set(undefined)
    // What was recorded ends here; what runs goes on.
    if (sourceKind.get() === 'LIVE') resumeView()
    else showPlace(limit)
  }, PLAY_STEP_MS)
  playing.set(timer)
}
