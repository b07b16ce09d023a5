/**
 * Reads of the metadata behind a restart (spec consensus.md §7). Ops that this replica held when it booted may have been
 * acknowledged by its former life and not be known as committed here yet: until they are applied, or cut, its state is older
 * than what clients were told. Such reads wait, and fail so that they can be repeated when that takes too long.
 */
import type { ConsensusGroup, TimerTicks } from '../consensus/contract.ts'

/** Floor of the deadline: 15 s. */
const DEADLINE_TICKS_MIN = 1_500
/** One for each connection at most; what comes beyond is told to try again. */
const WAITING_MAX = 1_024

interface Waiting {
  readonly read: () => void
  readonly refuse: () => void
}

export class ReadBarrier {
  private readonly group: Pick<ConsensusGroup, 'pastRecoveryBarrier'>
  /** Tick of the life at which reads stop waiting: an election and its repair take as long as these timers say. */
  readonly deadlineTick: number
  private waiting: Waiting[] = []

  constructor(group: Pick<ConsensusGroup, 'pastRecoveryBarrier'>, timers: TimerTicks) {
    this.group = group
    this.deadlineTick = Math.max(3 * timers.normalHeartbeat, 3 * timers.viewChangeStatus, DEADLINE_TICKS_MIN)
  }

  /** Runs `read` now or once the barrier is passed; `refuse` when it was not passed in time. */
  pass(nowTick: number, read: () => void, refuse: () => void): void {
    if (this.group.pastRecoveryBarrier) read()
    else if (nowTick >= this.deadlineTick || this.waiting.length >= WAITING_MAX) refuse()
    else this.waiting.push({ read, refuse })
  }

  tick(nowTick: number): void {
    if (this.waiting.length === 0) return
    const passed = this.group.pastRecoveryBarrier
    if (!passed && nowTick < this.deadlineTick) return
    const { waiting } = this
    this.waiting = []
    for (const { read, refuse } of waiting) {
      if (passed) read()
      else refuse()
    }
  }
}
