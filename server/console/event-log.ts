/**
 * The merged stream of the console: events of all nodes and of the console itself, in order of arrival, numbered by the
 * console. The newest are kept in a ring, already as JSON text, so that a batch for twenty readers is made once.
 *
 * Items are published in batches, the first at once and then at most one each BATCH_MS: a burst costs the page one redraw.
 * The number of the first item of a run is taken from the clock, so that a cursor of an earlier run is always below it and
 * can never be mistaken for one of this run.
 */
import type { EventEnvelope, EventGap } from '../../shared/inspection/envelope.ts'
import { isGap } from '../../shared/inspection/envelope.ts'
import { wallMs, wallUs } from './wall.ts'

export const BATCH_MS = 33
/** A minute at the 500 facts a second of the budget, about 15 MB of text. */
export const RING_ITEMS = 32_768

/** Of one item: words and ids are short, so what is longer is a fault of its sender and must not fill the ring. */
const ITEM_CHARS_MAX = 8_192

export interface EventLogOptions {
  readonly ringItems?: number
  readonly batchMs?: number
  /** First console sequence of this run, minus one. */
  readonly base?: number
}

export interface PublishedBatch {
  readonly firstSeq: number
  readonly lastSeq: number
  /** A JSON array. */
  readonly json: string
}

export class EventLog {
  readonly #ring: string[]
  readonly #capacity: number
  readonly #batchMs: number
  readonly base: number
  /** Last console sequence given out, pending ones included. */
  #seq: number
  /** Last console sequence in the ring. */
  #published: number
  #pending: (EventEnvelope | EventGap)[] = []
  #timer: NodeJS.Timeout | undefined
  #lastFlushMs = Number.NEGATIVE_INFINITY
  readonly #listeners = new Set<(batch: PublishedBatch) => void>()

  constructor(options: EventLogOptions = {}) {
    this.#capacity = options.ringItems ?? RING_ITEMS
    this.#batchMs = options.batchMs ?? BATCH_MS
    // Below 2^53 for the next 200 years; an earlier run would have to emit 1,000 events each millisecond to reach it.
    this.base = options.base ?? Math.floor(wallMs()) * 1000
    this.#seq = this.base
    this.#published = this.base
    this.#ring = []
  }

  /** Newest sequence that readers may have. */
  get seq(): number {
    return this.#published
  }

  /** Sequence of the oldest item kept; `seq + 1` when none is. */
  get firstSeq(): number {
    return this.#published - this.#ring.length + 1
  }

  append(items: readonly (EventEnvelope | EventGap)[]): void {
    if (items.length === 0) return
    const receivedWallUs = wallUs()
    for (const item of items) this.#pending.push(isGap(item) ? item : { ...item, receivedWallUs })
    // A burst larger than the ring would only push itself out again.
    if (this.#pending.length >= this.#capacity) this.flush()
    else this.#schedule()
  }

  #schedule(): void {
    if (this.#timer !== undefined) return
    const wait = this.#lastFlushMs + this.#batchMs - performance.now()
    if (wait <= 0) this.flush()
    else this.#timer = setTimeout(() => this.flush(), wait)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#pending.length === 0) return
    this.#lastFlushMs = performance.now()
    const items = this.#pending
    this.#pending = []
    const firstSeq = this.#seq + 1
    const emittedWallUs = wallUs()
    const texts = items.map(item => {
      this.#seq += 1
      const whole = isGap(item) ? { ...item, consoleSeq: this.#seq } : { ...item, consoleSeq: this.#seq, emittedWallUs }
      const text = JSON.stringify(whole)
      return text.length <= ITEM_CHARS_MAX ? text : JSON.stringify({ ...whole, data: { tooLong: text.length } })
    })
    this.#ring.push(...texts)
    if (this.#ring.length > this.#capacity) this.#ring.splice(0, this.#ring.length - this.#capacity)
    this.#published = this.#seq
    const batch = { firstSeq, lastSeq: this.#seq, json: `[${texts.join(',')}]` }
    for (const listener of this.#listeners) listener(batch)
  }

  /** Up to `limit` items after `after`, or undefined when some of them are gone (or `after` is of no run known here). */
  read(after: number, limit: number): PublishedBatch | undefined {
    if (after < this.firstSeq - 1 || after > this.#published) return undefined
    const from = after - this.firstSeq + 1
    const texts = this.#ring.slice(from, from + limit)
    return { firstSeq: after + 1, lastSeq: after + texts.length, json: `[${texts.join(',')}]` }
  }

  onBatch(listener: (batch: PublishedBatch) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#listeners.clear()
  }
}
