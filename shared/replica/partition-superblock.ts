/**
 * The superblock of a partition as its offset space uses it (spec partition.md §7.2). The view pair has a writer of its own
 * in the group; both go through the one gate of the store, and each carries the other's fields forward.
 */
import { Offset, TICK_MS } from '../bytes/units.ts'
import type { OffsetRecord, OffsetSuperblock } from '../partition/reservation.ts'
import type { GroupSuperblock } from './group-superblock.ts'

/** 10 ms << failures, at most 1 s (§7.2). */
const BACKOFF_MS = 10
const BACKOFF_SHIFT_MAX = 8
const BACKOFF_MS_MAX = 1_000

export class PartitionSuperblock implements OffsetSuperblock {
  readonly group: GroupSuperblock
  private readonly tick: () => number
  private failures = 0
  private retryAtTick = 0

  constructor(group: GroupSuperblock, tick: () => number) {
    this.group = group
    this.tick = tick
  }

  recorded(): OffsetRecord {
    const { recorded } = this.group
    return { frontier: recorded?.offsetFrontier ?? 0n, reserved: recorded?.offsetReserved ?? 0n }
  }

  backedOff(): boolean {
    return this.tick() < this.retryAtTick
  }

  async write(claim: (recorded: OffsetRecord) => OffsetRecord): Promise<void> {
    try {
      await this.group.writeOffsets(() => {
        const { frontier, reserved } = claim(this.recorded())
        return { frontier: Offset(frontier), reserved: Offset(reserved) }
      })
      this.failures = 0
      this.retryAtTick = 0
    } catch (error) {
      this.failures++
      const waitMs = Math.min(BACKOFF_MS << Math.min(this.failures, BACKOFF_SHIFT_MAX), BACKOFF_MS_MAX)
      this.retryAtTick = this.tick() + Math.ceil(waitMs / TICK_MS)
      throw error
    }
  }
}
