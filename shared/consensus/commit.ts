/**
 * Moving the commit point (spec consensus.md §3.3). `apply` is emitted once per op, in order, for what is held and proven;
 * `commitMin` moves with it. A primary takes the entry off its pipeline on the way, with the client that waits for it.
 */
import type { Op } from '../bytes/units.ts'
import { storedAt } from './log.ts'
import { needTransfer } from './repair.ts'
import { promoteQueued } from './requests.ts'
import { flow, type GroupState, isActingPrimary, isTransferring, maxOp, next, primaryOf } from './state.ts'

export function learnCommit(s: GroupState, commit: Op): void {
  s.commitMax = maxOp(s.commitMax, commit)
}

/** Applies everything that may be applied. Ops at or below `commitMax` that are missing or unproven stop the walk. */
export function walkCommits(s: GroupState): void {
  if (s.status === 'recovering' || isTransferring(s)) return
  if (s.mustConnect && !connects(s)) return
  if (s.commitMin >= s.commitMax || s.commitMin >= s.proven) return
  const from = s.commitMin
  const asPrimary = isActingPrimary(s)
  while (s.commitMin < s.commitMax && s.commitMin < s.proven) {
    const op = next(s.commitMin)
    const header = storedAt(s, op)
    if (header === undefined) break
    const entry = asPrimary && s.pipeline.head?.header.op === op ? s.pipeline.popHead() : undefined
    s.commitMin = op
    // Without the rule the entry is popped first, and a read that would have to wait behind an append is given up.
    if (entry !== undefined && !s.config.rules.popAfterRead && s.inFlight.size > 0) continue
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
 * What a restarted replica of a partition finds on its disk may be shorter than the beginning of the log, or longer than all
 * of it, or another one (design.md §3). Nothing is applied before the log has come to the end of the disk: who had applied a
 * part of what it holds would lead with that part, and the others would begin in the middle of its disk.
 */
function connects(s: GroupState): boolean {
  if (s.status !== 'normal') return false
  const verdict = joinsDisk(s, s.proven >= s.announcedHead)
  if (verdict === 'joins') s.mustConnect = false
  if (verdict === 'no') needTransfer(s, primaryOf(s, s.view), 'not_connected')
  return verdict === 'joins'
}

export const joinsDisk = (s: GroupState, whole: boolean): 'joins' | 'not_yet' | 'no' =>
  s.journal.joinsDisk?.(s.commitMin, s.proven, whole) ?? 'joins'

/** The Prepare timer ticks exactly while prepares are in flight (§4). */
export function syncPrepareTimer(s: GroupState): void {
  const timer = s.timers.prepare
  if (s.pipeline.size === 0) timer.stop()
  else if (!timer.ticking) timer.start()
}
