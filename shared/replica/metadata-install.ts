/**
 * The install of a fetched metadata state (spec consensus.md §6.6, metadata-storage.md §3.6). A crash between any two steps
 * boots: before the snapshot is durable nothing has changed; after it the snapshot is a newer one that vouches for itself,
 * whatever the superblock and the log say. The state in memory follows last, in one turn of the pump.
 *
 * Entries of the log above the snapshot stay (consensus/transfer.ts says why); those it covers go, since nobody has proven
 * that they are the ones that were committed.
 */
import { Offset, type Op, type ReplicaId, type View } from '../bytes/units.ts'
import type { StoredClient } from '../metadata/client-table.ts'
import { restoreState } from '../metadata/snapshot.ts'
import { ExitStatus } from '../storage/ports.ts'
import type { SnapshotRecord } from '../storage/snapshot-record.ts'
import { writeSnapshot } from '../storage/snapshot-store.ts'
import type { Core } from './core.ts'
import { pairOf } from './metadata-checkpoint.ts'
import type { MetadataHost } from './metadata-host.ts'
import { METADATA_DIRECTORY } from './metadata-log.ts'

export interface FetchedMetadata {
  readonly peer: ReplicaId
  readonly payload: Uint8Array
  readonly record: SnapshotRecord
  readonly clients: readonly StoredClient[]
  /** Op at which the client table was read. */
  readonly tableFrontier: bigint
  readonly commitMax: Op
  /** In which the peer offered it. */
  readonly view: View
}

/** Installs alone, after a checkpoint that is under way. `done` runs once the group knows the outcome. */
export function installMetadata(core: Core, metadata: MetadataHost, fetched: FetchedMetadata, done: () => void): void {
  metadata.checkpoint.exclusive(() => run(core, metadata, fetched, done))
}

function run(core: Core, metadata: MetadataHost, fetched: FetchedMetadata, done: () => void) {
  const { group, superblock, wal } = metadata
  const { payload, record } = fetched
  const { disk, hash } = core.ports
  const abandon = (reason: string) => {
    metadata.checkpoint.release()
    core.events.group(group, 'transfer_abandoned', 'fact', { peer: fetched.peer, reason })
    done()
    metadata.host.step({ kind: 'transferAbandoned' })
  }
  // Judged again now that nothing else runs: a checkpoint may have ended in between.
  if (record.op <= metadata.applied) return abandon('the replica has caught up by itself')
  core.events.group(group, 'transfer_installing', 'fact', { peer: fetched.peer }, { op: record.op.toString() })
  const finish = () => {
    takeOver(core, metadata, fetched)
    metadata.checkpoint.release()
    done()
  }
  const drain = () =>
    wal.drain(record.op, error => {
      if (error && !wal.mayAcknowledge()) core.ports.halt.fatal(ExitStatus.FailedPersist, error)
      // The covered entries are still in the file then, and no boot looks at them.
      if (error) wal.raiseSnapshotOp(record.op)
      finish()
    })
  core.pump.settle(
    writeSnapshot(disk, METADATA_DIRECTORY, payload, hash),
    checksum => {
      superblock.pairing = { op: record.op, checksum }
      core.pump.settle(
        superblock.writeWith(() => ({ ...pairOf(group), frontier: Offset(0n) })),
        drain,
        cause => {
          // Degraded, not lost: a boot takes a snapshot that is newer than its pairing.
          const error = cause instanceof Error ? cause.message : String(cause)
          core.events.group(group, 'superblock_failed', 'fact', { error, failures: 1 })
          drain()
        },
      )
    },
    cause => abandon(cause instanceof Error ? cause.message : String(cause)),
  )
}

function takeOver(
  core: Core,
  metadata: MetadataHost,
  { peer, record, clients, tableFrontier, commitMax, view }: FetchedMetadata,
) {
  // The group may have gone on by itself while this was written, and past it.
  if (record.op > metadata.applied) {
    restoreState(core.machine.state, record)
    core.machine.clients.restore(clients)
    core.machine.tableFrontier = tableFrontier
    metadata.applied = record.op
  }
  core.unwitnessedRevision = core.machine.state.revision
  core.events.group(
    metadata.group,
    'transfer_installed',
    'fact',
    {
      peer,
      checkpointOp: (metadata.superblock.recorded?.checkpointOp ?? 0n).toString(),
      commitMax: commitMax.toString(),
    },
    { op: record.op.toString() },
  )
  metadata.host.step({ kind: 'transferInstalled', op: record.op, commitMax, timestamp: record.createdAt, view })
  metadata.topologyChanged()
}
