/**
 * Recovery of the metadata plane (spec metadata-storage.md §6.2, §6.3; consensus.md §7): superblock, log scan, replay up to
 * the watermark, and where the group starts. Whatever refuses, refuses before anything was changed.
 */
import { EngineError } from '../bytes/errors.ts'
import { Checksum, Micros, Op, View } from '../bytes/units.ts'
import type { GroupRestore } from '../consensus/contract.ts'
import type { RecoveryStep } from '../partition/contract.ts'
import { frameBody } from '../protocol/seal.ts'
import { type Disk, isNotFound } from '../storage/disk.ts'
import { Wal, type WalEntry } from '../storage/wal.ts'
import type { Core } from './core.ts'
import { GroupSuperblock } from './group-superblock.ts'

export const METADATA_DIRECTORY = 'metadata'
const WAL_PATH = `${METADATA_DIRECTORY}/journal.wal`

/** An inferred view this far above the one before it is damage and not a view (§6.3). */
const INFERRED_VIEW_JUMP_MAX = 65_536

/**
 * Without checkpoints nothing frees a slot, and the configured size, meant for a log that is drained, would end the life of
 * a cluster after so many ops. This many are held at least; a login and its logout take two.
 */
const SLOTS_WITHOUT_CHECKPOINT = 16_384
const slotsOf = (core: Core): number => Math.max(core.config.metadata.journalSlots, SLOTS_WITHOUT_CHECKPOINT)

export interface RecoveredMetadata {
  readonly wal: Wal
  readonly superblock: GroupSuperblock
  readonly restore: GroupRestore
}

/** @throws EngineError, DecodeError or DiskError: the boot is refused (status 65). */
export async function recoverMetadata(core: Core, step: (step: RecoveryStep) => void): Promise<RecoveredMetadata> {
  const { disk, hash } = core.ports
  const solo = core.identity.replicaCount === 1
  await disk.makeDirectory(METADATA_DIRECTORY)
  const superblock = await GroupSuperblock.open(disk, METADATA_DIRECTORY, hash, core.identity)
  const recorded = superblock.recorded
  step({
    step: 'superblock',
    path: METADATA_DIRECTORY,
    verdict: recorded ? 'present' : 'empty',
    detail: recorded
      ? { view: recorded.view, logView: recorded.logView, commitMax: recorded.commitMax.toString() }
      : {},
  })
  const post = (completion: () => void) => core.pump.post(completion)
  const wal = await Wal.open({ disk, path: WAL_PATH, hash, slots: slotsOf(core), post })
  step({
    step: 'wal_scan',
    path: WAL_PATH,
    verdict: wal.scan.end.kind,
    detail: { entries: wal.scan.entries, unsealed: wal.scan.unsealed, highestOp: wal.scan.highestOp.toString() },
  })
  const entries = wal.entries()
  if (!recorded) checkCluster(core, entries)
  if (solo && entries.length === 0 && (await holdsPartitionBytes(disk))) {
    throw new EngineError('MetadataMissing', 'partition logs have bytes, but there is no metadata', {
      path: METADATA_DIRECTORY,
      advice: 'put the metadata directory back, or start over with an empty data directory',
    })
  }
  checkChain(entries)
  const contiguous = contiguousPrefix(entries)
  if (solo && contiguous.length < entries.length) {
    throw new EngineError('LogGap', `op ${Op(BigInt(contiguous.length) + 1n)} is missing from the log`, {
      path: WAL_PATH,
      op: Op(BigInt(contiguous.length) + 1n),
      advice: 'acknowledged ops are missing: restore this directory from a copy',
    })
  }
  const watermark = commitWatermark(solo, entries)
  if (solo && recorded && recorded.commitMax > watermark) {
    throw new EngineError('CommitAheadOfLog', `op ${recorded.commitMax} was committed, the log ends at ${watermark}`, {
      path: WAL_PATH,
      op: recorded.commitMax,
      advice: 'acknowledged ops are missing: restore this directory from a copy',
    })
  }
  let commitMin = Op(0n)
  for (const { header, frame } of contiguous) {
    if (header.op > watermark) break
    core.machine.apply(header, frameBody(frame))
    commitMin = header.op
  }
  step({
    step: 'replay',
    path: WAL_PATH,
    verdict: contiguous.length < entries.length ? 'gap' : 'complete',
    detail: { applied: commitMin.toString(), watermark: watermark.toString(), held: wal.highestOp().toString() },
  })
  return { wal, superblock, restore: restoreOf(core, wal, superblock, entries, commitMin, watermark) }
}

/** An empty superblock says nothing of the cluster; the first sealed prepare does (§6.2 step 4). */
function checkCluster(core: Core, entries: readonly WalEntry[]): void {
  const first = entries.find(entry => entry.header.checksum !== 0n)
  if (!first || first.header.cluster === core.identity.cluster) return
  throw new EngineError('ClusterMismatch', `${WAL_PATH} was written in another cluster`, {
    path: WAL_PATH,
    expected: core.identity.cluster.toString(16),
    actual: first.header.cluster.toString(16),
    advice: 'start the node with the cluster name that this directory was written under',
  })
}

/** Parents over all pairs of consecutive ops held, behind gaps too; a zero seal on either side proves nothing. */
function checkChain(entries: readonly WalEntry[]): void {
  for (let index = 1; index < entries.length; index++) {
    const [before, after] = [entries[index - 1]!.header, entries[index]!.header]
    if (after.op !== before.op + 1n || before.checksum === 0n || after.checksum === 0n) continue
    if (after.parent === before.checksum) continue
    throw new EngineError('ChainBroken', `op ${after.op} does not follow the op ${before.op} that is held`, {
      path: WAL_PATH,
      op: after.op,
      position: entries[index]!.position,
      expected: before.checksum.toString(16),
      actual: after.parent.toString(16),
      advice: 'in a cluster, wipe this node and let it rejoin',
    })
  }
}

/** Entries from op 1 on up to the first gap. */
function contiguousPrefix(entries: readonly WalEntry[]): WalEntry[] {
  const prefix: WalEntry[] = []
  for (const entry of entries) {
    if (entry.header.op !== BigInt(prefix.length) + 1n) break
    prefix.push(entry)
  }
  return prefix
}

/** The embedded commit is at least one op stale; alone, what is journaled is committed (§6.2 step 9). */
function commitWatermark(solo: boolean, entries: readonly WalEntry[]): Op {
  let watermark = 0n
  for (const { header } of entries) {
    const claim = solo ? header.op : header.commit
    if (claim > watermark) watermark = claim
  }
  return Op(watermark)
}

function restoreOf(
  core: Core,
  wal: Wal,
  superblock: GroupSuperblock,
  entries: readonly WalEntry[],
  commitMin: Op,
  commitMax: Op,
): GroupRestore {
  const last = entries[entries.length - 1]?.header
  const { recorded } = superblock
  const headOp = wal.highestOp()
  const prior = headOp > 0n || recorded !== undefined
  return {
    view: recorded?.view ?? inferredView(entries),
    logView: recorded?.logView ?? View(0),
    viewDurable: recorded?.view ?? View(0),
    logViewDurable: recorded?.logView ?? View(0),
    headOp,
    commitMin,
    commitMax,
    lastPrepareChecksum: last?.checksum ?? Checksum(0n),
    lastTimestamp: last?.timestamp ?? Micros(0n),
    join: core.identity.replicaCount > 1 && prior ? 'probe' : 'init',
  }
}

/** Without a superblock the last header's view is a hint; it is outside the checksum, so a wild one is not believed. */
function inferredView(entries: readonly WalEntry[]): View {
  const [before, last] = entries.slice(-2).length === 2 ? entries.slice(-2) : [undefined, entries[0]]
  if (!last) return View(0)
  const floor = before?.header.view ?? View(0)
  return last.header.view > floor + INFERRED_VIEW_JUMP_MAX ? floor : last.header.view
}

/** Any partition log with a byte in it under `streams/`. */
async function holdsPartitionBytes(disk: Disk): Promise<boolean> {
  const children = async (path: string): Promise<string[]> => {
    try {
      if ((await disk.stat(path)).kind !== 'directory') return []
      return (await disk.list(path)).map(name => `${path}/${name}`)
    } catch (error) {
      if (isNotFound(error)) return []
      throw error
    }
  }
  for (const stream of await children('streams')) {
    for (const topic of await children(`${stream}/topics`)) {
      for (const partition of await children(`${topic}/partitions`)) {
        for (const file of await children(partition)) {
          if (file.endsWith('.log') && (await disk.stat(file)).sizeBytes > 0) return true
        }
      }
    }
  }
  return false
}
