/**
 * Ticks in which nothing happens. A node has thousands of groups, most of them idle: their host counts such ticks and makes
 * up for them with one event, instead of running every group a hundred times a second to count its timers down.
 */
import { isDurable } from './gate.ts'
import type { GroupState } from './state.ts'

/** How many of the next ticks do nothing but count timers down, provided that no other event comes in between. */
export function quietTicks(s: GroupState): number {
  const busy =
    s.status !== 'normal' ||
    !isDurable(s) ||
    s.persistBackoffTicks > 0 ||
    s.pipeline.size > 0 ||
    s.unheardTicks > 0 ||
    s.selfAckDue ||
    s.commitMin < s.commitMax ||
    s.parked !== undefined ||
    s.repair !== undefined
  if (busy) return 0
  let quiet = Number.POSITIVE_INFINITY
  for (const timer of s.timerList) if (timer.ticking) quiet = Math.min(quiet, timer.remaining - 1)
  return Math.max(0, quiet)
}

/** `ticks` of them have passed, no more than `quietTicks` said. */
export function sleepThrough(s: GroupState, ticks: number): void {
  for (const timer of s.timerList) if (timer.ticking) timer.remaining -= ticks
}
