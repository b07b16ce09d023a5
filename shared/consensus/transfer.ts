/**
 * What a state transfer of the host does to the group (spec consensus.md §6.2, §6.6). The host fetches and installs; the
 * group stands still meanwhile: it adopts views and answers probes, but acknowledges, applies and repairs nothing.
 *
 * The specification cuts everything above the snapshot's op before the install. Here it stays, unproven: this replica may
 * have acknowledged it, and a denial of it could decide a merge against a committed op. Repair confirms or replaces it. What
 * is proven to belong to the log of the view stays proven.
 */
import { Micros, Op, type View } from '../bytes/units.ts'
import { learnCommit } from './commit.ts'
import type { GroupEvent } from './contract.ts'
import { highestHeld, linkLog } from './log.ts'
import { followLog, judgeBeginning, startOver } from './start-view.ts'
import { type GroupState, isPrimaryByView, isTransferring, lacksBeginning, maxOp, primaryOf } from './state.ts'
import { renewOwnVote } from './view-change.ts'
import { advanceParked, tryMerge } from './view-start.ts'

export function onTransferInstalled(
  s: GroupState,
  { op, commitMax, timestamp, view }: Extract<GroupEvent, { kind: 'transferInstalled' }>,
): void {
  s.transferStage = 'idle'
  s.repair = undefined
  if (isOfEndedLog(s, op, view)) {
    startOver(s, primaryOf(s, s.view), op)
    return
  }
  learnCommit(s, commitMax)
  if (timestamp > s.lastTimestamp) s.lastTimestamp = Micros(timestamp)
  // What was fetched is the beginning of the log, whatever stood on the disk before.
  s.mustConnect = false
  if (s.status === 'normal' && lacksBeginning(s)) s.forgotTo = s.announcedHead
  if (op > s.commitMin) {
    s.commitMin = op
    if (s.lostTo <= op) s.lostTo = Op(0n)
    s.sequencer = maxOp(s.sequencer, op)
    // The announcement of a view says nothing of what has come in it since: that is proven, and perhaps acknowledged.
    if (op > s.proven) linkLog(s, s.parked ?? s.known ?? { head: highestHeld(s), headers: [] })
  }
  resume(s)
}

/**
 * Whether the group has begun a new log, or gone on with one that ends below `op`, since a state was offered (design.md §3):
 * ops of the two cannot be compared, and what was installed is no part of the log of this view.
 */
function isOfEndedLog(s: GroupState, op: Op, offeredIn: View): boolean {
  if (s.config.plane !== 'partition' || s.status !== 'normal' || offeredIn >= s.view) return false
  return offeredIn < s.originView || op > s.announcedHead
}

/**
 * Stays what it is, behind, and asks for what is missing once more. Where that is the beginning of the log, another transfer
 * must bring it, unless what was wrong has left the disk meanwhile.
 */
export function onTransferAbandoned(s: GroupState): void {
  if (!isTransferring(s)) return
  s.transferStage = 'idle'
  if (s.status === 'normal' && lacksBeginning(s)) {
    s.forgotTo = s.announcedHead
    judgeBeginning(s)
  }
  resume(s)
}

function resume(s: GroupState): void {
  if (s.parked !== undefined) {
    advanceParked(s)
    return
  }
  if (s.status === 'view_change') {
    renewOwnVote(s)
    tryMerge(s)
  }
  if (s.status !== 'normal' || isPrimaryByView(s)) return
  followLog(s)
}
