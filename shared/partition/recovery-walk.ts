/**
 * Pass A of a boot, for one segment: what its two files really hold (spec partition.md §6.3–6.7). Reads only, except that
 * a rebuilt index is staged.
 *
 * The log is walked from byte 0, every batch verified, whatever the index says: log and index reach the disk in any order,
 * so an index entry proves nothing about the bytes it names, nor about those before it. The walk is also what judges the
 * index: an entry is proven when the walk met a batch with exactly its position, offset and time. That is the verdict of
 * the downward search of §6.5 without its cost, so no budget can run out over a hostile index:
 * - the highest proven entry is the last one: intact; a lower one: floor, the entries above it go;
 * - none is proven, or one below the highest proven is wrong, or the entries contradict each other: drop and rebuild.
 */
import type { Offset } from '../bytes/units.ts'
import type { PartitionKey } from '../protocol/groups.ts'
import type { Rules } from '../protocol/rules.ts'
import type { DiskFile } from '../storage/disk.ts'
import { FileScanner } from '../storage/file-scanner.ts'
import { type ProbeBudget, probeResidue } from '../storage/residue-probe.ts'
import { type SegmentScan, scanSegment } from '../storage/segment-scan.ts'
import type { PartitionHost } from './contract.ts'
import { dataView, recordBaseOffset, recordMessages } from './record.ts'
import { IndexComparison, type IndexVerdict } from './recovery-index.ts'
import { PartitionRefused } from './refused.ts'
import { segmentPath } from './segment.ts'
import type { StoredTail } from './stored-tail.ts'

export interface RecoveredSegment {
  readonly startOffset: Offset
  readonly logPath: string
  readonly indexPath: string
  /** Lengths of the files as they are. */
  readonly logBytes: number
  readonly indexBytes: number
  readonly indexExists: boolean
  /** What the walk proved: the size that the segment will have. */
  readonly walkedBytes: number
  readonly messages: bigint
  /** Exclusive; equal to startOffset when nothing was proven. */
  readonly endOffset: bigint
  readonly startTimestamp: bigint
  readonly endTimestamp: bigint
  readonly maxTimestamp: bigint
  readonly monotone: boolean
  readonly index: IndexVerdict
  /** Last offset that the cut bytes claim to hold, when their header can be read; a claim, nothing more. */
  readonly claimedLast?: bigint
  readonly refusal?: PartitionRefused
}

export interface WalkContext {
  readonly host: PartitionHost
  readonly directory: string
  readonly key: PartitionKey
  readonly rules: Rules
  /** One for all segments of a load. */
  readonly budget: ProbeBudget
  /** Gets every proven batch. */
  readonly stored: StoredTail
}

/** Walks one segment. Throws DiskError; a refusal is part of the result, so that the rest of the chain is walked as well. */
export async function walkSegment(context: WalkContext, startOffset: Offset): Promise<RecoveredSegment> {
  const { host, directory } = context
  const logPath = segmentPath(directory, startOffset, 'log')
  const indexPath = segmentPath(directory, startOffset, 'index')
  const comparison = await IndexComparison.read(host, indexPath, startOffset)
  const log = await host.disk.open(logPath, 'read')
  try {
    const logBytes = await log.sizeBytes()
    await comparison.load(logBytes)
    const times = { max: 0n, last: 0n, monotone: true }
    const anchor = context.rules.walkFromStart ? undefined : await comparison.anchor(log, logBytes)
    const scan = await scanSegment(log, logBytes, host.hash, {
      startOffset: anchor?.offset ?? startOffset,
      from: anchor?.position ?? 0,
      partitionId: context.key.partition,
      scheduler: host.scheduler,
      onBatch: batch => {
        comparison.meet(batch)
        context.stored.add(batch.baseOffset, batch.baseOffset + BigInt(batch.messages), batch.checksum)
        if (batch.baseTimestamp < times.last) times.monotone = false
        if (batch.baseTimestamp > times.max) times.max = batch.baseTimestamp
        times.last = batch.baseTimestamp
        return undefined
      },
    })
    const index = comparison.verdict(scan.walkedBytes)
    const { refusal = refusedIndex(context, indexPath, index), claimedLast } = await judgeResidue(
      context,
      log,
      logPath,
      logBytes,
      startOffset,
      scan,
    )
    return {
      startOffset,
      logPath,
      indexPath,
      logBytes,
      indexBytes: comparison.fileBytes,
      indexExists: comparison.exists,
      walkedBytes: scan.walkedBytes,
      messages: scan.messages,
      endOffset: scan.endOffset === undefined ? startOffset : scan.endOffset + 1n,
      startTimestamp: scan.startTimestamp ?? 0n,
      endTimestamp: scan.endTimestamp ?? 0n,
      maxTimestamp: times.max,
      monotone: times.monotone,
      index,
      ...(claimedLast !== undefined && { claimedLast }),
      ...(refusal && { refusal }),
    }
  } finally {
    await log.close()
  }
}

/** With its rule off, an index that its log contradicts is taken for damage. */
function refusedIndex(
  { rules, directory }: WalkContext,
  path: string,
  index: IndexVerdict,
): PartitionRefused | undefined {
  if (rules.indexIsDerived || (index.kind !== 'floor' && index.kind !== 'rebuild')) return undefined
  const message =
    index.kind === 'floor'
      ? `${index.dropped} index entries have nothing behind them in the log`
      : `the index contradicts the log: ${index.reason}`
  return new PartitionRefused('InteriorDamage', directory, message, { path })
}

/** A walk that did not reach the end of the file: a torn tail, or a reason to refuse (§6.4, §6.6)? */
async function judgeResidue(
  { host, directory, budget, rules }: WalkContext,
  log: DiskFile,
  logPath: string,
  logBytes: number,
  startOffset: Offset,
  scan: SegmentScan,
): Promise<{ refusal?: PartitionRefused; claimedLast?: bigint }> {
  const { end } = scan
  if (end.kind === 'clean' || end.kind === 'stopped') return {}
  const { problem } = end
  const at = problem.batchPosition
  if (end.kind === 'contradiction') {
    const code = problem.check === 'foreign_batch' ? 'ForeignBatch' : 'OffsetDiscontinuity'
    return {
      refusal: new PartitionRefused(code, directory, `${logPath} at byte ${at}: ${problem.message}`, {
        path: logPath,
        position: at,
        ...(problem.expected !== undefined && { expected: problem.expected }),
        ...(problem.actual !== undefined && { actual: problem.actual }),
        advice: 'inspect the segment: a verified batch stands where another one belongs',
      }),
    }
  }
  const scanner = new FileScanner(log, logBytes)
  const offsetMin = scan.endOffset === undefined ? startOffset : scan.endOffset + 1n
  const badFrame = problem.check === 'message_checksum' ? problem.position : undefined
  const probe = await probeResidue(scanner, at, offsetMin, host.hash, budget, host.scheduler, badFrame)
  if (probe.kind === 'survivor') {
    const message = `${logPath} is damaged at byte ${at} (${problem.message}), and a whole batch follows at byte ${probe.position}`
    return {
      refusal: new PartitionRefused('InteriorDamage', directory, message, {
        path: logPath,
        position: at,
        actual: `survivor at ${probe.position}, offset ${probe.baseOffset}`,
        advice: 'restore the segment from a replica or a backup; nothing was changed',
      }),
    }
  }
  if (probe.kind === 'exhausted' && rules.unsearchedRefuses) {
    const message = `${logPath} is damaged at byte ${at}; ${logBytes - at} bytes behind it could not be searched within the budget (${probe.candidatesExamined} candidates, ${probe.verifiedBytes} bytes verified)`
    const advice =
      'restore the segment from a replica or a backup, or cut what is behind that byte; nothing was changed'
    return {
      refusal: new PartitionRefused('UnverifiedResidue', directory, message, { path: logPath, position: at, advice }),
    }
  }
  const header = await scanner.read(at, 256)
  if (header === undefined) return {}
  const view = dataView(header)
  const messages = recordMessages(view)
  return recordBaseOffset(view) === offsetMin && messages > 0 ? { claimedLast: offsetMin + BigInt(messages) - 1n } : {}
}
