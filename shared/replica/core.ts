/** What every part of one life of a replica shares. Parts are wired in `replica.ts`; none of them reaches for another's insides. */
import type { Op, ReplicaId } from '../bytes/units.ts'
import type { MetadataMachine } from '../metadata/machine.ts'
import type { ReplicaConfig, ReplicaPorts } from './contract.ts'
import type { Events } from './events.ts'
import type { ReplicaIdentity } from './group-superblock.ts'
import type { TransferSlots } from './partition-transfer.ts'
import type { PendingRequests } from './pending.ts'
import type { Pump } from './pump.ts'
import type { Stopping } from './stopping.ts'

export interface Core {
  readonly config: ReplicaConfig
  readonly ports: ReplicaPorts
  readonly identity: ReplicaIdentity
  readonly pump: Pump
  readonly events: Events
  readonly pending: PendingRequests
  readonly machine: MetadataMachine
  /** False while metadata ops that were held at the boot, and may be committed, are neither applied nor cut. */
  metadataSettled: () => boolean
  /** Metadata ops up to here were held at the boot, or were committed before this node held them. */
  unwitnessedTo: Op
  /**
   * In the partitions that they made, up to this revision, a former life may have had a part: on this disk, or on one that is
   * gone and that this one replaces.
   */
  unwitnessedRevision: bigint
  /** State transfers of partitions that are under way. */
  readonly transfers: TransferSlots
  /** Random and not 0, new in each life. */
  readonly incarnation: bigint
  readonly self: ReplicaId
  /** Ticks of 10 ms since the boot. */
  tick: number
  readonly stopping: Stopping
  /** False once a clean stop has begun: nothing new is admitted. */
  accepting: boolean
}
