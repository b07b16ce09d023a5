/**
 * The state of one group (spec consensus.md §1.2), and the few questions that every handler asks of it. The handlers are
 * functions over this record, one file per concern; each may push to `out`, the actions of the current step.
 *
 * How the log is described. Three numbers, because an append takes time and a view change may find entries that nobody
 * has vouched for yet:
 *
 *   commitMin ≤ proven ≤ chain
 *
 * `proven`: everything up to it is held and belongs to the log of `logView`. `chain`: the same, counting appends that are
 * still in flight; the next prepare is `chain + 1`. What the journal holds above `chain` is unproven: left over from an
 * older view, neither applied, acknowledged nor served until the primary's own copy says that it is the same.
 * docs/decisions/020 has the reasons.
 */
import { Xoshiro256 } from '../bytes/random.ts'
import { type Checksum, Micros, Op, ReplicaId, U64_MAX, View } from '../bytes/units.ts'
import type { FrameOf } from '../protocol/frames.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import type {
  GroupAction,
  GroupConfig,
  GroupJournal,
  GroupNote,
  GroupRestore,
  GroupStatus,
  IncomingRequest,
  LogOrigin,
  TransferStage,
} from './contract.ts'
import { Pipeline } from './pipeline.ts'
import { type Quorums, quorumsOf } from './quorums.ts'
import type { ReplicaSet } from './replica-set.ts'
import type { DvcSuffix } from './suffix.ts'
import { createTimers, TIMER_ORDER, type Timer, type Timers } from './timers.ts'

/** An append that the host was asked for and has not answered. */
export interface InFlight {
  readonly role: 'primary' | 'backup' | 'repair'
  readonly header: PrepareHeader
  /** View in which it was asked for. */
  readonly view: View
}

export interface StoredDvc {
  readonly replica: ReplicaId
  readonly logView: View
  readonly op: Op
  readonly commit: Op
  readonly suffix: DvcSuffix
  /** Partition groups: one past the last offset held, and the reservation; 0 when not sent. */
  readonly heldFrontier: bigint
  readonly reservedFrontier: bigint
  /** One past the last offset held that is known to be committed. */
  readonly committedFrontier: bigint
  /** Its journal died with its last life, and it does not hold again what it may have acknowledged in it. */
  readonly forgetful: boolean
  /** Partition groups: where the log of `logView` began, and where its leader mints at least. */
  readonly origin: LogOrigin
  /** Of the frame that it came in; the own one came in none. */
  readonly checksum?: Checksum
}

/** Headers of a canonical log, head first and without holes below it: `headers[i]` is op `head - i`. */
export interface KnownLog {
  readonly head: Op
  readonly headers: readonly PrepareHeader[]
}

/** A merged log that waits until this candidate holds all of it (§5.5). */
export interface ParkedLog extends KnownLog {
  readonly commitMax: Op
  /** Committed headers below the merged ones, known from replicas with an older log view. */
  readonly committedElsewhere: readonly PrepareHeader[]
  /** Who may serve, best first. */
  readonly sources: readonly StoredDvc[]
}

export interface RepairSession {
  readonly nonce: bigint
  readonly peer: ReplicaId
  /** Last op asked for. */
  toOp: Op
  /** `chain` when the current round was asked for; no progress since means the stall timer decides. */
  askedFrom: Op
  idleTicks: number
  /** Partition: ops up to here are gone at the peer, and the round that says so is still coming in (§6.1). */
  floor: Op | undefined
  /** Partition: where the log of the peer ended when it said so; 0: not said. */
  floorLogEnd: bigint
  /** Where the round ended, once the peer has said so; entries may be late. */
  servedTo: Op | undefined
  /** A round ended while many appends were in flight; the next one is asked for when they have landed. */
  waiting: boolean
  /** What came before its turn: a round in which one frame is late or lost is not asked for a second time. */
  readonly early: Map<Op, FrameOf<'RepairPrepare'>>
}

/** Nothing that a replica holds makes up for what it forgot: it has joined no view, or lacks the beginning of the log of its view. */
export const FORGOT_ALL = Op(U64_MAX)

export class GroupState {
  readonly config: GroupConfig
  readonly journal: GroupJournal
  readonly quorums: Quorums
  readonly timers: Timers
  /** The same timers, for the loop of a tick: thousands of groups run it a hundred times a second. */
  readonly timerList: readonly Timer[]
  readonly random: Xoshiro256

  status: GroupStatus = 'recovering'
  view: View
  logView: View
  ceded = false
  transferStage: TransferStage = 'idle'
  nowMicros = Micros(0n)

  commitMin: Op
  commitMax: Op
  sequencer: Op
  proven: Op
  chain: Op
  /** Checksum of op `chain`, the parent of the next prepare; 0 when it is not known. */
  chainChecksum: Checksum
  lastTimestamp: Micros
  /** Ops up to here may have been acknowledged and lost (a gap that recovery found): never denied (§5.3). */
  lostTo = Op(0n)
  /** Recovered but unproven suffix; requests wait until it has committed again (§1.2). */
  recoveryBarrier = Op(0n)
  /** Highest op of an entry that is held but unproven, 0 when there is none. */
  unprovenTo = Op(0n)
  /** Head of the adopted view's log, whether it is held or not. */
  announcedHead = Op(0n)
  /** Highest op of a live prepare that had to be dropped because earlier ones are missing. */
  gapSeen = Op(0n)
  readonly inFlight = new Map<bigint, InFlight>()
  /** Lowest op truncated in this step: the journal answers as truncated only when the host has acted. */
  truncatedFrom: Op | undefined

  heartbeatTimestamp = 0n
  observedNewerView = View(0)
  readonly pipeline: Pipeline
  readonly requestQueue: IncomingRequest[] = []
  selfAckDue = false
  /** Replicas that let a retransmission pass unanswered: the chain goes around them until they acknowledge again. */
  silent: ReplicaSet = 0

  /** Ticks for which this primary has had prepares in flight and heard no acknowledgement from anybody. */
  unheardTicks = 0

  svcFrom: ReplicaSet = 0
  readonly dvcs: (StoredDvc | undefined)[]
  dvcDecided = false
  sentOwnDvc = false
  /** The candidate's merged log. */
  parked: ParkedLog | undefined
  /** The log of the view that this replica adopted or started, as far as headers were announced. */
  known: KnownLog | undefined
  knownView = View(0)
  /**
   * A partition's journal died with the last life of this replica: what it held in memory and acknowledged is gone, and its
   * denials are worth nothing until it holds the log up to this op, the head of the first view that it joined. No view yet,
   * or one whose log begins with what is missing on this disk: `FORGOT_ALL`. Undefined: it remembers.
   */
  forgotTo: Op | undefined
  /** A restarted partition replica has applied nothing yet: the log must first come to the end of what its segments hold. */
  mustConnect: boolean
  /** Partition only: where the log of this group began, as its leader announced it. */
  origin: LogOrigin = { known: false, logStart: 0n, firstBase: 0n, jumpBase: 0n }
  /** Partition only: the view in which this replica heard that the log began elsewhere than it had heard before. */
  originView = View(0)
  /** A candidate that hears too few who remember has waited half a status timeout for all votes, and decides with those it has. */
  waitedForAll = false
  /** What was left of the status timeout when a replica first asked for this view: it is there, and its vote will come. */
  readonly heardAt: (number | undefined)[] = []

  probeAttempts = 0
  /** Ticks since each peer showed that it cannot answer a probe; undefined when it never did. */
  readonly cannotLead: (number | undefined)[]
  repair: RepairSession | undefined
  /** Which of several able voters a candidate asks next. */
  repairTurn = 0

  viewDurable: View
  logViewDurable: View
  persistOutstanding: { readonly view: View; readonly logView: View } | undefined
  persistFailures = 0
  persistBackoffTicks = 0
  held: { readonly to: ReplicaId; readonly frame: Uint8Array }[] = []

  flow = false
  out: GroupAction[] = []

  constructor(config: GroupConfig, restore: GroupRestore, journal: GroupJournal) {
    this.config = config
    this.journal = journal
    this.quorums = quorumsOf(config.replicaCount)
    this.timers = createTimers(config.timers)
    this.timerList = TIMER_ORDER.map(name => this.timers[name])
    this.random = new Xoshiro256((BigInt(config.replica) ^ config.group) & 0xffff_ffff_ffff_ffffn)
    this.pipeline = new Pipeline(config.prepareDepth)
    this.dvcs = new Array(config.replicaCount).fill(undefined)
    this.cannotLead = new Array(config.replicaCount).fill(undefined)
    this.view = restore.view
    this.logView = restore.logView
    this.viewDurable = restore.viewDurable
    this.logViewDurable = restore.logViewDurable
    this.commitMin = restore.commitMin
    this.commitMax = restore.commitMax
    this.sequencer = restore.headOp
    this.proven = restore.commitMin
    this.chain = restore.commitMin
    this.chainChecksum = restore.lastPrepareChecksum
    this.lastTimestamp = restore.lastTimestamp
    if (config.plane === 'partition' && restore.join === 'init') this.origin = { ...this.origin, known: true }
    this.mustConnect = config.plane === 'partition' && restore.join === 'probe'
    this.forgotTo = this.mustConnect ? FORGOT_ALL : undefined
  }
}

export const primaryOf = (s: GroupState, view: View): ReplicaId => ReplicaId(view % s.config.replicaCount)
export const isPrimaryByView = (s: GroupState): boolean => primaryOf(s, s.view) === s.config.replica
export const isTransferring = (s: GroupState): boolean => s.transferStage !== 'idle'
/** The host is changing what is on the disk: until it has ended, nothing here says what this replica holds. */
export const isInstalling = (s: GroupState): boolean => s.transferStage === 'installing'

/** Waits for a transfer; one that is being installed is the one that came first. */
export function awaitTransfer(s: GroupState): void {
  if (!isInstalling(s)) s.transferStage = 'awaiting_target'
}
/** Primary of its view, and at work. */
export const isActingPrimary = (s: GroupState): boolean => s.status === 'normal' && !s.ceded && isPrimaryByView(s)

/** Whether its denials are worth nothing. Answers for good: who has caught up once has a memory of this life. */
export function isForgetful(s: GroupState): boolean {
  if (s.forgotTo !== undefined && s.proven >= s.forgotTo) s.forgotTo = undefined
  return s.forgotTo !== undefined
}

/** The origin of the sender's log, as a StartView announces it and a DoViewChange votes with it. */
export const originOf = ({ originKnown, logStart, firstBase, jumpBase }: OriginFields): LogOrigin => ({
  known: originKnown !== 0,
  logStart,
  firstBase,
  jumpBase,
})
type OriginFields = Omit<LogOrigin, 'known'> & { readonly originKnown: number }

/** Ops are numbered per log: of two that began elsewhere none can be compared. What nobody has said does not contradict. */
export const isSameLog = (a: LogOrigin, b: LogOrigin): boolean =>
  !a.known || !b.known || (a.logStart === b.logStart && a.firstBase === b.firstBase)

/** A transfer must bring what stood on disks before op 1 of this log, and this replica does not belong to it until then. */
export const lacksBeginning = (s: GroupState): boolean => s.forgotTo === FORGOT_ALL

export const maxOp = (a: Op, b: Op): Op => (a > b ? a : b)
export const minOp = (a: Op, b: Op): Op => (a < b ? a : b)
export const next = (op: Op): Op => Op(op + 1n)
/** Two checksums that contradict each other; 0 is "not sealed" and agrees with everything. */
export const differ = (a: Checksum, b: Checksum): boolean => a !== b && a !== 0n && b !== 0n

export function fact(s: GroupState, kind: GroupNote['kind'], note: Omit<GroupNote, 'kind' | 'class'> = {}): void {
  s.out.push({ kind: 'note', note: { kind, class: 'fact', ...note } })
}

/** Callers on the hot path ask `s.flow` first, so that nothing is built when nobody wants it. */
export function flow(s: GroupState, kind: GroupNote['kind'], note: Omit<GroupNote, 'kind' | 'class'> = {}): void {
  if (s.flow) s.out.push({ kind: 'note', note: { kind, class: 'flow', ...note } })
}

export function ignored(s: GroupState, reason: string, peer: ReplicaId, op?: Op): void {
  if (!s.flow) return
  s.out.push({
    kind: 'note',
    note: { kind: 'frame_ignored', class: 'flow', peer, ...(op === undefined ? {} : { op }), detail: { reason } },
  })
}
