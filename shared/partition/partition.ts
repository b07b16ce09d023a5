/**
 * One partition: journal, segment chain, flusher and polls behind the contract (spec partition.md §3, §5).
 *
 * Three ends say how far a message is: `nextOffset` (minted or received), `visibleEnd` (polls see it), and the end of the
 * chain (on disk). On an eager topic a message is visible only once it is on disk; on others as soon as it is committed.
 */
import { EngineError } from '../bytes/errors.ts'
import { Micros, Offset, Op } from '../bytes/units.ts'
import { HEADER_BYTES, type PrepareHeader } from '../protocol/headers.ts'
import { Operation } from '../protocol/operations.ts'
import { writePurgeGen } from '../storage/purge-gen.ts'
import type { Chain } from './chain.ts'
import type { ConsumerOffsets } from './consumer-offsets.ts'
import {
  type AppendResult,
  type Applied,
  type ConsumerKey,
  isEager,
  type LogOrigin,
  type Partition,
  type PartitionInfo,
  type PartitionOptions,
  type PollResult,
  type PollStart,
  type RecoveryStep,
} from './contract.ts'
import { Flusher } from './flusher.ts'
import { type IndexWindow, listIndex, WHOLE_INDEX } from './index-window.ts'
import { type FetchedPartition, judgeInstall, swapSegments, unlinkSegments } from './install.ts'
import { PartitionJournal } from './journal.ts'
import { admitBatch, type Role, samePrepare } from './mint.ts'
import { readOffsetOp } from './offset-ops.ts'
import { type PollHost, planPoll, runPoll } from './poll.ts'
import { ReadHandles } from './read-handles.ts'
import { planRemoval, type Removal, type RetentionRules, retentionEnd, unlinkRemoved } from './removal.ts'
import { larger, OFFSET_LEASE_DEFAULT, OffsetReservation } from './reservation.ts'
import type { Query } from './selection.ts'
import { setAsideFrom } from './set-aside.ts'
import { StoredTail } from './stored-tail.ts'
import { buildOffer, type PartitionOffer, SegmentHashes } from './transfer-offer.ts'
import { SegmentStaging } from './transfer-staging.ts'

/** Where the offset space of a partition stands when it opens. */
export interface OpenedAt {
  /** Next offset to mint or to accept. */
  readonly next: bigint
  /** End of what the segments speak for: their bytes, or the name of an empty one that no reservation planted. */
  readonly dataEnd: bigint
  readonly stored: StoredTail
  /** The purge that the directory says was applied. */
  readonly generation: bigint
}

export class SegmentedPartition implements Partition {
  readonly options: PartitionOptions
  readonly journal: PartitionJournal
  readonly recovery: readonly RecoveryStep[]
  private readonly chain: Chain
  private readonly offsets: ConsumerOffsets
  private readonly flusher: Flusher
  private readonly handles: ReadHandles
  private readonly pollHost: PollHost
  private readonly eager: boolean
  private readonly reservation: OffsetReservation
  private stored: StoredTail
  private readonly hashes: SegmentHashes
  readonly staging: SegmentStaging
  /** Next offset to mint or to accept; 0 is an empty offset space. */
  private next: bigint
  private visibleEnd: bigint
  /** End of what the segments held at boot (exclusive): repaired batches up to here are on disk already. */
  private recoveredEnd: bigint
  private dataEnd: bigint
  /** The log that the group has had since its restart, once a view was adopted, until something of it was applied. */
  private origin: LogOrigin | undefined
  /** Lowest offset at which the segments hold what the log of the group does not. */
  private divergedFrom: bigint | undefined
  /** The log of the group has come to the end of what the segments held at boot. */
  private joined: boolean
  /** A batch was appended in this life: the counter follows the log, and not what the superblock claims. */
  private counting = false
  private persistedBytes: bigint
  /** Offset ops whose file write is still owed. */
  private readonly unwrittenOffsets = new Map<bigint, ConsumerKey>()
  private persistWaiters: { readonly op: bigint; readonly done: () => void }[] = []
  private closed = false
  /** The purge that was applied last. */
  private generation: bigint
  /** Counts everything but growth that has happened to the segments: an offer is void after that. */
  private shape = 0
  private turn: Promise<void> = Promise.resolve()
  /** The chain is being replaced: nothing is appended and nothing is there to be polled. */
  private swapping = false

  constructor(
    options: PartitionOptions,
    chain: Chain,
    offsets: ConsumerOffsets,
    { next, dataEnd, stored, generation }: OpenedAt,
    recovery: readonly RecoveryStep[],
  ) {
    const { host } = options
    this.options = options
    this.recovery = recovery
    this.chain = chain
    this.offsets = offsets
    const ringOps = options.replicaCount > 1 ? options.evictedRingOps : 0
    this.journal = new PartitionJournal(ringOps, options.evictedRingBytes)
    const hooks = { beforeOffsetZero: () => offsets.discardDropped(), settled: () => this.afterRound() }
    this.flusher = new Flusher(options, chain, this.journal, hooks)
    this.handles = new ReadHandles(host.disk, chain.closeFailed, options.rules)
    this.eager = isEager(options.settings)
    this.stored = stored
    this.dataEnd = dataEnd
    this.generation = generation
    this.hashes = new SegmentHashes(host)
    this.staging = new SegmentStaging(options)
    this.reservation = new OffsetReservation({
      superblock: options.superblock,
      lease: options.offsetLease ?? OFFSET_LEASE_DEFAULT,
      solo: options.replicaCount === 1 && options.rules.offsetsAreReserved,
      held: () => this.heldEnd(),
      host,
    })
    this.next = next
    this.visibleEnd = next
    this.recoveredEnd = chain.durableEnd()
    this.joined = this.recoveredEnd === 0n
    this.persistedBytes = BigInt(chain.persistedBytes())
    this.pollHost = {
      rules: options.rules,
      hash: host.hash,
      scheduler: host.scheduler,
      handles: this.handles,
      validateChecksum: options.validateChecksum,
      alive: () => !this.closed,
      fault: error => host.note('read_fault', 'fact', { code: error.code, message: error.message }),
    }
  }

  append(role: Role, header: PrepareHeader, frame: Uint8Array): AppendResult {
    if (this.swapping) return this.refused(header, 'SegmentsReplaced', 'the segments are being replaced')
    const purged = header.purgeGeneration < this.generation
    if (header.purgeGeneration > this.generation || (purged && role === 'primary')) {
      const message = `minted behind purge ${header.purgeGeneration}, purge ${this.generation} is applied here`
      return this.refused(header, 'PurgeMismatch', message)
    }
    const held = this.journal.get(header.op)
    if (held) {
      if (samePrepare(held.frame, frame)) return { ok: true, header: held.header, frame: held.frame }
      return this.refused(header, 'PrepareConflict', 'another prepare is journaled under this op')
    }
    if (header.op <= this.journal.appliedOp)
      return this.refused(header, 'AlreadyApplied', 'the op was applied and has left the journal')
    const { host, key } = this.options
    if (purged) {
      // It was minted in front of the purge: it fills its place in the log and does nothing.
      this.journal.store({ header, frame })
      return { ok: true, header, frame }
    }
    if (header.operation !== Operation.SendMessages) {
      try {
        readOffsetOp(host.hash, header, frame.subarray(HEADER_BYTES), name => host.groupId?.(name))
      } catch (error) {
        if (!(error instanceof EngineError)) throw error
        return { ok: false, error }
      }
      this.journal.store({ header, frame })
      return { ok: true, header, frame }
    }
    let pending = false as boolean
    const { rules } = this.options
    const floor = this.reservation.armedFloor
    if (role === 'primary' && !rules.floorSpentAfterAppend) this.reservation.spendFloor()
    const batch = admitBatch(host.hash, key, role, header, frame, {
      next: this.nextOffset(),
      floor,
      firstFrom: this.origin && !this.counting ? 0n : undefined,
      fence: last => {
        const verdict = this.reservation.fence(last)
        pending = verdict === 'pending'
        return verdict === 'open' ? undefined : this.unreserved(header, verdict)
      },
      onDisk: ({ baseOffset, endOffset, checksum }) => this.isStored(baseOffset, endOffset, checksum),
    })
    if (batch instanceof EngineError) return { ok: false, error: batch, ...(pending && { pending }) }
    if (!this.joined && role !== 'primary') this.noticeGap(header.op, batch.baseOffset)
    // Repair brings older batches too, and those do not set the counter back. The first batch of a life does: what raised
    // the counter above the bytes was a claim, and the log is what the claim was about.
    const from = this.counting || role === 'primary' ? this.next : this.heldEnd()
    this.journal.store({ header, frame, batch })
    this.next = larger(batch.endOffset, from)
    this.counting = true
    if (role !== 'repair') {
      if (batch.endOffset > this.reservation.armedFloor) this.reservation.spendFloor()
      this.reservation.used(batch.endOffset - 1n)
    }
    return { ok: true, header, frame }
  }

  whenReserved(done: () => void): void {
    this.reservation.whenSettled(done)
  }

  mayReserve(): boolean {
    const next = this.nextOffset()
    const { armedFloor } = this.reservation
    return this.reservation.fence(larger(armedFloor, next)) !== 'failed'
  }

  heldEnd(): Offset {
    const held = larger(this.chain.durableEnd(), this.journal.retainedEnd())
    return Offset(this.options.rules.reservationIsNoData ? held : larger(held, this.reservation.reserved))
  }

  committedEnd(): Offset {
    const { journal } = this
    const applied = larger(this.chain.durableEnd(), journal.batchesEnd(0n, journal.appliedOp) ?? 0n)
    const end = applied > 0n ? applied : this.dataEnd
    const uncommitted = journal.lowestUncommitted()
    return Offset(uncommitted !== undefined && uncommitted < end ? uncommitted : end)
  }

  logEnd(): Offset {
    const held = this.heldEnd()
    return held > 0n ? held : Offset(this.dataEnd)
  }

  jumpTo(base: Offset): void {
    if (base > this.nextOffset()) this.reservation.armFloor(base)
  }

  standing(origin: LogOrigin, head: Op): 'joins' | 'behind' | 'diverged' {
    if (this.journal.appliedOp > 0n) return 'joins'
    this.origin = origin
    this.joined = this.recoveredEnd === 0n
    const { logStart, firstBase } = origin
    if (this.dataEnd < logStart && this.recoveredEnd < logStart) return 'behind'
    // Behind the leader's end there is nothing, or nothing before the jump: what is held there belongs to no log.
    const end = this.chain.durableEnd()
    if (!this.options.rules.onDiskComparesChecksum) return 'joins'
    if (end > logStart && (head === 0n || (firstBase > logStart && end <= firstBase))) this.diverge(logStart)
    return this.divergedFrom === undefined ? 'joins' : 'diverged'
  }

  joinsDisk(floor: Op, toOp: Op, whole: boolean): 'joins' | 'not_yet' | 'no' {
    if (this.divergedFrom !== undefined) return 'no'
    // Asked at each op that a repair brings: whose last batch ends within the segments need not look at all that came before.
    const last = toOp > floor ? this.journal.get(toOp)?.batch : undefined
    if (last && !whole && last.endOffset < this.recoveredEnd && this.options.rules.onDiskComparesChecksum)
      return 'not_yet'
    const { lowestUnapplied, recoveredEnd, placeFrom = 0n } = this.repairStanding(floor)
    if (lowestUnapplied === undefined) {
      for (let op = floor + 1n; op <= toOp; op++)
        if (this.journal.header(Op(op))?.operation === Operation.SendMessages) return 'no'
      if (toOp === 0n || (floor === 0n && !whole)) return 'not_yet'
    } else if (lowestUnapplied > recoveredEnd || lowestUnapplied < placeFrom) return 'no'
    // Behind a floor without a batch the two ends have been compared already.
    const start = floor === 0n ? this.origin?.logStart : undefined
    const logEnd = this.journal.batchesEnd(floor, toOp) ?? start
    if (logEnd !== undefined && logEnd < this.recoveredEnd && this.options.rules.onDiskComparesChecksum) {
      if (!whole) return 'not_yet'
      this.diverge(logEnd)
      return 'no'
    }
    this.joined = true
    return 'joins'
  }

  endsAt(logEnd: Offset): void {
    if (!this.joined && logEnd < this.recoveredEnd && this.options.rules.onDiskComparesChecksum) this.diverge(logEnd)
  }

  setTailAside(): Promise<boolean> {
    return this.exclusively(() => this.cutTail())
  }

  private async cutTail(): Promise<boolean> {
    const from = this.divergedFrom
    if (from === undefined) return false
    const goOn = await this.flusher.bar()
    this.shape++
    try {
      const end = await setAsideFrom(this.options, this.chain, from)
      this.recoveredEnd = end
      // What is gone speaks for nothing any more; the name of an empty segment that is left does.
      this.dataEnd = end > 0n ? end : this.chain.active.startOffset
      this.stored.cut(end)
      this.journal.judgeStored(batch => batch.endOffset <= end && batch.onDisk)
      this.next = larger(this.journal.retainedEnd(), end)
      this.visibleEnd = end
      this.persistedBytes = BigInt(this.chain.persistedBytes())
      this.divergedFrom = undefined
    } finally {
      goOn()
    }
    return true
  }

  async collapse(accounted: boolean): Promise<boolean> {
    if (!accounted) return true
    // Without the rule nobody knows what the flush will do: all that there is are the segments as they stand.
    const { collapseNeedsFlush } = this.options.rules
    const frontier = collapseNeedsFlush ? this.visibleEnd : this.chain.durableEnd()
    return this.reservation.collapse(frontier, collapseNeedsFlush ? larger(this.nextOffset(), frontier) : frontier)
  }

  apply(header: PrepareHeader): Applied {
    const { batch, frame } = this.journal.apply(header.op)
    const applied = { op: header.op, operation: header.operation, messages: batch?.messages ?? 0 }
    if (batch === undefined && header.purgeGeneration === this.generation) this.applyOffsetOp(header, frame)
    if (batch === undefined || batch.onDisk) return applied
    if (!this.eager && batch.endOffset > this.visibleEnd) this.visibleEnd = batch.endOffset
    this.flusher.wake()
    return { ...applied, baseOffset: Offset(batch.baseOffset) }
  }

  whenPersisted(op: Op, done: () => void): void {
    const consumer = this.unwrittenOffsets.get(op)
    if (consumer) this.offsets.whenWritten(consumer, done)
    else if (op <= this.journal.settledOp) done()
    else this.persistWaiters.push({ op, done })
  }

  truncateFrom(op: Op): void {
    const dropped = this.journal.truncateFrom(op)
    let next: bigint | undefined
    for (const { batch } of dropped)
      if (batch && (next === undefined || batch.baseOffset < next)) next = batch.baseOffset
    if (next === undefined) return
    // never below what is held by other means: files, the rest of the journal, what was there at boot (§3.11)
    for (const held of [this.chain.durableEnd(), this.journal.retainedEnd(), this.recoveredEnd])
      if (held > next) next = held
    this.next = next
    this.reservation.truncatedTo(next)
  }

  setCommitFloor(floor: Op): void {
    this.journal.setFloor(floor)
  }

  repairStanding(above?: Op): ReturnType<Partition['repairStanding']> {
    const lowestUnapplied = this.journal.lowestUnapplied(above)
    let recoveredEnd = Offset(this.divergedFrom === undefined ? this.recoveredEnd : 0n)
    // the one gap that the log of the group itself has
    const { origin } = this
    const joins = origin && recoveredEnd >= origin.logStart && recoveredEnd <= origin.firstBase
    if (joins && lowestUnapplied === origin.firstBase) recoveredEnd = origin.firstBase
    const standing = { recoveredEnd, ...(lowestUnapplied !== undefined && { lowestUnapplied }) }
    // A chain that is being replaced has no name yet, and no tail to read it from.
    if (this.swapping) return standing
    const { active } = this.chain
    const named = active.empty && active.startOffset > 0n && this.chain.durableEnd() === 0n
    return { ...standing, ...(named && { placeFrom: Offset(active.startOffset) }) }
  }

  get purgeGeneration(): bigint {
    return this.generation
  }

  async offer(): Promise<PartitionOffer> {
    await this.flusher.drain()
    // One moment of the pump: what is settled is in the segments, all of it and nothing else.
    const { shape, journal } = this
    const first = journal.lowestUnwritten()
    let before: bigint | undefined
    const segments = this.chain.segments
      .filter(segment => !segment.empty)
      .map(segment => {
        const gapFrom = Offset(before ?? segment.startOffset)
        before = segment.endOffset
        return { segment, sizeBytes: segment.sizeBytes, gapFrom }
      })
    return buildOffer(this.options.host, this.hashes, {
      commitOp: Op(journal.settledOp),
      segments,
      offsets: {
        purgeGeneration: this.generation,
        nextOffset: Offset(first ?? this.nextOffset()),
        ...this.offsets.entries(),
      },
      valid: () => this.shape === shape && !this.closed,
    })
  }

  install(fetched: FetchedPartition, committedGeneration: bigint): Promise<void> {
    return this.exclusively(() => this.swapIn(fetched, committedGeneration))
  }

  purge(generation: bigint): Promise<boolean> {
    return this.exclusively(() => this.empty(generation))
  }

  removeSegments(upTo: Offset): Promise<Removal> {
    return this.exclusively(async () => {
      const { removal, segments } = planRemoval(this.chain.segments, upTo, this.offsets.lowest())
      if (segments.length === 0) return removal
      const end = segments.at(-1)!.endOffset
      const sized = this.chain.segments.some(segment => !segment.empty && !segments.includes(segment))
      // Only the name of an empty segment would speak for the offsets that were given out.
      if (!sized && !(await this.reservation.advance(end))) return { ...removal, removed: 0, budgetSpent: false }
      this.shape++
      this.chain.dropFront(segments.length)
      this.persistedBytes = BigInt(this.chain.persistedBytes())
      await unlinkRemoved(this.options, segments)
      return removal
    })
  }

  retainedUpTo(rules: RetentionRules): Offset | undefined {
    return retentionEnd(this.chain.segments, rules)
  }

  private async empty(generation: bigint): Promise<boolean> {
    if (generation <= this.generation) return true
    const goOn = await this.flusher.bar()
    try {
      // Durable before anything is destroyed, or a crash would leave a frontier above an empty log.
      const { purgeRecordedFirst } = this.options.rules
      if (purgeRecordedFirst && !(await this.reservation.reset(0n))) return false
      await this.replaceChain('purge', async () => {
        this.generation = generation
        this.journal.purge()
        this.unwrittenOffsets.clear()
        this.origin = undefined
        this.next = 0n
        await unlinkSegments(this.options)
        this.chain.restore(await this.chain.create(0n))
        await this.offsets.replaceAll([], [], 0n)
        if (!purgeRecordedFirst) await this.reservation.reset(0n)
        await this.recordGeneration(generation)
      })
      this.restart(0n, 0n)
      this.afterRound()
      this.options.host.note('partition_purged', 'fact', { generation: generation.toString() })
    } finally {
      goOn()
    }
    return true
  }

  private async swapIn(fetched: FetchedPartition, committedGeneration: bigint): Promise<void> {
    const goOn = await this.flusher.bar()
    try {
      const { segments, purgeAdvances } = judgeInstall(fetched, this.staging.segments, {
        appliedOp: this.journal.appliedOp,
        held: this.heldEnd(),
        appliedGeneration: this.generation,
        committedGeneration,
      })
      const { nextOffset, purgeGeneration, consumers, groups } = fetched.offsets
      const recorded = purgeAdvances
        ? await this.reservation.reset(nextOffset)
        : await this.reservation.install(nextOffset)
      if (!recorded) throw new EngineError('FrontierNotDurable', 'the offset frontier of the offer cannot be recorded')
      await this.replaceChain('install', async () => {
        await this.offsets.replaceAll(consumers, groups, nextOffset)
        await swapSegments(this.options, this.chain, segments, nextOffset)
        if (purgeAdvances) await this.recordGeneration(purgeGeneration)
      })
      this.journal.installed(fetched.commitOp)
      const end = this.chain.durableEnd()
      this.restart(nextOffset, end)
    } finally {
      goOn()
    }
  }

  async poll(start: PollStart, count: number, bytesMax: number): Promise<PollResult> {
    const ceiling = this.visibleEnd
    const currentOffset = Offset(ceiling > 0n ? ceiling - 1n : 0n)
    const empty = { currentOffset, messages: 0, records: [] }
    if (ceiling === 0n || count <= 0) return empty
    const query = this.query(start, count, ceiling)
    if (query.by === 'offset' && query.from >= ceiling) return empty
    const plan = planPoll(this.chain, this.journal.queued(), query, ceiling, count)
    const selection = await runPoll(this.pollHost, plan, count, bytesMax)
    const { messages, records, end } = selection
    return end === undefined ? empty : { currentOffset, messages, records, lastOffset: Offset(end - 1n) }
  }

  storedOffset(consumer: ConsumerKey): Offset | undefined {
    return this.offsets.get(consumer)
  }

  advanceOffset(consumer: ConsumerKey, offset: Offset): void {
    this.offsets.advance(consumer, offset)
  }

  info(): PartitionInfo {
    const { journal, flusher } = this
    const span = journal.span()
    return {
      segments: this.chain.segments.map(segment => ({
        startOffset: Offset(segment.startOffset),
        endOffset: Offset(segment.empty ? segment.startOffset : segment.endOffset - 1n),
        empty: segment.empty,
        sealed: segment.sealed,
        sizeBytes: segment.sizeBytes,
        maxSizeBytes: segment.maxSizeBytes,
        startTimestamp: Micros(segment.startTimestamp),
        endTimestamp: Micros(segment.endTimestamp),
        indexEntries: segment.indexEntries,
        indexBytes: segment.indexBytes,
      })),
      journal: {
        batches: journal.batches,
        messages: journal.messages,
        bytes: journal.bytes,
        ...(span && { firstOffset: span.first, lastOffset: span.last }),
      },
      flusher: {
        state: flusher.state,
        persistedBytes: this.persistedBytes,
        inFlightBytes: this.persistedBytes + BigInt(flusher.inFlight),
        journaledBytes: this.persistedBytes + BigInt(journal.bytes),
        rounds: flusher.rounds,
        batches: flusher.batches,
      },
      nextOffset: Offset(this.nextOffset()),
      visibleEnd: Offset(this.visibleEnd),
      persistedEnd: Offset(this.chain.durableEnd()),
      frontier: Offset(this.reservation.frontier),
      reserved: Offset(this.reservation.reserved),
      held: this.heldEnd(),
      floor: Offset(this.reservation.armedFloor),
      descriptors: this.handles.info(this.chain.segments.at(-1)),
    }
  }

  async indexEntries(startOffset: Offset, window: IndexWindow = WHOLE_INDEX) {
    const segment = this.chain.segments.find(candidate => candidate.startOffset === startOffset)
    return segment && listIndex(this.options.host.disk, segment.indexPath, window)
  }

  async flush(): Promise<void> {
    await Promise.all([this.flusher.drain(), this.offsets.drain()])
  }

  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    await Promise.all([this.flusher.bar(), this.offsets.drain()])
    await this.staging.closeOpen()
    this.handles.close()
    this.chain.close()
  }

  /** One at a time: whatever does more to the segments than append to them. */
  private exclusively<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.turn.then(work)
    this.turn = turn.then(
      () => {},
      () => {},
    )
    return turn
  }

  /** Runs `work` on an empty chain with closed files; a failure in there is a failed persist. */
  private async replaceChain(what: string, work: () => Promise<void>): Promise<void> {
    const { host } = this.options
    this.shape++
    this.swapping = true
    this.visibleEnd = 0n
    this.handles.close()
    this.chain.dropFrom(0)
    try {
      await work()
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause)
      const context = { path: this.options.directory, advice: 'start again: the boot completes or repeats it' }
      host.persistFailed(new EngineError('PersistFailed', `${what} failed: ${message}`, context, { cause }))
    }
    this.swapping = false
  }

  /** The chain is another one: `end` is what it holds, `next` where it goes on. */
  private restart(next: bigint, end: bigint): void {
    this.stored = new StoredTail(1)
    this.next = next
    this.visibleEnd = next
    this.recoveredEnd = next
    this.dataEnd = end
    this.counting = true
    this.joined = true
    this.divergedFrom = undefined
    this.persistedBytes = BigInt(this.chain.persistedBytes())
  }

  private async recordGeneration(generation: bigint): Promise<void> {
    const { host, directory, createdRevision } = this.options
    await writePurgeGen(host.disk, directory, { generation, createdRevision })
    this.generation = generation
  }

  /** No batch ever gets an offset below the name of an empty tail, whatever the counter says (§3.5 step 7). */
  private nextOffset(): bigint {
    if (this.swapping) return this.next
    const { active } = this.chain
    return active.empty && active.startOffset > this.next ? active.startOffset : this.next
  }

  private applyOffsetOp(header: PrepareHeader, frame: Uint8Array): void {
    const { host } = this.options
    const op = readOffsetOp(host.hash, header, frame.subarray(HEADER_BYTES), name => host.groupId?.(name))
    if (op === undefined) {
      host.note('offset_ignored', 'fact', { op: header.op.toString(), reason: 'the group is unknown' })
      return
    }
    if (op.offset === undefined) this.offsets.delete(op.consumer)
    else this.offsets.store(op.consumer, op.offset, op.monotone)
    this.unwrittenOffsets.set(header.op, op.consumer)
    this.offsets.whenWritten(op.consumer, () => this.unwrittenOffsets.delete(header.op))
  }

  private query(start: PollStart, count: number, ceiling: bigint): Query {
    switch (start.kind) {
      case 'offset':
        return { by: 'offset', from: start.offset }
      case 'timestamp':
        return { by: 'timestamp', from: start.timestamp }
      case 'first':
        return { by: 'offset', from: 0n }
      case 'last':
        return { by: 'offset', from: ceiling > BigInt(count) ? ceiling - BigInt(count) : 0n }
      case 'next': {
        const stored = this.storedOffset(start.consumer)
        return { by: 'offset', from: stored === undefined ? 0n : stored + 1n }
      }
    }
  }

  /** Answers whoever waited for what is on disk now, and how many they were. */
  private afterRound(): number {
    const { active } = this.chain
    this.persistedBytes = BigInt(this.chain.persistedBytes())
    if (this.eager && active.endOffset > this.visibleEnd) this.visibleEnd = active.endOffset
    if (this.persistWaiters.length === 0) return 0
    const waiters = this.persistWaiters
    this.persistWaiters = []
    for (const waiter of waiters) {
      if (waiter.op <= this.journal.settledOp) waiter.done()
      else this.persistWaiters.push(waiter)
    }
    return waiters.length - this.persistWaiters.length
  }

  private isStored(base: bigint, end: bigint, checksum: bigint): boolean {
    if (!this.options.rules.onDiskComparesChecksum) return end <= this.recoveredEnd
    const verdict = this.stored.judge(base, end, checksum, this.recoveredEnd)
    if (verdict === 'differs') this.diverge(base)
    return verdict === 'same' || (verdict === 'unknown' && end <= this.recoveredEnd)
  }

  /** The log leaves a gap where the segments hold something: that is no part of it, though its offsets collide with nothing. */
  private noticeGap(op: Op, baseOffset: bigint): void {
    const { journal } = this
    if (baseOffset < this.recoveredEnd || !this.options.rules.onDiskComparesChecksum) return
    for (let at = journal.appliedOp + 1n; at < op; at++) if (!journal.header(Op(at))) return
    const first = journal.appliedOp === 0n ? this.origin?.logStart : undefined
    const before = journal.batchesEnd(journal.appliedOp, op - 1n) ?? first
    if (before !== undefined && before < baseOffset && before < this.recoveredEnd) this.diverge(before)
  }

  private diverge(from: bigint): void {
    if (this.divergedFrom === undefined || from < this.divergedFrom) this.divergedFrom = from
  }

  private unreserved(header: PrepareHeader, verdict: 'pending' | 'failed'): EngineError {
    return verdict === 'pending'
      ? new EngineError('ReservationPending', `op ${header.op} waits for its offsets to be reserved`, { op: header.op })
      : new EngineError('ReservationFailed', `op ${header.op}: its offsets cannot be reserved now`, {
          op: header.op,
          advice: 'free or repair the disk that holds the superblock of the partition',
        })
  }

  private refused(header: PrepareHeader, code: string, message: string): AppendResult {
    return { ok: false, error: new EngineError(code, `op ${header.op}: ${message}`, { op: header.op }) }
  }
}
