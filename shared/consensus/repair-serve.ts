/**
 * Journal repair, serving side (spec consensus.md §6.1). Only what is proven is served, and, to a candidate that names the
 * checksum it wants, the uncommitted entries of the own log. Both planes serve in Normal and in ViewChange: a candidate
 * that misses an op must get it from somebody, and in a view change nobody is Normal.
 */
import { Op, type ReplicaId } from '../bytes/units.ts'
import type { FrameOf } from '../protocol/frames.ts'
import { toRepairPrepare } from '../protocol/seal.ts'
import { rangeEvictedFrame, repairDoneFrame } from './frames-out.ts'
import { sendFree } from './gate.ts'
import { storedAt } from './log.ts'
import { setDelete } from './replica-set.ts'
import { type GroupState, ignored, isTransferring, maxOp, minOp, next } from './state.ts'

export function onRequestPrepares(s: GroupState, from: ReplicaId, { header }: FrameOf<'RequestPrepares'>): void {
  if (s.status === 'recovering' || isTransferring(s)) {
    ignored(s, 'not_normal', from)
    return
  }
  if (!s.journal.mayAcknowledge()) {
    ignored(s, 'purge_deferred', from)
    return
  }
  s.silent = setDelete(s.silent, from)
  const { nonce, fromOp, toOp } = header
  const last = minOp(toOp, s.status === 'normal' ? s.proven : maxOp(s.sequencer, s.proven))
  let op = firstServable(s, fromOp)
  if (op > fromOp) sendFree(s, from, rangeEvictedFrame(s, nonce, op))
  let served = Op((s.config.plane === 'partition' ? op : fromOp) - 1n)
  for (let count = 0; op <= last && count < s.config.repairChunkMax; count++) {
    const frame = servable(s, op) ? s.journal.frame(op) : undefined
    if (frame === undefined) break
    sendFree(s, from, toRepairPrepare(frame))
    served = op
    op = next(op)
  }
  sendFree(s, from, repairDoneFrame(s, nonce, served))
}

const servable = (s: GroupState, op: Op): boolean =>
  storedAt(s, op) !== undefined && (op <= s.proven || (s.status === 'view_change' && op > s.commitMax))

/** The first op from `fromOp` on that is not gone from the journal for good. */
function firstServable(s: GroupState, fromOp: Op): Op {
  let first = maxOp(fromOp, next(s.journal.floorOp()))
  const oldest = s.journal.oldestOp()
  if (s.config.plane === 'partition') {
    // Nothing at or below the commit will come back into an empty journal.
    first = maxOp(first, oldest === 0n ? next(s.commitMin) : oldest)
  }
  while (first <= s.commitMin && s.journal.frame(first) === undefined) first = next(first)
  return first
}
