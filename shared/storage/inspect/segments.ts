/**
 * One segment under inspection: every batch of the log, and every entry of the index against it. Unlike a boot, which
 * stops at the first damage, the inspection looks for the next batch that verifies and goes on there, so that one report
 * names all of it (spec partition.md §6.4 to §6.6).
 */
import type { Hash } from '../../bytes/hash.ts'
import type { Offset } from '../../bytes/units.ts'
import { type Disk, type DiskFile, readFile } from '../disk.ts'
import { FileScanner } from '../file-scanner.ts'
import { joinPath } from '../paths.ts'
import type { Scheduler } from '../ports.ts'
import { emptyBudget, probeResidue } from '../residue-probe.ts'
import { segmentFileName } from '../segment-names.ts'
import { type ScannedBatch, type SegmentProblem, type SegmentScan, scanSegment } from '../segment-scan.ts'
import { INDEX_BYTES_MAX, IndexMatcher } from './index-match.ts'
import { withFile } from './metadata.ts'
import type { Findings, SegmentReport } from './report.ts'

/** Damage that is looked behind, per segment; what follows the last one is not read. */
const RESUMES_MAX = 64
/** Said of batches that verify. */
const CONTRADICTIONS: ReadonlySet<string> = new Set(['foreign_batch', 'offset_discontinuity'])
/** Problems of one file that are listed one by one. */
const PROBLEMS_MAX = 100

export interface InspectedSegment {
  readonly report: SegmentReport
  readonly start: Offset
  readonly sizeBytes: number
  /** One past the last offset; undefined when the segment holds no batch, or when its end cannot be read. */
  readonly nextOffset?: bigint
  /** The log was read to its end, damage or not: what it says of the chain can be believed. */
  readonly complete: boolean
}

export interface SegmentContext {
  readonly disk: Disk
  readonly directory: string
  readonly partition: number
  readonly hash: Hash
  readonly verify: boolean
  readonly scheduler?: Scheduler
  readonly findings: Findings
}

export async function inspectSegment(
  context: SegmentContext,
  start: Offset,
  indexExists: boolean,
): Promise<InspectedSegment | undefined> {
  const { disk, directory, findings } = context
  const logPath = joinPath(directory, segmentFileName(start, 'log'))
  const indexPath = joinPath(directory, segmentFileName(start, 'index'))
  const index = indexExists ? await readIndex(disk, indexPath, start, findings) : undefined
  const walked = await withFile(disk, logPath, findings, (file, size) => walk(context, file, size, start, index))
  if (walked === undefined) return undefined
  if (walked.sizeBytes > 0 && (index === undefined || index.entries === 0)) {
    findings.add(
      'warning',
      'INDEX_MISSING',
      indexPath,
      0,
      'index_present',
      'the log has batches, but no index entry locates them; a boot rebuilds it',
    )
  }
  if (index !== undefined) reportIndex(index, indexPath, findings)
  const { sizeBytes, soundBytes, batches, messages, nextOffset, complete } = walked
  return {
    start,
    sizeBytes,
    complete,
    ...(nextOffset === undefined ? {} : { nextOffset }),
    report: {
      path: logPath,
      startOffset: start.toString(),
      ...(nextOffset === undefined ? {} : { endOffset: (nextOffset - 1n).toString() }),
      sizeBytes,
      soundBytes,
      batches,
      messages: messages.toString(),
      indexEntries: index?.entries ?? 0,
      indexTrailingBytes: index?.trailingBytes ?? 0,
    },
  }
}

interface Walked {
  sizeBytes: number
  soundBytes: number
  batches: number
  messages: bigint
  nextOffset: bigint | undefined
  complete: boolean
}

async function walk(
  context: SegmentContext,
  file: DiskFile,
  sizeBytes: number,
  start: Offset,
  index: IndexMatcher | undefined,
): Promise<Walked> {
  const { hash, findings, verify, partition, scheduler } = context
  const walked: Walked = { sizeBytes, soundBytes: 0, batches: 0, messages: 0n, nextOffset: undefined, complete: true }
  const problems: SegmentProblem[] = []
  let problemCount = 0
  let lastSound = -1
  let soundOffset: bigint = start
  const budget = emptyBudget()
  const onBatch = (batch: ScannedBatch): boolean => {
    index?.meet(batch)
    const base = batch.verdict === 'valid' ? batch.baseOffset : (walked.nextOffset ?? start)
    walked.nextOffset = base + BigInt(batch.messages)
    if (batch.verdict === 'valid') {
      lastSound = batch.position
      soundOffset = walked.nextOffset
      walked.batches++
      walked.messages += BigInt(batch.messages)
    }
    return true
  }
  const onProblem = (problem: SegmentProblem) => {
    if (problemCount++ < PROBLEMS_MAX) problems.push(problem)
  }

  const base = { partitionId: partition, verify, onBatch, onProblem, ...(scheduler === undefined ? {} : { scheduler }) }
  let scan: SegmentScan = await scanSegment(file, sizeBytes, hash, { ...base, startOffset: start })
  walked.soundBytes = scan.walkedBytes
  let readTo = scan.reachedBytes
  for (let resumes = 0; readTo < sizeBytes && resumes < RESUMES_MAX; resumes++) {
    const scanner = new FileScanner(file, sizeBytes)
    const probe = await probeResidue(scanner, readTo, soundOffset, hash, budget, scheduler)
    if (probe.kind === 'exhausted') {
      const message = `${sizeBytes - readTo} bytes behind it hold so many things that look like batches that the search was given up: a boot refuses`
      findings.add('damage', 'SEGMENT_RESIDUE_UNVERIFIED', file.path, readTo, 'residue_budget', message)
    }
    if (probe.kind !== 'survivor') break
    // A frame that reaches into the next sound batch: not the frame is wrong, but the length of its batch.
    const reaching = problems.at(-1)
    if (reaching !== undefined && reaching.batchPosition === readTo && reaching.position >= probe.position) {
      const message = `the batch length reaches into the sound batch at ${probe.position}`
      problems[problems.length - 1] = { ...reaching, check: 'batch_length', position: readTo + 32, message }
    }
    index?.skipTo(probe.position)
    scan = await scanSegment(file, sizeBytes, hash, { ...base, from: probe.position })
    readTo = scan.reachedBytes
  }
  index?.finish(readTo, sizeBytes)
  walked.complete = readTo >= sizeBytes

  for (const problem of problems) {
    const survives = lastSound > problem.batchPosition
    const where = problem.position === problem.batchPosition ? '' : `, in the batch at ${problem.batchPosition}`
    if (CONTRADICTIONS.has(problem.check)) {
      findings.add(
        'damage',
        'SEGMENT_CONTRADICTION',
        file.path,
        problem.position,
        problem.check,
        `${problem.message}${where}; it verifies, so a boot refuses`,
      )
    } else if (survives)
      findings.add(
        'damage',
        'SEGMENT_DAMAGED',
        file.path,
        problem.position,
        problem.check,
        `${problem.message}${where}; sound batches follow, so a boot refuses`,
      )
    else {
      const fate = `the ${sizeBytes - problem.batchPosition} bytes from ${problem.batchPosition} on are no sound batch, and none follows`
      findings.add(
        'damage',
        'SEGMENT_TAIL_TORN',
        file.path,
        problem.position,
        problem.check,
        `${problem.message}${where}; ${fate}`,
      )
    }
  }
  if (problemCount > problems.length) {
    findings.add(
      'damage',
      'SEGMENT_DAMAGED',
      file.path,
      0,
      'more',
      `${problemCount - problems.length} problems more in this file`,
    )
  }
  return walked
}

async function readIndex(
  disk: Disk,
  path: string,
  start: Offset,
  findings: Findings,
): Promise<IndexMatcher | undefined> {
  return withFile(disk, path, findings, async (_, size) => {
    if (size > INDEX_BYTES_MAX) {
      findings.add(
        'damage',
        'INDEX_TOO_LONG',
        path,
        INDEX_BYTES_MAX,
        'length',
        `${size} bytes, no segment needs more than ${INDEX_BYTES_MAX}; not read`,
      )
      return undefined
    }
    return new IndexMatcher(await readFile(disk, path, INDEX_BYTES_MAX), start)
  })
}

function reportIndex(index: IndexMatcher, path: string, findings: Findings): void {
  for (const { entry, check, message } of index.faults.slice(0, PROBLEMS_MAX)) {
    const code =
      check === 'index_past_log'
        ? 'INDEX_PAST_LOG'
        : check.endsWith('_order') || check === 'index_head'
          ? 'INDEX_CONTRADICTS_ITSELF'
          : 'INDEX_CONTRADICTS_LOG'
    findings.add('damage', code, path, entry * 24, check, `entry ${entry}: ${message}`)
  }
  if (index.faults.length > PROBLEMS_MAX) {
    findings.add(
      'damage',
      'INDEX_CONTRADICTS_LOG',
      path,
      0,
      'more',
      `${index.faults.length - PROBLEMS_MAX} entries more`,
    )
  }
  if (index.unprovable > 0) {
    findings.add(
      'warning',
      'INDEX_UNPROVABLE',
      path,
      index.firstUnprovable * 24,
      'index_unprovable',
      `${index.unprovable} entries from entry ${index.firstUnprovable} on name batches that cannot be read`,
    )
  }
  if (index.trailingBytes > 0) {
    findings.add(
      'damage',
      'INDEX_TRAILING_BYTES',
      path,
      index.entries * 24,
      'index_length',
      `${index.trailingBytes} bytes of a torn last entry`,
    )
  }
}
