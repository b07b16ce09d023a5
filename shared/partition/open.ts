/**
 * Opens one partition: builds it where there is none, recovers it where there is one (spec partition.md §6.11).
 */
import { joinPath } from '../storage/paths.ts'
import { writePurgeGen } from '../storage/purge-gen.ts'
import { readAnchor } from './anchor.ts'
import { Chain } from './chain.ts'
import { ConsumerOffsets } from './consumer-offsets.ts'
import type { Partition, PartitionOptions } from './contract.ts'
import { claimDirectory } from './incarnation.ts'
import { SegmentedPartition } from './partition.ts'
import { type RecoveredChain, RecoveryLog, recoverChain } from './recovery.ts'
import type { RecoveredSegment } from './recovery-walk.ts'
import { PartitionRefused } from './refused.ts'
import type { Segment } from './segment.ts'

/**
 * @throws PartitionRefused when the directory may not be served as it is; no byte of it was changed then. DiskError when
 * the disk failed, which says nothing about the data: the boot may be tried again.
 */
export async function openPartition(options: PartitionOptions): Promise<Partition> {
  const { host, directory, settings, createdRevision } = options
  const log = new RecoveryLog(options)
  const claim = await claimDirectory(host.disk, directory, createdRevision)
  if (claim.kind === 'set_aside')
    log.fact('incarnation_set_aside', 'incarnation', directory, 'set aside', { to: claim.to })
  const recovered = await recoverChain(options, log)
  for (const part of ['consumers', 'groups']) await host.disk.makeDirectory(joinPath(directory, `offsets/${part}`))
  if (claim.kind !== 'same' && recovered.segments.length === 0) {
    await writePurgeGen(host.disk, directory, { generation: 0n, createdRevision })
  }

  const chain = new Chain(host, directory, settings.segmentSizeBytes, settings.preallocateSegments)
  for (const segment of recovered.segments) chain.push(adopt(chain, segment))
  const next = await nextOffset(options, chain, recovered)
  log.step('counter', directory, 'next offset', { next: next.toString() })
  if (chain.segments.length === 0) {
    chain.push(await chain.create(next))
    log.step('plant', directory, 'first segment', { start: next.toString() })
  } else await reopenTail(options, chain)
  const offsets = new ConsumerOffsets(host, directory, settings.enforceFsync)
  await offsets.load(next, log)
  return new SegmentedPartition(options, chain, offsets, next, log.steps)
}

function adopt(chain: Chain, recovered: RecoveredSegment): Segment {
  const segment = chain.newSegment(recovered.startOffset)
  segment.endOffset = recovered.endOffset
  segment.sizeBytes = recovered.walkedBytes
  segment.startTimestamp = recovered.startTimestamp
  segment.endTimestamp = recovered.endTimestamp
  segment.maxTimestamp = recovered.maxTimestamp
  segment.monotone = recovered.monotone
  const { index } = recovered
  if (index.kind === 'rebuild') segment.indexBytes = index.index.toBytes().length
  else if (index.kind !== 'empty') segment.indexBytes = index.bytes
  return segment
}

/**
 * The counter (§6.11 steps 7 and 8): behind the last byte of data; without data, the name of the tail, which speaks for
 * messages that were there, unless it was planted past a gap; and never below what a lost segment's index claims.
 */
async function nextOffset(options: PartitionOptions, chain: Chain, recovered: RecoveredChain): Promise<bigint> {
  const frontier = options.frontier ?? 0n
  let next = chain.durableEnd()
  const tail = chain.segments.at(-1)
  if (next === 0n && tail && tail.startOffset > 0n) {
    const planted =
      (await readAnchor(options.host.disk, options.host.hash, options.directory, tail.startOffset)) !== undefined
    next = planted && frontier < tail.startOffset ? frontier : tail.startOffset
  }
  for (const claim of [frontier, recovered.orphanClaim]) if (claim > next) next = claim
  return next
}

/** The files must be what the passes made of them, or something else writes here. */
async function reopenTail(options: PartitionOptions, chain: Chain): Promise<void> {
  const tail = chain.active
  await chain.reopen(tail)
  const { log, index } = tail.writers!
  const sizes = [
    { path: tail.logPath, actual: await log.file.sizeBytes(), expected: tail.sizeBytes },
    { path: tail.indexPath, actual: await index.sizeBytes(), expected: tail.indexBytes },
  ]
  for (const { path, actual, expected } of sizes) {
    if (actual === expected) continue
    chain.close()
    throw new PartitionRefused(
      'StorageSizeMismatch',
      options.directory,
      `${path} has ${actual} bytes, recovery left ${expected}`,
      {
        path,
        advice: 'make sure that no other process uses this data directory',
      },
    )
  }
}
