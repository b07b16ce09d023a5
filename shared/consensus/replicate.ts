/**
 * Prepares along the chain, and what an append leads to when it lands (spec consensus.md §3.2, §3.4).
 *
 * A backup journals only the op that follows its chain, so its log never has a hole, and an acknowledgement of op k means
 * "everything up to k is held and belongs to this view". Appends overlap: op k+1 is accepted while op k is still on its way
 * to the disk, and each is forwarded and acknowledged when it has landed, never before.
 */
import { Checksum, Micros, type Op, ReplicaId } from '../bytes/units.ts'
import type { FrameOf } from '../protocol/frames.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { restampView, verifyPrepare } from '../protocol/seal.ts'
import { ackCommitted, ackStored, selfAck } from './acks.ts'
import { learnCommit, syncPrepareTimer, walkCommits } from './commit.ts'
import { sendScoped } from './gate.ts'
import { advanceProven, heldAt, isThis, storedAt, truncate } from './log.ts'
import { armRepair, continueRepair, settleUnproven } from './repair.ts'
import { setHas } from './replica-set.ts'
import {
  differ,
  fact,
  flow,
  type GroupState,
  ignored,
  isActingPrimary,
  isPrimaryByView,
  isTransferring,
  maxOp,
  next,
  primaryOf,
} from './state.ts'
import { noticeNewerView } from './view-change.ts'
import { advanceParked } from './view-start.ts'

/** Appends in flight on a backup: more means the disk is behind, and dropping is better than queueing without end. */
const APPENDS_IN_FLIGHT_MAX = 512

export function onPrepare(s: GroupState, from: ReplicaId, { header, bytes }: FrameOf<'Prepare'>): void {
  const { op } = header
  if (isTransferring(s)) {
    ignored(s, 'state_transfer', from, op)
    return
  }
  if (s.status !== 'normal') {
    ignored(s, 'not_normal', from, op)
    return
  }
  if (header.view > s.view) {
    noticeNewerView(s, header.view)
    ignored(s, 'newer_view', from, op)
    return
  }
  if (header.view < s.view) {
    ignored(s, 'older_view', from, op)
    return
  }
  if (isPrimaryByView(s)) {
    ignored(s, 'own_prepare', from, op)
    return
  }
  const verdict = verifyPrepare(s.config.hash, bytes)
  if (verdict !== 'ok') {
    ignored(s, `corrupt_${verdict}`, from, op)
    return
  }
  // A primary that prepares has been heard in this boot: the patience for one that may still be starting ends here.
  const { normalHeartbeat } = s.timers
  if (normalHeartbeat.remaining > normalHeartbeat.period) normalHeartbeat.start()
  learnCommit(s, header.commit)
  accept(s, from, header, bytes)
  walkCommits(s)
}

function accept(s: GroupState, from: ReplicaId, header: PrepareHeader, frame: Uint8Array): void {
  const { op } = header
  if (op <= s.commitMin) {
    ignored(s, 'old_prepare', from, op)
    ackCommitted(s, header)
    return
  }
  if (op <= s.chain) {
    acceptAgain(s, from, header)
    return
  }
  if (op > next(s.chain)) {
    s.gapSeen = maxOp(s.gapSeen, op)
    ignored(s, 'gap', from, op)
    armRepair(s, primaryOf(s, s.view))
    return
  }
  if (differ(s.chainChecksum, header.parent)) {
    fact(s, 'frame_ignored', { op, peer: from, detail: { reason: 'broken_parent' } })
    s.gapSeen = maxOp(s.gapSeen, op)
    armRepair(s, primaryOf(s, s.view))
    return
  }
  const held = heldAt(s, op)
  if (held !== undefined) {
    if (isThis(s, held, header)) {
      s.chain = op
      s.chainChecksum = header.checksum
      advanceProven(s)
      s.sequencer = maxOp(s.sequencer, s.proven)
      settleUnproven(s)
      acceptAgain(s, from, header)
      return
    }
    truncate(s, op)
    settleUnproven(s)
  }
  if (s.inFlight.size >= APPENDS_IN_FLIGHT_MAX) {
    ignored(s, 'appends_in_flight', from, op)
    return
  }
  s.chain = op
  s.chainChecksum = header.checksum
  s.inFlight.set(op, { role: 'backup', header, view: s.view })
  s.out.push({ kind: 'append', role: 'backup', header, frame })
}

/** A prepare that is held already: its forward or its acknowledgement may have been lost, so both go out again, once it is stored. */
function acceptAgain(s: GroupState, from: ReplicaId, header: PrepareHeader): void {
  const stored = storedAt(s, header.op)
  if (stored === undefined) return
  if (!isThis(s, stored, header)) {
    fact(s, 'frame_ignored', { op: header.op, peer: from, detail: { reason: 'checksum_mismatch' } })
    return
  }
  forward(s, header.op)
  ackStored(s, header.op, header)
}

/** Passes a stored prepare on along the chain: to the next replica, up to but not including the primary. */
function forward(s: GroupState, op: Op): void {
  const frame = s.journal.frame(op)
  if (frame === undefined) return
  const target = nextInChain(s)
  if (target !== undefined) sendScoped(s, target, restampView(frame, s.view))
}

/** The next replica on the way round to the primary that is worth sending to; undefined at the end of the chain. */
function nextInChain(s: GroupState): ReplicaId | undefined {
  const { replica, replicaCount: count } = s.config
  const primary = primaryOf(s, s.view)
  let fallback: ReplicaId | undefined
  for (let step = 1; step < count; step++) {
    const candidate = ReplicaId((replica + step) % count)
    if (candidate === primary) break
    fallback ??= candidate
    if (s.config.linkUp?.(candidate) !== false && !setHas(s.silent, candidate)) return candidate
  }
  return fallback
}

/** Sends each stored prepare that lacks an acknowledgement to those whose acknowledgement is missing (§4). Nothing missing: false. */
export function retransmit(s: GroupState): boolean {
  let sent = false
  for (const entry of s.pipeline.all()) {
    if (entry.quorum || entry.header.op <= s.commitMax) continue
    const frame = s.journal.frame(entry.header.op)
    if (frame === undefined || s.inFlight.has(entry.header.op)) continue
    const stamped = restampView(frame, s.view)
    for (let peer = 0; peer < s.config.replicaCount; peer++) {
      const to = ReplicaId(peer)
      if (to === s.config.replica || setHas(entry.acks, to)) continue
      s.silent |= 1 << peer
      sendScoped(s, to, stamped)
      sent = true
    }
    if (s.flow) flow(s, 'prepare_retransmitted', { op: entry.header.op })
  }
  return sent
}

export function onAppended(s: GroupState, header: PrepareHeader): void {
  const { op } = header
  const underway = s.inFlight.get(op)
  // Forgotten by a truncation, or another entry has taken its place.
  if (underway === undefined || underway.header.checksum !== header.checksum) return
  s.inFlight.delete(op)
  if (storedAt(s, op) === undefined) {
    onAppendFailed(s, op, header.checksum, underway)
    return
  }
  if (s.status !== 'normal') {
    // An append of a view that is over, or a repair of the candidate: the head does not move, the log may grow.
    advanceProven(s)
    if (s.parked !== undefined) advanceParked(s)
    return
  }
  if (underway.header.timestamp > s.lastTimestamp) s.lastTimestamp = Micros(underway.header.timestamp)
  const before = s.proven
  advanceProven(s)
  if (isActingPrimary(s)) {
    for (let at = next(before); at <= s.proven; at = next(at)) forward(s, at)
    selfAck(s)
    unwindFailed(s)
  } else {
    s.sequencer = maxOp(s.sequencer, s.proven)
    settleUnproven(s)
    for (let at = next(before); at <= s.proven; at = next(at)) {
      if (underway.role === 'backup') forward(s, at)
      ackStored(s, at)
    }
    continueRepair(s)
  }
  walkCommits(s)
}

/** The journal does not hold the op (§3.4). A backup has nothing to undo; a primary may only take back its very last op. */
export function onAppendFailed(
  s: GroupState,
  op: Op,
  checksum: PrepareHeader['checksum'],
  underway = s.inFlight.get(op),
): void {
  if (underway === undefined || underway.header.checksum !== checksum) return
  s.inFlight.delete(op)
  const entry = s.pipeline.get(op)
  const ours = entry !== undefined && entry.header.checksum === checksum
  if (underway.role === 'primary') {
    if (ours && isActingPrimary(s) && underway.view === s.view) {
      entry.failed = true
      unwindFailed(s)
    } else {
      unreconcilable(s, op, 'its append failed after the view had moved on')
    }
    return
  }
  if (op <= s.chain) {
    s.chain = s.proven
    const parent = op === next(s.chain) ? underway.header.parent : heldAt(s, s.chain)?.checksum
    s.chainChecksum = parent ?? Checksum(0n)
  }
  if (s.parked !== undefined) advanceParked(s)
}

/**
 * Takes back prepares whose append failed, from the tail. Siblings that were minted behind one that failed may still be on
 * their way: their outcome is awaited. One that did land behind a failed one cannot be unwound.
 */
function unwindFailed(s: GroupState): void {
  for (let tail = s.pipeline.tail; tail?.failed === true && s.sequencer === tail.header.op; tail = s.pipeline.tail) {
    s.pipeline.popTail()
    s.sequencer = (tail.header.op - 1n) as Op
    s.chain = s.sequencer
    s.chainChecksum = tail.header.parent
    if (tail.token === undefined) continue
    // A log on a disk may have kept some of it; a journal in memory that refused it has nothing.
    if (s.config.plane === 'partition') s.out.push({ kind: 'refuse', token: tail.token, reason: 'append_failed' })
    else s.out.push({ kind: 'cancel', tokens: [tail.token] })
  }
  syncPrepareTimer(s)
  let failedBelow = false
  for (const entry of s.pipeline.all()) {
    if (entry.failed) failedBelow = true
    else if (failedBelow && !s.inFlight.has(entry.header.op)) {
      unreconcilable(s, entry.header.op, 'it was journaled behind an op whose append failed')
      return
    }
  }
}

function unreconcilable(s: GroupState, op: Op, message: string): void {
  s.out.push({ kind: 'unreconcilable', op, message: `op ${op}: ${message}` })
}
