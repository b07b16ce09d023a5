/**
 * Any moment of what this tab holds, folded again when it is asked for (ui.md §2 row 10). Events are in the ring already;
 * this keeps what came between them (snapshots, processes, the load) with the place where it came, and a whole picture now
 * and then, from which the rest of the way is folded. Both are bounded: pictures thin out with their age, and what came
 * between leaves by a budget, which moves the earliest moment forward. What is not held is `undefined`, never a guess.
 */
import type { StreamMessage } from '../../shared/inspection/api.ts'
import type { EventBatch } from '../../shared/inspection/envelope.ts'
import { fold } from '../../shared/inspection/fold.ts'
import { type ClusterView, EMPTY_VIEW } from '../../shared/inspection/view.ts'
import type { EventRing, RingEvent } from './ring.ts'

/** Folding this many events again takes some milliseconds. */
const KEYFRAME_EVENTS = 512
const KEYFRAME_STATES = 48
/** At the busiest that is promised they are all there within three minutes; from then on a tab grows no more. */
const KEYFRAMES_MAX = 160
/** Groups in all snapshots that are kept: eleven minutes of a small cluster, some 40 MB at most. */
const STATE_COST_MAX = 60_000
const STATE_COST_BASE = 10
/** Of the budget: the largest message costs less than the rest. */
const FULL_SHARE = 0.9

export interface Place {
  /** Events of lower ordinals have been folded. */
  readonly until: number
  /** And whatever came between them by this moment. */
  readonly atMs: number
}
interface State extends Place {
  readonly message: StreamMessage
  readonly cost: number
}
interface Keyframe extends Place {
  readonly view: ClusterView
  /** How many states, ever counted, are in it. */
  readonly states: number
}

/** One message folded, as this tab folds it: another run of the console begins with nothing but the load. */
export function foldMessage(view: ClusterView, message: StreamMessage): ClusterView {
  const another = message.event === 'hello' && view.run !== undefined && view.run !== message.data.run
  return fold(another ? { ...EMPTY_VIEW, load: view.load } : view, message)
}

export class History {
  readonly #ring: EventRing
  readonly #costMax: number
  #states: State[] = []
  /** States that left at the front. */
  #gone = 0
  #cost = 0
  #keyframes: Keyframe[] = []

  constructor(ring: EventRing, costMax = STATE_COST_MAX) {
    this.#ring = ring
    this.#costMax = costMax
  }

  /** The earliest moment that can be shown. */
  get first(): Place | undefined {
    return this.#keyframes.find(frame => frame.until >= this.#ring.first && frame.states >= this.#gone)
  }

  /** A little more of what comes between, and the earliest moment is given up: whoever may stop reading stops before. */
  get full(): boolean {
    return this.#cost >= this.#costMax * FULL_SHARE
  }

  get begun(): boolean {
    return this.#keyframes.length > 0
  }

  clear(): void {
    this.#states = []
    this.#gone = 0
    this.#cost = 0
    this.#keyframes = []
  }

  /** What came between two events; before `picture` it is folded and forgotten. */
  state(message: StreamMessage, place: Place): void {
    if (this.#keyframes.length === 0) return
    const cost = costOf(message)
    this.#states.push({ message, cost, ...place })
    this.#cost += cost
    let drop = 0
    while (this.#cost > this.#costMax && drop < this.#states.length - 1) this.#cost -= this.#states[drop++]!.cost
    if (drop > 0) {
      this.#states = this.#states.slice(drop)
      this.#gone += drop
    }
  }

  /** The whole picture at a place; kept when the way from the one before has become long. The first begins history. */
  picture(view: ClusterView, place: Place): void {
    const states = this.#gone + this.#states.length
    const last = this.#keyframes.at(-1)
    // Well before the ring laps and the budget is spent, however small they are.
    const events = Math.min(KEYFRAME_EVENTS, this.#ring.capacity / 4)
    const between = Math.min(KEYFRAME_STATES, this.#costMax / STATE_COST_BASE / 4)
    const near = last && place.until - last.until < events && states - last.states < between
    if (near && last.until >= this.#ring.first) return
    this.#keyframes.push({ ...place, view, states })
    if (this.#keyframes.length <= KEYFRAMES_MAX) return
    const held = this.#keyframes.filter(frame => frame.until >= this.#ring.first && frame.states >= this.#gone)
    // The older half keeps every second picture.
    const middle = held.length >>> 1
    this.#keyframes =
      held.length <= KEYFRAMES_MAX ? held : held.filter((_frame, index) => index >= middle || index % 2 === 0)
  }

  /** The picture at a place, or undefined where it is not held any more, or not yet. */
  at(place: Place): ClusterView | undefined {
    if (place.until > this.#ring.next) return undefined
    const from = this.#keyframes.findLast(
      frame =>
        (frame.until < place.until || (frame.until === place.until && frame.atMs <= place.atMs)) &&
        frame.states >= this.#gone &&
        frame.until >= this.#ring.first,
    )
    if (!from) return undefined
    let { view, until } = from
    const events = (to: number): void => {
      if (to > until) view = fold(view, { event: 'batch', data: this.#batch(until, to) })
      until = to
    }
    for (const state of this.#states.slice(from.states - this.#gone)) {
      if (state.until > place.until || (state.until === place.until && state.atMs > place.atMs)) break
      events(state.until)
      view = foldMessage(view, state.message)
    }
    events(place.until)
    return view
  }

  #batch(from: number, to: number): EventBatch {
    return batchOf(this.#ring, from, to)
  }
}

/** Events of a stretch of the ring, by ordinal, as the stream had them. */
export function batchOf(ring: EventRing, from: number, to: number): EventBatch {
  const items: EventBatch = []
  for (let ordinal = from; ordinal < to; ordinal++) {
    const event = ring.at(ordinal)
    if (event) items.push(itemOf(event, ring.consoleSeqAt(ordinal)))
  }
  return items
}

/** An event of the ring as the stream had it, but for what no fold looks at. */
function itemOf(event: RingEvent, consoleSeq: number): EventBatch[number] {
  const numbered = consoleSeq > 0 ? { consoleSeq } : {}
  const { node, boot, seq } = event
  if (event.gap) {
    const { toSeq, reason } = event.data as { toSeq: number; reason: 'ring_overflow' }
    return { v: 1, node, boot, kind: 'gap', fromSeq: seq, toSeq, reason, ...numbered }
  }
  return {
    v: 1,
    node,
    boot,
    seq,
    monoUs: 0,
    wallUs: usOf(event.wallMs),
    plane: event.plane,
    group: event.group,
    kind: event.kind,
    class: event.fact ? 'fact' : 'flow',
    ...(event.view !== undefined && { view: event.view }),
    ...(event.logView !== undefined && { logView: event.logView }),
    ...(event.op !== undefined && { op: event.op.toString() }),
    ...(event.commit !== undefined && { commit: event.commit.toString() }),
    ...(event.cause !== undefined && { cause: event.cause }),
    ...(event.link && { link: event.link }),
    data: event.data,
    ...numbered,
    ...(event.receivedMs !== undefined && { receivedWallUs: usOf(event.receivedMs) }),
  }
}
const usOf = (ms: number): string => Math.round(ms * 1000).toString()

function costOf(message: StreamMessage): number {
  return STATE_COST_BASE + (message.event === 'snapshot' ? message.data.snapshot.groups.length : 0)
}
