/**
 * Boot recovery of one partition directory (spec partition.md §6). Three passes: A walks every segment and decides what
 * each holds, B holds the chain together, C makes the disk match. A and B change nothing but scratch, so a refused chain
 * keeps every byte of its evidence; everything destructive, the sweep included, comes after the whole chain was accepted.
 */
import { isNotFound } from '../storage/disk.ts'
import { INDEX_ENTRY_BYTES } from '../storage/index-file.ts'
import { joinPath } from '../storage/paths.ts'
import { emptyBudget } from '../storage/residue-probe.ts'
import { listSegments, type SegmentListing } from '../storage/segment-names.ts'
import { readAnchor } from './anchor.ts'
import type { PartitionOptions, RecoveryStep } from './contract.ts'
import { moveAside } from './quarantine.ts'
import { guardChain } from './recovery-guard.ts'
import { readOrphanClaim } from './recovery-orphans.ts'
import { repairSegment, stageIndex, unstageIndex } from './recovery-repair.ts'
import { type RecoveredSegment, walkSegment } from './recovery-walk.ts'
import { PartitionRefused, type RefusedChain } from './refused.ts'
import { advanced } from './reservation.ts'
import { StoredTail } from './stored-tail.ts'

export interface RecoveredChain {
  readonly segments: readonly RecoveredSegment[]
  /** End of what the segments speak for: their bytes, or the name of an empty one that no reservation planted (§6.11 step 7). */
  readonly dataEnd: bigint
  /** The next offset by the segments and the record. */
  readonly next: bigint
  readonly stored: StoredTail
  /** An index without its log spoke of offsets that nothing else knew. */
  readonly lostSegment: boolean
}

/** How many of the last batches are remembered by their checksum: what the peers can still bring by repair, and more. */
const STORED_BATCHES_MIN = 8192

type Detail = RecoveryStep['detail']

/** Collects the steps of a boot for `recovery`, and repeats the remarkable ones as facts. */
export class RecoveryLog {
  readonly steps: RecoveryStep[] = []
  private readonly note: PartitionOptions['host']['note']

  constructor(options: PartitionOptions) {
    this.note = (kind, cls, data) => options.host.note(kind, cls, data)
  }

  step(step: string, path: string, verdict: string, detail: Detail = {}): void {
    this.steps.push({ step, path, verdict, detail })
  }

  /** A step that somebody should hear of even when nobody looks at the boot. */
  fact(kind: string, step: string, path: string, verdict: string, detail: Detail = {}): void {
    this.step(step, path, verdict, detail)
    this.note(kind, 'fact', { path, ...detail })
  }
}

/**
 * Recovers the chain of `options.directory`; the files match the result when it resolves.
 * @throws PartitionRefused with every byte untouched; DiskError when the disk fails, which is no verdict about the data.
 */
export async function recoverChain(options: PartitionOptions, log: RecoveryLog): Promise<RecoveredChain> {
  const { host, directory } = options
  const listing = await list(options)
  log.step('list', directory, `${listing.starts.length} segments`, {
    segments: listing.starts.length,
    orphans: listing.orphans.length,
    staging: listing.staging.length,
  })
  for (const name of listing.foreign) {
    log.fact('odd_name', 'list', joinPath(directory, name), 'ignored', { reason: 'its stem is not a 20-digit offset' })
  }

  const segments: RecoveredSegment[] = []
  const budget = emptyBudget()
  const stored = new StoredTail(options.replicaCount > 1 ? Math.max(STORED_BATCHES_MIN, 2 * options.evictedRingOps) : 1)
  for (const start of listing.starts) {
    const segment = await walkSegment(
      { host, directory, key: options.key, rules: options.rules, budget, stored },
      start,
    )
    describeWalk(log, segment)
    segments.push(segment)
  }
  const refusal = segments.find(segment => segment.refusal)?.refusal ?? (await guardChain(options, segments, log))
  const orphans = await readOrphans(options, listing)
  if (refusal) {
    refusal.chain = await refusedChain(options, segments, orphans)
    log.fact('chain_refused', 'chain', directory, refusal.refusal, { message: refusal.message })
    throw refusal
  }
  log.step('chain', directory, 'accepted', { segments: segments.length })

  // staged only now, so that a refused load leaves no scratch behind
  const staged: RecoveredSegment[] = []
  try {
    for (const segment of segments) {
      if (segment.index.kind !== 'rebuild') continue
      staged.push(segment)
      await stageIndex(host.disk, segment)
    }
  } catch (error) {
    for (const segment of staged) await unstageIndex(host.disk, segment)
    throw error
  }
  const dataEnd = await segmentsEnd(options, segments)
  let next = dataEnd
  const { frontier, reserved } = options.superblock?.recorded() ?? { frontier: 0n, reserved: 0n }
  const claimed = options.rules.reservationIsNoData ? frontier : reserved
  if (claimed > next) next = claimed
  const lost = orphans.filter(orphan => orphan.claim > next)
  if (lost.length > 0) {
    for (const { claim } of lost) if (claim > next) next = claim
    await setOrphansAside(options, lost, next, log)
  }
  for (const orphan of orphans) if (!lost.includes(orphan)) await sweep(options, orphan.path, log)
  const rebuilt = new Set(staged.map(segment => `${segment.indexPath}.staging`))
  for (const name of listing.staging) {
    const path = joinPath(directory, name)
    if (!rebuilt.has(path)) await sweep(options, path, log)
  }
  for (const segment of segments) await repairSegment(options, segment, log)
  return { segments, dataEnd, next, stored, lostSegment: lost.length > 0 }
}

async function list({ host, directory }: PartitionOptions): Promise<SegmentListing> {
  try {
    return listSegments(await host.disk.list(directory))
  } catch (error) {
    if (isNotFound(error)) return listSegments([])
    throw error
  }
}

function describeWalk(log: RecoveryLog, segment: RecoveredSegment): void {
  const { startOffset, endOffset, logBytes, walkedBytes, messages, refusal, index } = segment
  const verdict = refusal ? refusal.refusal : walkedBytes === logBytes ? 'whole' : 'torn_tail'
  log.step('walk', segment.logPath, verdict, {
    start: startOffset.toString(),
    end: endOffset.toString(),
    messages: messages.toString(),
    walkedBytes,
    logBytes,
  })
  log.step('index', segment.indexPath, index.kind, {
    entries: Math.floor(segment.indexBytes / INDEX_ENTRY_BYTES),
    ...(index.kind === 'floor' && { kept: index.entries - index.dropped }),
    ...(index.kind === 'rebuild' && { reason: index.reason, rebuilt: index.index.entries }),
  })
}

interface Orphan {
  readonly name: string
  readonly path: string
  /** Largest offset + 1 that its entries speak of; 0 when they speak of none (§6.1). */
  readonly claim: bigint
}

async function readOrphans(options: PartitionOptions, listing: SegmentListing): Promise<Orphan[]> {
  const orphans: Orphan[] = []
  for (const { name, kind, start } of listing.orphans) {
    const path = joinPath(options.directory, name)
    const claim = kind === 'index' ? await readOrphanClaim(options.host, path, start) : 0n
    orphans.push({ name, path, claim })
  }
  return orphans
}

/**
 * Indexes that speak of offsets beyond chain and record: the last trace of a lost segment. What they claim is recorded
 * before they move, or the offsets would be given out again. @throws PartitionRefused, DiskError
 */
async function setOrphansAside(
  options: PartitionOptions,
  orphans: readonly Orphan[],
  frontier: bigint,
  log: RecoveryLog,
): Promise<void> {
  try {
    await options.superblock?.write(recorded => advanced(recorded, frontier, 0n))
  } catch (cause) {
    const message = `offsets up to ${frontier} were given out, and the superblock cannot record it: ${String(cause)}`
    throw new PartitionRefused('FrontierNotRecorded', options.directory, message)
  }
  const to = await moveAside(
    options.host.disk,
    options.directory,
    orphans.map(({ name }) => name),
  )
  log.fact('orphan_set_aside', 'orphan', orphans[0]!.path, 'set aside', { claim: frontier.toString(), to: to ?? '' })
}

/** §6.11 step 7: the last byte of data; without data the name of the tail, unless a reservation planted it. */
async function segmentsEnd(options: PartitionOptions, segments: readonly RecoveredSegment[]): Promise<bigint> {
  let end = 0n
  for (const { walkedBytes, endOffset } of segments) if (walkedBytes > 0 && endOffset > end) end = endOffset
  const tail = segments.at(-1)
  if (end > 0n || tail === undefined || tail.startOffset === 0n) return end
  return (await isPlanted(options, tail.startOffset)) ? 0n : tail.startOffset
}

/** Whether the name `start` stands for no data: a reservation, or a gap, is what planted it. */
async function isPlanted(options: PartitionOptions, start: bigint): Promise<boolean> {
  const { frontier, reserved } = options.superblock?.recorded() ?? { frontier: 0n, reserved: 0n }
  if (options.replicaCount === 1 && frontier < start && start <= reserved) return true
  return (await readAnchor(options.host.disk, options.host.hash, options.directory, start)) !== undefined
}

/** What a refused chain speaks for (§6.10). What stands behind damage or contradicts does not count: it is what was refused. */
async function refusedChain(
  options: PartitionOptions,
  segments: readonly RecoveredSegment[],
  orphans: readonly Orphan[],
): Promise<RefusedChain> {
  let frontier = 0n
  const raise = (to: bigint) => {
    if (to > frontier) frontier = to
  }
  for (const segment of segments) {
    const { walkedBytes, endOffset, startOffset, refusal } = segment
    if (walkedBytes > 0) raise(endOffset)
    const contradicted =
      walkedBytes === 0 && (refusal?.refusal === 'OffsetDiscontinuity' || refusal?.refusal === 'ForeignBatch')
    if (!contradicted && !(await isPlanted(options, startOffset))) raise(startOffset)
  }
  for (const { claim } of orphans) raise(claim)
  return { frontier, empty: segments.every(({ logBytes }) => logBytes === 0) }
}

/** Scratch and traces that nobody needs; a failure only leaves them for the next boot. */
async function sweep(options: PartitionOptions, path: string, log: RecoveryLog): Promise<void> {
  try {
    await options.host.disk.unlink(path)
    log.step('sweep', path, 'unlinked')
  } catch (error) {
    log.fact('sweep_failed', 'sweep', path, 'left', { message: String(error) })
  }
}
