/**
 * Scenarios of partitions with a kill (spec drills.md §1.7–1.9, §1.12), told once and run in every world: in the simulator
 * with a kill that loses what was not synced, on real processes with a disk that does the same.
 */
import type { Scenario } from '../language.ts'
import { APPEND_KILLS, PERSIST_KILLS, unsynced } from './partition-append-kills.scenario.ts'
import { LIFECYCLE_KILLS } from './partition-lifecycle-kills.scenario.ts'
import { OFFSET_KILLS } from './partition-offset-kills.scenario.ts'

export { PERSIST_KILLS, unsynced }

/** In the order of the catalogue. Those whose id comes twice are its variants. */
export const PARTITION_KILLS: readonly Scenario[] = [...APPEND_KILLS, ...OFFSET_KILLS, ...LIFECYCLE_KILLS]
