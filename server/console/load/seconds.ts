/** What happened in each of the last SECONDS seconds, without holes: a second without traffic is a zero, not a gap. */
import type { LoadState } from '../../../shared/inspection/api.ts'
import { Latencies } from './latency.ts'

export const SECONDS = 120

type Second = LoadState['seconds'][number]
type Outcome = 'sent' | 'acked' | 'unknown' | 'refused'

interface Bucket {
  readonly atMs: number
  readonly counts: Record<Outcome, number>
  latencies: Latencies | undefined
  /** Percentiles of a second that is over; its samples are gone. */
  closed: Pick<Second, 'p50Ms' | 'p99Ms'> | undefined
}

export class Seconds {
  readonly #buckets: Bucket[] = []

  add(nowMs: number, outcome: Outcome, messages: number, latencyMs?: number): void {
    const bucket = this.#at(nowMs)
    bucket.counts[outcome] += messages
    if (latencyMs !== undefined) {
      bucket.latencies ??= new Latencies()
      bucket.latencies.add(latencyMs)
    }
  }

  /** Oldest first, up to the present second. */
  list(nowMs: number): Second[] {
    if (this.#buckets.length > 0) this.#at(nowMs)
    return this.#buckets.map(bucket => ({
      atMs: bucket.atMs,
      ...bucket.counts,
      ...(bucket.closed ?? percentiles(bucket.latencies)),
    }))
  }

  #at(nowMs: number): Bucket {
    const atMs = Math.floor(nowMs / 1000) * 1000
    let last = this.#buckets.at(-1)
    if (last && (atMs < last.atMs || atMs - last.atMs > SECONDS * 1000)) {
      // The wall clock stepped, back or far ahead: what is shown starts anew rather than with a false axis.
      this.#buckets.length = 0
      last = undefined
    }
    while (!last || last.atMs < atMs) {
      if (last) {
        last.closed = percentiles(last.latencies)
        last.latencies = undefined
      }
      last = {
        atMs: last ? last.atMs + 1000 : atMs,
        counts: { sent: 0, acked: 0, unknown: 0, refused: 0 },
        latencies: undefined,
        closed: undefined,
      }
      this.#buckets.push(last)
    }
    if (this.#buckets.length > SECONDS) this.#buckets.splice(0, this.#buckets.length - SECONDS)
    return last
  }
}

const percentiles = (latencies: Latencies | undefined): Pick<Second, 'p50Ms' | 'p99Ms'> => ({
  p50Ms: latencies?.percentileMs(0.5) ?? null,
  p99Ms: latencies?.percentileMs(0.99) ?? null,
})
