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
  'world.unreadable',
  'world.misdirected',
  'world.lost_disk',
  'world.clock',
  'world.exit.65',
  'world.exit.74',
  // The replicas said it: views and logs,
  'view_change_started',
  'do_view_change_received',
  'view_started',
  'view_adopted',
  'probe_started',
  'probe_sent',
  'heartbeat_missed',
  'superblock_durable',
  'superblock_failed',
  'repair_started',
  'repair_finished',
  'truncated',
  'merge_parked',
  'append_failed',
  'log_left',
  // forwarded writes,
  'forward_parked',
  'forward_answered',
  'forward_refused',
  'forward_unsent',
  'forward_lost',
  // partitions and their offsets,
  'partition_materialised',
  'partition_removed',
  'partition_fenced',
  'reservation_extended',
  'segment_rolled',
  'memory_tail_lost',
  'jump_announced',
  'missing_range',
  'reanchored',
  'gap_planted',
  'gap_admitted',
  'partition_purged',
  'reservation_failed',
  'append_refused',
  // boots that met damage: what they cut, rebuilt, set aside or refused,
  'boot_refused',
  'partition_refused',
  'index_floored',
  'index_truncated',
  'index_rebuilt',
  'log_truncated',
  'tail_set_aside',
  'stale_segment_removed',
  // each phase of a checkpoint, and state transfers.
  'checkpoint_started',
  'checkpoint_snapshot_durable',
  'checkpoint_paired',
  'checkpoint_finished',
  'checkpoint_failed',
  'transfer_needed',
  'transfer_requested',
  'transfer_served',
  'transfer_installed',
  'transfer_abandoned',
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
