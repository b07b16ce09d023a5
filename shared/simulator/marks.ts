/**
 * Places that a run came by (spec drills.md §2.7). Most marks are kinds of facts that replicas report; the world adds its own.
 * A long swarm must come by every required one: a checker proves nothing about code that never ran.
 */

/** In 2,000 seeds of the swarm each of these must be met. */
export const REQUIRED_MARKS = [
  // The world did it.
  'world.crash',
  'world.crash.all',
  'world.crash.mid_call',
  'world.crash.power',
  'world.restart',
  'world.stop',
  'world.cut',
  'world.pause',
  'world.reset',
  'world.disk_error',
  'world.wedge',
  'world.slow_disk',
  'world.rot',
  'world.lost_disk',
  'world.clock',
  'world.exit.65',
  'world.exit.74',
  // The replicas said it.
  'view_change_started',
  'view_started',
  'view_adopted',
  'probe_started',
  'heartbeat_missed',
  'superblock_failed',
  'repair_started',
  'repair_finished',
  'truncated',
  'merge_parked',
  'forward_refused',
  'forward_lost',
  'partition_materialised',
  'partition_removed',
  'checkpoint_finished',
  'transfer_served',
  'transfer_installed',
  'gap_planted',
] as const

export class Marks {
  private readonly counts = new Map<string, number>()

  add(mark: string): void {
    this.counts.set(mark, (this.counts.get(mark) ?? 0) + 1)
  }

  get(mark: string): number {
    return this.counts.get(mark) ?? 0
  }

  toJson(): Record<string, number> {
    return Object.fromEntries([...this.counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}
