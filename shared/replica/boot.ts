/**
 * The boot of one replica (spec metadata-storage.md §6): metadata first, then the partitions that the replay has committed,
 * then the groups. What refuses the metadata refuses the boot; what refuses one partition tombstones that partition; a disk
 * that fails under the segments of one refuses nothing and ends the boot, to be tried again.
 */
import { EngineError } from '../bytes/errors.ts'
import { GroupId, Op } from '../bytes/units.ts'
import { MetadataMachine } from '../metadata/machine.ts'
import { type CommittedPartition, seedRoot } from '../metadata/state.ts'
import type { RecoveryStep } from '../partition/contract.ts'
import { ExitStatus } from '../storage/ports.ts'
import { withUnsyncedRenames } from '../storage/unsynced-renames.ts'
import type { Replica, ReplicaConfig, ReplicaPorts } from './contract.ts'
import type { Core } from './core.ts'
import { Events } from './events.ts'
import { METADATA_DIRECTORY, type RecoveredMetadata, recoverMetadata } from './metadata-recovery.ts'
import { partitionDirectory, type ReplicatedPartition } from './partition-host.ts'
import { MetadataBehind, openLocalPartition, PartitionUnreadable } from './partition-open.ts'
import { TransferSlots } from './partition-transfer.ts'
import { Partitions } from './partitions.ts'
import { PendingRequests } from './pending.ts'
import { Pump } from './pump.ts'
import { tombstoneOf } from './reconciler.ts'
import { assembleReplica } from './replica.ts'
import { Stopping } from './stopping.ts'

/** Partitions that recover at once: enough to keep a disk busy, few enough to bound open files. */
const CONCURRENT_OPENS = 16

/** Resolves once the replica may be ticked and connected. A boot that is refused or unreadable ends the process with status 65. */
export async function bootReplica(config: ReplicaConfig, ports: ReplicaPorts): Promise<Replica> {
  const core = newCore(config, ports)
  const steps: RecoveryStep[] = []
  const step = (taken: RecoveryStep) => {
    steps.push(taken)
    core.events.node('recovery_step', { step: taken.step, path: taken.path, verdict: taken.verdict, ...taken.detail })
  }
  const recovered = await recover(core, step)
  const { headOp, commitMax } = recovered.restore
  core.unwitnessedTo = headOp
  core.metadataSettled = () => headOp <= commitMax
  const partitions = await openPartitions(core, step)
  core.events.node('booted', { partitions: partitions.live.size, refused: partitions.tombstones.size })
  return assembleReplica(core, recovered, partitions, steps)
}

function newCore(config: ReplicaConfig, ports: ReplicaPorts): Core {
  return {
    config,
    ports: config.rules.renameSyncsDirectory ? ports : { ...ports, disk: withUnsyncedRenames(ports.disk) },
    identity: {
      cluster: config.clusterId,
      replica: config.replica,
      replicaCount: config.clusterEnabled ? config.nodes.length : 1,
    },
    pump: new Pump(ports.crashed),
    events: new Events(ports.sink),
    pending: new PendingRequests(),
    machine: new MetadataMachine(config.metadata.clientsTableMax),
    metadataSettled: () => false,
    unwitnessedTo: Op(0n),
    unwitnessedRevision: 0n,
    transfers: new TransferSlots(),
    stopping: new Stopping(),
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
    return endBoot(core, error)
  }
}

function endBoot(core: Core, error: EngineError): never {
  core.events.node('boot_refused', { code: error.code, message: error.message, path: error.context.path ?? '' })
  return core.ports.halt.fatal(ExitStatus.RefusedBoot, error)
}

async function openPartitions(core: Core, step: (step: RecoveryStep) => void): Promise<Partitions> {
  const partitions = new Partitions()
  const waiting = [...core.machine.state.partitions()]
  const unreadable = new Map<bigint, PartitionUnreadable>()
  const open = async ([id, wanted]: [bigint, CommittedPartition]) => {
    const group = GroupId(id)
    const path = partitionDirectory(wanted.key)
    try {
      const partition = await openLocalPartition(core, wanted, 'boot', step)
      partitions.live.set(group, partition)
      step({
        step: 'partition',
        path,
        verdict: 'opened',
        detail: { createdRevision: wanted.createdRevision.toString() },
      })
      const destruction = pendingDestruction(partition, wanted)
      if (destruction) step(destruction)
    } catch (cause) {
      if (cause instanceof MetadataBehind) {
        // Its op is above this node's watermark: the reconciler builds it once it is committed here.
        step({ step: 'partition', path, verdict: 'deferred', detail: deferral(cause) })
        return
      }
      if (cause instanceof PartitionUnreadable) {
        unreadable.set(id, cause)
        return
      }
      const tombstone = tombstoneOf(wanted, cause)
      partitions.tombstones.set(group, tombstone)
      step({
        step: 'partition',
        path,
        verdict: 'refused',
        detail: {
          code: tombstone.code,
          message: tombstone.message,
          ...(tombstone.advice !== undefined && { advice: tombstone.advice }),
        },
      })
    }
  }
  while (waiting.length > 0) {
    const together = waiting.splice(0, CONCURRENT_OPENS)
    await Promise.all(together.map(open))
    // Only when those beside it are through: what a boot that ends here has written must not depend on who was faster.
    const first = together.map(([id]) => unreadable.get(id)).find(error => error !== undefined)
    if (first) endBoot(core, first)
  }
  return partitions
}

function deferral({ code, message, context }: MetadataBehind): RecoveryStep['detail'] {
  return { code, message, ...(context.advice !== undefined && { advice: context.advice }) }
}

/**
 * What the reconciler takes away as soon as this node runs, because the metadata has committed it and the partition has not
 * carried it out: a purge, or segments below a delete watermark. No write of the boot, but what is gone after it.
 */
function pendingDestruction({ partition }: ReplicatedPartition, wanted: CommittedPartition): RecoveryStep | undefined {
  const path = partitionDirectory(wanted.key)
  const held = partition.info().segments.filter(segment => !segment.empty)
  const range = (upTo: bigint) => {
    const going = held.filter(({ endOffset }) => endOffset <= upTo)
    return going.length > 0 ? { first: going[0]!.startOffset.toString(), last: going.at(-1)!.endOffset.toString() } : {}
  }
  if (partition.purgeGeneration < wanted.purgeGeneration) {
    const generations = { applied: partition.purgeGeneration.toString(), committed: wanted.purgeGeneration.toString() }
    const all = held.at(-1)?.endOffset ?? 0n
    return { step: 'purge', path, verdict: 'pending', detail: { ...generations, ...range(all) } }
  }
  const oldest = partition.info().segments[0]
  if (!oldest?.sealed || oldest.endOffset > wanted.deletedUpToOffset || wanted.deletedUpToOffset === 0n)
    return undefined
  const upTo = wanted.deletedUpToOffset
  return { step: 'delete_segments', path, verdict: 'pending', detail: { upTo: upTo.toString(), ...range(upTo) } }
}
