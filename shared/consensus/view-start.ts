/**
 * The candidate's side of a new view: decide the merge, hold the whole log, start (spec consensus.md §5.4, §5.5).
 *
 * Between the decision and the start nothing is sent, and neither log_view nor the head moves: a merged head that is not
 * installed must not become canonical. The candidate starts when it holds every op from its last applied one to the head;
 * the specification asks for those from the commit on, but a hole below would leave a primary that can never serve
 * (known-faults G30, G33; docs/decisions/020).
 */
import { Checksum, Op } from '../bytes/units.ts'
import { selfAck } from './acks.ts'
import { joinsDisk, learnCommit, syncPrepareTimer, walkCommits } from './commit.ts'
import { startViewFrame } from './frames-out.ts'
import { broadcastScoped } from './gate.ts'
import { linkLog, storedAt } from './log.ts'
import { takeOver, votesOfOneLog } from './memory-loss.ts'
import { mergeVotes } from './merge.ts'
import { PREPARE_QUEUE_CEILING } from './pipeline.ts'
import { armCandidateRepair } from './repair.ts'
import { setOf } from './replica-set.ts'
import { startOver, suffixHeaders } from './start-view.ts'
import { fact, type GroupState, isForgetful, isInstalling, isPrimaryByView, minOp, next } from './state.ts'

/** Tries to decide, on every new vote of the candidate's view until it has. */
export function tryMerge(s: GroupState): void {
  if (s.status !== 'view_change' || !isPrimaryByView(s) || s.dvcDecided || isInstalling(s)) return
  const votes = s.dvcs.filter(vote => vote !== undefined)
  if (votes.length < s.quorums.viewChange || s.dvcs[s.config.replica] === undefined) return
  const remembering = votes.filter(vote => !vote.forgetful)
  if (isForgetful(s) || remembering.length < s.quorums.viewChange) {
    takeOver(s, votes, remembering)
    return
  }
  const comparable = votesOfOneLog(s, remembering)
  if (comparable === undefined) return
  const { replicaCount, rules, prepareDepth } = s.config
  const nack = rules.fullNackQuorum ? s.quorums.nack : s.quorums.nack - 1
  const depthMax = rules.commitBoundIsShared ? PREPARE_QUEUE_CEILING : prepareDepth
  const outcome = mergeVotes(comparable, replicaCount, { ...s.quorums, nack }, depthMax, rules)
  if (outcome.kind !== 'ready') {
    if (outcome.kind === 'awaiting_quorum') return
    const reason = outcome.kind === 'deadlocked' ? outcome.reason : 'another vote may decide it'
    fact(s, 'merge_undecided', { op: outcome.op, detail: { outcome: outcome.kind, reason } })
    return
  }
  const { opHead, commitMax } = outcome
  if (opHead - commitMax > BigInt(prepareDepth)) {
    const detail = { outcome: 'refused', reason: 'the uncommitted suffix is deeper than the pipeline here' }
    fact(s, 'merge_undecided', { op: opHead, detail })
    return
  }
  s.dvcDecided = true
  if (!rules.logViewRisesWhenHeld) s.logView = s.view
  learnCommit(s, commitMax)
  s.pipeline.clear()
  const sources = [...comparable].sort(
    (a, b) => b.logView - a.logView || Number(b.commit - a.commit) || a.replica - b.replica,
  )
  s.parked = {
    head: opHead,
    headers: outcome.headers,
    commitMax,
    committedElsewhere: outcome.committedElsewhere,
    sources,
  }
  fact(s, 'merge_parked', { op: opHead, detail: { commit: commitMax.toString(), votes: remembering.length } })
  linkLog(s, s.parked)
  advanceParked(s)
}

/** Starts the parked view as soon as all of its log is here; asks for what is missing until then. */
export function advanceParked(s: GroupState): void {
  const { parked } = s
  // While a transfer is being installed nothing says what the disk holds.
  if (parked === undefined || s.status !== 'view_change' || isInstalling(s)) return
  if (s.proven >= parked.head && s.unprovenTo === 0n) startParked(s)
  else if (s.repair === undefined) armCandidateRepair(s)
}

function startParked(s: GroupState): void {
  const parked = s.parked!
  if (s.mustConnect && parked.head > 0n && joinsDisk(s, true) !== 'joins') {
    // It holds the log, and on its disk something that is no part of it: as primary it could not set that aside.
    startOver(s, s.config.replica, parked.head)
    return
  }
  s.parked = undefined
  s.dvcs.fill(undefined)
  s.repair = undefined
  // It has the whole log, and on its disk the beginning of it.
  s.mustConnect = false
  // A transfer that was under way came from a leader of an older view; this replica has the whole log without it.
  s.transferStage = 'idle'
  s.status = 'normal'
  s.ceded = false
  s.forgotTo = undefined
  s.lostTo = Op(0n)
  s.gapSeen = Op(0n)
  s.silent = 0
  s.heartbeatTimestamp = 0n
  s.logView = s.view
  s.sequencer = parked.head
  s.known = parked
  s.knownView = s.view
  s.recoveryBarrier = minOp(s.recoveryBarrier, parked.head)
  const head = parked.headers[0]
  if (head !== undefined) {
    s.chainChecksum = head.checksum
    if (head.timestamp > s.lastTimestamp) s.lastTimestamp = head.timestamp
  }
  const { timers } = s
  timers.viewChangeStatus.stop()
  timers.startViewChangeMessage.stop()
  timers.doViewChangeMessage.stop()
  timers.requestStartView.stop()
  timers.normalHeartbeat.stop()
  timers.commitMessage.start()
  announceJump(s)
  fact(s, 'view_started', { op: parked.head, detail: { view: s.view, commit: s.commitMax.toString() } })
  rebuildPipeline(s)
  broadcastScoped(s, startViewFrame(s, parked.head, suffixHeaders(s), 0n))
  walkCommits(s)
  selfAck(s)
}

/** The host must know before the first batch of the view. */
function announceJump(s: GroupState): void {
  if (s.origin.jumpBase > 0n) s.out.push({ kind: 'jump', base: s.origin.jumpBase })
}

/** Ops above the commit go back into the pipeline, with the own vote: they are journaled. */
export function rebuildPipeline(s: GroupState): void {
  s.pipeline.clear()
  let parent = Checksum(0n)
  for (let op = next(s.commitMax); op <= s.sequencer; op = next(op)) {
    const header = storedAt(s, op)
    if (header === undefined || s.pipeline.isFull) break
    if (s.pipeline.size > 0 && header.parent !== parent) break
    s.pipeline.push({ ...header, view: s.view }, undefined, setOf(s.config.replica))
    parent = header.checksum
  }
  for (const entry of s.pipeline.all()) if (s.quorums.replication === 1) entry.quorum = true
  syncPrepareTimer(s)
}
