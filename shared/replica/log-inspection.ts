/** What a replica tells of its logs and sessions in full; a part of `ReplicaInspection`. */
import type { JournalSnapshot, SessionSnapshot, WalEntrySnapshot, WalScanSnapshot } from '../inspection/logs.ts'
import type { PartitionKey } from '../protocol/groups.ts'

type Unreported<T> = Omit<T, 'reporter'>

export interface LogInspection {
  /** One entry of the metadata log, read from its file and verified; undefined when the op is not held. Throws DiskError. */
  walEntry(op: bigint): Promise<Unreported<WalEntrySnapshot> | undefined>
  /** The scan of a boot (spec metadata-storage.md §2.4) over the file as it is now. Throws DiskError. */
  walScan(): Promise<Unreported<WalScanSnapshot>>
  /** The ops of a partition group that are in memory; undefined when the partition is not here. */
  journal(key: PartitionKey): Unreported<JournalSnapshot> | undefined
  session(client: bigint): Unreported<SessionSnapshot> | undefined
}
