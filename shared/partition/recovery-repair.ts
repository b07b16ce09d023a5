/**
 * Pass C for one segment: the files are made to match what the walk proved (spec partition.md §6.1, §6.7). Log before
 * index: a crash in between leaves an index ahead of its log, which is an ordinary input.
 */
import type { Disk } from '../storage/disk.ts'
import { joinPath, nameOf, parentOf } from '../storage/paths.ts'
import type { PartitionOptions } from './contract.ts'
import { freeFence } from './incarnation.ts'
import type { RecoveryLog } from './recovery.ts'
import type { RecoveredSegment } from './recovery-walk.ts'
import { PartitionRefused } from './refused.ts'

const stagingPath = (segment: RecoveredSegment): string => `${segment.indexPath}.staging`

/** Writes a rebuilt index beside the old one, durably. Throws DiskError. */
export async function stageIndex(disk: Disk, segment: RecoveredSegment): Promise<void> {
  if (segment.index.kind !== 'rebuild') return
  const file = await disk.open(stagingPath(segment), 'create')
  try {
    await file.write(0, [segment.index.index.toBytes()])
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Best effort: scratch that stays is swept by the next boot. */
export async function unstageIndex(disk: Disk, segment: RecoveredSegment): Promise<void> {
  await disk.remove(stagingPath(segment)).catch(() => undefined)
}

export async function repairSegment(
  options: PartitionOptions,
  segment: RecoveredSegment,
  log: RecoveryLog,
): Promise<void> {
  const { disk } = options.host
  const { logPath, indexPath, walkedBytes, index } = segment
  if (walkedBytes === 0 && segment.logBytes > 0) {
    await fence(options, segment, log)
    return
  }
  if (segment.logBytes > walkedBytes) {
    await truncate(options, logPath, walkedBytes)
    log.fact('log_truncated', 'truncate_log', logPath, 'torn tail cut', {
      bytes: segment.logBytes - walkedBytes,
      position: walkedBytes,
      first: segment.endOffset.toString(),
      ...(segment.claimedLast !== undefined && { claimedLast: segment.claimedLast.toString() }),
    })
  }
  if (index.kind === 'rebuild') {
    await disk.rename(stagingPath(segment), indexPath)
    await disk.syncDirectory(options.directory)
    const detail = {
      reason: index.reason,
      entries: index.index.entries,
      ...(index.entry !== undefined && { entry: index.entry }),
    }
    if (index.reason !== 'absent') log.fact('index_dropped', 'drop_index', indexPath, 'index-drop', detail)
    log.fact('index_rebuilt', 'rebuild_index', indexPath, 'rebuilt', detail)
    return
  }
  if (index.kind === 'empty' && !segment.indexExists) {
    await (await disk.open(indexPath, 'create')).close()
    await disk.syncDirectory(options.directory)
    log.step('create_index', indexPath, 'created')
    return
  }
  const bytes = index.kind === 'empty' ? 0 : index.bytes
  if (segment.indexBytes > bytes) await truncate(options, indexPath, bytes)
  if (index.kind === 'floor') {
    log.fact('index_floored', 'floor_index', indexPath, 'index-floor', {
      entries: index.entries,
      dropped: index.dropped,
      bytes,
      logBytes: walkedBytes,
    })
  } else if (segment.indexBytes > bytes) {
    log.fact('index_truncated', 'truncate_index', indexPath, 'cut', { bytes, before: segment.indexBytes })
  }
}

/** Never extends: zero bytes would decode as entries. */
async function truncate({ host, directory }: PartitionOptions, path: string, bytes: number): Promise<void> {
  const file = await host.disk.open(path, 'write')
  try {
    const size = await file.sizeBytes()
    if (size < bytes) {
      throw new PartitionRefused('StorageSizeMismatch', directory, `${path} has ${size} bytes, the walk saw ${bytes}`, {
        path,
      })
    }
    if (size === bytes) return
    await file.truncate(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A log of which nothing decodes is set aside with its index, and an empty pair takes its place (§6.7). */
async function fence(options: PartitionOptions, segment: RecoveredSegment, log: RecoveryLog): Promise<void> {
  const { host, directory } = options
  const { disk } = host
  const to = await freeFence(disk, directory)
  await disk.makeDirectory(to)
  await disk.rename(segment.logPath, joinPath(to, nameOf(segment.logPath)))
  if (segment.indexBytes > 0) await disk.rename(segment.indexPath, joinPath(to, nameOf(segment.indexPath)))
  for (const path of [segment.indexPath, segment.logPath]) await (await disk.open(path, 'create')).close()
  for (const synced of [to, directory, parentOf(directory)]) await disk.syncDirectory(synced)
  log.fact('segment_fenced', 'fence', segment.logPath, 'set aside', {
    to,
    logBytes: segment.logBytes,
    indexBytes: segment.indexBytes,
  })
}
