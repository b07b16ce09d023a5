/**
 * Leaving a view: StartViewChange and DoViewChange (spec consensus.md §5.1–5.3). What comes of the votes is decided in
 * merge.ts and installed in view-start.ts.
 */
import { Op, type ReplicaId, View as toView, type View } from '../bytes/units.ts'
import type { FrameOf } from '../protocol/frames.ts'
import { doViewChangeFrame, requestStartViewFrame, startViewChangeFrame } from './frames-out.ts'
import { broadcastFree, broadcastScoped, dropHeld } from './gate.ts'
import { named, standOnProven, storedAt } from './log.ts'
import { beginViewProbe, noteCannotLead } from './probe.ts'
import { setAdd, setDelete, setOf, setSize } from './replica-set.ts'
import { cancelWaiting, refuseQueued } from './requests.ts'
import {
  fact,
  type GroupState,
  ignored,
  isForgetful,
  isPrimaryByView,
  maxOp,
  minOp,
  originOf,
  primaryOf,
  type StoredDvc,
} from './state.ts'
import { buildSuffix, type DvcSuffix, decodeDvcSuffix } from './suffix.ts'
import { tryMerge } from './view-start.ts'

export type ViewChangeReason =
  | 'normal_heartbeat_timeout'
  | 'primary_probed_view'
  | 'view_probe_unanswered'
  | 'view_change_status_timeout'
  | 'received_start_view_change'
  | 'received_do_view_change'
  | 'longest_replica_leads'

export const noticeNewerView = (s: GroupState, view: View): void => {
  if (view > s.observedNewerView) s.observedNewerView = view
}

export const startElection = (s: GroupState, reason: ViewChangeReason): void =>
  enterViewChange(s, toView(s.view + 1), reason)

export function enterViewChange(s: GroupState, view: View, reason: ViewChangeReason): void {
  const oldView = s.view
  s.view = view
  s.status = 'view_change'
  resetVotes(s)
  s.repair = undefined
  s.gapSeen = Op(0n)
  // Appends in flight may still land; they are part of no chain now, and linkLog judges them when a view starts.
  standOnProven(s)
  s.svcFrom = setOf(s.config.replica)
  const { timers } = s
  timers.normalHeartbeat.stop()
  timers.prepare.stop()
  timers.commitMessage.stop()
  timers.doViewChangeMessage.stop()
  timers.startViewChangeMessage.start()
  timers.viewChangeStatus.start()
  timers.requestStartView.start()
  fact(s, 'view_change_started', { detail: { oldView, newView: view, reason } })
  broadcastScoped(s, startViewChangeFrame(s))
}

/** Everything that belongs to one attempt at a view. The pipeline survives it; the clients' waiting does not. */
export function resetVotes(s: GroupState): void {
  s.svcFrom = 0
  s.dvcs.fill(undefined)
  s.dvcDecided = false
  s.sentOwnDvc = false
  s.parked = undefined
  s.waitedForAll = false
  s.heardAt.length = 0
  dropHeld(s)
  cancelWaiting(s)
  refuseQueued(s)
}

/** A replica that has not found its view yet casts no vote (§5.2): it may have cast one in this view in an earlier life. */
const isSilent = (s: GroupState): boolean => s.status === 'recovering' && s.config.rules.recoveringIsSilent

/** A newer view, or one that a replica which may speak while it recovers joins from where it stands. */
const joins = (s: GroupState, view: View): boolean => view > s.view || s.status === 'recovering'

export function onStartViewChange(s: GroupState, from: ReplicaId, { header }: FrameOf<'StartViewChange'>): void {
  noteCannotLead(s, from)
  if (isSilent(s)) {
    ignored(s, 'recovering', from)
    return
  }
  if (header.view < s.view) {
    ignored(s, 'older_view', from)
    return
  }
  fact(s, 'start_view_change_received', { peer: from, detail: { view: header.view } })
  if (joins(s, header.view)) enterViewChange(s, header.view, 'received_start_view_change')
  if (s.status !== 'view_change') {
    ignored(s, 'view_has_started', from)
    return
  }
  s.svcFrom = setAdd(s.svcFrom, from)
  s.heardAt[from] ??= s.timers.viewChangeStatus.remaining
  if (s.sentOwnDvc || setSize(setDelete(s.svcFrom, s.config.replica)) < s.quorums.faults) return
  castOwnVote(s)
  tryMerge(s)
}

/**
 * Sends the own DoViewChange to everybody (a backup that sees one of a newer view joins at once), and records it as
 * candidate. A replica whose journal died with its last life denies what it may have acknowledged, so it lets the others
 * decide first: its vote leaves when they have not within one retransmission period.
 */
function castOwnVote(s: GroupState): void {
  s.sentOwnDvc = true
  s.timers.doViewChangeMessage.start()
  if (!isForgetful(s)) sendOwnVote(s)
}

/**
 * In the reference a suffix that was built once goes out empty when the log has moved since. It may: it denies nothing, and
 * the first vote stands. Here each vote is built anew; only without one of these rules one goes `bare`: when it is repeated,
 * or when none of the views since that of its log has come to a start.
 */
function sendOwnVote(s: GroupState, bare = false): void {
  const stale = s.view > s.logView + 1 && !s.config.rules.emptySuffixDeniesNothing
  const vote = bare || stale ? { ...ownVote(s), suffix: [] } : ownVote(s)
  if (isPrimaryByView(s)) record(s, vote)
  broadcastScoped(s, doViewChangeFrame(s, vote))
}

/** The first vote of a replica stands: a later one may retract a denial on which the candidate has relied (§5.3). */
function record(s: GroupState, vote: StoredDvc): void {
  if (s.config.rules.firstVoteStands) s.dvcs[vote.replica] ??= vote
  else s.dvcs[vote.replica] = vote
}

/** A retransmitted vote is built from the present state; the first one that a candidate recorded counts. */
export function onVoteTimer(s: GroupState): void {
  const timer = s.timers.doViewChangeMessage
  if (s.status !== 'view_change' || !s.sentOwnDvc) {
    timer.stop()
    return
  }
  timer.reset()
  if (isPrimaryByView(s) && s.dvcDecided) return
  sendOwnVote(s, !s.config.rules.firstVoteStands)
  tryMerge(s)
}

function ownVote(s: GroupState): StoredDvc {
  // An op that may have been acknowledged and lost is named by the head, so that nobody takes its absence for a denial.
  const op = maxOp(s.sequencer, s.lostTo)
  const commit = minOp(s.commitMax, op)
  const frontier = s.journal.heldFrontier?.()
  return {
    replica: s.config.replica,
    logView: s.logView,
    op,
    commit,
    suffix: ownSuffix(s, op, commit),
    heldFrontier: frontier?.held ?? 0n,
    reservedFrontier: frontier?.reserved ?? 0n,
    committedFrontier: frontier?.committed ?? 0n,
    forgetful: isForgetful(s),
    origin: s.origin,
  }
}

/** What this candidate holds is something else now, and nothing was decided by what it said before; it alone has counted that. */
export function renewOwnVote(s: GroupState): void {
  const { replica } = s.config
  if (s.dvcs[replica] !== undefined && !s.dvcDecided) s.dvcs[replica] = ownVote(s)
}

const ownSuffix = (s: GroupState, op: Op, commit: Op): DvcSuffix =>
  buildSuffix(op, commit, {
    held: at => storedAt(s, at),
    announced: at => (s.known === undefined || s.knownView !== s.logView ? undefined : named(s.known, at)),
    lostTo: s.lostTo,
  })

export function onDoViewChange(s: GroupState, from: ReplicaId, { header, body }: FrameOf<'DoViewChange'>): void {
  noteCannotLead(s, from)
  if (isSilent(s)) {
    ignored(s, 'recovering', from)
    return
  }
  if (header.view < s.view) {
    ignored(s, 'older_view', from)
    return
  }
  const suffix = decodeDvcSuffix(s.config.hash, header, body)
  if (suffix === undefined) {
    fact(s, 'frame_ignored', { peer: from, detail: { reason: 'undecodable_suffix' } })
    return
  }
  if (joins(s, header.view)) enterViewChange(s, header.view, 'received_do_view_change')
  if (s.status !== 'view_change' || !isPrimaryByView(s)) return
  fact(s, 'do_view_change_received', {
    peer: from,
    op: header.op,
    detail: { view: header.view, logView: header.logView, commit: header.commit.toString() },
  })
  if (!s.sentOwnDvc) castOwnVote(s)
  record(s, {
    replica: from,
    logView: header.logView,
    op: header.op,
    commit: header.commit,
    suffix,
    heldFrontier: header.heldFrontier,
    reservedFrontier: header.reservedFrontier,
    committedFrontier: header.committedFrontier,
    forgetful: header.forgetful !== 0,
    origin: originOf(header),
    checksum: header.checksum,
  })
  tryMerge(s)
}

/** No decision within a status timeout: the next candidate's turn. */
export function onViewChangeStatusTimeout(s: GroupState): void {
  if (s.status !== 'view_change') {
    s.timers.viewChangeStatus.stop()
    return
  }
  enterViewChange(s, toView(s.view + 1), 'view_change_status_timeout')
}

/** A heartbeat period without a heartbeat. Traffic of a newer view means: ask, do not elect. */
export function onHeartbeatTimeout(s: GroupState): void {
  if (s.status !== 'normal' || (isPrimaryByView(s) && !s.ceded)) {
    s.timers.normalHeartbeat.stop()
    return
  }
  fact(s, 'heartbeat_missed', { peer: primaryOf(s, s.view), detail: { view: s.view } })
  if (s.observedNewerView > s.view) beginViewProbe(s)
  else startElection(s, 'normal_heartbeat_timeout')
}

/** While waiting for a view, a backup also asks whether it has started. */
export const probeAgain = (s: GroupState): void => broadcastFree(s, requestStartViewFrame(s))
