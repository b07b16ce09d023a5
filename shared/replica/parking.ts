/**
 * Frames and requests for a partition that is committed, or about to be, but not built here yet (spec consensus.md §3.5).
 * Bounded by partition and over all; what does not fit is refused: a request is answered 58, a frame is lost and repaired.
 */
import type { GroupId } from '../bytes/units.ts'

/** Per partition. */
export const PARKED_FRAMES_MAX = 128
export const PARKED_BYTES_MAX = 4 * 1024 * 1024
/** Over all partitions of a node. */
export const PARKED_TOTAL_BYTES_MAX = 16 * 1024 * 1024
/** Ticks after which a parked request is refused: the reconciler has had its passes. A frame is dropped then. */
export const PARKED_TICKS = 300
/** What an entry takes at least: headers and bookkeeping. */
const FOOTPRINT_BYTES = 4096

export interface Parked {
  readonly bytes: number
  /** Runs once the partition is there. */
  deliver(): void
  /** Runs instead, when it will not be. */
  discard(reason: string): void
}

interface Lot {
  readonly entries: { readonly parked: Parked; readonly deadline: number }[]
  bytes: number
}

export class Parking {
  private readonly lots = new Map<GroupId, Lot>()
  private total = 0

  get bytes(): number {
    return this.total
  }

  /** False when it does not fit; the caller answers then. */
  park(group: GroupId, parked: Parked, nowTick: number): boolean {
    const footprint = Math.max(FOOTPRINT_BYTES, parked.bytes)
    const lot = this.lots.get(group) ?? { entries: [], bytes: 0 }
    const full =
      lot.entries.length >= PARKED_FRAMES_MAX ||
      lot.bytes + footprint > PARKED_BYTES_MAX ||
      this.total + footprint > PARKED_TOTAL_BYTES_MAX
    if (full) return false
    lot.entries.push({ parked, deadline: nowTick + PARKED_TICKS })
    lot.bytes += footprint
    this.total += footprint
    this.lots.set(group, lot)
    return true
  }

  /** Hands everything of one partition over, in the order of arrival. */
  deliver(group: GroupId): void {
    for (const { parked } of this.take(group)) parked.deliver()
  }

  discard(group: GroupId, reason: string): void {
    for (const { parked } of this.take(group)) parked.discard(reason)
  }

  expire(nowTick: number): void {
    for (const [group, lot] of this.lots) {
      while (lot.entries.length > 0 && lot.entries[0]!.deadline <= nowTick) {
        const { parked } = lot.entries.shift()!
        this.release(lot, parked)
        parked.discard('the partition was not built in time')
      }
      if (lot.entries.length === 0) this.lots.delete(group)
    }
  }

  private take(group: GroupId): Lot['entries'] {
    const lot = this.lots.get(group)
    if (!lot) return []
    this.lots.delete(group)
    this.total -= lot.bytes
    return lot.entries
  }

  private release(lot: Lot, parked: Parked): void {
    const footprint = Math.max(FOOTPRINT_BYTES, parked.bytes)
    lot.bytes -= footprint
    this.total -= footprint
  }
}
