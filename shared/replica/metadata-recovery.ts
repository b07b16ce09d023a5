/**
 * Recovery of the metadata plane (spec metadata-storage.md §6.2, §6.3; consensus.md §7): snapshot proven, superblock and
 * pairing judged, snapshot decoded, log scanned, judged and replayed up to the watermark. Whatever refuses, refuses before
 * a byte, a name or a time on the disk has changed; what must be changed is changed by `settle`, at the very end.
 */
import { DecodeError, EngineError } from '../bytes/errors.ts'
import { Checksum, Micros, Op, View } from '../bytes/units.ts'
import type { GroupRestore } from '../consensus/contract.ts'
import { restoreState } from '../metadata/snapshot.ts'
import type { RecoveryStep } from '../partition/contract.ts'
import { isMetadataPlane } from '../protocol/operations.ts'
import { frameBody } from '../protocol/seal.ts'
import { type Disk, isNotFound } from '../storage/disk.ts'
import { joinPath, nameOf } from '../storage/paths.ts'
import { decodeSnapshot } from '../storage/snapshot-decode.ts'
import type { SnapshotRecord } from '../storage/snapshot-record.ts'
import { checkPairing, readSnapshot, type StoredSnapshot } from '../storage/snapshot-store.ts'
import { Wal, type WalEntry } from '../storage/wal.ts'
import type { Core } from './core.ts'
import { GroupSuperblock } from './group-superblock.ts'
import {
  checkChain,
  checkCluster,
  commitWatermark,
  contiguousFrom,
  inferredView,
  logEnd,
  METADATA_DIRECTORY,
  refuseCommitAhead,
  refuseGap,
  WAL_PATH,
} from './metadata-log.ts'

export { METADATA_DIRECTORY }

/** Left behind by an interrupted replacement; never read. */
const LEFTOVERS: ReadonlySet<string> = new Set([
  'superblock.a.tmp',
  'superblock.b.tmp',
  'snapshot.bin.tmp',
  `${nameOf(WAL_PATH)}.tmp`,
])

export interface RecoveredMetadata {
  readonly wal: Wal
  readonly superblock: GroupSuperblock
  readonly restore: GroupRestore
}

type Step = (step: RecoveryStep) => void

/**
 * @param seed puts the root user into an empty state (§4.7).
 * @throws EngineError, DecodeError or DiskError: the boot is refused (status 65).
 */
export async function recoverMetadata(core: Core, seed: () => void, step: Step): Promise<RecoveredMetadata> {
  const { disk, hash } = core.ports
  const solo = core.identity.replicaCount === 1
  const snapshot = await readSnapshot(disk, METADATA_DIRECTORY, hash)
  const superblock = await GroupSuperblock.open(disk, METADATA_DIRECTORY, hash, core.identity, core.config.rules)
  const { recorded } = superblock
  step({
    step: 'superblock',
    path: METADATA_DIRECTORY,
    verdict: recorded ? 'present' : 'empty',
    detail: recorded
      ? {
          view: recorded.view,
          logView: recorded.logView,
          commitMax: recorded.commitMax.toString(),
          checkpointOp: recorded.checkpointOp.toString(),
        }
      : {},
  })
  const pairing = checkPairing(METADATA_DIRECTORY, snapshot, recorded && superblock.pairing)
  const record = snapshot && restoreMachine(core, snapshot)
  if (snapshot && record) {
    step({
      step: 'snapshot',
      path: snapshot.path,
      verdict: pairing,
      detail: { op: record.op.toString(), bytes: snapshot.payload.length, checksum: snapshot.checksum.toString(16) },
    })
    superblock.pairing = { op: record.op, checksum: snapshot.checksum }
  } else seed()
  const base = record?.op ?? Op(0n)

  const there = await exists(disk, WAL_PATH)
  const wal = there ? await openWal(core, base) : undefined
  try {
    const held = wal?.entries() ?? []
    if (wal) {
      const { entries, unsealed, highestOp, end } = wal.scan
      const detail = { entries, unsealed, highestOp: highestOp.toString() }
      step({ step: 'wal_scan', path: WAL_PATH, verdict: end.kind, detail })
    }
    if (!recorded) checkCluster(held, core.identity.cluster)
    if (solo && !snapshot && held.length === 0) await refuseMissingMetadata(disk)
    const entries = held.filter(entry => entry.header.op > base)
    checkChain(entries)
    const contiguous = contiguousFrom(base, entries)
    if (solo) refuseGap(base, contiguous, entries)
    const watermark = commitWatermark(solo, base, entries)
    if (solo && recorded) refuseCommitAhead(recorded.commitMax, watermark, wal?.scan)
    const commitMin = replay(core, base, contiguous, watermark)
    if (core.machine.state.users.size === 0) seed()
    const highest = entries[entries.length - 1]?.header.op ?? base
    const headOp = solo ? highest : logEnd(highest, recorded?.commitMax ?? Op(0n), wal?.scan)
    step({
      step: 'replay',
      path: WAL_PATH,
      verdict: contiguous.length < entries.length || headOp > highest ? 'gap' : 'complete',
      detail: {
        from: (base + 1n).toString(),
        applied: commitMin.toString(),
        watermark: watermark.toString(),
        held: highest.toString(),
        head: headOp.toString(),
      },
    })
    const view = recorded ? { view: recorded.view } : inferredView(held)
    if (view.damaged !== undefined) {
      const detail = { found: view.damaged, taken: view.view }
      step({ step: 'inferred_view', path: WAL_PATH, verdict: 'damaged', detail })
    }
    const last = held[held.length - 1]?.header
    const restore: GroupRestore = {
      view: view.view,
      logView: recorded?.logView ?? View(0),
      viewDurable: recorded?.view ?? View(0),
      logViewDurable: recorded?.logView ?? View(0),
      headOp,
      commitMin,
      commitMax: watermark,
      // An entry below the snapshot says nothing of the op at its head.
      lastPrepareChecksum: last?.op === headOp ? last.checksum : Checksum(0n),
      lastTimestamp: Micros(maximum(last?.timestamp ?? 0n, record?.createdAt ?? 0n)),
      join: !solo && (headOp > 0n || recorded !== undefined) ? 'probe' : 'init',
    }
    return { wal: await settle(core, wal, base, step), superblock, restore }
  } catch (error) {
    await wal?.close().catch(() => {})
    throw error
  }
}

/** Verified, and judged by its pairing: now it may be decoded (§6.2 step 6). */
function restoreMachine(core: Core, { path, payload }: StoredSnapshot): SnapshotRecord {
  try {
    const record = decodeSnapshot(payload)
    restoreState(core.machine.state, record)
    core.machine.clients.restore((record.clients ?? []).map(({ reply, ...entry }) => ({ ...entry, replies: [reply] })))
    return record
  } catch (cause) {
    if (!(cause instanceof EngineError)) throw cause
    const code = cause instanceof DecodeError ? 'SnapshotUndecodable' : cause.code
    throw new EngineError(code, `${path}: ${cause.message}`, { ...cause.context, path }, { cause })
  }
}

/** Applies what is known committed; the rest of what is held stays journal-only. One function serves this and live commits. */
function replay(core: Core, base: Op, entries: readonly WalEntry[], watermark: Op): Op {
  let applied = base
  for (const { header, frame, position } of entries) {
    if (header.op > watermark) break
    try {
      if (!isMetadataPlane(header.operation))
        throw new EngineError('StateMachine', `op ${header.op} has operation ${header.operation}, which no log holds`)
      core.machine.apply(header, frameBody(frame))
    } catch (cause) {
      if (!(cause instanceof EngineError)) throw cause
      const context = { ...cause.context, path: WAL_PATH, position, op: header.op }
      throw new EngineError(cause.code, cause.message, context, { cause })
    }
    applied = header.op
  }
  return applied
}

/**
 * Nothing has refused: makes what is missing, sweeps what an interrupted replacement left, and cuts a torn tail (§6.2 step
 * 13). A whole entry stays in a cluster until the first append: every boot until then must find that gap again.
 */
async function settle(core: Core, opened: Wal | undefined, base: Op, step: Step): Promise<Wal> {
  const { disk } = core.ports
  if (!(await exists(disk, METADATA_DIRECTORY))) {
    await disk.makeDirectory(METADATA_DIRECTORY)
    await disk.syncDirectory('')
  }
  for (const name of await disk.list(METADATA_DIRECTORY)) {
    if (!LEFTOVERS.has(name)) continue
    const path = joinPath(METADATA_DIRECTORY, name)
    await disk.unlink(path)
    step({ step: 'leftover', path, verdict: 'swept', detail: {} })
  }
  const wal = opened ?? (await openWal(core, base))
  // What a killed process had written or renamed and not synced is counted as held from now on: make it so.
  const file = await disk.open(WAL_PATH, 'write')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.syncDirectory(METADATA_DIRECTORY)
  const { end } = wal.scan
  if (end.kind !== 'torn') return wal
  const cut = core.identity.replicaCount === 1 || !end.whole
  if (cut) {
    await new Promise<void>((resolve, reject) => {
      wal.cutTornTail(error => (error ? reject(error) : resolve()))
    })
  }
  const detail = { position: end.position, bytes: end.bytes, check: end.problem.check }
  step({ step: 'torn_tail', path: WAL_PATH, verdict: cut ? 'cut' : 'kept', detail })
  return wal
}

function openWal(core: Core, snapshotOp: Op): Promise<Wal> {
  const { disk, hash } = core.ports
  const { metadata, rules } = core.config
  const post = (completion: () => void) => core.pump.post(completion)
  const probeTail = rules.tornTailIsProbed
  return Wal.open({ disk, path: WAL_PATH, hash, slots: metadata.journalSlots, snapshotOp, probeTail, post })
}

async function exists(disk: Disk, path: string): Promise<boolean> {
  try {
    await disk.stat(path)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** A fresh boot would build over these segments as soon as their topic is created again (§6.2 step 7). */
async function refuseMissingMetadata(disk: Disk): Promise<void> {
  const file = await partitionLogWithBytes(disk)
  if (file === undefined) return
  throw new EngineError('MetadataMissing', `${file} has bytes, but there is no metadata`, {
    path: file,
    position: 0,
    expected: `a snapshot or a log in ${METADATA_DIRECTORY}`,
    actual: 'neither',
    advice: 'put the metadata directory back, or start over with an empty data directory',
  })
}

/** The first partition log with a byte in it under `streams/`. */
async function partitionLogWithBytes(disk: Disk): Promise<string | undefined> {
  const children = async (path: string): Promise<string[]> => {
    try {
      if ((await disk.stat(path)).kind !== 'directory') return []
      return (await disk.list(path)).map(name => joinPath(path, name))
    } catch (error) {
      if (isNotFound(error)) return []
      throw error
    }
  }
  for (const stream of await children('streams')) {
    for (const topic of await children(`${stream}/topics`)) {
      for (const partition of await children(`${topic}/partitions`)) {
        for (const file of await children(partition)) {
          if (file.endsWith('.log') && (await disk.stat(file)).sizeBytes > 0) return file
        }
      }
    }
  }
  return undefined
}

const maximum = (a: bigint, b: bigint): bigint => (a > b ? a : b)
