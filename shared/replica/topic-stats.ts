/** What this node counts of its partitions, for reads (spec wire.md §3.4–3.5, partition.md §4.5). */
import { Offset } from '../bytes/units.ts'
import type { MetadataState } from '../metadata/state.ts'
import type { PartitionStats, StatsOf } from '../metadata/views.ts'
import { packGroup } from '../protocol/groups.ts'
import type { ReplicatedPartition } from './partition-host.ts'
import type { Partitions } from './partitions.ts'

/** A committed partition has at least one segment, also while it is being built. */
const NOT_HERE: PartitionStats = { segments: 1, currentOffset: Offset(0n), sizeBytes: 0n, messages: 0n }

export const statsOf =
  (state: MetadataState, partitions: Partitions): StatsOf =>
  key => {
    const partition = partitions.get(packGroup(key))
    return partition && !isPurging(state, partitions, partition) ? partitionStats(partition) : NOT_HERE
  }

/** A purge is committed that this node has not carried out yet, or not to its end: what is still there counts as gone. */
export const isPurging = (
  state: MetadataState,
  { purging }: Partitions,
  { key, group, partition }: ReplicatedPartition,
): boolean => {
  if (purging.has(group.config.group)) return true
  const committed = state.partition(key)
  return committed !== undefined && committed.purgeGeneration > partition.purgeGeneration
}

/** Sizes count the bytes of records, on disk and committed in memory. */
export function partitionStats({ partition }: ReplicatedPartition): PartitionStats {
  const info = partition.info()
  const first = info.segments[0]?.startOffset ?? 0n
  const messages = info.visibleEnd > first ? info.visibleEnd - first : 0n
  const onDisk = info.segments.reduce((total, segment) => total + BigInt(segment.sizeBytes), 0n)
  const inMemory = info.flusher.journaledBytes - info.flusher.persistedBytes
  return {
    segments: Math.max(1, info.segments.length),
    currentOffset: Offset(info.visibleEnd > 0n ? info.visibleEnd - 1n : 0n),
    sizeBytes: onDisk + (inMemory > 0n ? inMemory : 0n),
    messages,
  }
}
