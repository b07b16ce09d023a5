/**
 * The event ring of a tab: the newest EVENTS_MAX events of all nodes, as a struct of typed arrays with a string table,
 * so that an hour of live watching costs a fixed amount of memory and no garbage. Every event gets an ordinal, counted
 * from the first event that this tab received; ordinals are never reused, so a reader that comes back for an ordinal
 * which was overwritten meanwhile gets `undefined` and must start over: history that is gone is never guessed.
 */
import type { EventEnvelope, EventGap } from '../../shared/inspection/envelope.ts'

/** 200,000 events are one hour at 55 facts/s, or about seven minutes at the 500/s of the budget (spec ui.md §3.6). */
export const EVENTS_MAX = 200_000
const NO_U32 = 0xffff_ffff
const FLAG_FACT = 1
const FLAG_GAP = 2
const FLAG_OP = 4
const FLAG_COMMIT = 8

export interface RingEvent {
  readonly ordinal: number
  readonly node: number
  readonly boot: string
  readonly seq: number
  readonly wallMs: number
  readonly plane: EventEnvelope['plane']
  readonly group: string
  readonly kind: string
  readonly fact: boolean
  /** Set for a hole in history: the events `seq`..`toSeq` of this boot never reached the tab. */
  readonly gap: boolean
  readonly view: number | undefined
  readonly op: bigint | undefined
  readonly commit: bigint | undefined
  readonly data: Readonly<EventEnvelope['data']>
}

const EMPTY: EventEnvelope['data'] = {}

export class EventRing {
  readonly capacity: number
  #next = 0
  readonly #seq: Float64Array
  readonly #wallMs: Float64Array
  readonly #node: Uint8Array
  readonly #flags: Uint8Array
  readonly #view: Uint32Array
  readonly #op: BigUint64Array
  readonly #commit: BigUint64Array
  /** Indexes into the string table: boot, plane, group, kind. */
  readonly #words: Uint32Array
  readonly #data: (EventEnvelope['data'] | undefined)[]
  readonly #table: string[] = []
  readonly #numbers = new Map<string, number>()

  constructor(capacity: number = EVENTS_MAX) {
    if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError('an event ring holds at least one event')
    this.capacity = capacity
    this.#seq = new Float64Array(capacity)
    this.#wallMs = new Float64Array(capacity)
    this.#node = new Uint8Array(capacity)
    this.#flags = new Uint8Array(capacity)
    this.#view = new Uint32Array(capacity)
    this.#op = new BigUint64Array(capacity)
    this.#commit = new BigUint64Array(capacity)
    this.#words = new Uint32Array(capacity * 4)
    this.#data = []
  }

  /** Ordinal that the next event will get: the number of events received so far. */
  get next(): number {
    return this.#next
  }
  /** Ordinal of the oldest event still held; equal to `next` when the ring is empty. */
  get first(): number {
    return Math.max(0, this.#next - this.capacity)
  }

  push(item: EventEnvelope | EventGap, receivedWallMs: number): void {
    const slot = this.#next % this.capacity
    this.#next++
    this.#node[slot] = item.node
    if ('fromSeq' in item) {
      this.#seq[slot] = item.fromSeq
      this.#wallMs[slot] = receivedWallMs
      this.#flags[slot] = FLAG_GAP | FLAG_FACT
      this.#view[slot] = NO_U32
      this.#word(slot, item.boot, 'node', 'node', 'gap')
      this.#data[slot] = { toSeq: item.toSeq, reason: item.reason }
      return
    }
    this.#seq[slot] = item.seq
    // Microseconds since 1970 pass 2^53 in the year 2255; the division happens on text that fits until then.
    this.#wallMs[slot] = Number(item.wallUs) / 1000
    let flags = item.class === 'fact' ? FLAG_FACT : 0
    if (item.op !== undefined) {
      flags |= FLAG_OP
      this.#op[slot] = BigInt(item.op)
    }
    if (item.commit !== undefined) {
      flags |= FLAG_COMMIT
      this.#commit[slot] = BigInt(item.commit)
    }
    this.#flags[slot] = flags
    this.#view[slot] = item.view ?? NO_U32
    this.#word(slot, item.boot, item.plane, item.group, item.kind)
    this.#data[slot] = item.data
  }

  /** The event of an ordinal, or undefined when it was overwritten or has not come yet. */
  at(ordinal: number): RingEvent | undefined {
    if (ordinal < this.first || ordinal >= this.#next) return undefined
    const slot = ordinal % this.capacity
    const flags = this.#flags[slot]!
    const view = this.#view[slot]!
    const word = (index: number): string => this.#table[this.#words[slot * 4 + index]!]!
    return {
      ordinal,
      node: this.#node[slot]!,
      boot: word(0),
      seq: this.#seq[slot]!,
      wallMs: this.#wallMs[slot]!,
      plane: word(1) as EventEnvelope['plane'],
      group: word(2),
      kind: word(3),
      fact: (flags & FLAG_FACT) !== 0,
      gap: (flags & FLAG_GAP) !== 0,
      view: view === NO_U32 ? undefined : view,
      op: flags & FLAG_OP ? this.#op[slot] : undefined,
      commit: flags & FLAG_COMMIT ? this.#commit[slot] : undefined,
      data: this.#data[slot] ?? EMPTY,
    }
  }

  /** The newest facts before ordinal `until`, newest first, at most `limit` of them and at most `scan` events looked at. */
  newestFacts(limit: number, until: number = this.#next, scan = 20_000): RingEvent[] {
    const found: RingEvent[] = []
    const stop = Math.max(this.first, until - scan)
    for (let ordinal = Math.min(until, this.#next) - 1; ordinal >= stop && found.length < limit; ordinal--) {
      if (this.#flags[ordinal % this.capacity]! & FLAG_FACT) found.push(this.at(ordinal)!)
    }
    return found
  }

  /**
   * Events per bucket over `[fromMs, toMs)`, for the strip of the time bar. Walks backwards from ordinal `until` and stops
   * at the first event older than `slackMs` before the window (nodes' clocks may differ by a little).
   */
  histogram(fromMs: number, toMs: number, buckets: number, until: number = this.#next, slackMs = 2000): Uint32Array {
    const counts = new Uint32Array(buckets)
    const width = (toMs - fromMs) / buckets
    if (!(width > 0)) return counts
    for (let ordinal = Math.min(until, this.#next) - 1; ordinal >= this.first; ordinal--) {
      const at = this.#wallMs[ordinal % this.capacity]!
      if (at < fromMs - slackMs) break
      if (at >= fromMs && at < toMs) {
        const bucket = Math.min(buckets - 1, Math.floor((at - fromMs) / width))
        counts[bucket] = counts[bucket]! + 1
      }
    }
    return counts
  }

  #word(slot: number, boot: string, plane: string, group: string, kind: string): void {
    const base = slot * 4
    this.#words[base] = this.#number(boot)
    this.#words[base + 1] = this.#number(plane)
    this.#words[base + 2] = this.#number(group)
    this.#words[base + 3] = this.#number(kind)
  }

  /** The table only grows: with boots, groups and kinds, of which a cluster has thousands at most. */
  #number(text: string): number {
    let number = this.#numbers.get(text)
    if (number === undefined) {
      number = this.#table.length
      this.#table.push(text)
      this.#numbers.set(text, number)
    }
    return number
  }
}
