/**
 * The last batches that the segments held at boot, by offset and checksum (design.md §3). A repair brings prepares whose
 * batches may be on disk already; that is believed only of a batch that is the same, byte for byte, since a replica that
 * was away while the others began a new log may hold other messages at the same offsets.
 */
export type StoredVerdict =
  | 'same'
  /** Other bytes lie at these offsets. */
  | 'differs'
  /** In front of the window: nothing is known of it. It was there, and retention may have removed it since. */
  | 'unknown'
  /** Behind the end: not on disk. */
  | 'beyond'

const FIELDS = 3
const GROW_FROM = 64

export class StoredTail {
  private readonly batchesMax: number
  /** base, end, checksum of each batch, in offset order; a ring once `batchesMax` is reached. */
  private fields = new BigUint64Array(GROW_FROM * FIELDS)
  private first = 0
  private count = 0

  constructor(batchesMax: number) {
    this.batchesMax = batchesMax
  }

  /** To be called in offset order. */
  add(base: bigint, end: bigint, checksum: bigint): void {
    if (this.count === this.batchesMax) {
      this.first = (this.first + 1) % this.batchesMax
      this.count--
    }
    const slot = (this.first + this.count) % this.batchesMax
    if (slot * FIELDS >= this.fields.length) {
      const grown = new BigUint64Array(Math.min(this.fields.length * 2, this.batchesMax * FIELDS))
      grown.set(this.fields)
      this.fields = grown
    }
    this.fields[slot * FIELDS] = base
    this.fields[slot * FIELDS + 1] = end
    this.fields[slot * FIELDS + 2] = checksum
    this.count++
  }

  /** Forgets every batch that ends behind `offset`. */
  cut(offset: bigint): void {
    while (this.count > 0 && this.field(this.count - 1, 1) > offset) this.count--
  }

  judge(base: bigint, end: bigint, checksum: bigint, storedEnd: bigint): StoredVerdict {
    if (base >= storedEnd) return 'beyond'
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.field(middle, 0) < base) low = middle + 1
      else high = middle
    }
    if (low < this.count && this.field(low, 0) === base) {
      return this.field(low, 1) === end && this.field(low, 2) === checksum ? 'same' : 'differs'
    }
    // it starts inside a batch or inside a gap of the window, or in front of all of it
    const inFront = low === 0 && (this.count === 0 || end <= this.field(0, 0))
    return inFront ? 'unknown' : 'differs'
  }

  private field(index: number, field: number): bigint {
    return this.fields[((this.first + index) % this.batchesMax) * FIELDS + field]!
  }
}
