/**
 * The end of a clean stop (design.md §3): before the files are closed, what is in flight gets its outcome, and the backups
 * learn of the last commit, so that all nodes that are stopped together hold the same bytes. Measured in ticks: ticks and
 * frames must keep coming until the stop is done.
 */
import type { GroupHost } from './group-host.ts'

/** Ticks after which a stop no longer waits: 2 s. What is not committed by then is left to the others. */
export const DRAIN_TICKS_MAX = 200
/** Ticks behind the period of the heartbeat that carries a commit. */
const SLACK_TICKS = 5

/** A primary is drained once a heartbeat has carried its last commit; a backup once it has applied what it holds. */
export function isDrained({ standing, movedTick }: GroupHost, nowTick: number): boolean {
  const { config } = standing
  const { op, commitMin, status } = standing.snapshot()
  if (config.replicaCount === 1) return op === commitMin
  if (status !== 'normal') return true
  if (op !== commitMin) return false
  if (!standing.isPrimary()) return true
  return commitMin === 0n || nowTick - movedTick > config.timers.commitMessage + SLACK_TICKS
}
