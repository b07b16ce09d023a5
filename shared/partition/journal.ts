/**
 * The journal of one partition group: whole prepare frames by op, in memory only; it dies with the process (spec
 * partition.md §3.3, design.md §3, Group commit).
 *
 * An op passes three marks: journaled (held here), applied (committed; its batch joins `queue`, where polls and the
 * flusher find it), settled (its bytes are in the segment files, or it has none to write; it moves to the ring). Settling
 * goes strictly in op order, so `settledOp` says of every op at or below it that nothing of it is owed to the disk.
 */
import { EngineError } from '../bytes/errors.ts'
import { Offset, Op } from '../bytes/units.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import type { GroupJournal } from './contract.ts'
import { EvictedRing } from './evicted-ring.ts'

/** What the log needs to know of a SendMessages prepare. */
export interface JournaledBatch {
  readonly baseOffset: bigint
  /** Exclusive. */
  readonly endOffset: bigint
  readonly timestamp: bigint
  readonly messages: number
  /** Whole record: what the `.log` gets. */
  readonly bytes: number
  /** Of the whole record, as stamped. */
  readonly checksum: bigint
  /** In the segments since before this boot, byte for byte: never written again. */
  readonly onDisk: boolean
}

export interface JournalEntry {
  readonly header: PrepareHeader
  readonly frame: Uint8Array
  /** Missing for offset ops, and for what a purge has voided. */
  readonly batch?: JournaledBatch
}

/** What may be looked at, and is nobody's to change. */
export interface JournalInspection {
  readonly appliedOp: bigint
  readonly settledOp: bigint
  held(): JournalEntry[]
  ringUse(): ReturnType<EvictedRing['use']>
}

export interface QueuedBatch extends JournalEntry {
  readonly batch: JournaledBatch
}

/** The queue forgets its settled front in steps of this many entries, so that settling stays cheap. */
const QUEUE_COMPACT_AT = 1024

export class PartitionJournal implements GroupJournal, JournalInspection {
  private readonly ring: EvictedRing
  private readonly entries = new Map<bigint, JournalEntry>()
  private highest = 0n
  private queue: QueuedBatch[] = []
  private queueHead = 0
  /** Whether a purge is committed and not applied; for the host to say. */
  purgePending: () => boolean = () => false
  /** Ops at or below are applied here, or never will be (commit floor). */
  appliedOp = 0n
  settledOp = 0n
  /** Unsettled batches: committed prefix and uncommitted tail together. */
  batches = 0
  messages = 0
  bytes = 0

  constructor(ringOps: number, ringBytes: number) {
    this.ring = new EvictedRing(ringOps, ringBytes)
  }

  header(op: Op): PrepareHeader | undefined {
    return this.get(op)?.header
  }

  frame(op: Op): Uint8Array | undefined {
    return this.get(op)?.frame
  }

  highestOp(): Op {
    return Op(this.highest)
  }

  oldestOp(): Op {
    let oldest = this.ring.oldestOp()
    for (const op of this.entries.keys()) if (oldest === undefined || op < oldest) oldest = op
    return Op(oldest ?? 0n)
  }

  floorOp(): Op {
    return Op(0n)
  }

  /** False while a committed purge is not applied: what is acknowledged then would be purged. */
  mayAcknowledge(): boolean {
    return !this.purgePending()
  }

  get(op: Op): JournalEntry | undefined {
    return this.entries.get(op) ?? this.ring.get(op)
  }

  /** Every op that is in memory, settled ones included, by op. */
  held(): JournalEntry[] {
    return [...this.ring.held(), ...this.entries.values()].sort((a, b) => (a.header.op < b.header.op ? -1 : 1))
  }

  /** How full the ring of settled ops is. */
  ringUse(): ReturnType<EvictedRing['use']> {
    return this.ring.use()
  }

  /** Stores a checked entry. The caller has made sure that the op is not held. */
  store(entry: JournalEntry): void {
    this.entries.set(entry.header.op, entry)
    if (entry.header.op > this.highest) this.highest = entry.header.op
    this.count(entry, 1)
  }

  /** Marks the next op as committed; its batch, when it owes the disk something, is visible to polls and flusher now. */
  apply(op: Op): JournalEntry {
    if (op !== this.appliedOp + 1n) {
      throw new EngineError('ApplyOutOfOrder', `op ${op} cannot be applied after op ${this.appliedOp}`, { op })
    }
    const entry = this.entries.get(op)
    if (entry === undefined) throw new EngineError('PrepareMissing', `committed op ${op} is not in the journal`, { op })
    this.appliedOp = op
    if (entry.batch && !entry.batch.onDisk) this.queue.push(entry as QueuedBatch)
    this.settleFront()
    return entry
  }

  /** Committed batches that are not in the files yet, in op order, and so in offset order. */
  queued(): readonly QueuedBatch[] {
    if (this.queueHead === 0) return this.queue
    this.queue = this.queue.slice(this.queueHead)
    this.queueHead = 0
    return this.queue
  }

  queueLength(): number {
    return this.queue.length - this.queueHead
  }

  queueAt(index: number): QueuedBatch | undefined {
    return this.queue[this.queueHead + index]
  }

  /** The first `count` queued batches are in the files now. */
  settle(count: number): void {
    const last = this.queueAt(count - 1)
    if (last === undefined)
      throw new EngineError('SettleBeyondQueue', `${count} batches settled, ${this.queueLength()} queued`)
    this.queueHead += count
    if (this.queueHead >= QUEUE_COMPACT_AT) {
      this.queue.splice(0, this.queueHead)
      this.queueHead = 0
    }
    while (this.settledOp < last.header.op) this.evict(this.settledOp + 1n)
    this.settleFront()
  }

  /** Drops every entry from `op` on, without a trace in the ring. Returns the dropped ones. Committed ops cannot be dropped. */
  truncateFrom(op: Op): JournalEntry[] {
    if (op <= this.appliedOp) {
      throw new EngineError('TruncateCommitted', `op ${op} is committed here (applied through ${this.appliedOp})`, {
        op,
      })
    }
    const dropped: JournalEntry[] = []
    let highest = this.ring.highestOp() ?? 0n
    for (const [held, entry] of this.entries) {
      if (held >= op) {
        dropped.push(entry)
        this.entries.delete(held)
        this.count(entry, -1)
      } else if (held > highest) highest = held
    }
    this.highest = highest
    return dropped
  }

  /** Highest exclusive end over all unsettled batches, 0 when there are none. */
  retainedEnd(): bigint {
    let end = 0n
    for (const { batch } of this.entries.values()) if (batch && batch.endOffset > end) end = batch.endOffset
    return end
  }

  /** Lowest base offset among the batches above this op that wait to be committed. */
  lowestUnapplied(above = Op(0n)): Offset | undefined {
    let lowest: bigint | undefined
    for (const [op, { batch }] of this.entries) {
      if (op > above && op > this.appliedOp && batch && (lowest === undefined || batch.baseOffset < lowest))
        lowest = batch.baseOffset
    }
    return lowest === undefined ? undefined : Offset(lowest)
  }

  /** Lowest base offset among the batches that wait to be committed and are in memory only. */
  lowestUncommitted(): Offset | undefined {
    let lowest: bigint | undefined
    for (const [op, { batch }] of this.entries) {
      if (op > this.appliedOp && batch && !batch.onDisk && (lowest === undefined || batch.baseOffset < lowest))
        lowest = batch.baseOffset
    }
    return lowest === undefined ? undefined : Offset(lowest)
  }

  /** End (exclusive) of the batches above `above` and up to `toOp` that are held here; undefined when there are none. */
  batchesEnd(above: bigint, toOp: bigint): bigint | undefined {
    let end: bigint | undefined
    for (const [op, { batch }] of this.entries)
      if (op > above && op <= toOp && batch && (end === undefined || batch.endOffset > end)) end = batch.endOffset
    return end
  }

  /** Lowest base offset among the batches whose bytes are in memory only. */
  lowestUnwritten(): Offset | undefined {
    let lowest: bigint | undefined
    for (const { batch } of this.entries.values())
      if (batch && !batch.onDisk && (lowest === undefined || batch.baseOffset < lowest)) lowest = batch.baseOffset
    return lowest === undefined ? undefined : Offset(lowest)
  }

  /** The segments hold the state as of `op` now, from elsewhere: what was journaled up to there goes, and so does the ring. */
  installed(op: Op): void {
    let highest = 0n
    for (const [held, entry] of [...this.entries]) {
      if (held <= op) {
        this.entries.delete(held)
        this.count(entry, -1)
      } else if (held > highest) highest = held
    }
    this.queue = []
    this.queueHead = 0
    this.ring.clear()
    this.highest = highest
    this.appliedOp = op
    this.settledOp = op
    this.judgeStored(() => false)
  }

  /** The partition was purged: no batch that is here counts for anything any more; the ops keep their place in the log. */
  purge(): void {
    this.queue = []
    this.queueHead = 0
    for (const [op, entry] of this.entries) {
      if (!entry.batch) continue
      this.count(entry, -1)
      this.entries.set(op, { header: entry.header, frame: entry.frame })
    }
    this.settleFront()
  }

  /** First and last offset of the unsettled batches. */
  span(): { first: Offset; last: Offset } | undefined {
    let first: bigint | undefined
    let end = 0n
    for (const { batch } of this.entries.values()) {
      if (!batch) continue
      if (first === undefined || batch.baseOffset < first) first = batch.baseOffset
      if (batch.endOffset > end) end = batch.endOffset
    }
    return first === undefined ? undefined : { first: Offset(first), last: Offset(end - 1n) }
  }

  /** What the segments hold has changed under the journal: `onDisk` is decided anew, of batches that wait to be applied. */
  judgeStored(isStored: (batch: JournaledBatch) => boolean): void {
    for (const [op, entry] of this.entries) {
      if (op <= this.appliedOp || !entry.batch || isStored(entry.batch) === entry.batch.onDisk) continue
      this.count(entry, -1)
      const judged = { ...entry, batch: { ...entry.batch, onDisk: !entry.batch.onDisk } }
      this.entries.set(op, judged)
      this.count(judged, 1)
    }
  }

  /** Ops up to `floor` will never be applied here: the segments hold what they did. */
  setFloor(floor: Op): void {
    if (floor <= this.appliedOp) return
    for (const [op, entry] of [...this.entries]) {
      if (op <= this.appliedOp || op > floor) continue
      this.entries.delete(op)
      this.count(entry, -1)
    }
    this.appliedOp = floor
    // with an empty queue everything applied is settled, and the floor may lie far above it
    if (this.queueLength() === 0) this.settledOp = floor
  }

  /** Applied ops at the front that owe the disk nothing leave at once, or a partition of offset ops would grow for ever. */
  private settleFront(): void {
    while (this.settledOp < this.appliedOp) {
      const entry = this.entries.get(this.settledOp + 1n)
      if (entry?.batch && !entry.batch.onDisk) return
      this.evict(this.settledOp + 1n)
    }
  }

  private evict(op: bigint): void {
    const entry = this.entries.get(op)
    if (entry) {
      this.entries.delete(op)
      this.count(entry, -1)
      this.ring.push(entry)
    }
    this.settledOp = op
  }

  private count({ batch }: JournalEntry, sign: 1 | -1): void {
    if (!batch || batch.onDisk) return
    this.batches += sign
    this.messages += sign * batch.messages
    this.bytes += sign * batch.bytes
  }
}
