/**
 * The boot of one replica (spec metadata-storage.md §6): metadata first, then the partitions that the replay has committed,
 * then the groups. What refuses the metadata refuses the boot; what refuses one partition tombstones that partition.
 */
import { EngineError } from '../bytes/errors.ts'
import { GroupId } from '../bytes/units.ts'
import { MetadataMachine } from '../metadata/machine.ts'
import { type CommittedPartition, seedRoot } from '../metadata/state.ts'
import type { RecoveryStep } from '../partition/contract.ts'
import { ExitStatus } from '../storage/ports.ts'
import type { Replica, ReplicaConfig, ReplicaPorts } from './contract.ts'
import type { Core } from './core.ts'
import { Events } from './events.ts'
import { METADATA_DIRECTORY, type RecoveredMetadata, recoverMetadata } from './metadata-recovery.ts'
import { partitionDirectory } from './partition-host.ts'
import { MetadataBehind, openLocalPartition } from './partition-open.ts'
import { TransferSlots } from './partition-transfer.ts'
import { Partitions } from './partitions.ts'
import { PendingRequests } from './pending.ts'
import { Pump } from './pump.ts'
import { tombstoneOf } from './reconciler.ts'
import { assembleReplica } from './replica.ts'

/** Partitions that recover at once: enough to keep a disk busy, few enough to bound open files. */
const CONCURRENT_OPENS = 16

/** Resolves once the replica may be ticked and connected. A refused boot ends the process with status 65. */
export async function bootReplica(config: ReplicaConfig, ports: ReplicaPorts): Promise<Replica> {
  const core = newCore(config, ports)
  const steps: RecoveryStep[] = []
  const step = (taken: RecoveryStep) => {
    steps.push(taken)
    core.events.node('recovery_step', { step: taken.step, path: taken.path, verdict: taken.verdict, ...taken.detail })
  }
  const recovered = await recover(core, step)
  const partitions = await openPartitions(core, step)
  core.events.node('booted', { partitions: partitions.live.size, refused: partitions.tombstones.size })
  return assembleReplica(core, recovered, partitions, steps)
}

function newCore(config: ReplicaConfig, ports: ReplicaPorts): Core {
  return {
    config,
    ports,
    identity: {
      cluster: config.clusterId,
      replica: config.replica,
      replicaCount: config.clusterEnabled ? config.nodes.length : 1,
    },
    pump: new Pump(ports.crashed),
    events: new Events(ports.sink),
    pending: new PendingRequests(),
    machine: new MetadataMachine(config.metadata.clientsTableMax),
    transfers: new TransferSlots(),
    incarnation: (ports.entropy.u64() << 64n) | ports.entropy.u64() | 1n,
    self: config.replica,
    tick: 0,
    accepting: true,
  }
}

async function recover(core: Core, step: (step: RecoveryStep) => void): Promise<RecoveredMetadata> {
  try {
    const { username, password } = core.config.root
    const passwordHash = await core.ports.passwords.hash(password)
    return await recoverMetadata(core, () => seedRoot(core.machine.state, username, passwordHash), step)
  } catch (cause) {
    const error =
      cause instanceof EngineError
        ? cause
        : new EngineError('BootFailed', String(cause), { path: METADATA_DIRECTORY }, { cause })
    core.events.node('boot_refused', { code: error.code, message: error.message, path: error.context.path ?? '' })
    return core.ports.halt.fatal(ExitStatus.RefusedBoot, error)
  }
}

async function openPartitions(core: Core, step: (step: RecoveryStep) => void): Promise<Partitions> {
  const partitions = new Partitions()
  const waiting = [...core.machine.state.partitions()]
  const open = async ([id, wanted]: [bigint, CommittedPartition]) => {
    const group = GroupId(id)
    const path = partitionDirectory(wanted.key)
    try {
      const partition = await openLocalPartition(core, wanted, 'boot')
      partitions.live.set(group, partition)
      step({
        step: 'partition',
        path,
        verdict: 'opened',
        detail: { createdRevision: wanted.createdRevision.toString() },
      })
    } catch (cause) {
      // Its op is above this node's watermark: the reconciler builds it once it is committed here.
      if (cause instanceof MetadataBehind) return
      const tombstone = tombstoneOf(wanted, cause)
      partitions.tombstones.set(group, tombstone)
      step({
        step: 'partition',
        path,
        verdict: 'refused',
        detail: { code: tombstone.code, message: tombstone.message },
      })
    }
  }
  while (waiting.length > 0) await Promise.all(waiting.splice(0, CONCURRENT_OPENS).map(open))
  return partitions
}
