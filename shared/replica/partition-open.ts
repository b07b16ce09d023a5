/**
 * Opens the directory of one partition, at boot or when the reconciler builds it (spec metadata-storage.md §6.4, §6.5). One
 * rule for both, by the created_revision in `purge.gen`: equal is the same partition and is loaded, lower is a deleted one
 * and is set aside whole, higher means that this node's metadata is behind, and nothing is touched.
 */
import { EngineError } from '../bytes/errors.ts'
import { Checksum, Micros, Offset, Op, View } from '../bytes/units.ts'
import type { GroupJournal, GroupRestore } from '../consensus/contract.ts'
import { createGroup } from '../consensus/group.ts'
import type { CommittedPartition } from '../metadata/state.ts'
import type { Partition } from '../partition/contract.ts'
import { type Claim, claimDirectory, setDirectoryAside } from '../partition/incarnation.ts'
import { openPartition } from '../partition/open.ts'
import { PartitionRefused } from '../partition/refused.ts'
import { packGroup } from '../protocol/groups.ts'
import { Operation } from '../protocol/operations.ts'
import { makeDurableDirectory } from '../storage/directories.ts'
import { type Disk, isNotFound } from '../storage/disk.ts'
import { joinPath } from '../storage/paths.ts'
import { PURGE_GEN_FILE, writePurgeGen } from '../storage/purge-gen.ts'
import { classifyName } from '../storage/segment-names.ts'
import type { Core } from './core.ts'
import { partitionGroupConfig } from './group-config.ts'
import { GroupSuperblock } from './group-superblock.ts'
import { partitionDirectory, partitionPorts, partitionSettings, ReplicatedPartition } from './partition-host.ts'
import { PartitionSuperblock } from './partition-superblock.ts'

/** This node must first learn of an op that its disk has seen the effect of. Try again later. */
export class MetadataBehind extends EngineError {}

/**
 * @param occasion `boot` loads a directory without `purge.gen` as it is; `build` takes segment bytes in it for a deleted
 * incarnation.
 * @throws MetadataBehind; any other error means that this partition must not be served, and that its files were left alone.
 */
export async function openLocalPartition(
  core: Core,
  wanted: CommittedPartition,
  occasion: 'boot' | 'build',
): Promise<ReplicatedPartition> {
  const { ports, config } = core
  const { key, createdRevision, settings } = wanted
  const group = packGroup(key)
  const directory = partitionDirectory(key)
  let existed = await exists(ports.disk, directory)
  const claim = await claimFor(ports.disk, directory, createdRevision)
  const fenced =
    claim.kind === 'set_aside'
      ? claim.to
      : claim.kind === 'unnamed' && occasion === 'build' && existed && (await holdsSegments(ports.disk, directory))
        ? await setDirectoryAside(ports.disk, directory)
        : undefined
  if (fenced !== undefined) {
    core.events.partition(group.toString(), 'partition_fenced', 'fact', { path: directory, to: fenced })
    existed = false
  }
  await makeDurableDirectory(ports.disk, directory)
  if (claim.kind !== 'same') {
    await writePurgeGen(ports.disk, directory, { generation: 0n, createdRevision })
  }
  const superblock = await GroupSuperblock.open(ports.disk, directory, ports.hash, core.identity)
  const { offsetReservationLease } = config.partition
  const partition = await openPartition({
    key,
    directory,
    createdRevision,
    replicaCount: core.identity.replicaCount,
    settings: partitionSettings(settings),
    superblock: new PartitionSuperblock(superblock, () => core.tick),
    ...(offsetReservationLease !== undefined && { offsetLease: offsetReservationLease }),
    evictedRingOps: config.partition.evictedRingCapacity,
    evictedRingBytes: config.partition.evictedRingBytesMax,
    validateChecksum: config.validateChecksum,
    host: partitionPorts(core, group.toString()),
  })
  const restart = core.identity.replicaCount > 1 && (existed || occasion === 'boot')
  const restored = createGroup(
    partitionGroupConfig(core, group),
    restore(superblock, partition, restart),
    groupJournal(partition, superblock),
  )
  return new ReplicatedPartition(core, restored, partition, superblock, createdRevision)
}

/** What the group asks beyond the journal: whether a repair reaches down to the segments, and how much is held in all. */
function groupJournal(partition: Partition, superblock: GroupSuperblock): GroupJournal {
  const { journal } = partition
  return {
    header: op => journal.header(op),
    frame: op => journal.frame(op),
    highestOp: () => journal.highestOp(),
    oldestOp: () => journal.oldestOp(),
    floorOp: () => journal.floorOp(),
    mayAcknowledge: () => journal.mayAcknowledge(),
    purgeGeneration: () => partition.purgeGeneration,
    connectsAbove(floor, toOp) {
      const { lowestUnapplied, recoveredEnd } = partition.repairStanding()
      if (lowestUnapplied !== undefined) return lowestUnapplied <= recoveredEnd
      for (let op = floor + 1n; op <= toOp; op++) {
        const header = journal.header(Op(op))
        if (!header || header.operation === Operation.SendMessages) return false
      }
      return true
    },
    standing: ({ logStart, firstBase }, head) =>
      partition.standing({ logStart: Offset(logStart), firstBase: Offset(firstBase) }, head),
    heldFrontier: () => ({
      held: partition.logEnd(),
      reserved: superblock.recorded?.offsetReserved ?? 0n,
    }),
  }
}

/**
 * The journal of a partition dies with its process: ops start anew, only the view is remembered. Time goes on where the
 * segments end, or a clock that was set back would write batches that are older than those before them.
 */
function restore(superblock: GroupSuperblock, partition: Partition, restart: boolean): GroupRestore {
  const last = partition.info().segments.findLast(segment => !segment.empty)
  const view = superblock.recorded?.view ?? View(0)
  const logView = superblock.recorded?.logView ?? View(0)
  return {
    view,
    logView,
    viewDurable: view,
    logViewDurable: logView,
    headOp: Op(0n),
    commitMin: Op(0n),
    commitMax: Op(0n),
    lastPrepareChecksum: Checksum(0n),
    lastTimestamp: last?.endTimestamp ?? Micros(0n),
    join: restart ? 'probe' : 'init',
  }
}

/** A directory of a later incarnation means that this node has not learnt of that one yet. */
async function claimFor(disk: Disk, directory: string, createdRevision: bigint): Promise<Claim> {
  try {
    return await claimDirectory(disk, directory, createdRevision)
  } catch (error) {
    if (!(error instanceof PartitionRefused) || error.refusal !== 'IncarnationAhead') throw error
    throw new MetadataBehind('MetadataBehind', `${directory} is of a later op than this node knows`, {
      path: directory,
    })
  }
}

async function holdsSegments(disk: Disk, directory: string): Promise<boolean> {
  for (const name of await disk.list(directory)) {
    const part = classifyName(name)
    if (part.kind === 'log' && (await disk.stat(joinPath(directory, name))).sizeBytes > 0) return true
  }
  return false
}

export async function exists(disk: Disk, path: string): Promise<boolean> {
  try {
    await disk.stat(path)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** Removes a partition directory, `purge.gen` last: a half-removed one still names its incarnation. */
export async function removePartitionDirectory(disk: Disk, directory: string): Promise<void> {
  let names: string[]
  try {
    names = await disk.list(directory)
  } catch (error) {
    if (isNotFound(error)) return
    throw error
  }
  for (const name of names) if (name !== PURGE_GEN_FILE) await disk.remove(joinPath(directory, name))
  await disk.remove(directory)
}
