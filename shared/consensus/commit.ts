/**
 * Moving the commit point (spec consensus.md §3.3). `apply` is emitted once per op, in order, for what is held and proven;
 * `commitMin` moves with it. A primary takes the entry off its pipeline on the way, with the client that waits for it.
 */
import type { Op } from '../bytes/units.ts'
import { storedAt } from './log.ts'
import { needTransfer } from './repair.ts'
import { promoteQueued } from './requests.ts'
import { flow, type GroupState, isActingPrimary, isTransferring, maxOp, minOp, next, primaryOf } from './state.ts'

export function learnCommit(s: GroupState, commit: Op): void {
  s.commitMax = maxOp(s.commitMax, commit)
}

/** Applies everything that may be applied. Ops at or below `commitMax` that are missing or unproven stop the walk. */
export function walkCommits(s: GroupState): void {
  if (s.status === 'recovering' || isTransferring(s)) return
  if (s.commitMin >= s.commitMax || s.commitMin >= s.proven) return
  if (s.mustConnect && !connects(s)) return
  const from = s.commitMin
  const asPrimary = isActingPrimary(s)
  while (s.commitMin < s.commitMax && s.commitMin < s.proven) {
    const op = next(s.commitMin)
    const header = storedAt(s, op)
    if (header === undefined) break
    const entry = asPrimary && s.pipeline.head?.header.op === op ? s.pipeline.popHead() : undefined
    s.commitMin = op
    const token = entry?.token
    s.out.push({ kind: 'apply', op, header, asPrimary, ...(token === undefined ? {} : { token }) })
    if (s.flow) flow(s, 'op_committed', { op, detail: { operation: header.operation, pipeline: s.pipeline.size } })
  }
  if (s.commitMin === from) return
  if (s.flow) flow(s, 'commit_advanced', { op: s.commitMin })
  if (asPrimary) {
    promoteQueued(s)
    syncPrepareTimer(s)
  }
}

/**
 * After a whole-cluster restart the ops of a partition start anew behind the longest replica's disk. On a shorter one the
 * first of them would leave a hole, so it is not applied: a transfer must fill the gap (design.md §3).
 */
function connects(s: GroupState): boolean {
  const last = minOp(s.proven, s.commitMax)
  // A floor or an installed transfer has settled the question.
  s.mustConnect = s.commitMin === 0n && s.journal.connectsAbove?.(s.commitMin, last) === false
  if (s.mustConnect) needTransfer(s, primaryOf(s, s.view), 'not_connected')
  return !s.mustConnect
}

/** The Prepare timer ticks exactly while prepares are in flight (§4). */
export function syncPrepareTimer(s: GroupState): void {
  const timer = s.timers.prepare
  if (s.pipeline.size === 0) timer.stop()
  else if (!timer.ticking) timer.start()
}
