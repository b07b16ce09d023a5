/**
 * Opens one partition: builds it where there is none, recovers it where there is one (spec partition.md §6.11).
 */
import { makeDurableDirectory } from '../storage/directories.ts'
import { joinPath } from '../storage/paths.ts'
import { writePurgeGen } from '../storage/purge-gen.ts'
import { Chain } from './chain.ts'
import { ConsumerOffsets } from './consumer-offsets.ts'
import type { Partition, PartitionOptions } from './contract.ts'
import { claimDirectory } from './incarnation.ts'
import { SegmentedPartition } from './partition.ts'
import { quarantineChain } from './quarantine.ts'
import { reanchor } from './reanchor.ts'
import { type RecoveredChain, RecoveryLog, recoverChain } from './recovery.ts'
import type { RecoveredSegment } from './recovery-walk.ts'
import { PartitionRefused } from './refused.ts'
import { advanced } from './reservation.ts'
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
  const generation = claim.kind === 'same' ? claim.generation : 0n
  const recovered = await recoverOrSetAside(options, log)
  for (const part of ['consumers', 'groups'])
    await makeDurableDirectory(host.disk, joinPath(directory, `offsets/${part}`))
  if (claim.kind !== 'same' && recovered.segments.length === 0) {
    await writePurgeGen(host.disk, directory, { generation: 0n, createdRevision })
  }

  const chain = new Chain(options)
  for (const segment of recovered.segments) chain.push(adopt(chain, segment))
  const { next, dataEnd, stored } = recovered
  const { frontier, reserved } = options.superblock?.recorded() ?? { frontier: 0n, reserved: 0n }
  log.step('counter', directory, 'next offset', {
    next: next.toString(),
    dataEnd: dataEnd.toString(),
    frontier: frontier.toString(),
    reserved: reserved.toString(),
  })
  if (next > dataEnd && (options.replicaCount === 1 || recovered.lostSegment)) {
    // Ordinary after a kill; the same is seen when the last flushed batch has rotted, so it is always said (§6.10).
    const range = { first: dataEnd.toString(), last: (next - 1n).toString() }
    log.fact('missing_range', 'counter', directory, 'was there and is not', range)
  }
  const floor = options.replicaCount === 1 && options.rules.offsetsAreReserved ? reserved : 0n
  const start = floor > next ? floor : next
  if (floor > next) {
    // Offsets of the life before that only memory held: confirmed or not, they are not given out again.
    const range = { first: next.toString(), last: (floor - 1n).toString() }
    log.fact('memory_tail_lost', 'counter', directory, 'reserved by the life before', range)
  }
  if (options.replicaCount === 1 && options.rules.holeOnBoundary) await reanchor(options, chain, start, log)
  if (chain.segments.length === 0) {
    chain.push(await chain.create(start))
    log.step('plant', directory, 'first segment', { start: start.toString() })
  } else if (chain.active.writers === undefined) await reopenTail(options, chain)
  const offsets = new ConsumerOffsets(host, directory, settings.enforceFsync)
  await offsets.load(next, log)
  return new SegmentedPartition(options, chain, offsets, { next, dataEnd, stored, generation }, log.steps)
}

/**
 * The chain as it is, or an empty one in the place of a refused chain (§6.10): a replica of a cluster gets its messages from
 * the others, a solo node loses nothing with segments of length 0. Everything else stays where it is, so that the next boot
 * says the same. What the refused chain speaks for is recorded before a file moves.
 */
async function recoverOrSetAside(options: PartitionOptions, log: RecoveryLog): Promise<RecoveredChain> {
  const { host, directory, superblock } = options
  try {
    return await recoverChain(options, log)
  } catch (error) {
    if (!(error instanceof PartitionRefused) || error.chain === undefined) throw error
    const { frontier, empty } = error.chain
    if (options.replicaCount === 1 && !empty) throw error
    try {
      await superblock?.write(recorded => advanced(recorded, frontier, 0n))
      const to = await quarantineChain(host.disk, directory)
      log.fact('chain_quarantined', 'quarantine', directory, error.refusal, {
        to: to ?? '',
        frontier: frontier.toString(),
        message: error.message,
      })
    } catch (cause) {
      log.fact('quarantine_failed', 'quarantine', directory, 'left in place', { message: String(cause) })
      throw error
    }
    return recoverChain(options, log)
  }
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
