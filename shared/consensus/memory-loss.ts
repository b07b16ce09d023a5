/**
 * A view change in which too few remember (design.md §3, What an acknowledgement survives; docs/decisions/001). The journal
 * of a partition dies with its process, so what a restarted replica denies it may have acknowledged. As long as those who
 * remember are a quorum of a view change, they decide alone. Else what was confirmed may be nowhere but on disks: the
 * candidate waits for everybody, up to half a status timeout, and the replica with the most of it leads, with its own log.
 */
import { Op, View } from '../bytes/units.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { joinsDisk } from './commit.ts'
import { linkLog, storedAt } from './log.ts'
import { startOver } from './start-view.ts'
import { fact, type GroupState, isPrimaryByView, isSameLog, maxOp, minOp, primaryOf, type StoredDvc } from './state.ts'
import { enterViewChange } from './view-change.ts'
import { advanceParked, tryMerge } from './view-start.ts'

const NONE = Op(0n)

/** The candidate cannot decide with the plain merge: it waits, leaves the lead, or leads with what it holds. */
export function takeOver(s: GroupState, votes: readonly StoredDvc[], remembering: readonly StoredDvc[]): void {
  const own = s.dvcs[s.config.replica]!
  if (remembering.length >= s.quorums.viewChange) {
    // They can decide; this one would first have to fetch what they hold, from the beginning of the log on.
    leaveLeadTo(
      s,
      best(remembering, vote => [BigInt(vote.logView), vote.op]),
    )
    return
  }
  if (votes.length < s.config.replicaCount && (!s.waitedForAll || expectsVote(s))) return
  // Its own vote first: the lead does not move between equals.
  const heir = heirOf([own, ...votes.filter(vote => vote !== own)])
  if (heir !== own) leaveLeadTo(s, heir)
  else lead(s, votes)
}

/**
 * Who leads. What is applied or on a disk was committed, so all of that is the beginning of one log. Of the newest log view a
 * replica holds nothing else either: the longest of them leads with all it holds, when that reaches everything committed.
 * Where none does, the replica with the longest committed part leads, with that part only: what it holds beyond may be
 * of a view that is over, at offsets that a newer one has confirmed for other messages.
 */
export function heirOf(votes: readonly StoredDvc[]): StoredDvc {
  const newest = newestOf(votes)
  const committed = highest(votes, vote => vote.committedFrontier)
  const whole = votes.filter(vote => vote.logView === newest && vote.heldFrontier >= committed)
  const rest = (vote: StoredDvc) => [vote.forgetful ? 0n : 1n, BigInt(vote.logView), vote.op]
  if (whole.length > 0) return best(whole, vote => [vote.heldFrontier, ...rest(vote)])
  return best(votes, vote => [vote.committedFrontier, ...rest(vote)])
}

const newestOf = (votes: readonly StoredDvc[]): number => Math.max(...votes.map(vote => vote.logView))

function highest(votes: readonly StoredDvc[], of: (vote: StoredDvc) => bigint): bigint {
  let found = 0n
  for (const vote of votes) if (of(vote) > found) found = of(vote)
  return found
}

/** The highest by these values, the first one counting most; the first of equals. */
function best(votes: readonly StoredDvc[], valuesOf: (vote: StoredDvc) => readonly bigint[]): StoredDvc {
  return votes.reduce((leader, vote) => {
    const [ours, theirs] = [valuesOf(leader), valuesOf(vote)]
    const at = ours.findIndex((value, index) => value !== theirs[index])
    return at >= 0 && theirs[at]! > ours[at]! ? vote : leader
  })
}

/**
 * Of votes that are to be merged: the newest log among them may have begun without this replica, behind what only others hold
 * on their disks, or have jumped since it last heard of it. Who votes with the log that went before it has prepared nothing of
 * it, and its ops cannot be compared. Undefined: this replica cannot lead the newest log, and has left the lead.
 */
export function votesOfOneLog(s: GroupState, votes: readonly StoredDvc[]): readonly StoredDvc[] | undefined {
  if (s.config.plane !== 'partition') return votes
  const newest = newestOf(votes)
  const heard = votes.filter(vote => vote.logView === newest)
  const began = heard.find(vote => vote.origin.known)?.origin
  if (began !== undefined && !isSameLog(s.origin, began)) {
    if (s.commitMin > 0n) {
      startOver(s, s.config.replica, s.commitMin)
      return undefined
    }
    const head = highestOp(heard)
    if ((s.journal.standing?.(began, head) ?? 'joins') !== 'joins') {
      s.mustConnect = true
      leaveLeadTo(
        s,
        best(heard, vote => [vote.op]),
      )
      return undefined
    }
    s.origin = began
    s.originView = s.view
  }
  const jumpBase = highest(heard, vote => vote.origin.jumpBase)
  if (jumpBase > s.origin.jumpBase) s.origin = { ...s.origin, jumpBase }
  if (began === undefined) return votes
  return votes.map(vote => (isSameLog(vote.origin, began) ? vote : { ...vote, op: NONE, commit: NONE, suffix: [] }))
}

const highestOp = (votes: readonly StoredDvc[]): Op => votes.reduce((op, vote) => maxOp(op, vote.op), Op(0n))

function leaveLeadTo(s: GroupState, { replica }: StoredDvc): void {
  let view = View(s.view + 1)
  while (primaryOf(s, view) !== replica) view = View(view + 1)
  enterViewChange(s, view, 'longest_replica_leads')
}

/**
 * Leads with the log that this replica holds; without one, a log begins behind its disk. What nobody remembers is lost, and
 * waiting for it would be for ever. Every confirmed offset lies below the reservation of each replica that acknowledged it,
 * and any two quorums share one: so the first batch of this view is minted at the highest reservation heard, unless the
 * leader's own bytes end exactly there.
 */
function lead(s: GroupState, votes: readonly StoredDvc[]): void {
  const own = s.dvcs[s.config.replica]!
  const whole = own.logView === newestOf(votes)
  // Of a log that does not come to the end of the disk nothing counts: the disk holds all of that, and more.
  const joins = !s.mustConnect || (s.proven > 0n && joinsDisk(s, false) === 'joins')
  if (!joins && s.commitMin > 0n) {
    // A floor says that ops are on the disk, and not where they end.
    startOver(s, s.config.replica, s.commitMin)
    return
  }
  const head = !joins ? Op(0n) : whole ? s.proven : s.commitMin
  const held = whole && joins ? own.heldFrontier : own.committedFrontier
  const base = highest(votes, vote => vote.reservedFrontier)
  const jumpBase = base > held ? base : 0n
  s.origin = head === 0n ? { known: true, logStart: held, firstBase: jumpBase, jumpBase } : { ...s.origin, jumpBase }
  s.commitMax = maxOp(minOp(s.commitMax, head), s.commitMin)
  fact(s, 'jump_announced', {
    op: head,
    detail: {
      held: held.toString(),
      base: jumpBase.toString(),
      ...(jumpBase > 0n && { first: held.toString(), last: (jumpBase - 1n).toString() }),
    },
  })
  s.dvcDecided = true
  s.pipeline.clear()
  const headers: PrepareHeader[] = []
  for (let op = head; op >= 1n && op >= s.commitMax; op = Op(op - 1n)) {
    const header = storedAt(s, op)
    if (header === undefined) break
    headers.push(header)
  }
  s.parked = { head, headers, commitMax: s.commitMax, committedElsewhere: [], sources: [] }
  fact(s, 'merge_parked', { op: head, detail: { commit: s.commitMax.toString(), votes: votes.length } })
  linkLog(s, s.parked)
  advanceParked(s)
}

/**
 * Whether a replica that was heard in this view has not voted yet, and is not overdue: who has waited alone for long must not
 * decide with the first one that comes back, while the disk of another, which is back too, has more.
 */
function expectsVote(s: GroupState): boolean {
  const { remaining, period } = s.timers.viewChangeStatus
  return s.heardAt.some(
    (at, replica) => at !== undefined && s.dvcs[replica] === undefined && (at - remaining) * 4 < period,
  )
}

/**
 * Once per tick of a view change: the wait for all votes ends after half a status timeout, so that this view can still start
 * before the others give it up; a quarter more for the vote of one that was heard.
 */
export function tickWaitForAll(s: GroupState): void {
  const { viewChangeStatus } = s.timers
  if (s.config.plane !== 'partition' || viewChangeStatus.remaining * 2 > viewChangeStatus.period) return
  if (s.dvcDecided || !isPrimaryByView(s) || s.dvcs[s.config.replica] === undefined) return
  const overdue = (at: number | undefined) =>
    at !== undefined && (at - viewChangeStatus.remaining) * 4 === viewChangeStatus.period
  if (s.waitedForAll && !s.heardAt.some(overdue)) return
  s.waitedForAll = true
  tryMerge(s)
}
