/**
 * What one poll takes out of the records it walks (spec partition.md §5.2, wire.md §3.8.3): from a start on, ascending,
 * at most `count` messages and about `bytesMax` bytes, nothing at or past `ceiling`. Whole records are handed on as
 * they are stored; at both ends a record is sliced, keeping base offset and deltas.
 *
 * By time, the first record at or after the asked time in log order is where the answer starts; from there on it is
 * contiguous, also where a later record is older (a clock that stepped back).
 */
import type { Hash } from '../bytes/hash.ts'
import { sliceBatch } from '../protocol/batch.ts'
import { dataView, messagesWithin, recordBaseOffset, recordMessages, recordTimestamp } from './record.ts'

export type Query =
  | { readonly by: 'offset'; readonly from: bigint }
  | { readonly by: 'timestamp'; readonly from: bigint }

export class Selection {
  private readonly hash: Hash
  private readonly query: Query
  private readonly ceiling: bigint
  private remaining: number
  private bytesLeft: number
  readonly records: Uint8Array[] = []
  messages = 0
  /** Exclusive end of what was taken. */
  end: bigint | undefined
  /** Nothing more will be taken. */
  full = false

  /** `ceiling` is exclusive; messages become visible by whole batches. */
  constructor(hash: Hash, query: Query, ceiling: bigint, count: number, bytesMax: number) {
    this.hash = hash
    this.query = query
    this.ceiling = ceiling
    this.remaining = count
    this.bytesLeft = bytesMax
    this.full = count <= 0
  }

  /** Whether a record that ends before offset `end` lies wholly before the start. By time, only its content can tell. */
  skips(end: bigint): boolean {
    return this.end === undefined && this.query.by === 'offset' && end <= this.query.from
  }

  /** Offers the record at `at`, whose layout was checked and which is `length` bytes long. */
  take(bytes: Uint8Array, at: number, length: number): void {
    if (this.full) return
    const view = dataView(bytes)
    const base = recordBaseOffset(view, at)
    const total = recordMessages(view, at)
    if (base >= this.ceiling) {
      this.full = true
      return
    }
    let first = 0
    if (this.end === undefined) {
      if (this.query.by === 'timestamp') {
        if (recordTimestamp(view, at) < this.query.from) return
      } else if (this.query.from > base) {
        const skipped = this.query.from - base
        if (skipped >= BigInt(total)) return
        first = Number(skipped)
      }
    }
    let count = Math.min(total - first, this.remaining)
    if (length > this.bytesLeft) {
      count = messagesWithin(view, at, first, count, this.bytesLeft)
      // a message larger than the bound is served alone, or a poll would stop in front of it for ever
      if (count === 0 && this.records.length === 0) count = 1
      this.full = true
      if (count === 0) return
    }
    const record = sliceBatch(this.hash, bytes, at, first, count)
    this.records.push(record)
    this.messages += count
    this.remaining -= count
    this.bytesLeft -= record.length
    this.end = base + BigInt(first + count)
    if (this.remaining === 0 || this.bytesLeft <= 0) this.full = true
  }
}
