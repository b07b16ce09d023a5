/**
 * One consensus group: creation, and the way of an event to its handler (spec consensus.md §1, §7). A frame that cannot be
 * parsed, or that speaks in another's name, is dropped; everything else is the handlers' business.
 */
import { DecodeError, EngineError } from '../bytes/errors.ts'
import { Checksum, type ReplicaId } from '../bytes/units.ts'
import { parseReplicaFrame, type ReplicaFrame } from '../protocol/frames.ts'
import { METADATA_GROUP, unpackGroup } from '../protocol/groups.ts'
import { onPrepareOk, selfAck } from './acks.ts'
import { walkCommits } from './commit.ts'
import type {
  ConsensusGroup,
  GroupAction,
  GroupConfig,
  GroupEvent,
  GroupJournal,
  GroupRestore,
  GroupSnapshot,
} from './contract.ts'
import { onPersisted, onPersistFailed } from './gate.ts'
import { onCommit } from './heartbeat.ts'
import { advanceProven, storedAt } from './log.ts'
import { beginViewProbe, onRequestStartView } from './probe.ts'
import { quietTicks, sleepThrough } from './quiet.ts'
import { onRangeEvicted, onRepairDone, onRepairPrepare } from './repair.ts'
import { onRequestPrepares } from './repair-serve.ts'
import { onAppended, onAppendFailed, onPrepare } from './replicate.ts'
import { onRequest, refusal } from './requests.ts'
import { snapshotOf } from './snapshot.ts'
import { onStartView } from './start-view.ts'
import { GroupState, ignored, isActingPrimary, isPrimaryByView, isTransferring, next, primaryOf } from './state.ts'
import { onTick } from './tick.ts'
import { onTransferAbandoned, onTransferInstalled } from './transfer.ts'
import { onDoViewChange, onStartViewChange } from './view-change.ts'
import { rebuildPipeline } from './view-start.ts'

/** Patience with a metadata primary that was never heard in this life: processes start within ten seconds, in any order. */
const FIRST_HEARTBEAT_TICKS = 1200

/** Shared by every step that leads to nothing: thousands of idle groups tick a hundred times a second. */
const NOTHING: readonly GroupAction[] = Object.freeze([])

/**
 * Creates a group and arms its timers; it acts from the first tick on.
 * @throws EngineError BadGroup, RangeError: a configuration that no group can have.
 */
export function createGroup(config: GroupConfig, restore: GroupRestore, journal: GroupJournal): ConsensusGroup {
  if (config.replica >= config.replicaCount) throw new RangeError(`replica ${config.replica} of ${config.replicaCount}`)
  if (config.group !== METADATA_GROUP && unpackGroup(config.group) === undefined)
    throw new EngineError('BadGroup', `${config.group} is no consensus group`)
  const s = new GroupState(config, restore, journal)
  const resumes = isPrimaryByView(s) && !config.rules.restartedIsNoPrimary
  if (restore.join === 'init' || config.replicaCount === 1 || resumes) joinAtOnce(s, restore)
  else joinByProbe(s, restore)
  return {
    config,
    step: event => step(s, event),
    snapshot: (): GroupSnapshot => snapshotOf(s),
    quietTicks: () => quietTicks(s),
    setFlowNotes: wanted => {
      s.flow = wanted
    },
    isCaughtUpPrimary: () => refusal(s) === undefined,
    isPrimary: () => isActingPrimary(s),
    primary: () => primaryOf(s, s.view),
    get status() {
      return s.status
    },
    get view() {
      return s.view
    },
    get pastRecoveryBarrier() {
      return s.commitMin >= s.recoveryBarrier
    },
    get commitMin() {
      return s.commitMin
    },
    get commitMax() {
      return s.commitMax
    },
    get transferStage() {
      return s.transferStage
    },
  }
}

/** A fresh group, or a solo one: what it holds is its log. */
function joinAtOnce(s: GroupState, restore: GroupRestore): void {
  s.status = 'normal'
  s.proven = restore.headOp
  s.chain = restore.headOp
  if (isPrimaryByView(s)) {
    s.timers.commitMessage.start()
    if (restore.headOp > restore.commitMax) rebuildPipeline(s)
    s.selfAckDue = s.pipeline.size > 0
  } else {
    s.timers.normalHeartbeat.start(firstPatience(s))
  }
}

/** Ticks until a fresh backup misses a primary that it has not heard in this life. */
function firstPatience(s: GroupState): number {
  const { plane, timers, linkUp, firstHeartbeatTicks } = s.config
  // A partition is born when its topic commits, long after the start of the node: a primary that is out of reach then is
  // not a process that still starts, and the first write need not wait for the whole timeout to find that out.
  if (plane === 'partition' && linkUp?.(primaryOf(s, s.view)) === false) {
    return Math.min(timers.normalHeartbeat, 2 * timers.commitMessage)
  }
  return Math.max(firstHeartbeatTicks ?? (plane === 'metadata' ? FIRST_HEARTBEAT_TICKS : 0), timers.normalHeartbeat)
}

/** A replica with an earlier life: it takes part again when it knows the view (§5.8). */
function joinByProbe(s: GroupState, restore: GroupRestore): void {
  s.ceded = true
  s.chainChecksum = storedAt(s, s.commitMin)?.checksum ?? Checksum(0n)
  if (restore.headOp === restore.commitMin) s.chainChecksum = restore.lastPrepareChecksum
  for (let op = next(restore.commitMin); op <= restore.headOp; op = next(op)) {
    // An op that recovery found missing may have been acknowledged: it is never denied.
    if (storedAt(s, op) === undefined) s.lostTo = restore.headOp
  }
  if (restore.headOp > restore.commitMax) s.recoveryBarrier = restore.headOp
  advanceProven(s)
  beginViewProbe(s)
}

function step(s: GroupState, event: GroupEvent): readonly GroupAction[] {
  handle(s, event)
  s.truncatedFrom = undefined
  if (s.out.length === 0) return NOTHING
  const { out } = s
  s.out = []
  return out
}

function handle(s: GroupState, event: GroupEvent): void {
  switch (event.kind) {
    case 'tick':
      s.nowMicros = event.nowMicros
      onTick(s)
      return
    case 'slept':
      sleepThrough(s, event.ticks)
      return
    case 'request':
      s.nowMicros = event.nowMicros
      onRequest(s, event.request)
      return
    case 'frame':
      s.nowMicros = event.nowMicros
      onFrame(s, event.from, event.bytes)
      return
    case 'appended':
      onAppended(s, event.header)
      return
    case 'appendFailed':
      onAppendFailed(s, event.op, event.checksum)
      return
    case 'superblockWritten':
      if (onPersisted(s, event.view, event.logView)) {
        selfAck(s)
        walkCommits(s)
      }
      return
    case 'superblockFailed':
      onPersistFailed(s)
      return
    case 'transferStage':
      if (isTransferring(s)) s.transferStage = event.stage
      return
    case 'transferInstalled':
      onTransferInstalled(s, event)
      return
    case 'transferAbandoned':
      onTransferAbandoned(s)
      return
  }
}

/** Frames that are passed on as they were built: their `replica` is not the sender. */
const RELAYED: ReadonlySet<ReplicaFrame['kind']> = new Set(['Prepare', 'RepairPrepare'])

function onFrame(s: GroupState, from: ReplicaId, bytes: Uint8Array): void {
  let frame: ReplicaFrame
  try {
    frame = parseReplicaFrame(s.config.hash, bytes)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    ignored(s, `malformed_${error.code}`, from)
    return
  }
  if (from === s.config.replica || from >= s.config.replicaCount) {
    ignored(s, 'sender_unknown', from)
    return
  }
  if (!RELAYED.has(frame.kind) && frame.header.replica !== from) {
    ignored(s, 'sender_mismatch', from)
    return
  }
  if ('group' in frame.header && frame.header.group !== s.config.group) {
    ignored(s, 'other_group', from)
    return
  }
  if (frame.header.cluster !== s.config.cluster) {
    ignored(s, 'other_incarnation', from)
    return
  }
  switch (frame.kind) {
    case 'Prepare':
      onPrepare(s, from, frame)
      return
    case 'PrepareOk':
      onPrepareOk(s, from, frame)
      return
    case 'Commit':
      onCommit(s, from, frame)
      return
    case 'StartViewChange':
      onStartViewChange(s, from, frame)
      return
    case 'DoViewChange':
      onDoViewChange(s, from, frame)
      return
    case 'StartView':
      onStartView(s, from, frame)
      return
    case 'RequestStartView':
      onRequestStartView(s, from, frame)
      return
    case 'RequestPrepares':
      onRequestPrepares(s, from, frame)
      return
    case 'RepairPrepare':
      onRepairPrepare(s, from, frame)
      return
    case 'RepairDone':
      onRepairDone(s, from, frame)
      return
    case 'RangeEvicted':
      onRangeEvicted(s, from, frame)
      return
    default:
      ignored(s, 'not_for_consensus', from)
      return
  }
}
