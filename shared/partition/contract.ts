/**
 * The seam between one partition and the replica that hosts it (spec partition.md §3, §5, §6; design.md §3, Group commit).
 *
 * Journalling, applying and truncating are synchronous. One flusher per partition owns the files: it writes log and index
 * concurrently, and its completions come back through `post`, so that they run in the pump like every other event.
 * Only `open`, `poll`, `flush` and `close` are asynchronous.
 */
import type { EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import type { BytePosition, Checksum, Micros, Offset, Op } from '../bytes/units.ts'
import type { GroupJournal } from '../consensus/contract.ts'
import type { PartitionKey } from '../protocol/groups.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import type { Rules } from '../protocol/rules.ts'
import type { Disk } from '../storage/disk.ts'
import type { Pacing, Scheduler } from '../storage/ports.ts'
import type { IndexListing, IndexWindow } from './index-window.ts'
import type { FetchedPartition } from './install.ts'
import type { JournalInspection } from './journal.ts'
import type { Removal, RetentionRules } from './removal.ts'
import type { OffsetSuperblock } from './reservation.ts'
import type { PartitionOffer } from './transfer-offer.ts'
import type { SegmentStaging } from './transfer-staging.ts'

export interface PartitionSettings {
  readonly segmentSizeBytes: number
  /** Sync every persisted chunk. With `messagesRequiredToSave` 1 the topic is eager: replies wait for the disk. */
  readonly enforceFsync: boolean
  readonly messagesRequiredToSave: number
  readonly sizeRequiredToSaveBytes: number
  readonly preallocateSegments: boolean
}

export const isEager = (settings: PartitionSettings): boolean =>
  settings.enforceFsync && settings.messagesRequiredToSave === 1

/**
 * How rounds are written. Anything but PERSIST_MODE is there to measure what that one is worth (spec drills.md §4.3): no
 * configuration names it, and a node takes it for a fresh directory only.
 */
export interface PersistMode {
  /** `serial`: the index is written only when the log is written and synced. */
  readonly halves: 'concurrent' | 'serial'
  /** False: each round writes one batch. */
  readonly groupCommit: boolean
}

export const PERSIST_MODE: PersistMode = { halves: 'concurrent', groupCommit: true }

export interface PartitionHost {
  readonly disk: Disk
  readonly hash: Hash
  readonly scheduler: Scheduler
  /** Absent: no round waits for company. */
  readonly pacing?: Pacing
  /** Runs `completion` in the pump, after everything posted before. Dropped when the life of the node has ended. */
  post(completion: () => void): void
  /** A persist failed: ends the process with status 74 (§3.9). Does not return. */
  persistFailed(error: EngineError): never
  /** Numeric id of a consumer group of this topic by its name, undefined when there is none. Missing: no group has a name. */
  groupId?(name: string): number | undefined
  /** Facts and flow for the inspection stream; `kind` is snake_case, e.g. `segment_rolled`, `persisted`, `index_floored`. */
  note(kind: string, cls: 'fact' | 'flow', data: Readonly<Record<string, string | number | boolean>>): void
}

export interface PartitionOptions {
  readonly key: PartitionKey
  /** Directory of the partition, relative to the data directory. */
  readonly directory: string
  readonly createdRevision: bigint
  readonly replicaCount: number
  /** The two offsets of the superblock (§7). Absent: nothing is recorded, and nothing is ever fenced. */
  readonly superblock?: OffsetSuperblock
  /** Offsets reserved at a time, 1..16,777,216. Default 65,536. */
  readonly offsetLease?: number
  readonly settings: PartitionSettings
  /** Default PERSIST_MODE. */
  readonly persist?: PersistMode
  readonly evictedRingOps: number
  readonly evictedRingBytes: number
  readonly validateChecksum: boolean
  readonly rules: Rules
  readonly host: PartitionHost
}

/** One step of a boot, as `recoverySnapshot` shows it. */
export interface RecoveryStep {
  readonly step: string
  readonly path: string
  readonly verdict: string
  readonly detail: Readonly<Record<string, string | number | boolean>>
}

export type AppendResult =
  /** The stored header and frame: on a primary the body is stamped with base offset, base timestamp and checksum. */
  | { readonly ok: true; readonly header: PrepareHeader; readonly frame: Uint8Array }
  /**
   * Nothing has changed. With `pending` the offset reservation is being written: the same append may be repeated once
   * `whenReserved` has called back. Code `ReservationFailed`: the record cannot be written just now.
   */
  | { readonly ok: false; readonly error: EngineError; readonly pending?: true }

/** Where a group's ops began: after a whole-cluster restart they start anew, behind what the leader's segments held (design.md §3). */
export interface LogOrigin {
  /** End (exclusive) of the leader's segments in front of op 1. */
  readonly logStart: Offset
  /** Base of the first batch behind op 0 when it leaves a gap; 0 when the log continues at `logStart`. */
  readonly firstBase: Offset
}

/** What a committed op did. `baseOffset` is missing when the batch was already on disk before this boot. */
export interface Applied {
  readonly op: Op
  readonly operation: number
  readonly baseOffset?: Offset
  readonly messages: number
}

/** Poll strategies of wire.md §3.8.3. */
export type PollStart =
  | { readonly kind: 'offset'; readonly offset: Offset }
  | { readonly kind: 'timestamp'; readonly timestamp: Micros }
  | { readonly kind: 'first' }
  | { readonly kind: 'last' }
  | { readonly kind: 'next'; readonly consumer: ConsumerKey }

export interface ConsumerKey {
  readonly kind: 'consumer' | 'group'
  readonly id: number
}

export interface PollResult {
  /** Highest committed and visible offset; 0 when empty. */
  readonly currentOffset: Offset
  readonly messages: number
  /** Whole batch records, sliced at both ends where needed, back to back (wire.md §3.8.3). */
  readonly records: readonly Uint8Array[]
  readonly lastOffset?: Offset
}

export interface SegmentInfo {
  readonly startOffset: Offset
  readonly endOffset: Offset
  readonly empty: boolean
  readonly sealed: boolean
  readonly sizeBytes: number
  readonly maxSizeBytes: number
  readonly startTimestamp: Micros
  readonly endTimestamp: Micros
  readonly indexEntries: number
  readonly indexBytes: number
}

export interface PartitionInfo {
  readonly segments: readonly SegmentInfo[]
  readonly journal: {
    readonly batches: number
    readonly messages: number
    readonly bytes: number
    readonly firstOffset?: Offset
    readonly lastOffset?: Offset
  }
  readonly flusher: {
    readonly state: 'idle' | 'writing' | 'barred'
    readonly persistedBytes: bigint
    readonly inFlightBytes: bigint
    readonly journaledBytes: bigint
    readonly rounds: number
    readonly batches: number
  }
  readonly nextOffset: Offset
  /** One past the last visible offset. */
  readonly visibleEnd: Offset
  /** One past the last offset on disk. */
  readonly persistedEnd: Offset
  /** Recorded lower bound of the next offset. */
  readonly frontier: Offset
  /** Recorded ceiling (exclusive) of the offsets that may have been given out. */
  readonly reserved: Offset
  /** One past the last offset held, in segments or journal; 0 when nothing is. */
  readonly held: Offset
  /** Where the next mint of this life starts at least; 0 when no floor is armed. */
  readonly floor: Offset
  readonly descriptors: DescriptorsInfo
}

/** Files that are open for polls (§5.3). */
export interface DescriptorsInfo {
  /** The segment that is read through its writer, and how many polls read it now. */
  readonly active?: { readonly startOffset: Offset; readonly readers: number }
  /** Sealed segments that polls started in, the most recent last, with what of each is kept. */
  readonly sealed: readonly { readonly startOffset: Offset; readonly log: boolean; readonly index: boolean }[]
  readonly sealedMax: number
  /** Files that polls have opened in this life of the partition. */
  readonly opened: number
}

export interface Partition {
  readonly options: PartitionOptions
  /** The host says in `purgePending` whether a purge is committed and not applied here. */
  readonly journal: GroupJournal & JournalInspection & { purgePending: () => boolean }
  readonly recovery: readonly RecoveryStep[]
  /**
   * Journals one prepare. Primary: mints base offset and timestamp into the body (§3.5 step 7). Backup: verifies the batch
   * and requires its base to be the next offset. Repair: stores it as it is. Nothing changes when it is refused.
   */
  append(role: 'primary' | 'backup' | 'repair', header: PrepareHeader, frame: Uint8Array): AppendResult
  /** Applies a committed op: makes its messages visible (eager topics: once persisted) and wakes the flusher. */
  apply(header: PrepareHeader): Applied
  /**
   * Calls `done` in the pump once what the applied op wrote is in the files (batch or consumer offset); at once when it is.
   * A batch below the thresholds of a default topic may wait for long: only eager topics should wait for it.
   */
  whenPersisted(op: Op, done: () => void): void
  truncateFrom(op: Op): void
  /** Calls `done` in the pump when the write of the reservation that an append waits for has ended, well or not. */
  whenReserved(done: () => void): void
  /** False while an append would surely be refused because the reservation cannot be written. */
  mayReserve(): boolean
  /** One past the last offset held, in segments or journal, 0 when nothing is: a claim about bytes, not the counter (§7.3). */
  heldEnd(): Offset
  /** The same for votes: a segment without bytes speaks by its name for messages that were there (§6.11 step 7). */
  logEnd(): Offset
  /** The same without what is journaled and not applied. */
  committedEnd(): Offset
  /**
   * The one jump after a whole-cluster restart: as primary the next mint starts at `base` or above, as backup a batch at
   * `base` is accepted although it leaves a gap. Once, and without effect when the counter is there already.
   */
  jumpTo(base: Offset): void
  /**
   * After a restart, before anything was applied: what the segments hold against the log that the group has now. `behind`:
   * a state transfer must fill what is missing in front of it. `diverged`: they hold what the log does not; `setTailAside`.
   */
  standing(origin: LogOrigin, head: Op): 'joins' | 'behind' | 'diverged'
  /** Moves what the group's log does not hold out of the segments, to a `.fenced.N` sibling, and reports it. Nothing to move: false. */
  setTailAside(): Promise<boolean>
  /**
   * Clean stop, behind a successful `flush`: lets the next life go on without a gap. `accounted`: nothing that a former life
   * may have confirmed is missing here (always so for one replica). False when the record could not be written.
   */
  collapse(accounted: boolean): Promise<boolean>
  /** Ops up to `floor` are in the segments already and will never be applied here (§6.1 of consensus.md). */
  setCommitFloor(floor: Op): void
  /**
   * For the "connected" test of consensus.md §6.1: the lowest base offset among the journaled batches above an op that are not applied
   * yet, and the end (exclusive) of what was on disk at boot, 0 when nothing was. Connected means lowest <= end. Read from
   * the journal each time: what an earlier repair brought says nothing about the present gap.
   */
  repairStanding(above?: Op): {
    readonly lowestUnapplied?: Offset
    readonly recoveredEnd: Offset
    /** Set when there are no bytes and an empty tail has this name: a batch below has no place, and a transfer must bring it. */
    readonly placeFrom?: Offset
  }
  /**
   * After a restart, before anything was applied: how the ops above `floor`, all of them held up to `toOp`, go with what the
   * segments hold. `joins`: they reach its end. `not_yet`: they lie within it. `no`: what lies before them is missing here, or the
   * segments hold what the log does not (`setTailAside`); with `whole`, the log ends at `toOp`, so what they hold beyond is that.
   */
  joinsDisk(floor: Op, toOp: Op, whole: boolean): 'joins' | 'not_yet' | 'no'
  /** A peer that leads holds nothing behind this offset, and no batch is missing here: what the segments hold beyond is divergent. */
  endsAt(logEnd: Offset): void
  /** The purge that was applied last (§4.4). */
  readonly purgeGeneration: bigint
  /**
   * What a replica that lags may fetch, after everything committed was written (§8.2). Rejects with EngineError
   * OfferBuildInProgress, SegmentSetChanged (both pass), ManifestTooLarge, or DiskError.
   */
  offer(): Promise<PartitionOffer>
  /** Where fetched segments go until they are installed. */
  readonly staging: SegmentStaging
  /**
   * Puts what `staging` holds in place of what is here (§8.5). No op may be applied meanwhile. Rejects with EngineError and
   * nothing changed: StaleTransfer, PurgeGenerationBehind, OfferRewindsDurableData, DuplicateSegment, SegmentSetHole,
   * FrontierNotDurable. A failure later on ends the process.
   */
  install(fetched: FetchedPartition, committedGeneration: bigint): Promise<void>
  /**
   * Empties the partition: segments, consumer offsets, counter, and every op minted behind an earlier purge (§4.4). False when
   * the reset cannot be recorded now, and nothing has changed; true when `generation` was applied before. A failure later on
   * ends the process, and the next boot finds the purge still to do.
   */
  purge(generation: bigint): Promise<boolean>
  /**
   * Removes sealed segments from the oldest on, as far as they end at or below `upTo` and every stored consumer offset; at
   * most 16 at a time (§4.1).
   */
  removeSegments(upTo: Offset): Promise<Removal>
  /** Last offset of the sealed segments that the policy of the topic no longer keeps; undefined when it keeps all (§4.2). */
  retainedUpTo(rules: RetentionRules): Offset | undefined
  /** Resolves once the disk was read where needed. Rejects with EngineError: `InvalidBatchChecksum`, `InvalidMessageChecksum`, `PartitionClosed`. */
  poll(start: PollStart, count: number, bytesMax: number): Promise<PollResult>
  storedOffset(consumer: ConsumerKey): Offset | undefined
  /** Auto-commit of a poll: raises the stored offset in memory before the answer leaves; the replicated op makes it last (§5.5). */
  advanceOffset(consumer: ConsumerKey, offset: Offset): void
  info(): PartitionInfo
  /** A bounded part of the index of one segment; undefined when there is no such segment. @throws DiskError from reading it */
  indexEntries(startOffset: Offset, window?: IndexWindow): Promise<IndexListing | undefined>
  /** Writes the whole committed prefix, whatever the thresholds; resolves when it is on disk. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** One batch as the byte view lists it. */
export interface BatchInfo {
  readonly position: BytePosition
  readonly lengthBytes: number
  readonly baseOffset: Offset
  readonly baseTimestamp: Micros
  readonly originTimestamp: Micros
  readonly messages: number
  readonly checksum: Checksum
  readonly verdict: 'valid' | 'bad_checksum' | 'bad_layout'
}

export type { GroupJournal }
