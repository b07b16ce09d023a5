/**
 * The backup's side of a new view: adopting a StartView (spec consensus.md §5.7).
 *
 * Deviations, with their reasons in docs/decisions/020: a StartView for a view that this replica has already joined moves
 * nothing but the commit point, since lowering the head would drop what it has acknowledged in that view; and log_view
 * rises only when every entry held is known to belong to the new log, since a relic below the announced headers must not
 * be presented as canonical.
 */
import { Op, type ReplicaId, type View } from '../bytes/units.ts'
import type { FrameOf } from '../protocol/frames.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { ackSuffix } from './acks.ts'
import { learnCommit, walkCommits } from './commit.ts'
import { highestHeld, linkLog, storedAt } from './log.ts'
import { armRepair } from './repair.ts'
import {
  awaitTransfer,
  FORGOT_ALL,
  fact,
  type GroupState,
  ignored,
  isForgetful,
  isSameLog,
  isTransferring,
  type KnownLog,
  lacksBeginning,
  maxOp,
  minOp,
  originOf,
  primaryOf,
} from './state.ts'
import { buildSuffix, decodeHeaders } from './suffix.ts'
import { resetVotes } from './view-change.ts'

type StartView = FrameOf<'StartView'>['header']

/** Headers that a primary announces with its view: from the head down to the commit, as far as it holds them. */
export function suffixHeaders(s: GroupState): PrepareHeader[] {
  const op = s.sequencer
  const entries = buildSuffix(op, minOp(s.commitMax, op), {
    held: at => storedAt(s, at),
    announced: () => undefined,
    lostTo: Op(0n),
  })
  const headers: PrepareHeader[] = []
  for (const { header } of entries) {
    if (header === undefined) break
    headers.push(header)
  }
  // A head that is still on its way to the journal cannot be announced; the receiver indexes from the head.
  return headers.length > 0 && headers[0]!.op === op ? headers : []
}

export function onStartView(s: GroupState, from: ReplicaId, { header, body }: FrameOf<'StartView'>): void {
  const reason = rejection(s, from, header)
  if (reason !== undefined) {
    ignored(s, reason, from, header.op)
    return
  }
  if (s.status === 'normal' && header.view === s.view) {
    learnCommit(s, header.commit)
    walkCommits(s)
    if (s.commitMax > s.chain) armRepair(s, from)
    return
  }
  adopt(s, from, header, body)
}

function rejection(s: GroupState, from: ReplicaId, header: StartView): string | undefined {
  const { incarnation, rules } = s.config
  if (from === s.config.replica) return 'own_frame'
  if (from !== primaryOf(s, header.view)) return 'not_primary'
  if (header.view < s.view) return 'older_view'
  const provablyOld =
    rules.nonceChecked &&
    s.status === 'recovering' &&
    incarnation !== 0n &&
    header.incarnation !== 0n &&
    header.incarnation !== incarnation &&
    header.view <= s.view &&
    header.op < s.sequencer
  if (provablyOld) return 'former_life'
  // Of the view whose log it holds its leader has since sent all of that: what was announced to everybody when it began, and
  // comes late, would cut what was acknowledged in it. Only an answer to a probe of this life may.
  const unasked = header.incarnation === 0n && header.view === s.logView
  if (unasked && s.status === 'recovering' && header.op < s.sequencer) return 'behind_head'
  if (header.view === s.logView && header.op < s.commitMin) return 'behind_commit'
  return undefined
}

/**
 * Whether a partition's log has begun anew without this replica, or went on without ops that it has applied: too few who
 * held them were left to decide (design.md §3). Ops are numbered per log, so nothing of the two can be compared any more.
 */
function isOfAnotherLog(s: GroupState, header: StartView): boolean {
  if (s.config.plane !== 'partition' || s.commitMin === 0n) return false
  return header.op < s.commitMin || !isSameLog(s.origin, originOf(header))
}

/** What was applied here is no part of the group's log: this replica goes on as one that has restarted. */
export function startOver(s: GroupState, from: ReplicaId, op: Op): void {
  resetVotes(s)
  s.pipeline.clear()
  s.status = 'recovering'
  s.probeAttempts = 0
  s.repair = undefined
  for (const timer of s.timerList) timer.stop()
  fact(s, 'log_left', { op, peer: from, detail: { applied: s.commitMin.toString() } })
  s.out.push({ kind: 'startOver' })
}

function adopt(s: GroupState, from: ReplicaId, header: StartView, body: Uint8Array): void {
  if (isOfAnotherLog(s, header)) {
    startOver(s, from, header.op)
    return
  }
  const wasView = s.view
  const wasForgetful = isForgetful(s)
  resetVotes(s)
  s.pipeline.clear()
  s.probeAttempts = 0
  s.cannotLead.fill(undefined)
  s.view = header.view
  s.status = 'normal'
  s.ceded = false
  // Denials count again once this replica holds what the log of this view held when it joined it.
  s.forgotTo = wasForgetful ? header.op : undefined
  s.repair = undefined
  s.gapSeen = Op(0n)
  s.silent = 0
  s.selfAckDue = false
  s.heartbeatTimestamp = 0n
  learnCommit(s, header.commit)
  // What was known to be committed and is not in this log is lost: an op of that number will be another one.
  if (s.config.plane === 'partition') s.commitMax = minOp(s.commitMax, header.op)
  s.announcedHead = header.op
  if (s.lostTo > header.op) s.lostTo = Op(0n)
  s.recoveryBarrier = minOp(s.recoveryBarrier, header.op)
  const log = announcedLog(s, header, body)
  s.known = log
  s.knownView = header.view
  linkLog(s, log)
  fact(s, 'view_adopted', {
    op: header.op,
    peer: from,
    detail: {
      oldView: wasView,
      view: header.view,
      commit: header.commit.toString(),
      unproven: s.unprovenTo.toString(),
    },
  })
  const { timers } = s
  timers.viewChangeStatus.stop()
  timers.startViewChangeMessage.stop()
  timers.doViewChangeMessage.stop()
  timers.requestStartView.stop()
  timers.prepare.stop()
  timers.commitMessage.stop()
  timers.normalHeartbeat.start()
  if (header.op < s.commitMin) {
    // This replica has applied more than the new log holds: nothing that it could repair.
    awaitTransfer(s)
    fact(s, 'transfer_needed', { op: header.op, peer: from, detail: { reason: 'view_behind_commit' } })
    s.out.push({ kind: 'needTransfer', peer: from })
    return
  }
  takeOrigin(s, header)
  judgeBeginning(s)
  followLog(s)
}

/**
 * Whether what this replica holds on its disk is the beginning of the log that it has adopted. If not, a transfer must bring
 * it, and until then the replica is no part of that log: it neither joins nor remembers. With a vote that counted, two of
 * them would elect without the one that has the beginning, and confirm other messages at its offsets.
 */
export function judgeBeginning(s: GroupState): void {
  const standing = s.origin.known && s.commitMin === 0n ? s.journal.standing?.(s.origin, s.announcedHead) : undefined
  if (standing !== 'behind' && standing !== 'diverged') return
  s.forgotTo = FORGOT_ALL
  s.mustConnect = true
  awaitTransfer(s)
  fact(s, 'transfer_needed', { op: s.announcedHead, peer: primaryOf(s, s.view), detail: { reason: standing } })
}

/** A backup goes on with the log of its view: joins it if it may, and asks for what is missing. */
export function followLog(s: GroupState): void {
  const primary = primaryOf(s, s.view)
  joinLog(s)
  if (isTransferring(s)) {
    s.out.push({ kind: 'needTransfer', peer: primary })
    return
  }
  walkCommits(s)
  if (s.commitMax > s.chain || s.unprovenTo > 0n) armRepair(s, primary)
}

function takeOrigin(s: GroupState, header: StartView): void {
  if (s.config.plane !== 'partition') return
  const announced = originOf(header)
  const { jumpBase } = announced
  if (!isSameLog(s.origin, announced)) s.originView = s.view
  s.origin = announced.known ? announced : { ...s.origin, jumpBase }
  if (jumpBase > 0n) s.out.push({ kind: 'jump', base: jumpBase })
}

/**
 * Whether ops that the StartView announced are still to come. That they exist is known in memory only: with log_view raised
 * already, this replica would come out of a restart with a shorter log that outvotes whoever holds them under an older one.
 * A partition group has its own remedy, since a replica that has restarted says in its vote what it may have forgotten.
 */
const lacksHead = (s: GroupState): boolean => s.config.plane === 'metadata' && s.proven < s.announcedHead

/**
 * The log of this replica is the log of the view now: log_view and head follow, and acknowledgements may begin. Not while
 * something held is unproven, or its beginning or its end is missing: then the head is what is held.
 */
export function joinLog(s: GroupState): void {
  if (s.unprovenTo > 0n || lacksBeginning(s) || lacksHead(s)) {
    s.sequencer = maxOp(highestHeld(s), s.lostTo)
    return
  }
  s.logView = s.view as View
  s.sequencer = maxOp(s.announcedHead, s.proven)
  if (s.proven >= s.lostTo) s.lostTo = Op(0n)
  if (!isTransferring(s)) ackSuffix(s)
}

function announcedLog(s: GroupState, header: StartView, body: Uint8Array): KnownLog {
  const headers: PrepareHeader[] = []
  for (const entry of decodeHeaders(s.config.hash, header.op, body) ?? []) {
    if (entry === undefined) break
    headers.push(entry)
  }
  return { head: header.op, headers }
}
