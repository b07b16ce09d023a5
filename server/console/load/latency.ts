/**
 * Latencies as counts in buckets that grow by 2 %: any percentile of any number of samples, within 2 %, in constant
 * memory. From 1 µs to two hours; what lies outside goes to the nearest bucket.
 */
const GROWTH = 1.02
const BUCKETS = Math.ceil(Math.log(7.2e9) / Math.log(GROWTH))

export class Latencies {
  readonly #counts = new Float64Array(BUCKETS + 1)
  #count = 0
  #maxMs = 0

  get count(): number {
    return this.#count
  }

  get maxMs(): number {
    return this.#maxMs
  }

  add(ms: number, times = 1): void {
    const micros = Math.max(1, ms * 1000)
    const bucket = Math.min(BUCKETS, Math.ceil(Math.log(micros) / Math.log(GROWTH)))
    this.#counts[bucket]! += times
    this.#count += times
    if (ms > this.#maxMs) this.#maxMs = ms
  }

  /** The smallest bucket edge that `share` (0 to 1) of the samples do not exceed; undefined without samples. */
  percentileMs(share: number): number | undefined {
    if (this.#count === 0) return undefined
    const wanted = Math.max(1, Math.ceil(share * this.#count))
    let seen = 0
    for (let bucket = 0; bucket <= BUCKETS; bucket++) {
      seen += this.#counts[bucket]!
      if (seen >= wanted) return Math.min(this.#maxMs, GROWTH ** bucket / 1000)
    }
    return this.#maxMs
  }
}
