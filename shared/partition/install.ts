/**
 * The swap of a fetched chain for the local one (spec partition.md §8.4, §8.5). What may be refused is refused before
 * anything changes. After that every step is durable before the next, so that a crash in between boots: the frontier is
 * recorded by then, and the segments are a suffix of the old chain, none, or a prefix of the new one, which lags honestly.
 * A step that fails ends the process like any failed persist: the boot is the retry.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Offset, Op } from '../bytes/units.ts'
import type { TransferredOffsets } from '../protocol/transfer-offsets.ts'
import { joinPath } from '../storage/paths.ts'
import { classifyName } from '../storage/segment-names.ts'
import { writeAnchor } from './anchor.ts'
import { type Chain, unlinkIfThere } from './chain.ts'
import type { PartitionOptions } from './contract.ts'
import { segmentPath } from './segment.ts'
import { type StagedSegment, stagedPath } from './transfer-staging.ts'

export interface FetchedPartition {
  readonly commitOp: Op
  readonly offsets: TransferredOffsets
}

/** What the offer is judged against. */
export interface InstallState {
  /** Ops up to here are applied. */
  readonly appliedOp: bigint
  /** End (exclusive) of what is held, in segments and journal: never the counter, which a reservation may have raised (§7.7). */
  readonly held: bigint
  readonly appliedGeneration: bigint
  readonly committedGeneration: bigint
}

/**
 * Judges the offer; nothing is changed. Answers the segments in order, and whether a purge stands between the offer and
 * what is held here.
 * @throws EngineError StaleTransfer, PurgeGenerationBehind, OfferRewindsDurableData, DuplicateSegment, SegmentSetHole.
 */
export function judgeInstall(
  { commitOp, offsets }: FetchedPartition,
  staged: readonly StagedSegment[],
  state: InstallState,
): { readonly segments: readonly StagedSegment[]; readonly purgeAdvances: boolean } {
  const refuse = (code: string, message: string): never => {
    throw new EngineError(code, message)
  }
  const { purgeGeneration, nextOffset } = offsets
  if (commitOp < state.appliedOp)
    return refuse('StaleTransfer', `the offer is of op ${commitOp}, op ${state.appliedOp} is applied here`)
  if (purgeGeneration < state.committedGeneration)
    return refuse(
      'PurgeGenerationBehind',
      `the offer is of purge ${purgeGeneration}, purge ${state.committedGeneration} is committed`,
    )
  const purgeAdvances = purgeGeneration > state.appliedGeneration
  if (!purgeAdvances && nextOffset < state.held)
    return refuse(
      'OfferRewindsDurableData',
      `the offer ends at offset ${nextOffset}, offset ${state.held} is held here`,
    )
  const segments = [...staged].sort((a, b) => (a.startOffset < b.startOffset ? -1 : 1))
  for (const [index, segment] of segments.entries()) {
    const before = segments[index - 1]
    if (before === undefined) continue
    if (segment.startOffset === before.startOffset) refuse('DuplicateSegment', `segment ${segment.startOffset} twice`)
    const joins = segment.startOffset === before.endOffset
    const anchored = segment.gapFrom === before.endOffset && segment.startOffset > before.endOffset
    if (!joins && !anchored)
      refuse('SegmentSetHole', `segment ${segment.startOffset} behind one that ends at offset ${before.endOffset}`)
  }
  const end = segments.at(-1)?.endOffset ?? 0n
  if (end > nextOffset) refuse('SegmentSetHole', `segments up to offset ${end}, the offer ends at ${nextOffset}`)
  return { segments, purgeAdvances }
}

/** Unlinks every segment file, the oldest segment first, so that a crash leaves a contiguous suffix. @throws DiskError */
export async function unlinkSegments({ host, directory }: PartitionOptions): Promise<void> {
  const { disk } = host
  for (const name of (await disk.list(directory)).sort()) {
    const { kind } = classifyName(name)
    if (kind === 'log' || kind === 'index' || kind === 'anchor') await unlinkIfThere(disk, joinPath(directory, name))
  }
  await disk.syncDirectory(directory)
}

/** Puts the staged segments in place of the old ones; `chain` is empty and its files are closed. @throws DiskError */
export async function swapSegments(
  options: PartitionOptions,
  chain: Chain,
  segments: readonly StagedSegment[],
  nextOffset: Offset,
): Promise<void> {
  const { host, directory } = options
  const { disk, hash } = host
  await unlinkSegments(options)
  for (const { startOffset } of segments) {
    const path = segmentPath(directory, startOffset, 'index')
    await disk.rename(stagedPath(path), path)
  }
  await disk.syncDirectory(directory)
  let before: StagedSegment | undefined
  for (const segment of segments) {
    const { startOffset } = segment
    if (before !== undefined && startOffset > before.endOffset) {
      await writeAnchor(disk, hash, directory, {
        plantedStart: startOffset,
        sealedStart: before.startOffset,
        sealedEnd: before.endOffset - 1n,
      })
    }
    const path = segmentPath(directory, startOffset, 'log')
    await disk.rename(stagedPath(path), path)
    // Each rename is what commits its segment.
    await disk.syncDirectory(directory)
    before = segment
  }
  if (segments.length === 0) {
    chain.restore(await chain.create(nextOffset))
    return
  }
  for (const staged of segments) {
    const segment = chain.newSegment(staged.startOffset)
    segment.endOffset = staged.endOffset
    segment.sizeBytes = staged.sizeBytes
    segment.indexBytes = staged.indexBytes
    segment.startTimestamp = staged.startTimestamp
    segment.endTimestamp = staged.endTimestamp
    segment.maxTimestamp = staged.maxTimestamp
    segment.monotone = staged.monotone
    chain.push(segment)
  }
  await chain.reopen(chain.active)
}
