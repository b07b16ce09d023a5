/** One tick of a group (spec consensus.md §4): the pending write, then the timers in their order, then what had to wait. */
import { selfAck } from './acks.ts'
import { walkCommits } from './commit.ts'
import { startViewChangeFrame } from './frames-out.ts'
import { broadcastScoped, tickPersist } from './gate.ts'
import { onCommitTimer, tickHearing } from './heartbeat.ts'
import { tickWaitForAll } from './memory-loss.ts'
import { ageSigns, onProbeTimer } from './probe.ts'
import { tickRepair } from './repair.ts'
import { retransmit } from './replicate.ts'
import { type GroupState, isActingPrimary } from './state.ts'
import { TIMER_ORDER, type Timers } from './timers.ts'
import { onHeartbeatTimeout, onViewChangeStatusTimeout, onVoteTimer } from './view-change.ts'
import { advanceParked } from './view-start.ts'

export function onTick(s: GroupState): void {
  tickPersist(s)
  if (s.status === 'recovering') ageSigns(s)
  tickHearing(s)
  let fired = false
  for (const timer of s.timerList) {
    if (!timer.ticking) continue
    if (timer.remaining > 0) timer.remaining--
    if (timer.remaining === 0) fired = true
  }
  if (fired) for (const name of TIMER_ORDER) if (s.timers[name].fired) FIRED[name](s)
  if (s.status === 'view_change') tickWaitForAll(s)
  if (s.selfAckDue) selfAck(s)
  if (s.commitMin < s.commitMax) walkCommits(s)
  if (s.parked !== undefined) advanceParked(s)
  if (s.repair !== undefined) tickRepair(s)
}

const FIRED: Record<keyof Timers, (s: GroupState) => void> = {
  normalHeartbeat: onHeartbeatTimeout,
  startViewChangeMessage: s => {
    const timer = s.timers.startViewChangeMessage
    if (s.status !== 'view_change') return timer.stop()
    broadcastScoped(s, startViewChangeFrame(s))
    timer.reset()
  },
  doViewChangeMessage: onVoteTimer,
  prepare: s => {
    const timer = s.timers.prepare
    if (!isActingPrimary(s) || s.pipeline.size === 0) return timer.stop()
    retransmit(s)
    timer.backOff(s.random)
  },
  commitMessage: onCommitTimer,
  requestStartView: onProbeTimer,
  viewChangeStatus: onViewChangeStatusTimeout,
}
