/**
 * The event ring of a tab: the newest EVENTS_MAX events of all nodes, as a struct of typed arrays with a string table,
 * so that an hour of live watching costs a fixed amount of memory and no garbage. Every event gets an ordinal, counted
 * from the first event that this tab received; ordinals are never reused, so a reader that comes back for an ordinal
 * which was overwritten meanwhile gets `undefined` and must start over: history that is gone is never guessed.
 *
 * What an event carries besides its fields lies as text in one arena of bytes, a ring as well: an object for each event
 * would make the heap grow until the ring is full, which at a quiet cluster takes hours. Where the arena laps first, it is
 * what ends history.
 */
import { CONSOLE_NODE, type EventEnvelope, type EventGap } from '../../shared/inspection/envelope.ts'

/** 200,000 events are one hour at 55 facts/s, or about seven minutes at the 500/s of the budget (spec ui.md §3.6). */
export const EVENTS_MAX = 200_000
/** Of text; most carry 60. 24 MB in all. */
const DATA_BYTES_PER_EVENT = 120
const NO_U32 = 0xffff_ffff
const FLAG_FACT = 1
const FLAG_GAP = 2
const FLAG_OP = 4
const FLAG_COMMIT = 8
const FLAG_LINK_IN = 16
const FLAG_LINK_OUT = 32

export interface RingEvent {
  readonly ordinal: number
  readonly node: number
  readonly boot: string
  readonly seq: number
  readonly wallMs: number
  /** When the console got it, by the console's clock; undefined when it did not say. */
  readonly receivedMs: number | undefined
  readonly plane: EventEnvelope['plane']
  readonly group: string
  readonly kind: string
  readonly fact: boolean
  /** Set for a hole in history: the events `seq`..`toSeq` of this boot never reached the tab. */
  readonly gap: boolean
  readonly view: number | undefined
  readonly op: bigint | undefined
  readonly commit: bigint | undefined
  readonly logView: number | undefined
  /** `seq` of the event of the same boot that led to this one, where the node says so. */
  readonly cause: number | undefined
  /** The frame that it belongs to; the same at both ends of the connection. */
  readonly link: EventEnvelope['link'] | undefined
  readonly data: Readonly<EventEnvelope['data']>
}

/** An event may arrive so much after one that happened later; clocks of nodes may differ by some of it. */
const ORDER_MS = 2_000
const ALL_TIME = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
const EMPTY: EventEnvelope['data'] = {}
const ENCODER = new TextEncoder()
const DECODER = new TextDecoder()

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
  readonly #logView: Uint32Array
  readonly #receivedMs: Float64Array
  /** How many events before its own the cause lies; 0: none told. */
  readonly #causeBack: Uint32Array
  /** Index of the connection's name in the string table, and the ordinal of the frame on it. */
  readonly #link: Uint32Array
  readonly #linkOrdinal: Uint32Array
  /** Indexes into the string table: boot, plane, group, kind. */
  readonly #words: Uint32Array
  readonly #consoleSeq: Float64Array
  /** Where the text of an event's data begins, counted from the first byte that was ever written; and how long it is. */
  readonly #dataAt: Float64Array
  readonly #dataLength: Uint32Array
  readonly #arena: Uint8Array
  #written = 0
  /** The oldest event whose text is still whole. */
  #whole = 0
  readonly #table: string[] = []
  readonly #numbers = new Map<string, number>()

  constructor(capacity: number = EVENTS_MAX, dataBytes: number = capacity * DATA_BYTES_PER_EVENT) {
    if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError('an event ring holds at least one event')
    this.capacity = capacity
    this.#seq = new Float64Array(capacity)
    this.#wallMs = new Float64Array(capacity)
    this.#node = new Uint8Array(capacity)
    this.#flags = new Uint8Array(capacity)
    this.#view = new Uint32Array(capacity)
    this.#op = new BigUint64Array(capacity)
    this.#commit = new BigUint64Array(capacity)
    this.#logView = new Uint32Array(capacity)
    this.#receivedMs = new Float64Array(capacity)
    this.#causeBack = new Uint32Array(capacity)
    this.#link = new Uint32Array(capacity)
    this.#linkOrdinal = new Uint32Array(capacity)
    this.#words = new Uint32Array(capacity * 4)
    this.#consoleSeq = new Float64Array(capacity)
    this.#dataAt = new Float64Array(capacity)
    this.#dataLength = new Uint32Array(capacity)
    this.#arena = new Uint8Array(dataBytes)
  }

  /** Ordinal that the next event will get: the number of events received so far. */
  get next(): number {
    return this.#next
  }
  /** Ordinal of the oldest event still held; equal to `next` when the ring is empty. */
  get first(): number {
    return Math.max(this.#whole, this.#next - this.capacity)
  }

  /** Forgets everything, and counts ordinals from 0 again. */
  clear(): void {
    this.#next = 0
    this.#whole = 0
    this.#written = 0
  }

  push(item: EventEnvelope | EventGap, receivedWallMs: number): void {
    const slot = this.#next % this.capacity
    const before = this.#next === 0 ? 0 : this.#consoleSeq[(this.#next - 1) % this.capacity]!
    // What the console left out ends with the last number that it left out: the same when it is folded again.
    const unnumbered = 'fromSeq' in item && item.node === CONSOLE_NODE ? Math.max(before, item.toSeq) : before
    this.#consoleSeq[slot] = item.consoleSeq ?? unnumbered
    this.#next++
    this.#node[slot] = item.node
    if ('fromSeq' in item) {
      this.#seq[slot] = item.fromSeq
      this.#wallMs[slot] = receivedWallMs
      this.#flags[slot] = FLAG_GAP | FLAG_FACT
      this.#view[slot] = NO_U32
      this.#logView[slot] = NO_U32
      this.#receivedMs[slot] = receivedWallMs
      this.#causeBack[slot] = 0
      this.#word(slot, item.boot, 'node', 'node', 'gap')
      this.#keep(slot, { toSeq: item.toSeq, reason: item.reason })
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
    if (item.link) {
      flags |= item.link.dir === 'in' ? FLAG_LINK_IN : FLAG_LINK_OUT
      this.#link[slot] = this.#number(item.link.id)
      this.#linkOrdinal[slot] = item.link.ordinal
    }
    this.#flags[slot] = flags
    this.#view[slot] = item.view ?? NO_U32
    this.#logView[slot] = item.logView ?? NO_U32
    this.#causeBack[slot] = item.cause === undefined ? 0 : Math.max(0, item.seq - item.cause)
    this.#receivedMs[slot] = item.receivedWallUs === undefined ? Number.NaN : Number(item.receivedWallUs) / 1000
    this.#word(slot, item.boot, item.plane, item.group, item.kind)
    this.#keep(slot, item.data)
    this.#endGap(this.#next - 2, this.#receivedMs[slot]!)
  }

  /** A hole is told of when its reader comes; it ended when the console had the first event behind it. */
  #endGap(ordinal: number, receivedMs: number): void {
    const slot = ordinal % this.capacity
    if (ordinal < this.first || !(this.#flags[slot]! & FLAG_GAP) || !(receivedMs < this.#receivedMs[slot]!)) return
    this.#receivedMs[slot] = receivedMs
    this.#wallMs[slot] = receivedMs
  }

  /** The event of an ordinal, or undefined when it was overwritten or has not come yet. */
  at(ordinal: number): RingEvent | undefined {
    if (ordinal < this.first || ordinal >= this.#next) return undefined
    const slot = ordinal % this.capacity
    const flags = this.#flags[slot]!
    const view = this.#view[slot]!
    const logView = this.#logView[slot]!
    const receivedMs = this.#receivedMs[slot]!
    const back = this.#causeBack[slot]!
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
      logView: logView === NO_U32 ? undefined : logView,
      receivedMs: Number.isNaN(receivedMs) ? undefined : receivedMs,
      cause: back === 0 ? undefined : this.#seq[slot]! - back,
      link:
        flags & (FLAG_LINK_IN | FLAG_LINK_OUT)
          ? {
              id: this.#table[this.#link[slot]!]!,
              ordinal: this.#linkOrdinal[slot]!,
              dir: flags & FLAG_LINK_IN ? 'in' : 'out',
            }
          : undefined,
      data: this.#dataOf(slot),
    }
  }

  /**
   * The newest events before ordinal `until` that `wanted` takes, oldest first, at most `limit`; `more` counts those that
   * were taken too and left out. `span` bounds when they happened by the clock of whoever told them. What is not wanted costs no object: a filter over the whole ring is some milliseconds.
   */
  newestWhere(
    wanted: (kind: string, group: string, node: number) => boolean,
    limit: number,
    until: number = this.#next,
    span: { readonly fromMs: number; readonly toMs: number } = ALL_TIME,
  ): { readonly events: readonly RingEvent[]; readonly more: number } {
    const events: RingEvent[] = []
    let more = 0
    for (let ordinal = Math.min(until, this.#next) - 1; ordinal >= this.first; ordinal--) {
      const slot = ordinal % this.capacity
      const at = this.#wallMs[slot]!
      // Events of several nodes arrive nearly in order: well before the span nothing of it is left.
      if (at < span.fromMs - ORDER_MS) break
      if (at < span.fromMs || at > span.toMs) continue
      const group = this.#table[this.#words[slot * 4 + 2]!]!
      const kind = this.#table[this.#words[slot * 4 + 3]!]!
      if (!wanted(kind, group, this.#node[slot]!)) continue
      if (events.length < limit) events.push(this.at(ordinal)!)
      else more++
    }
    return { events: events.reverse(), more }
  }

  /** The event that a node numbered `seq` in one of its lives, when it is held and lies before ordinal `until`. */
  find(node: number, boot: string, seq: number, until: number = this.#next): RingEvent | undefined {
    const word = this.#numbers.get(boot)
    if (word === undefined) return undefined
    for (let ordinal = Math.min(until, this.#next) - 1; ordinal >= this.first; ordinal--) {
      const slot = ordinal % this.capacity
      if (this.#seq[slot] === seq && this.#node[slot] === node && this.#words[slot * 4] === word)
        return this.at(ordinal)
    }
    return undefined
  }

  /**
   * Events of some kinds before ordinal `until`, newest first, back to `fromMs`: what is rare is found among any traffic.
   * Stops at the first event that was told `slackMs` before it: one that happened long before may be told late.
   */
  since(fromMs: number, kinds: Iterable<string>, until: number = this.#next, slackMs = 2000): RingEvent[] {
    const wanted = new Set<number>()
    for (const kind of kinds) {
      const number = this.#numbers.get(kind)
      if (number !== undefined) wanted.add(number)
    }
    const found: RingEvent[] = []
    for (let ordinal = Math.min(until, this.#next) - 1; ordinal >= this.first; ordinal--) {
      const slot = ordinal % this.capacity
      if (this.#toldMs(slot) < fromMs - slackMs) break
      if (wanted.has(this.#words[slot * 4 + 3]!) && this.#wallMs[slot]! >= fromMs) found.push(this.at(ordinal)!)
    }
    return found
  }

  /**
   * Events per bucket over `[fromMs, toMs)`, for the strip of the time bar. Walks backwards from ordinal `until` and stops
   * at the first event that was told `slackMs` before the window: one that happened long before may be told late.
   */
  histogram(fromMs: number, toMs: number, buckets: number, until: number = this.#next, slackMs = 2000): Uint32Array {
    const counts = new Uint32Array(buckets)
    const width = (toMs - fromMs) / buckets
    if (!(width > 0)) return counts
    for (let ordinal = Math.min(until, this.#next) - 1; ordinal >= this.first; ordinal--) {
      const slot = ordinal % this.capacity
      const at = this.#wallMs[slot]!
      if (this.#toldMs(slot) < fromMs - slackMs) break
      if (at >= fromMs && at < toMs) {
        const bucket = Math.min(buckets - 1, Math.floor((at - fromMs) / width))
        counts[bucket] = counts[bucket]! + 1
      }
    }
    return counts
  }

  /**
   * By how much the console's clock was ahead of a node's when an event of it arrived, at the least: the shortest way that
   * an event took, and what the clocks differ by. Of the newest `scan` events before ordinal `until`, by node.
   */
  shortestWays(until: number = this.#next, scan = 5_000): ReadonlyMap<number, number> {
    const ways = new Map<number, number>()
    const stop = Math.max(this.first, until - scan)
    for (let ordinal = Math.min(until, this.#next) - 1; ordinal >= stop; ordinal--) {
      const slot = ordinal % this.capacity
      const way = this.#receivedMs[slot]! - this.#wallMs[slot]!
      if (Number.isNaN(way) || this.#flags[slot]! & FLAG_GAP) continue
      const node = this.#node[slot]!
      if (node !== CONSOLE_NODE) ways.set(node, Math.min(ways.get(node) ?? way, way))
    }
    return ways
  }

  #word(slot: number, boot: string, plane: string, group: string, kind: string): void {
    const base = slot * 4
    this.#words[base] = this.#number(boot)
    this.#words[base + 1] = this.#number(plane)
    this.#words[base + 2] = this.#number(group)
    this.#words[base + 3] = this.#number(kind)
  }

  /** The console's number of an event that is held; 0 when it had none. */
  consoleSeqAt(ordinal: number): number {
    return ordinal < this.first || ordinal >= this.#next ? 0 : this.#consoleSeq[ordinal % this.capacity]!
  }

  /** Ordinal behind the last event that the console numbered `seq` or lower. */
  behind(seq: number): number {
    let [low, high] = [this.first, this.#next]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#consoleSeq[middle % this.capacity]! <= seq) low = middle + 1
      else high = middle
    }
    return low
  }

  /** By the console's clock where it said when it had the event; never before it happened. */
  #toldMs(slot: number): number {
    const [wall, received] = [this.#wallMs[slot]!, this.#receivedMs[slot]!]
    return Number.isNaN(received) ? wall : Math.max(wall, received)
  }

  /** When the console had the event, or when it happened where the console did not say. */
  momentAt(ordinal: number): number {
    const slot = ordinal % this.capacity
    const received = this.#receivedMs[slot]!
    return Number.isNaN(received) ? this.#wallMs[slot]! : received
  }

  /** The nearest event from `ordinal` on, itself included, in one direction, that is `wanted`. */
  nearest(
    ordinal: number,
    direction: -1 | 1,
    wanted: (kind: string, fact: boolean, framed: boolean, group: string) => boolean,
  ): number | undefined {
    for (let at = ordinal; at >= this.first && at < this.#next; at += direction) {
      const slot = at % this.capacity
      const flags = this.#flags[slot]!
      const kind = this.#table[this.#words[slot * 4 + 3]!]!
      const group = this.#table[this.#words[slot * 4 + 2]!]!
      if (wanted(kind, (flags & FLAG_FACT) !== 0, (flags & (FLAG_LINK_IN | FLAG_LINK_OUT)) !== 0, group)) return at
    }
    return undefined
  }

  #keep(slot: number, data: EventEnvelope['data']): void {
    const bytes = ENCODER.encode(JSON.stringify(data))
    const size = this.#arena.length
    // Of an event that would fill an arena by itself nothing is kept; the console cuts such events anyway.
    if (bytes.length > size / 2) {
      this.#dataLength[slot] = 0
      return
    }
    const into = this.#written % size
    if (into + bytes.length > size) this.#written += size - into
    this.#arena.set(bytes, this.#written % size)
    this.#dataAt[slot] = this.#written
    this.#dataLength[slot] = bytes.length
    this.#written += bytes.length
    const oldest = this.#written - size
    while (this.first < this.#next - 1 && this.#dataAt[this.first % this.capacity]! < oldest)
      this.#whole = this.first + 1
  }

  #dataOf(slot: number): EventEnvelope['data'] {
    const length = this.#dataLength[slot]!
    if (length === 0) return EMPTY
    const from = this.#dataAt[slot]! % this.#arena.length
    return JSON.parse(DECODER.decode(this.#arena.subarray(from, from + length))) as EventEnvelope['data']
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
