/**
 * Offset reservation: no offset below the durable ceiling is given out by a later life (spec partition.md §7).
 *
 * Two numbers lie in the superblock and are never merged. `frontier` is a claim about data that was there; `reserved` names
 * no bytes: an offset below it may have reached a client. The fence is what keeps the second one true: a batch enters the
 * journal only while `reserved` lies above its last offset. Appending is synchronous and the write is not, so the ceiling
 * is raised in the background as soon as half a lease is used; only a batch that overtakes it has to wait.
 *
 * The arithmetic of all writers is in this file; `OffsetSuperblock` serialises them and carries the other fields.
 */
import { U64_MAX } from '../bytes/units.ts'
import type { PartitionHost } from './contract.ts'

export interface OffsetRecord {
  /** A lower bound of the next offset, proven by data; 0 when none is recorded. */
  readonly frontier: bigint
  /** Exclusive ceiling of the offsets that may have been given out; 0 when none is recorded. */
  readonly reserved: bigint
}

/** The superblock of a partition as its offset space uses it. All writers share one gate, and none loses another's fields. */
export interface OffsetSuperblock {
  /** What the newest record says; zeros when there is none. */
  recorded(): OffsetRecord
  /** True for a while after a failed write (§7.2). */
  backedOff(): boolean
  /**
   * Writes what `claim` makes of the newest record when the write's turn comes; `reserved` is raised to `frontier`. Resolves
   * once it is durable, rejects when the write failed.
   */
  write(claim: (recorded: OffsetRecord) => OffsetRecord): Promise<void>
}

export const OFFSET_LEASE_DEFAULT = 65_536
/** A guard against a slipped digit. */
export const OFFSET_LEASE_MAX = 16_777_216

export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const saturated = (offset: bigint): bigint => (offset > U64_MAX ? U64_MAX : offset)

export interface ReservationOptions {
  readonly superblock: OffsetSuperblock | undefined
  readonly lease: number
  /** A group of one replica: the first mint of a life starts at what the lives before may have given out. */
  readonly solo: boolean
  /** End (exclusive) of what is held, in segments or journal; 0 when nothing is. */
  readonly held: () => bigint
  readonly host: PartitionHost
  /** False: the ceiling is raised only by a batch that meets it. */
  readonly ahead?: boolean
}

export type FenceVerdict =
  | 'open'
  /** The ceiling is being raised: `whenSettled`, then again. */
  | 'pending'
  /** The record cannot be written now. */
  | 'failed'

export class OffsetReservation {
  private readonly superblock: OffsetSuperblock | undefined
  private readonly lease: bigint
  private readonly held: () => bigint
  private readonly host: PartitionHost
  private readonly ahead: boolean
  /** The floor of the first mint, until a batch has been appended above it (§7.5). */
  private floor: bigint
  private spentFloor = 0n
  /** Bases up to here were announced before a purge, which begins a new offset space. */
  private voidedFloor = 0n
  private extending = false
  private waiters: (() => void)[] = []

  constructor(options: ReservationOptions) {
    this.superblock = options.superblock
    this.lease = BigInt(Math.max(1, options.lease))
    this.held = options.held
    this.host = options.host
    this.ahead = options.ahead ?? true
    this.floor = options.solo ? this.reserved : 0n
  }

  get frontier(): bigint {
    return this.superblock?.recorded().frontier ?? 0n
  }

  get reserved(): bigint {
    return this.superblock?.recorded().reserved ?? 0n
  }

  /** Where the first mint of this life must start at least; 0 once it is spent. */
  get armedFloor(): bigint {
    return this.floor
  }

  /** After a whole-cluster restart a group mints once from the highest reservation heard (design.md §3). */
  armFloor(base: bigint): void {
    if (base > this.floor && base > this.voidedFloor) this.floor = base
  }

  /** To be called when a batch has been appended, and never before: a failed append leaves the floor armed (§7.5). */
  spendFloor(): void {
    if (this.floor > 0n) this.spentFloor = this.floor
    this.floor = 0n
  }

  /** Batches were truncated and the counter stands at `next`: a floor that one of them spent is armed again. */
  truncatedTo(next: bigint): void {
    if (this.spentFloor > next) this.armFloor(this.spentFloor)
  }

  /** Whether a batch that ends with offset `last` may enter the journal; starts the write when it may not. */
  fence(last: bigint): FenceVerdict {
    if (this.superblock === undefined || this.reserved > last) return 'open'
    if (this.extending) return 'pending'
    if (this.superblock.backedOff()) return 'failed'
    this.extend(last)
    return 'pending'
  }

  /** A batch that ends with `last` was appended: raises the ceiling before the next ones meet it. */
  used(last: bigint): void {
    if (!this.ahead || this.superblock === undefined || this.extending || this.superblock.backedOff()) return
    if (this.reserved - last - 1n < this.lease / 2n && this.reserved < U64_MAX) this.extend(last)
  }

  /** Calls `done` in the pump when the write under way has ended, well or not; at once when none is. */
  whenSettled(done: () => void): void {
    if (this.extending) this.waiters.push(done)
    else done()
  }

  /** Advances the frontier to `frontier`, or to what is held; false when the record could not be written. */
  async advance(frontier = 0n): Promise<boolean> {
    return this.write(recorded => advanced(recorded, larger(frontier, this.held()), 0n))
  }

  /**
   * An install: the frontier advances, the reservation becomes that of the offer, which may be lower (§7.2). It stays above
   * what the journal holds, and above a jump that is not spent: until then it is what tells a next restart where not to mint.
   */
  install(frontier: bigint): Promise<boolean> {
    const reserved = larger(larger(frontier, this.floor), this.held())
    return this.write(recorded => ({ frontier: larger(recorded.frontier, frontier), reserved }))
  }

  /** A purge (0), or an install under one: both numbers become `frontier`, whatever was there. */
  async reset(frontier: bigint): Promise<boolean> {
    const voided = larger(this.floor, this.reserved)
    const done = await this.write(() => ({ frontier, reserved: frontier }))
    if (done) {
      this.floor = 0n
      this.voidedFloor = larger(this.voidedFloor, voided)
    }
    return done
  }

  /**
   * After a clean stop whose flush has succeeded the next life may go on without a gap (§7.9). `frontier` is the end of what
   * is visible, `next` that of the journal. An armed floor keeps the reservation: nothing was minted since the boot, so the
   * segments do not account for what the life before may have confirmed. False when the record could not be written.
   */
  async collapse(frontier: bigint, next: bigint): Promise<boolean> {
    if (this.floor > frontier || this.reserved <= next) return true
    return this.write(() => ({ frontier, reserved: next }))
  }

  private extend(last: bigint): void {
    this.extending = true
    const settled = (ok: boolean) =>
      this.host.post(() => {
        this.extending = false
        if (ok) this.noteWritten('reservation_extended')
        for (const done of this.waiters.splice(0)) done()
      })
    this.write(recorded => advanced(recorded, this.held(), saturated(last + 1n + this.lease))).then(settled)
  }

  private async write(claim: (recorded: OffsetRecord) => OffsetRecord): Promise<boolean> {
    if (this.superblock === undefined) return true
    try {
      await this.superblock.write(claim)
      return true
    } catch (error) {
      this.host.note('reservation_failed', 'fact', { error: error instanceof Error ? error.message : String(error) })
      return false
    }
  }

  private noteWritten(kind: string): void {
    const { frontier, reserved } = this
    const held = this.held()
    this.host.note(kind, 'fact', {
      frontier: frontier.toString(),
      reserved: reserved.toString(),
      held: held.toString(),
    })
  }
}

/** Neither number goes down. */
export const advanced = (recorded: OffsetRecord, frontier: bigint, reserved: bigint): OffsetRecord => ({
  frontier: larger(recorded.frontier, frontier),
  reserved: larger(recorded.reserved, reserved),
})
