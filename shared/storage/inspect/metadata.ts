/** The metadata directory under inspection: superblock, write-ahead log, snapshot, and whether the three agree. */
import { EngineError } from '../../bytes/errors.ts'
import type { Hash } from '../../bytes/hash.ts'
import type { PrepareHeader } from '../../protocol/headers.ts'
import { type Disk, type DiskFile, isNotFound } from '../disk.ts'
import { joinPath } from '../paths.ts'
import { decodeSnapshot } from '../snapshot-decode.ts'
import { readSnapshotFrame, SNAPSHOT_FILE, SNAPSHOT_FORMAT_VERSION } from '../snapshot-file.ts'
import { SNAPSHOT_BYTES_MAX } from '../snapshot-store.ts'
import type { VsrState } from '../superblock-record.ts'
import { scanWal } from '../wal-scan.ts'
import { checkName, type Findings, type SnapshotReport, type WalReport } from './report.ts'
import { type InspectedSuperblock, inspectSuperblock } from './superblocks.ts'

export const WAL_FILE = 'journal.wal'
const METADATA_FILES = new Set(['superblock.a', 'superblock.b', SNAPSHOT_FILE, WAL_FILE])

export interface InspectedMetadata {
  readonly superblock?: InspectedSuperblock
  readonly wal?: WalReport
  readonly snapshot?: SnapshotReport
  /** Cluster id, by the superblock or else by the log. */
  readonly cluster?: bigint
}

export async function inspectMetadata(
  disk: Disk,
  directory: string,
  names: readonly string[],
  hash: Hash,
  findings: Findings,
): Promise<InspectedMetadata> {
  for (const name of names) {
    const path = joinPath(directory, name)
    if (name.endsWith('.tmp'))
      findings.add('info', 'LEFTOVER', path, 0, 'name', 'left behind by an interrupted replacement; never read')
    else if (!METADATA_FILES.has(name))
      findings.add('info', 'UNKNOWN_NAME', path, 0, 'name', 'no part of a node directory')
  }
  const superblock = await inspectSuperblock(disk, directory, hash, findings, { plane: 'metadata' })
  const log = await withFile(disk, joinPath(directory, WAL_FILE), findings, (file, size) =>
    inspectWal(file, size, hash, findings),
  )
  const snapshot = await withFile(disk, joinPath(directory, SNAPSHOT_FILE), findings, (file, size) =>
    inspectSnapshot(file, size, hash, findings, superblock?.state),
  )
  const state = superblock?.state
  if (state !== undefined && log !== undefined) checkAgainstLog(state, log, snapshot, findings)
  if (state !== undefined && snapshot === undefined && state.checkpointOp > 0n && superblock !== undefined) {
    findings.add(
      'damage',
      'SNAPSHOT_MISSING',
      joinPath(directory, SNAPSHOT_FILE),
      0,
      'pairing',
      `the superblock was written with a snapshot of op ${state.checkpointOp}, which is not there`,
    )
  }
  const cluster = state?.cluster ?? log?.first?.cluster
  return {
    ...(superblock === undefined ? {} : { superblock }),
    ...(log === undefined ? {} : { wal: log.report }),
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(cluster === undefined ? {} : { cluster }),
  }
}

/** Opens a file for `action`; absent is undefined, unreadable a finding. */
export async function withFile<T>(
  disk: Disk,
  path: string,
  findings: Findings,
  action: (file: DiskFile, sizeBytes: number) => Promise<T>,
): Promise<T | undefined> {
  let file: DiskFile
  try {
    file = await disk.open(path, 'read')
  } catch (error) {
    if (!isNotFound(error)) findings.unreadable(error, path)
    return undefined
  }
  try {
    const before = await disk.stat(path)
    findings.countFile(before.sizeBytes)
    const result = await action(file, before.sizeBytes)
    const after = await disk.stat(path)
    if (after.sizeBytes !== before.sizeBytes || after.modifiedMs !== before.modifiedMs) {
      findings.add(
        'warning',
        'CHANGED_WHILE_READ',
        path,
        0,
        'live',
        'the file changed while it was read: a node is running on this directory, and findings in it may be writes under way',
      )
    }
    return result
  } catch (error) {
    findings.unreadable(error, path)
    return undefined
  } finally {
    await file.close()
  }
}

interface InspectedWal {
  readonly report: WalReport
  readonly first?: PrepareHeader
  /** Highest op among the good entries, 0 when none. */
  readonly lastOp: bigint
  readonly highestView?: { readonly view: number; readonly position: number }
}

async function inspectWal(file: DiskFile, sizeBytes: number, hash: Hash, findings: Findings): Promise<InspectedWal> {
  const { path } = file
  let first: PrepareHeader | undefined
  let previous: { header: PrepareHeader; position: number } | undefined
  let highestView: { view: number; position: number } | undefined
  const scan = await scanWal(file, sizeBytes, hash, ({ header, position }) => {
    first ??= header
    if (header.cluster !== first.cluster) {
      findings.add(
        'damage',
        'WAL_FOREIGN_ENTRY',
        path,
        position + 32,
        'cluster',
        `op ${header.op} is of another cluster than the entries before it`,
      )
    }
    if (previous !== undefined && header.op > previous.header.op + 1n) {
      findings.add(
        'info',
        'WAL_GAP',
        path,
        position,
        'op_order',
        `ops ${previous.header.op + 1n} to ${header.op - 1n} are not held between these entries`,
      )
    }
    if (previous !== undefined && previous.header.op + 1n === header.op && header.view < previous.header.view) {
      const message = `op ${previous.header.op} is stamped with view ${previous.header.view}, the op after it with ${header.view}: no checksum covers the view`
      findings.add('warning', 'WAL_VIEW_ORDER', path, previous.position + 52, 'view_order', message)
    }
    if (highestView === undefined || header.view > highestView.view) highestView = { view: header.view, position }
    previous = { header, position }
  })
  if (scan.unsealed > 0) {
    findings.add(
      'warning',
      'WAL_UNSEALED',
      path,
      0,
      'seal',
      `${scan.unsealed} of ${scan.entries} entries carry no checksum of their header or body (an older build)`,
    )
  }
  if (scan.end.kind !== 'clean') {
    const { problem } = scan.end
    const values = problem.expected === undefined ? '' : `: expected ${problem.expected}, found ${problem.actual}`
    const which = problem.op === undefined ? '' : `op ${problem.op}: `
    if (scan.end.kind === 'torn') {
      const fate = scan.end.whole
        ? 'a boot keeps it as a gap until it is repaired, then cuts it'
        : `a boot cuts these ${scan.end.bytes} bytes`
      findings.add(
        'damage',
        'WAL_TAIL_TORN',
        path,
        problem.position,
        checkName(problem.check),
        `${which}${problem.message}${values}; the last entry, so ${fate}`,
      )
    } else {
      const behind =
        scan.end.survivor === undefined
          ? `${scan.end.bytesFollowing} bytes follow`
          : `a complete entry follows at byte ${scan.end.survivor}`
      findings.add(
        'damage',
        'WAL_DAMAGED',
        path,
        problem.position,
        checkName(problem.check),
        `${which}${problem.message}${values}; ${behind}, so a boot refuses`,
      )
    }
  }
  const report: WalReport = {
    path,
    sizeBytes,
    goodBytes: scan.end.position,
    entries: scan.entries,
    unsealed: scan.unsealed,
    firstOp: (first?.op ?? 0n).toString(),
    lastOp: scan.highestOp.toString(),
  }
  return {
    report,
    lastOp: scan.highestOp,
    ...(first === undefined ? {} : { first }),
    ...(highestView === undefined ? {} : { highestView }),
  }
}

async function inspectSnapshot(
  file: DiskFile,
  sizeBytes: number,
  hash: Hash,
  findings: Findings,
  state: VsrState | undefined,
): Promise<SnapshotReport> {
  const { path } = file
  const reading = await readSnapshotFrame(file, sizeBytes, hash)
  const hex = (value: bigint) => `0x${value.toString(16).padStart(16, '0')}`
  if (reading.sealed && reading.stored !== reading.computed) {
    findings.add(
      'damage',
      'SNAPSHOT_CHECKSUM',
      path,
      reading.payloadBytes + 4,
      'trailer_checksum',
      `the payload does not match its trailer: expected ${hex(reading.computed)}, found ${hex(reading.stored!)}`,
    )
  } else if (!reading.sealed) {
    const vouched =
      state !== undefined && state.checkpointOp === reading.op && state.checkpointChecksum === reading.computed
    const message = vouched
      ? 'no trailer (a legacy file), but the superblock vouches for exactly these bytes'
      : 'no trailer, and no superblock vouches for these bytes: a boot refuses'
    findings.add(
      vouched ? 'warning' : 'damage',
      'SNAPSHOT_UNSEALED',
      path,
      reading.payloadBytes,
      'trailer_magic',
      message,
    )
  } else if (reading.version !== undefined && reading.version !== SNAPSHOT_FORMAT_VERSION) {
    findings.add(
      'damage',
      'SNAPSHOT_VERSION',
      path,
      0,
      'format_version',
      `format version ${reading.version}, expected ${SNAPSHOT_FORMAT_VERSION}`,
    )
  } else if (reading.op === undefined) {
    findings.add('damage', 'SNAPSHOT_UNDECODABLE', path, 0, 'msgpack', 'the payload does not start as a snapshot does')
  } else if (state !== undefined) checkPairing(path, reading.op, reading.computed, state, findings, hex)
  const sound = (reading.stored ?? reading.computed) === reading.computed && reading.version === SNAPSHOT_FORMAT_VERSION
  const holds = sound && reading.op !== undefined ? await decode(file, reading.payloadBytes, findings) : undefined
  return {
    path,
    sizeBytes,
    sealed: reading.sealed,
    checksum: hex(reading.computed),
    ...(reading.version === undefined ? {} : { version: reading.version.toString() }),
    ...(reading.op === undefined ? {} : { op: reading.op.toString() }),
    ...(holds === undefined ? {} : { holds }),
  }
}

/** Decodes a snapshot whose bytes are proven; what a boot could not read is damage all the same. */
async function decode(file: DiskFile, bytes: number, findings: Findings): Promise<SnapshotReport['holds']> {
  if (bytes > SNAPSHOT_BYTES_MAX) return undefined
  const payload = new Uint8Array(bytes)
  await file.read(0, payload)
  try {
    const { users, streams, clients } = decodeSnapshot(payload)
    const topics = streams.flatMap(stream => stream.topics)
    return {
      users: users.length,
      streams: streams.length,
      topics: topics.length,
      partitions: topics.reduce((sum, topic) => sum + topic.partitions.length, 0),
      clients: clients?.length ?? 0,
    }
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    const message = `the payload matches its checksum, but is no snapshot: ${error.message}`
    findings.add('damage', 'SNAPSHOT_UNDECODABLE', file.path, error.context.position ?? 0, 'msgpack', message)
    return undefined
  }
}

function checkPairing(
  path: string,
  op: bigint,
  checksum: bigint,
  state: VsrState,
  findings: Findings,
  hex: (value: bigint) => string,
): void {
  if (state.checkpointOp > op) {
    findings.add(
      'damage',
      'CHECKPOINT_AHEAD_OF_SNAPSHOT',
      path,
      0,
      'pairing',
      `the superblock was written with a snapshot of op ${state.checkpointOp}, this one is of op ${op}`,
    )
  } else if (state.checkpointOp === op && state.checkpointChecksum !== checksum) {
    findings.add(
      'damage',
      'CHECKPOINT_CHECKSUM_MISMATCH',
      path,
      0,
      'pairing',
      `the superblock names a snapshot of op ${op} with checksum ${hex(state.checkpointChecksum)}, this one has ${hex(checksum)}`,
    )
  } else if (state.checkpointOp < op) {
    findings.add(
      'info',
      'CHECKPOINT_BEHIND_SNAPSHOT',
      path,
      0,
      'pairing',
      `the superblock still names op ${state.checkpointOp}: a checkpoint was interrupted, which is legal`,
    )
  }
}

function checkAgainstLog(
  state: VsrState,
  log: InspectedWal,
  snapshot: SnapshotReport | undefined,
  findings: Findings,
): void {
  const { path } = log.report
  if (log.first !== undefined && log.first.checksum !== 0n && log.first.cluster !== state.cluster) {
    findings.add(
      'damage',
      'IDENTITY_MISMATCH',
      path,
      32,
      'cluster',
      'the log is of another cluster than the superblock',
    )
  }
  const held = BigInt(snapshot?.op ?? 0n) > log.lastOp ? BigInt(snapshot!.op!) : log.lastOp
  if (state.commitMax > held) {
    const solo = state.replicaCount === 1
    const fate = solo ? 'a solo boot refuses' : 'a boot counts the rest as a gap and asks its peers'
    findings.add(
      solo ? 'damage' : 'warning',
      'COMMIT_AHEAD_OF_LOG',
      path,
      0,
      'commit_max',
      `the superblock knows of ${state.commitMax} committed ops, snapshot and log end at ${held}: ${fate}`,
    )
  }
  if (log.highestView !== undefined && log.highestView.view > state.view) {
    const { view, position } = log.highestView
    findings.add(
      'warning',
      'WAL_VIEW_ABOVE_SUPERBLOCK',
      path,
      position + 52,
      'view',
      `an entry is stamped with view ${view}, the superblock holds ${state.view}: appended right before a crash, or a flipped bit that no checksum covers`,
    )
  }
}
