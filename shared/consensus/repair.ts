/**
 * Journal repair, asking side (spec consensus.md §6.1). Entries are sent in ascending order and taken only in that order, so
 * that the journal never has a hole and an old entry never hides below a newer one; one that comes before its turn waits for
 * it. A frame for an op that is held proves it or replaces it.
 *
 * A backup repairs from the primary of its view, up to what it knows committed, and beyond while live prepares run ahead of
 * it: otherwise it would chase a steady load for ever. A candidate repairs from the voters.
 */
import { Checksum, Op, type ReplicaId, U64_MAX, View } from '../bytes/units.ts'
import type { FrameOf } from '../protocol/frames.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { fromRepairPrepare, verifyPrepare } from '../protocol/seal.ts'
import { walkCommits } from './commit.ts'
import { requestPreparesFrame } from './frames-out.ts'
import { sendFree } from './gate.ts'
import { advanceProven, climb, heldAt, isThis, linkLog, named, standOnProven, storedAt, truncate } from './log.ts'
import { joinLog } from './start-view.ts'
import {
  awaitTransfer,
  differ,
  fact,
  type GroupState,
  ignored,
  isPrimaryByView,
  isTransferring,
  maxOp,
  minOp,
  next,
  type ParkedLog,
  primaryOf,
  type RepairSession,
  type StoredDvc,
} from './state.ts'
import { suffixEntry } from './suffix.ts'
import { advanceParked } from './view-start.ts'

/** A new round waits until fewer appends than this are on their way: the disk sets the pace. */
const ROUND_BACKLOG_MAX = 64
/** What comes before its turn is kept up to this many bytes; beyond, the next round brings it again. */
const EARLY_BYTES_MAX = 16 * 1024 * 1024

/** Last op that a backup needs: known committed, held but unproven, or running ahead of it. */
const target = (s: GroupState): Op =>
  s.parked?.head ?? maxOp(s.commitMax, maxOp(s.gapSeen, minOp(s.unprovenTo, s.commitMax)))

/** Opens a session of a backup, unless one is open or nothing is missing. */
export function armRepair(s: GroupState, peer: ReplicaId): void {
  if (s.repair !== undefined || s.status !== 'normal' || isTransferring(s) || isPrimaryByView(s)) return
  if (target(s) > s.chain) open(s, peer)
}

/** Opens a session of a candidate to the best voter that can serve the first missing op. */
export function armCandidateRepair(s: GroupState): void {
  const { parked } = s
  if (parked === undefined || s.repair !== undefined || s.chain >= parked.head) return
  const source = pickSource(s, parked, next(s.chain))
  if (source !== undefined) open(s, source.replica)
}

function pickSource(s: GroupState, parked: ParkedLog, op: Op): StoredDvc | undefined {
  const header = named(parked, op)
  const able = parked.sources.filter(vote => {
    if (vote.replica === s.config.replica) return false
    if (header === undefined) return vote.commit >= op
    const entry = suffixEntry(vote.suffix, op)
    return entry?.present === true && entry.header?.checksum === header.checksum
  })
  return able[s.repairTurn % Math.max(able.length, 1)]
}

function open(s: GroupState, peer: ReplicaId): void {
  const nonce = ((s.random.u64() ^ (s.nowMicros & U64_MAX)) << 64n) | s.random.u64() | 1n
  s.repair = {
    nonce,
    peer,
    toOp: Op(0n),
    askedFrom: s.chain,
    idleTicks: 0,
    floor: undefined,
    floorLogEnd: 0n,
    servedTo: undefined,
    waiting: false,
    early: new Map(),
  }
  fact(s, 'repair_started', { op: next(s.chain), peer, detail: { to: target(s).toString() } })
  ask(s)
}

function ask(s: GroupState): void {
  const session = s.repair!
  // Past what is known: the peer serves as far as it goes, and live prepares follow on without a hole.
  const ahead = s.parked === undefined && s.gapSeen > s.chain ? BigInt(s.config.repairChunkMax) : 0n
  session.toOp = Op(maxOp(target(s), next(s.chain)) + ahead)
  session.askedFrom = s.chain
  session.idleTicks = 0
  session.waiting = false
  session.floor = undefined
  session.servedTo = undefined
  sendFree(s, session.peer, requestPreparesFrame(s, session.nonce, next(s.chain), endOfHole(s, session)))
}

/** What came early need not come again. */
function endOfHole(s: GroupState, { early, toOp }: RepairSession): Op {
  const first = next(s.chain)
  let end = toOp
  for (const op of early.keys()) if (op > first && op <= end) end = Op(op - 1n)
  return end
}

function close(s: GroupState): void {
  const { peer } = s.repair!
  s.repair = undefined
  s.repairTurn = 0
  fact(s, 'repair_finished', { op: s.chain, peer })
}

export function onRepairPrepare(s: GroupState, from: ReplicaId, frame: FrameOf<'RepairPrepare'>): void {
  const session = s.repair
  const { op } = frame.header
  if (session === undefined || session.peer !== from) {
    ignored(s, 'no_repair_session', from, op)
    return
  }
  if (op > session.toOp || op <= s.chain || frame.header.view > s.view) {
    ignored(s, 'out_of_scope', from, op)
    return
  }
  if (op !== next(s.chain)) {
    // Partition: the peer has said that what lies between is gone.
    if (session.floor === undefined || op !== next(session.floor) || s.chain > session.floor) {
      if (!keepEarly(s, session, frame)) ignored(s, 'gap', from, op)
      return
    }
    s.chain = session.floor
    s.chainChecksum = Checksum(0n)
  }
  take(s, from, frame)
  // Whatever was taken may have ended the session, or begun another.
  while (s.repair === session) {
    for (const op of session.early.keys()) if (op <= s.chain) session.early.delete(op)
    const follower = session.early.get(next(s.chain))
    if (follower === undefined) break
    session.early.delete(follower.header.op)
    take(s, from, follower)
  }
  if (s.repair === session) tryEndRound(s, session)
}

function keepEarly(s: GroupState, { early }: RepairSession, frame: FrameOf<'RepairPrepare'>): boolean {
  let bytes = frame.bytes.length
  for (const other of early.values()) bytes += other.bytes.length
  if (early.size >= s.config.repairChunkMax || bytes > EARLY_BYTES_MAX) return false
  early.set(frame.header.op, frame)
  return true
}

function take(s: GroupState, from: ReplicaId, frame: FrameOf<'RepairPrepare'>): void {
  const { op } = frame.header
  const bytes = fromRepairPrepare(frame.bytes)
  const verdict = verifyPrepare(s.config.hash, bytes)
  if (verdict !== 'ok') {
    ignored(s, `corrupt_${verdict}`, from, op)
    return
  }
  const header: PrepareHeader = { ...frame.header, command: bytes[60]! }
  if (differ(s.chainChecksum, header.parent) || !trusted(s, from, header)) {
    fact(s, 'frame_ignored', { op, peer: from, detail: { reason: 'not_canonical' } })
    return
  }
  s.repair!.idleTicks = 0
  ingest(s, header, bytes)
  afterProgress(s)
}

/** A candidate takes what the merged log names, and below it what the voter knows to be committed. */
function trusted(s: GroupState, from: ReplicaId, header: PrepareHeader): boolean {
  const { parked } = s
  if (parked === undefined) {
    const announced = s.known === undefined ? undefined : named(s.known, header.op)
    return announced === undefined || !differ(announced.checksum, header.checksum)
  }
  const { op } = header
  if (op > parked.head) return false
  const expected = named(parked, op) ?? parked.committedElsewhere.find(other => other.op === op)
  if (expected !== undefined) return !differ(expected.checksum, header.checksum)
  return parked.sources.some(vote => vote.replica === from && vote.commit >= op)
}

function ingest(s: GroupState, header: PrepareHeader, frame: Uint8Array): void {
  const { op } = header
  const held = heldAt(s, op)
  const isHeld = held !== undefined && isThis(s, held, header)
  if (held !== undefined && !isHeld) truncate(s, op)
  if (!isHeld) {
    s.inFlight.set(op, { role: 'repair', header, view: s.view })
    s.out.push({ kind: 'append', role: 'repair', header, frame })
  }
  s.chain = op
  s.chainChecksum = header.checksum
  advanceProven(s)
}

/** What the log now allows, after its chain has grown by repair. */
function afterProgress(s: GroupState): void {
  const log = s.parked ?? s.known
  if (log !== undefined && !climb(s, log)) {
    // What was fetched does not lead up to the canonical headers: from another peer, then.
    truncate(s, next(s.commitMin))
    linkLog(s, log)
    s.repair = undefined
    s.repairTurn++
  }
  if (s.parked !== undefined) {
    advanceParked(s)
    return
  }
  s.sequencer = maxOp(s.sequencer, s.unprovenTo === 0n ? s.proven : s.sequencer)
  settleUnproven(s)
  walkCommits(s)
}

/** Once nothing held is unproven any more, the replica belongs to its view. */
export function settleUnproven(s: GroupState): void {
  if (s.unprovenTo > s.proven) return
  const wasUnproven = s.unprovenTo !== 0n
  s.unprovenTo = Op(0n)
  if (s.proven >= s.lostTo) s.lostTo = Op(0n)
  if (s.status === 'normal' && (wasUnproven || s.logView !== s.view) && !isPrimaryByView(s)) joinLog(s)
}

export function onRepairDone(s: GroupState, from: ReplicaId, { header }: FrameOf<'RepairDone'>): void {
  const session = s.repair
  if (session === undefined || session.nonce !== header.nonce || session.peer !== from) return
  session.servedTo = header.op
  tryEndRound(s, session)
}

/** Whether a floor joins what is on the disk is seen by the entries above it: they must be in, and stored. */
function tryEndRound(s: GroupState, session: RepairSession): void {
  const { servedTo, floor } = session
  if (servedTo === undefined) return
  if (floor !== undefined && ((servedTo > floor && servedTo > s.chain) || s.inFlight.size > 0)) return
  endRound(s, session)
}

function endRound(s: GroupState, session: RepairSession): void {
  session.servedTo = undefined
  if (session.floor !== undefined && !settleFloor(s, session.peer, session.floor)) return
  walkCommits(s)
  if (target(s) <= s.chain) {
    close(s)
    return
  }
  if (s.chain > session.askedFrom) {
    if (s.inFlight.size > ROUND_BACKLOG_MAX) session.waiting = true
    else ask(s)
  } else if (s.parked !== undefined) {
    rotate(s)
  }
}

/** An append has landed: a round that waited for the disk goes on. */
export function continueRepair(s: GroupState): void {
  if (s.repair !== undefined) tryEndRound(s, s.repair)
  if (s.repair?.waiting !== true || s.inFlight.size > ROUND_BACKLOG_MAX) return
  if (target(s) <= s.chain) close(s)
  else ask(s)
}

export function onRangeEvicted(s: GroupState, from: ReplicaId, { header }: FrameOf<'RangeEvicted'>): void {
  const session = s.repair
  if (session === undefined || session.nonce !== header.nonce || session.peer !== from) return
  if (header.op <= next(s.chain)) return
  if (s.parked !== undefined) {
    rotate(s)
    return
  }
  if (s.config.plane === 'partition') {
    session.floor = Op(header.op - 1n)
    session.floorLogEnd = header.logEnd
    const follower = session.early.get(header.op)
    session.early.delete(header.op)
    if (follower !== undefined) onRepairPrepare(s, from, follower)
    return
  }
  needTransfer(s, from, 'range_evicted')
}

/** Partition: the round behind an eviction is in. Is what is gone in the segments already? (§6.1) */
function settleFloor(s: GroupState, from: ReplicaId, evictedTo: Op): boolean {
  const { floorLogEnd } = s.repair!
  s.repair!.floor = undefined
  const floor = lowered(s, minOp(evictedTo, s.commitMax))
  if (floor <= s.commitMin) return true
  if (s.journal.connectsAbove?.(floor, s.commitMax, floorLogEnd) !== true) {
    standOnProven(s)
    needTransfer(s, from, 'floor_refused')
    return false
  }
  s.commitMin = floor
  s.proven = maxOp(s.proven, floor)
  if (s.chain < floor) {
    s.chain = floor
    s.chainChecksum = Checksum(0n)
  }
  s.sequencer = maxOp(s.sequencer, floor)
  if (s.unprovenTo <= floor) s.unprovenTo = Op(0n)
  s.out.push({ kind: 'commitFloor', floor })
  advanceProven(s)
  s.sequencer = maxOp(s.sequencer, s.unprovenTo === 0n ? s.proven : s.sequencer)
  settleUnproven(s)
  return true
}

/** What an earlier round brought, before the peer forgot it, is part of the log too. */
function lowered(s: GroupState, evictedTo: Op): Op {
  let floor = evictedTo
  for (;;) {
    const [held, above] = [storedAt(s, floor), storedAt(s, next(floor))]
    if (floor <= s.commitMin || held === undefined || above === undefined) return floor
    if (differ(held.checksum, above.parent)) return floor
    floor = Op(floor - 1n)
  }
}

/** Repair cannot help any more. The replica stays what it is, behind and without a vote, until a transfer is installed. */
export function needTransfer(s: GroupState, peer: ReplicaId, reason: string): void {
  s.repair = undefined
  awaitTransfer(s)
  fact(s, 'transfer_needed', { peer, op: next(s.commitMin), detail: { reason } })
  s.out.push({ kind: 'needTransfer', peer })
}

function rotate(s: GroupState): void {
  s.repair = undefined
  s.repairTurn++
  armCandidateRepair(s)
}

export function tickRepair(s: GroupState): void {
  const session = s.repair
  if (session === undefined || ++session.idleTicks < s.config.timers.repairRetry) return
  if (s.parked !== undefined) {
    rotate(s)
    return
  }
  // A floor that was never settled is none: what lies above it was taken in advance.
  if (session.floor !== undefined) standOnProven(s)
  if (s.status !== 'normal' || target(s) <= s.chain) {
    s.repair = undefined
    return
  }
  if (session.peer !== primaryOf(s, View(s.view))) {
    s.repair = undefined
    armRepair(s, primaryOf(s, s.view))
    return
  }
  ask(s)
}
