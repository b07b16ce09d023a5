/**
 * What a state transfer of the host does to the group (spec consensus.md §6.2, §6.6). The host fetches and installs; the
 * group stands still meanwhile: it adopts views and answers probes, but acknowledges, applies and repairs nothing.
 *
 * The specification cuts everything above the snapshot's op before the install. Here it stays, unproven: this replica may
 * have acknowledged it, and a denial of it could decide a merge against a committed op. Repair confirms or replaces it.
 */
import { Micros, Op } from '../bytes/units.ts'
import { learnCommit, walkCommits } from './commit.ts'
import type { GroupEvent } from './contract.ts'
import { highestHeld, linkLog } from './log.ts'
import { armRepair } from './repair.ts'
import { joinLog } from './start-view.ts'
import { type GroupState, isPrimaryByView, isTransferring, maxOp, primaryOf } from './state.ts'
import { advanceParked } from './view-start.ts'

export function onTransferInstalled(
  s: GroupState,
  { op, commitMax, timestamp }: Extract<GroupEvent, { kind: 'transferInstalled' }>,
): void {
  s.transferStage = 'idle'
  s.repair = undefined
  learnCommit(s, commitMax)
  if (timestamp > s.lastTimestamp) s.lastTimestamp = Micros(timestamp)
  if (op > s.commitMin) {
    s.commitMin = op
    if (s.lostTo <= op) s.lostTo = Op(0n)
    s.sequencer = maxOp(s.sequencer, op)
    linkLog(s, s.parked ?? s.known ?? { head: highestHeld(s), headers: [] })
  }
  resume(s)
}

/** Stays what it is, behind, and asks for what is missing once more. */
export function onTransferAbandoned(s: GroupState): void {
  if (!isTransferring(s)) return
  s.transferStage = 'idle'
  resume(s)
}

function resume(s: GroupState): void {
  if (s.parked !== undefined) {
    advanceParked(s)
    return
  }
  if (s.status !== 'normal' || isPrimaryByView(s)) return
  if (s.unprovenTo === 0n) joinLog(s)
  else s.sequencer = maxOp(highestHeld(s), s.lostTo)
  walkCommits(s)
  if (s.commitMax > s.chain || s.unprovenTo > 0n) armRepair(s, primaryOf(s, s.view))
}
