/**
 * What left the journal after a flush, kept in memory for repair and for header look-ups of a view change (spec
 * partition.md §3.3). First in, first out, bounded by ops and by bytes; at least one entry stays, so that a frame larger
 * than the byte bound can still be repaired. A capacity of 0 switches it off (solo groups have nobody to repair).
 */
import type { Op } from '../bytes/units.ts'
import type { JournalEntry } from './journal.ts'

export class EvictedRing {
  private readonly opsMax: number
  private readonly bytesMax: number
  /** Insertion order is eviction order. */
  private readonly entries = new Map<bigint, JournalEntry>()
  private bytes = 0

  constructor(opsMax: number, bytesMax: number) {
    this.opsMax = opsMax
    this.bytesMax = bytesMax
  }

  push(entry: JournalEntry): void {
    if (this.opsMax === 0) return
    this.entries.set(entry.header.op, entry)
    this.bytes += entry.frame.length
    while (this.entries.size > 1 && (this.entries.size > this.opsMax || this.bytes > this.bytesMax)) {
      const [op, oldest] = this.entries.entries().next().value!
      this.entries.delete(op)
      this.bytes -= oldest.frame.length
    }
  }

  /** Oldest first. */
  held(): Iterable<JournalEntry> {
    return this.entries.values()
  }

  use(): { ops: number; opsMax: number; bytes: number; bytesMax: number } {
    return { ops: this.entries.size, opsMax: this.opsMax, bytes: this.bytes, bytesMax: this.bytesMax }
  }

  clear(): void {
    this.entries.clear()
    this.bytes = 0
  }

  get(op: Op): JournalEntry | undefined {
    return this.entries.get(op)
  }

  oldestOp(): bigint | undefined {
    return this.entries.keys().next().value
  }

  highestOp(): bigint | undefined {
    let highest: bigint | undefined
    for (const op of this.entries.keys()) if (highest === undefined || op > highest) highest = op
    return highest
  }
}
