/**
 * The end of a clean stop (design.md §3): before the files are closed, what is in flight gets its outcome, and the backups
 * learn of the last commit, so that all nodes that are stopped together hold the same bytes. Measured in ticks: ticks and
 * frames must keep coming until the stop is done.
 */
import type { ConsensusGroup } from '../consensus/contract.ts'

/** Ticks after which a stop no longer waits: 2 s. What is not committed by then is left to the others. */
export const DRAIN_TICKS_MAX = 200
/** How often commits are looked at: thousands of groups tick a hundred times a second. */
const OBSERVE_TICKS = 10
/** Ticks behind the period of the heartbeat that carries a commit. */
const SLACK_TICKS = 5

export class Drain {
  private readonly settled = new WeakMap<ConsensusGroup, { readonly commit: bigint; readonly since: number }>()

  /** Called each tick, also long before a stop: notes since when each group's commit has stood still. */
  observe(groups: () => Iterable<ConsensusGroup>, nowTick: number): void {
    if (nowTick % OBSERVE_TICKS !== 0) return
    for (const group of groups()) {
      const seen = this.settled.get(group)
      if (seen?.commit !== group.commitMin) this.settled.set(group, { commit: group.commitMin, since: nowTick })
    }
  }

  /** A primary is done once a heartbeat has carried its last commit; a backup once it has applied what it holds. */
  isDone(group: ConsensusGroup, nowTick: number): boolean {
    const { op, commitMin, replicaCount, status } = { ...group.snapshot(), ...group.config }
    if (replicaCount === 1) return op === commitMin
    if (status !== 'normal') return true
    if (op !== commitMin) return false
    if (!group.isPrimary()) return true
    const since = this.settled.get(group)?.since ?? nowTick
    return commitMin === 0n || nowTick - since > group.config.timers.commitMessage + SLACK_TICKS
  }
}
