/**
 * Boot recovery of one partition directory (spec partition.md §6). Three passes: A walks every segment and decides what
 * each holds, B holds the chain together, C makes the disk match. A and B change nothing but scratch, so a refused chain
 * keeps every byte of its evidence; everything destructive, the sweep included, comes after the whole chain was accepted.
 */
import { Offset } from '../bytes/units.ts'
import { isNotFound } from '../storage/disk.ts'
import { INDEX_ENTRY_BYTES } from '../storage/index-file.ts'
import { joinPath } from '../storage/paths.ts'
import { emptyBudget } from '../storage/residue-probe.ts'
import { listSegments, type SegmentListing } from '../storage/segment-names.ts'
import type { PartitionOptions, RecoveryStep } from './contract.ts'
import { guardChain } from './recovery-guard.ts'
import { readOrphanClaim } from './recovery-orphans.ts'
import { repairSegment, stageIndex, unstageIndex } from './recovery-repair.ts'
import { type RecoveredSegment, walkSegment } from './recovery-walk.ts'

export interface RecoveredChain {
  readonly segments: readonly RecoveredSegment[]
  /** Largest offset + 1 that a lost segment's index speaks of and that the chain does not reach; 0 when there is none. */
  readonly orphanClaim: bigint
}

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
  for (const start of listing.starts) {
    const segment = await walkSegment({ host, directory, key: options.key, budget }, start)
    describeWalk(log, segment)
    segments.push(segment)
  }
  const refusal = segments.find(segment => segment.refusal)?.refusal ?? (await guardChain(options, segments, log))
  if (refusal) {
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
  let end = 0n
  for (const { endOffset } of segments) if (endOffset > end) end = endOffset
  const orphanClaim = await settleOrphans(options, listing, end, log)
  const rebuilt = new Set(staged.map(segment => `${segment.indexPath}.staging`))
  for (const name of listing.staging) {
    const path = joinPath(directory, name)
    if (!rebuilt.has(path)) await sweep(options, path, log)
  }
  for (const segment of segments) await repairSegment(options, segment, log)
  return { segments, orphanClaim }
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

/**
 * Indexes and anchors without a log. One that claims no offset beyond the chain is left over from a retention that was
 * cut short, and goes. One that claims more is the last trace of a lost segment: it stays, so that every boot sees it and
 * starts above its claim, until a segment named above it makes the claim known otherwise.
 */
async function settleOrphans(
  options: PartitionOptions,
  listing: SegmentListing,
  end: bigint,
  log: RecoveryLog,
): Promise<bigint> {
  let highest = 0n
  for (const { name, kind, start } of listing.orphans) {
    const path = joinPath(options.directory, name)
    const claim = kind === 'index' ? await readOrphanClaim(options.host, path, start) : 0n
    const known = end > (listing.starts.at(-1) ?? 0n) ? end : (listing.starts.at(-1) ?? Offset(0n))
    if (claim <= known) {
      await sweep(options, path, log)
      continue
    }
    if (claim > highest) highest = claim
    log.fact('missing_range', 'orphan', path, 'kept', { first: known.toString(), last: (claim - 1n).toString() })
  }
  return highest
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
