/** The partitions that this node serves, those it refuses, and what waits for one that is not there yet. */
import type { GroupId, ReplicaId } from '../bytes/units.ts'
import { mayPark } from './frame-group.ts'
import { Parking } from './parking.ts'
import type { ReplicatedPartition, Tombstone } from './partition-host.ts'
import type { LinkMark } from './ports.ts'

export class Partitions {
  readonly live = new Map<GroupId, ReplicatedPartition>()
  readonly tombstones = new Map<GroupId, Tombstone>()
  readonly parking = new Parking()
  /** Partitions with a purge under way. */
  readonly purging = new Set<GroupId>()

  get(group: GroupId): ReplicatedPartition | undefined {
    return this.live.get(group)
  }

  /** A frame from a peer. What cannot wait is dropped; the sender's timers repeat it. */
  frame(group: GroupId, from: ReplicaId, bytes: Uint8Array, mark: LinkMark, nowTick: number): void {
    const partition = this.live.get(group)
    if (partition) {
      partition.frame(from, bytes, mark)
      return
    }
    if (this.tombstones.has(group) || !mayPark(bytes)) return
    const deliver = () => this.live.get(group)?.frame(from, bytes, mark)
    this.parking.park(group, { bytes: bytes.length, deliver, discard: () => {} }, nowTick)
  }

  tick(): void {
    for (const partition of this.live.values()) partition.tick()
  }
}
