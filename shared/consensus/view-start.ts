/**
 * The candidate's side of a new view: decide the merge, hold the whole log, start (spec consensus.md §5.4, §5.5).
 *
 * Between the decision and the start nothing is sent, and neither log_view nor the head moves: a merged head that is not
 * installed must not become canonical. The candidate starts when it holds every op from its last applied one to the head;
 * the specification asks for those from the commit on, but a hole below would leave a primary that can never serve
 * (known-faults G30, G33; docs/decisions/020).
 */
import { Checksum, Op, View } from '../bytes/units.ts'
import { selfAck } from './acks.ts'
import { learnCommit, syncPrepareTimer, walkCommits } from './commit.ts'
import { startViewFrame } from './frames-out.ts'
import { broadcastScoped } from './gate.ts'
import { linkLog, storedAt } from './log.ts'
import { mergeVotes } from './merge.ts'
import { armCandidateRepair } from './repair.ts'
import { setOf } from './replica-set.ts'
import { suffixHeaders } from './start-view.ts'
import { fact, type GroupState, isPrimaryByView, maxOp, minOp, next, primaryOf, type StoredDvc } from './state.ts'
import { enterViewChange } from './view-change.ts'

/** Tries to decide, on every new vote of the candidate's view until it has. */
export function tryMerge(s: GroupState): void {
  if (s.status !== 'view_change' || !isPrimaryByView(s) || s.dvcDecided) return
  const votes = s.dvcs.filter(vote => vote !== undefined)
  if (votes.length < s.quorums.viewChange || s.dvcs[s.config.replica] === undefined) return
  if (s.amnesiac && !mayDecideFromDisk(s, votes)) return
  const outcome = mergeVotes(votes, s.config.replicaCount, s.quorums)
  if (outcome.kind !== 'ready') {
    if (outcome.kind === 'awaiting_quorum') return
    const reason = outcome.kind === 'deadlocked' ? outcome.reason : 'another vote may decide it'
    fact(s, 'merge_undecided', { op: outcome.op, detail: { outcome: outcome.kind, reason } })
    return
  }
  const { opHead, commitMax } = outcome
  if (opHead - commitMax > BigInt(s.config.prepareDepth)) {
    const detail = { outcome: 'refused', reason: 'the uncommitted suffix is deeper than the pipeline here' }
    fact(s, 'merge_undecided', { op: opHead, detail })
    return
  }
  s.dvcDecided = true
  learnCommit(s, commitMax)
  decideOrigin(s, votes, opHead)
  s.pipeline.clear()
  const sources = [...votes].sort(
    (a, b) => b.logView - a.logView || Number(b.commit - a.commit) || a.replica - b.replica,
  )
  s.parked = {
    head: opHead,
    headers: outcome.headers,
    commitMax,
    committedElsewhere: outcome.committedElsewhere,
    sources,
  }
  fact(s, 'merge_parked', { op: opHead, detail: { commit: commitMax.toString(), votes: votes.length } })
  linkLog(s, s.parked)
  advanceParked(s)
}

/**
 * Votes of replicas whose journal is gone cannot say which offsets were confirmed. What they reserved can: every confirmed
 * offset lies below the reservation of each replica that acknowledged it, and any two quorums share one. So the first batch
 * of this view is minted above the highest reservation heard, unless the leader's own bytes end exactly there (design.md §3).
 */
function decideOrigin(s: GroupState, votes: readonly StoredDvc[], opHead: Op): void {
  if (s.config.plane !== 'partition' || !votes.some(vote => vote.forgetful)) return
  const { heldFrontier } = s.dvcs[s.config.replica]!
  let base = 0n
  for (const { reservedFrontier } of votes) if (reservedFrontier > base) base = reservedFrontier
  const jumpBase = base > heldFrontier ? base : 0n
  s.origin =
    opHead === 0n ? { known: true, logStart: heldFrontier, firstBase: jumpBase, jumpBase } : { ...s.origin, jumpBase }
  // Ops that were committed and that nobody remembers are lost; waiting for them would be for ever.
  if (s.commitMax > opHead) s.commitMax = maxOp(opHead, s.commitMin)
  fact(s, 'jump_announced', {
    op: opHead,
    detail: {
      held: heldFrontier.toString(),
      base: jumpBase.toString(),
      ...(jumpBase > 0n && { first: heldFrontier.toString(), last: (jumpBase - 1n).toString() }),
    },
  })
}

/**
 * After a restart of a majority the votes of a partition cannot say what was acknowledged: journals are gone. So an
 * amnesiac candidate waits for every replica, up to one status timeout, and leaves the lead to a longer one (design.md §3).
 */
function mayDecideFromDisk(s: GroupState, votes: readonly StoredDvc[]): boolean {
  if (votes.length < s.config.replicaCount && !s.waitedForAll) return false
  const own = s.dvcs[s.config.replica]!
  // Who remembers ops of this log knows how it began, and this replica does not.
  const remembers = votes.filter(vote => !vote.forgetful && vote.op > 0n).sort((a, b) => Number(b.op - a.op))[0]
  if (remembers !== undefined) return leaveLeadTo(s, remembers)
  let longest = own
  for (const vote of votes) if (vote.heldFrontier > longest.heldFrontier) longest = vote
  return longest === own || leaveLeadTo(s, longest)
}

function leaveLeadTo(s: GroupState, { replica }: StoredDvc): false {
  let view = View(s.view + 1)
  while (primaryOf(s, view) !== replica) view = View(view + 1)
  enterViewChange(s, view, 'longest_replica_leads')
  return false
}

/** A status timeout during the wait for all votes ends the wait, not the view. True when it did. */
export function endWaitForAll(s: GroupState): boolean {
  const votes = s.dvcs.filter(vote => vote !== undefined).length
  if (!s.amnesiac || s.waitedForAll || !isPrimaryByView(s) || votes < s.quorums.viewChange) return false
  s.waitedForAll = true
  s.timers.viewChangeStatus.start()
  tryMerge(s)
  return true
}

/** Starts the parked view as soon as all of its log is here; asks for what is missing until then. */
export function advanceParked(s: GroupState): void {
  const { parked } = s
  if (parked === undefined || s.status !== 'view_change') return
  if (s.proven >= parked.head && s.unprovenTo === 0n) startParked(s)
  else if (s.repair === undefined) armCandidateRepair(s)
}

function startParked(s: GroupState): void {
  const parked = s.parked!
  s.parked = undefined
  s.dvcs.fill(undefined)
  s.repair = undefined
  s.status = 'normal'
  s.ceded = false
  s.amnesiac = false
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
  // Of a log that begins here this replica holds everything, whatever its segments end with.
  if (parked.head === 0n) s.mustConnect = false
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
