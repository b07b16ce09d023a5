/**
 * The seam between one consensus group and its host (spec consensus.md §1, §3–§7).
 *
 * A group is a pure, synchronous state machine: `step(event)` mutates its state and returns the actions that the host must
 * carry out, in order, before it feeds the next event. Nothing in here awaits. What takes time comes back as an event:
 * `append` → `appended`, `persistSuperblock` → `superblockWritten`.
 *
 * Durable before send (§5.6) is kept inside the group: view-scoped sends are held back until the pair (view, log_view)
 * is known durable, and dropped when the write fails; timers make them anew.
 */
import type { Hash } from '../bytes/hash.ts'
import type { Checksum, GroupId, Micros, Op, ReplicaId, View } from '../bytes/units.ts'
import type { PrepareHeader, RoutedRequestHeader } from '../protocol/headers.ts'
import type { Rules } from '../protocol/rules.ts'

export type Plane = 'metadata' | 'partition'
export type GroupStatus = 'normal' | 'view_change' | 'recovering'
export type TransferStage = 'idle' | 'awaiting_target' | 'fetching' | 'installing'

/** Timer periods in ticks of 10 ms (§4); `ticksFromMs` rounds config durations down, to at least 1. */
export interface TimerTicks {
  readonly prepare: number
  readonly commitMessage: number
  readonly normalHeartbeat: number
  readonly startViewChangeMessage: number
  readonly doViewChangeMessage: number
  readonly viewChangeStatus: number
  readonly requestStartView: number
  readonly repairRetry: number
}

export interface GroupConfig {
  /** Of every frame of the group; one with another is not for it. A partition's names its incarnation, too. */
  readonly cluster: bigint
  readonly replica: ReplicaId
  readonly replicaCount: number
  readonly group: GroupId
  readonly plane: Plane
  /** Prepares in flight, 1..127. */
  readonly prepareDepth: number
  /** Requests waiting behind them. */
  readonly requestDepth: number
  readonly probeAttemptsMax: number
  readonly repairChunkMax: number
  readonly timers: TimerTicks
  readonly rules: Rules
  readonly hash: Hash
  /** Random, not zero, new at each boot; 0 switches the nonce guard off (partition groups). */
  readonly incarnation: bigint
  /**
   * Ticks that a fresh backup gives a primary which it has never heard in this life, before its first election (design.md
   * §3, Start-up). Default: 1200 on the metadata plane, the normal heartbeat timeout on partitions. Never less than that timeout.
   */
  readonly firstHeartbeatTicks?: number
  /**
   * Whether frames to a peer can leave at all now. A chain forward skips a peer that is known to be gone, instead of
   * waiting for the retransmission. Default: everybody is reachable.
   */
  linkUp?(peer: ReplicaId): boolean
}

/** What a group sees of its host's journal, synchronously. The host owns the bytes. */
export interface GroupJournal {
  /** Header of a held prepare as stored (evicted ring included, §5.3), or undefined. */
  header(op: Op): PrepareHeader | undefined
  /** Whole stored frame (header and body), or undefined when only the header is left. */
  frame(op: Op): Uint8Array | undefined
  /** Highest op held, 0 when none. */
  highestOp(): Op
  /** Oldest op whose frame can still be served to a repair, 0 when none. */
  oldestOp(): Op
  /** Op covered by the snapshot (metadata) or dropped by a purge (partition); nothing at or below it can be served. */
  floorOp(): Op
  /** Partition only: the purge behind which an op that is minted now belongs; every prepare says so. Absent: 0. */
  purgeGeneration?(): bigint
  /** False while a committed purge is not applied yet (§3.3): acknowledgements and repair service are withheld. */
  mayAcknowledge(): boolean
  /**
   * Partition only: asked when a repair learnt that peers no longer hold the ops up to `floor`, after everything above that
   * they do hold has been appended (§6.1). True when nothing is missing below: the lowest base offset appended above `floor`
   * is at most one past what was on disk at boot, or no batch was among them, they reach `toOp`, and what is held ends where
   * the log of the peer does (`logEnd`; 0: not said): a batch may be among those that nobody holds.
   * Absent: never connected, a state transfer is needed.
   */
  connectsAbove?(floor: Op, toOp: Op, logEnd: bigint): boolean
  /**
   * Partition only: asked of a restarted replica before it applies anything: how the ops above `floor`, proven up to `toOp`,
   * go with what was on the disk at boot. `joins`: they reach its end, and it is the same. `not_yet`: they lie within it, and
   * more may follow. `no`: the disk lacks what lies before them, or holds what the log does not; `whole`: no more will follow
   * that was there when the view was adopted, so what the disk has beyond is no part of the log. Absent: it joins.
   */
  joinsDisk?(floor: Op, toOp: Op, whole: boolean): 'joins' | 'not_yet' | 'no'
  /**
   * Partition only: one past the last offset held (segments and journal), one past the last of those that are applied or on
   * disk, and the durable reservation. They travel in every DoViewChange, so that when a majority has lost its memory the
   * longest replica leads (design.md §3). Absent: not sent.
   */
  heldFrontier?(): { readonly held: bigint; readonly committed: bigint; readonly reserved: bigint }
  /**
   * Partition only: asked of a restarted replica that has applied nothing yet when it adopts a view whose log began at
   * `origin`, with the head of that log. `joins`: what it holds on disk is the beginning of that log. Otherwise a transfer is
   * asked for: it lacks the beginning (`behind`), or holds what the log does not (`diverged`).
   */
  standing?(origin: LogOrigin, head: Op): 'joins' | 'behind' | 'diverged'
}

/**
 * Where the log of a partition group began (design.md §3): ops start anew after a whole-cluster restart. `known` is false
 * where nobody has said so.
 */
export interface LogOrigin {
  readonly known: boolean
  /** End (exclusive) of the leader's segments in front of op 1. */
  readonly logStart: bigint
  /** Base of the first batch behind op 0 when it left a gap; 0 when it did not. */
  readonly firstBase: bigint
  /** Where a new primary mints at least, once; 0 when offsets simply go on. */
  readonly jumpBase: bigint
}

/** Opaque handle of a client request that waits for its op; the host chose it. */
export type RequestToken = number

export interface IncomingRequest {
  readonly header: RoutedRequestHeader
  readonly body: Uint8Array
  readonly token: RequestToken
}

export type GroupEvent =
  | { readonly kind: 'tick'; readonly nowMicros: Micros }
  /** Ticks that the group was not told of, at most as many as `quietTicks` last said. */
  | { readonly kind: 'slept'; readonly ticks: number }
  /** A client request that passed the host's checks. Answered by `append`, by silence (queued) or by `refuse`. */
  | { readonly kind: 'request'; readonly request: IncomingRequest; readonly nowMicros: Micros }
  /** A frame from a peer, already known to concern this group; `from` is the authenticated peer of the connection. */
  | { readonly kind: 'frame'; readonly from: ReplicaId; readonly bytes: Uint8Array; readonly nowMicros: Micros }
  /** The journal holds this prepare now (metadata: synced). `header` as stored. */
  | { readonly kind: 'appended'; readonly header: PrepareHeader }
  | { readonly kind: 'appendFailed'; readonly op: Op; readonly checksum: Checksum }
  /** The superblock holds this pair now: the values that were written, never a later reading. */
  | { readonly kind: 'superblockWritten'; readonly view: View; readonly logView: View }
  | { readonly kind: 'superblockFailed' }
  /** How far the host is with the transfer that `needTransfer` asked for. Ignored when the group has given it up. */
  | { readonly kind: 'transferStage'; readonly stage: Exclude<TransferStage, 'idle'> }
  /**
   * The host holds the state as of `op`, durably, and its journal nothing at or below it. `commitMax`: what the peer knew to be
   * committed; `timestamp`: of the prepare of `op`; `view`: in which the peer offered it. Entries above `op` stay: they may be
   * acknowledged, and repair judges them.
   */
  | {
      readonly kind: 'transferInstalled'
      readonly op: Op
      readonly commitMax: Op
      readonly timestamp: Micros
      readonly view: View
    }
  /** The transfer led to nothing: repair tries again. */
  | { readonly kind: 'transferAbandoned' }

/** Why a request did not enter the log. `transientNotAccepted` surely was not admitted (58). */
export type RefuseReason =
  | 'not_primary'
  | 'not_normal'
  | 'state_transfer'
  | 'not_caught_up'
  | 'queues_full'
  /** The journal of a partition did not take it: a reservation that could not be extended, a fence. It never left this node. */
  | 'append_failed'

export type GroupAction =
  /**
   * Journal this prepare. `role: primary`: minted here; the host may stamp the body (partition: base offset, base timestamp,
   * batch checksum) before it stores it. `backup`: from the chain. `repair`: fetched, must be stored as it is.
   * The host answers with `appended` or `appendFailed`, at once or later.
   */
  | {
      readonly kind: 'append'
      readonly role: 'primary' | 'backup' | 'repair'
      readonly header: PrepareHeader
      readonly frame: Uint8Array
    }
  /** Send to one peer. `frame` is complete and sealed. */
  | { readonly kind: 'send'; readonly to: ReplicaId; readonly frame: Uint8Array }
  /** Apply this committed op now, synchronously; `commitMin` has just become its op. `token`: the local client that waits for it. */
  | {
      readonly kind: 'apply'
      readonly op: Op
      readonly header: PrepareHeader
      readonly token?: RequestToken
      readonly asPrimary: boolean
    }
  /**
   * Drop every journal entry from this op on (§5.7); truncate, not drain. Covers appends that are still in flight: they are
   * forgotten here, and whatever is reported of them later is ignored. `GroupJournal` must answer as truncated at once, and
   * appends that follow must reach the disk behind the truncation.
   */
  | { readonly kind: 'truncate'; readonly fromOp: Op }
  /** Write the pair durably, then answer. At most one is outstanding per group; repeated after a failure with back-off. */
  | { readonly kind: 'persistSuperblock'; readonly view: View; readonly logView: View; readonly commitMax: Op }
  | { readonly kind: 'refuse'; readonly token: RequestToken; readonly reason: RefuseReason }
  /** Requests whose outcome is unknown now (they may have left this replica): answer 57. */
  | { readonly kind: 'cancel'; readonly tokens: readonly RequestToken[] }
  /** Ops up to `floor` are held by other means (segments): nothing of them will be applied (§6.1). */
  | { readonly kind: 'commitFloor'; readonly floor: Op }
  /** Partition only: in the view that begins now the next batch is minted, or expected, at `base` if the counter is below it. */
  | { readonly kind: 'jump'; readonly base: bigint }
  /**
   * Partition only: the group began a new log without this replica, and what it has applied is no part of that one. It must
   * give up its memory: close the partition and open it from its disk, as after a restart.
   */
  | { readonly kind: 'startOver' }
  /** Repair cannot help any more; a state transfer from `peer` is needed (§6.2). */
  | { readonly kind: 'needTransfer'; readonly peer: ReplicaId }
  /** The log head cannot be unwound: the process must end with status 2 (§3.4). */
  | { readonly kind: 'unreconcilable'; readonly op: Op; readonly message: string }
  /** Something happened; for the inspection stream. Facts always, flow kinds as counters and samples (§9). */
  | { readonly kind: 'note'; readonly note: GroupNote }

/** What §9 lists, in the field's words. `op`, `peer` and `detail` where they apply. */
export interface GroupNote {
  readonly kind:
    | 'view_change_started'
    | 'start_view_change_received'
    | 'do_view_change_received'
    | 'view_started'
    | 'view_adopted'
    | 'merge_parked'
    | 'merge_undecided'
    | 'probe_started'
    | 'probe_sent'
    | 'heartbeat_missed'
    | 'superblock_due'
    | 'superblock_durable'
    | 'repair_started'
    | 'repair_finished'
    | 'transfer_needed'
    | 'jump_announced'
    | 'log_left'
    | 'truncated'
    | 'frame_ignored'
    | 'request_received'
    | 'prepare_queued'
    | 'prepare_acked'
    | 'prepare_retransmitted'
    | 'op_committed'
    | 'commit_advanced'
  readonly class: 'fact' | 'flow'
  readonly op?: Op
  readonly peer?: ReplicaId
  readonly detail?: Readonly<Record<string, string | number | boolean>>
}

/** Where a restarted group starts (§7). A fresh one passes zeros and `join: 'init'`. */
export interface GroupRestore {
  readonly view: View
  readonly logView: View
  /** The pair that the superblock holds; equal to (view, logView) unless the view was only inferred. */
  readonly viewDurable: View
  readonly logViewDurable: View
  readonly headOp: Op
  readonly commitMin: Op
  readonly commitMax: Op
  readonly lastPrepareChecksum: Checksum
  readonly lastTimestamp: Micros
  /** `init`: fresh group or solo, Normal at once. `probe`: restarted replica of a cluster, invisible to quorums until it adopts a view. */
  readonly join: 'init' | 'probe'
}

/** Everything that a person may want to know of a group, as plain values (§1.2). Cheap enough to be read each second. */
export interface GroupSnapshot {
  readonly group: GroupId
  readonly plane: Plane
  readonly status: GroupStatus
  readonly role: 'primary' | 'backup'
  readonly primary: ReplicaId
  readonly ceded: boolean
  readonly view: View
  readonly logView: View
  readonly viewDurable: View
  readonly logViewDurable: View
  readonly op: Op
  readonly commitMin: Op
  readonly commitMax: Op
  readonly observedNewerView: View
  readonly lastPrepareChecksum: Checksum
  readonly transferStage: TransferStage
  readonly probeAttempts: number
  readonly quorums: { readonly replication: number; readonly viewChange: number; readonly nack: number }
  readonly pipeline: readonly {
    readonly op: Op
    readonly checksum: Checksum
    readonly operation: number
    readonly acks: readonly ReplicaId[]
    readonly quorum: boolean
  }[]
  readonly requestQueue: number
  /** How many prepares may be in flight, and how many requests may wait behind them. */
  readonly depths: { readonly prepares: number; readonly requests: number }
  readonly votes: {
    readonly startViewChange: readonly ReplicaId[]
    readonly doViewChange: readonly {
      readonly replica: ReplicaId
      readonly logView: View
      readonly op: Op
      readonly commit: Op
      /** Of the frame that counts; the own vote came in none. */
      readonly checksum?: Checksum
    }[]
    readonly parked: boolean
  }
  readonly timers: readonly {
    readonly name: keyof TimerTicks
    readonly ticking: boolean
    readonly remaining: number
    readonly period: number
  }[]
  readonly repair?: { readonly peer: ReplicaId; readonly toOp: Op; readonly idleTicks: number }
}

export interface ConsensusGroup {
  readonly config: GroupConfig
  step(event: GroupEvent): readonly GroupAction[]
  snapshot(): GroupSnapshot
  /** How many of the next ticks would do nothing but count timers down: a host may leave them out and say so with `slept`. */
  quietTicks(): number
  /** Notes of class flow are made only while somebody wants them. Off at first. */
  setFlowNotes(wanted: boolean): void
  /** True when a request may enter here now: primary of its view, Normal, not transferring, caught up (§1.2). */
  isCaughtUpPrimary(): boolean
  isPrimary(): boolean
  /** False while ops that were held at the boot, and may have been acknowledged, are neither applied nor cut (§7). */
  readonly pastRecoveryBarrier: boolean
  primary(): ReplicaId
  readonly status: GroupStatus
  readonly view: View
  readonly commitMin: Op
  readonly commitMax: Op
  readonly transferStage: TransferStage
}
