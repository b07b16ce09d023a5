/**
 * Acknowledgements (spec consensus.md §3.3). A PrepareOk claims, in the sender's view: I hold this very prepare and all
 * before it. A primary counts one vote per replica and op, its own included, and only once its own append has landed.
 */
import type { Op, ReplicaId } from '../bytes/units.ts'
import type { FrameOf } from '../protocol/frames.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { learnCommit, walkCommits } from './commit.ts'
import { prepareOkFrame } from './frames-out.ts'
import { isDurable, requestPersist, sendScoped } from './gate.ts'
import { isThis, storedAt } from './log.ts'
import type { PipelineEntry } from './pipeline.ts'
import { setAdd, setDelete, setHas, setSize } from './replica-set.ts'
import {
  flow,
  type GroupState,
  ignored,
  isActingPrimary,
  isPrimaryByView,
  isTransferring,
  minOp,
  next,
  primaryOf,
} from './state.ts'
import { noticeNewerView } from './view-change.ts'

const mayAck = (s: GroupState): boolean =>
  s.status === 'normal' &&
  !isTransferring(s) &&
  s.logView === s.view &&
  s.unprovenTo === 0n &&
  s.journal.mayAcknowledge()

/**
 * Acknowledges one stored op to the primary of this view, when everything that an acknowledgement claims holds. `prepare`:
 * the one that asks for it, if one does.
 */
export function ackStored(s: GroupState, op: Op, prepare?: PrepareHeader): void {
  if (isPrimaryByView(s)) return
  if (!mayAck(s) || op > s.proven || op > s.sequencer) return
  const stored = storedAt(s, op)
  if (stored === undefined || (prepare !== undefined && !isThis(s, stored, prepare))) return
  sendScoped(s, primaryOf(s, s.view), prepareOkFrame(s, prepare ?? stored))
}

/**
 * Answers a prepare that is applied here already. A primary elected by replicas that did not know the op as committed still
 * waits for it; with silence it would wait for ever. Where the entry is gone, the newest one says how far the commit is.
 */
export function ackCommitted(s: GroupState, prepare: PrepareHeader): void {
  const stored = storedAt(s, prepare.op)
  if (stored === undefined) ackStored(s, s.commitMin)
  else ackStored(s, prepare.op, prepare)
}

/** Acknowledges every stored op above the commit, after a view was adopted. */
export function ackSuffix(s: GroupState): void {
  const last = minOp(s.proven, s.sequencer)
  for (let op = next(s.commitMax); op <= last; op = next(op)) ackStored(s, op)
}

/** The primary's own votes, for what it has journaled. Withheld like any other until the pair is durable; due again later. */
export function selfAck(s: GroupState): void {
  s.selfAckDue = false
  if (!isActingPrimary(s) || s.pipeline.size === 0) return
  if (!isDurable(s) || !mayAck(s)) {
    s.selfAckDue = true
    requestPersist(s)
    return
  }
  let counted = false
  for (const entry of s.pipeline.all()) {
    if (entry.header.op > s.proven) break
    if (setHas(entry.acks, s.config.replica)) continue
    count(s, entry, s.config.replica)
    counted = true
  }
  if (counted) advanceCommit(s)
}

export function onPrepareOk(s: GroupState, from: ReplicaId, { header }: FrameOf<'PrepareOk'>): void {
  const { op } = header
  if (!isActingPrimary(s)) {
    ignored(s, isPrimaryByView(s) ? 'not_normal' : 'not_primary', from, op)
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
  if (isTransferring(s)) {
    ignored(s, 'state_transfer', from, op)
    return
  }
  s.silent = setDelete(s.silent, from)
  s.unheardTicks = 0
  if (header.commit > s.commitMax && header.commit <= s.sequencer) {
    learnCommit(s, header.commit)
    walkCommits(s)
  }
  const entry = s.pipeline.get(op)
  if (entry === undefined) {
    ignored(s, 'unknown_prepare', from, op)
    return
  }
  if (entry.header.checksum !== header.prepareChecksum) {
    ignored(s, 'checksum_mismatch', from, op)
    return
  }
  if (setHas(entry.acks, from)) {
    ignored(s, 'duplicate_ack', from, op)
    return
  }
  count(s, entry, from)
  advanceCommit(s)
}

function count(s: GroupState, entry: PipelineEntry, voter: ReplicaId): void {
  entry.acks = setAdd(entry.acks, voter)
  if (!entry.quorum && setSize(entry.acks) >= s.quorums.replication) entry.quorum = true
  if (s.flow) {
    flow(s, 'prepare_acked', {
      op: entry.header.op,
      peer: voter,
      detail: { acks: setSize(entry.acks), quorum: s.quorums.replication, reached: entry.quorum },
    })
  }
}

/** The commit point passes every op with a quorum, without a gap. */
export function advanceCommit(s: GroupState): void {
  let commit = s.commitMax
  while (s.pipeline.get(next(commit))?.quorum === true) commit = next(commit)
  if (commit === s.commitMax) return
  learnCommit(s, commit)
  // Progress clears the back-off that retransmissions have built up.
  if (s.sequencer > commit) s.timers.prepare.start()
  walkCommits(s)
}
