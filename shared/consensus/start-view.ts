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
import { fact, type GroupState, ignored, isTransferring, type KnownLog, maxOp, minOp, primaryOf } from './state.ts'
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
  const { incarnation } = s.config
  if (from === s.config.replica) return 'own_frame'
  if (from !== primaryOf(s, header.view)) return 'not_primary'
  if (header.view < s.view) return 'older_view'
  const provablyOld =
    s.status === 'recovering' &&
    incarnation !== 0n &&
    header.incarnation !== 0n &&
    header.incarnation !== incarnation &&
    header.view <= s.view &&
    header.op < s.sequencer
  if (provablyOld) return 'former_life'
  if (header.view === s.logView && header.op < s.commitMin) return 'behind_commit'
  return undefined
}

function adopt(s: GroupState, from: ReplicaId, header: StartView, body: Uint8Array): void {
  const wasView = s.view
  resetVotes(s)
  s.pipeline.clear()
  s.probeAttempts = 0
  s.cannotLead.fill(undefined)
  s.view = header.view
  s.status = 'normal'
  s.ceded = false
  s.amnesiac = false
  s.repair = undefined
  s.gapSeen = Op(0n)
  s.silent = 0
  s.selfAckDue = false
  s.heartbeatTimestamp = 0n
  learnCommit(s, header.commit)
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
    s.transferStage = 'awaiting_target'
    fact(s, 'transfer_needed', { op: header.op, peer: from, detail: { reason: 'view_behind_commit' } })
    s.out.push({ kind: 'needTransfer', peer: from })
    return
  }
  takeOrigin(s, header)
  const standing = s.origin.known && s.commitMin === 0n ? s.journal.standing?.(s.origin, header.op) : undefined
  if (standing === 'behind' || standing === 'diverged') {
    s.transferStage = 'awaiting_target'
    fact(s, 'transfer_needed', { op: header.op, peer: from, detail: { reason: standing } })
  }
  if (s.unprovenTo === 0n) joinLog(s)
  else s.sequencer = maxOp(highestHeld(s), s.lostTo)
  if (isTransferring(s)) {
    s.out.push({ kind: 'needTransfer', peer: from })
    return
  }
  walkCommits(s)
  if (s.commitMax > s.chain || s.unprovenTo > 0n) armRepair(s, from)
}

function takeOrigin(s: GroupState, { originKnown, logStart, firstBase, jumpBase }: StartView): void {
  if (s.config.plane !== 'partition') return
  s.origin = originKnown !== 0 ? { known: true, logStart, firstBase, jumpBase } : { ...s.origin, jumpBase }
  if (jumpBase > 0n) s.out.push({ kind: 'jump', base: jumpBase })
}

/** The log of this replica is the log of the view now: log_view and head follow, and acknowledgements may begin. */
export function joinLog(s: GroupState): void {
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
