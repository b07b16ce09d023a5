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
import type { Partition, RecoveryStep } from '../partition/contract.ts'
import { type Claim, claimDirectory, setDirectoryAside } from '../partition/incarnation.ts'
import { openPartition } from '../partition/open.ts'
import { PartitionRefused } from '../partition/refused.ts'
import { packGroup } from '../protocol/groups.ts'
import { Operation } from '../protocol/operations.ts'
import { makeDurableDirectory } from '../storage/directories.ts'
import { type Disk, DiskError, isNotFound } from '../storage/disk.ts'
import { joinPath, nameOf } from '../storage/paths.ts'
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
 * The disk failed under the files of a partition (partition.md §6.2). That is no verdict about them: refusing the partition
 * would keep messages away that the next look may find whole, so a boot ends and is retried, and a build is tried again.
 */
export class PartitionUnreadable extends EngineError {
  constructor(directory: string, cause: DiskError) {
    const context = {
      path: cause.context.path ?? directory,
      advice:
        'nothing was refused: start the node again once the disk answers, or once a regular file is there, since no link is followed',
    }
    super('PartitionUnreadable', `${directory} could not be opened: ${cause.message}`, context, { cause })
  }
}

/**
 * @param occasion `boot` loads a directory without `purge.gen` as it is; `build` takes segment bytes in it for a deleted
 * incarnation.
 * @param step Told when the directory of a deleted incarnation is set aside.
 * @throws MetadataBehind, PartitionUnreadable; any other error means that this partition must not be served, and that its
 * files were left alone.
 */
export async function openLocalPartition(
  core: Core,
  wanted: CommittedPartition,
  occasion: 'boot' | 'build',
  step: (taken: RecoveryStep) => void = () => {},
): Promise<ReplicatedPartition> {
  try {
    return await openDirectory(core, wanted, occasion, step)
  } catch (error) {
    // A slot of the superblock is the exception: whoever cannot read it knows neither view nor offsets (§6.10).
    if (!(error instanceof DiskError) || isSlot(error.context.path)) throw error
    throw new PartitionUnreadable(partitionDirectory(wanted.key), error)
  }
}

const isSlot = (path: string | undefined): boolean => path !== undefined && nameOf(path).startsWith('superblock.')

async function openDirectory(
  core: Core,
  wanted: CommittedPartition,
  occasion: 'boot' | 'build',
  step: (taken: RecoveryStep) => void,
): Promise<ReplicatedPartition> {
  const { ports, config } = core
  const { key, createdRevision, settings } = wanted
  const group = packGroup(key)
  const directory = partitionDirectory(key)
  let existed = await exists(ports.disk, directory)
  if (core.identity.replicaCount > 1 && !core.metadataSettled() && !(await hasLived(ports.disk, directory))) {
    // Its files may have gone with a deletion that this boot does not know as committed yet. Made anew it would not know
    // either in which views it has voted.
    throw new MetadataBehind('MetadataBehind', `${directory} may have been deleted by an op that is not applied yet`, {
      path: directory,
    })
  }
  const claim = await claimFor(core, directory, createdRevision)
  const fenced =
    claim.kind === 'set_aside'
      ? claim.to
      : claim.kind === 'unnamed' && occasion === 'build' && existed && (await holdsSegments(ports.disk, directory))
        ? await setDirectoryAside(ports.disk, directory)
        : undefined
  if (fenced !== undefined) {
    core.events.partition(group.toString(), 'partition_fenced', 'fact', { path: directory, to: fenced })
    const detail = { to: fenced, createdRevision: createdRevision.toString() }
    step({ step: 'incarnation', path: directory, verdict: 'set aside', detail })
    existed = false
  }
  await makeDurableDirectory(ports.disk, directory)
  if (claim.kind !== 'same') {
    await writePurgeGen(ports.disk, directory, { generation: 0n, createdRevision })
  }
  const superblock = await GroupSuperblock.open(ports.disk, directory, ports.hash, core.identity, core.config.rules)
  const { offsetReservationLease, persist } = config.partition
  const partition = await openPartition({
    key,
    directory,
    createdRevision,
    replicaCount: core.identity.replicaCount,
    settings: partitionSettings(settings, config.partition.segmentBytesMax),
    ...(persist && { persist }),
    superblock: new PartitionSuperblock(superblock, () => core.tick),
    ...(offsetReservationLease !== undefined && { offsetLease: offsetReservationLease }),
    evictedRingOps: config.partition.evictedRingCapacity,
    evictedRingBytes: config.partition.evictedRingBytesMax,
    validateChecksum: config.validateChecksum,
    rules: config.rules,
    host: partitionPorts(core, group.toString()),
  })
  // On a disk that this one replaces it may have acknowledged what it does not hold now.
  const mayHaveLived = existed || occasion === 'boot' || createdRevision <= core.unwitnessedRevision
  const restart = core.identity.replicaCount > 1 && mayHaveLived
  const restored = createGroup(
    partitionGroupConfig(core, group, createdRevision),
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
    connectsAbove(floor, toOp, logEnd) {
      const { lowestUnapplied, recoveredEnd, placeFrom = 0n } = partition.repairStanding(floor)
      if (lowestUnapplied !== undefined) return lowestUnapplied <= recoveredEnd && lowestUnapplied >= placeFrom
      for (let op = floor + 1n; op <= toOp; op++) {
        const header = journal.header(Op(op))
        if (!header || header.operation === Operation.SendMessages) return false
      }
      if (logEnd > 0n) partition.endsAt(Offset(logEnd))
      return logEnd === partition.logEnd()
    },
    joinsDisk: (floor, toOp, whole) => partition.joinsDisk(floor, toOp, whole),
    standing: ({ logStart, firstBase }, head) =>
      partition.standing({ logStart: Offset(logStart), firstBase: Offset(firstBase) }, head),
    heldFrontier: () => ({
      held: partition.logEnd(),
      committed: partition.committedEnd(),
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

/**
 * A directory of a later incarnation means that this node has not learnt of that one yet. A lone node has nobody to learn it
 * from: waiting would answer its readers like an empty partition, so there it is a refusal.
 */
async function claimFor({ ports, identity }: Core, directory: string, createdRevision: bigint): Promise<Claim> {
  try {
    return await claimDirectory(ports.disk, directory, createdRevision)
  } catch (error) {
    const waits = identity.replicaCount > 1 && error instanceof PartitionRefused && error.refusal === 'IncarnationAhead'
    if (!waits) throw error
    throw new MetadataBehind('MetadataBehind', error.message, error.context, { cause: error })
  }
}

async function hasLived(disk: Disk, directory: string): Promise<boolean> {
  if (!(await exists(disk, directory))) return false
  for (const slot of ['a', 'b']) if (await exists(disk, joinPath(directory, `superblock.${slot}`))) return true
  return holdsSegments(disk, directory)
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
