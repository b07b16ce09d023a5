/**
 * The walk over a segment's `.log` from byte 0 (spec partition.md §6.4): the ground truth of what a segment holds. Memory
 * is one window, plus one batch where a batch is larger than it; a claimed length is capped before anything is read for it.
 *
 * Damage and contradiction are different things. A batch that fails its checks is damage, whatever its header claims. Only
 * a batch that verifies can contradict: it belongs to another partition, or does not continue the offsets.
 */
import type { Hash } from '../bytes/hash.ts'
import { BytePosition, Checksum, Micros, Offset } from '../bytes/units.ts'
import { BATCH_HEADER_BYTES, type BatchCheck, batchLengthAt, checkBatch } from '../protocol/batch.ts'
import { FRAME_BYTES_MAX } from '../protocol/headers.ts'
import { BatchVerifier } from './batch-verifier.ts'
import type { DiskFile } from './disk.ts'
import { FileScanner } from './file-scanner.ts'
import type { Scheduler } from './ports.ts'

/** No record is larger: the largest legal frame, and one header. A larger claim is damage and is never allocated. */
export const RECOVERABLE_BATCH_BYTES_MAX = FRAME_BYTES_MAX + 256

/** One batch of the walk; the same shape as the byte view lists. */
export interface ScannedBatch {
  readonly position: BytePosition
  readonly lengthBytes: number
  readonly partitionId: bigint
  readonly baseOffset: Offset
  readonly baseTimestamp: Micros
  readonly originTimestamp: Micros
  readonly messages: number
  readonly checksum: Checksum
  readonly verdict: 'valid' | 'bad_checksum' | 'bad_layout'
}

export type SegmentCheck = BatchCheck | 'batch_too_long' | 'empty_batch' | 'foreign_batch' | 'offset_discontinuity'

export interface SegmentProblem {
  readonly check: SegmentCheck
  /** Start of the batch that fails: what is before it is sound. */
  readonly batchPosition: number
  /** First byte that the check concerns. */
  readonly position: number
  readonly message: string
  readonly expected?: string
  readonly actual?: string
}

export type SegmentEnd =
  | { readonly kind: 'clean' }
  /** The last record is cut short. A flipped length looks the same: only the residue probe tells (§6.6). */
  | { readonly kind: 'partial'; readonly problem: SegmentProblem }
  | { readonly kind: 'damage'; readonly problem: SegmentProblem }
  /** A verified batch of another partition, or past a hole. */
  | { readonly kind: 'contradiction'; readonly problem: SegmentProblem }
  /** `onBatch` answered false. */
  | { readonly kind: 'stopped' }

export interface SegmentScan {
  /** End of the last sound batch: the size that recovery keeps. */
  readonly walkedBytes: number
  /** Where the walk stopped: the start of the batch it could not pass, else the end of the file. */
  readonly reachedBytes: number
  readonly batches: number
  readonly messages: bigint
  /** Offset of the last message; undefined when no batch was sound. */
  readonly endOffset?: Offset
  readonly startTimestamp?: Micros
  readonly endTimestamp?: Micros
  readonly end: SegmentEnd
}

export interface SegmentScanOptions {
  /** First offset of the segment: the number in its name. Undefined: the first batch decides (for listings). */
  readonly startOffset?: Offset
  /** Undefined: not checked. */
  readonly partitionId?: number
  /** A batch boundary to start from; default 0. */
  readonly from?: number
  /** False: header and tiling only. Default true. */
  readonly verify?: boolean
  /** Yields after every refill, and whenever a few milliseconds of hashing have passed. */
  readonly scheduler?: Scheduler
  readonly windowBytes?: number
  /** Every sound batch, in order; with `onProblem` bad ones too. Return false to stop behind it. */
  readonly onBatch?: (batch: ScannedBatch) => boolean | undefined
  /**
   * Makes the walk go on behind a problem wherever the layout of the batch still says where it ends. What is behind it
   * counts in nothing but `onBatch` and `onProblem`.
   */
  readonly onProblem?: (problem: SegmentProblem) => void
}

const PARTIAL: ReadonlySet<SegmentCheck> = new Set<SegmentCheck>(['header_cut', 'batch_cut'])
/** Checks of the content: the record's extent can still be right. */
const CONTENT: ReadonlySet<SegmentCheck> = new Set<SegmentCheck>([
  'message_checksum',
  'message_count',
  'batch_checksum',
  'frame_reserved',
])

/** Walks `sizeBytes` bytes of `file`. Throws DiskError only. */
export async function scanSegment(
  file: DiskFile,
  sizeBytes: number,
  hash: Hash,
  options: SegmentScanOptions = {},
): Promise<SegmentScan> {
  const scanner = new FileScanner(file, sizeBytes, options.windowBytes)
  const { partitionId, scheduler, onBatch, onProblem } = options
  const verifier = options.verify === false ? undefined : new BatchVerifier(hash, scheduler)
  const partition = partitionId === undefined ? undefined : BigInt(partitionId)
  let position = options.from ?? 0
  let expected: bigint | undefined = options.startOffset
  let walkedBytes = position
  let batches = 0
  let messages = 0n
  let endOffset: Offset | undefined
  let startTimestamp: Micros | undefined
  let endTimestamp: Micros | undefined
  let first: SegmentEnd | undefined
  const finish = (end: SegmentEnd): SegmentScan => ({
    walkedBytes,
    reachedBytes: position,
    batches,
    messages,
    ...(endOffset === undefined ? {} : { endOffset }),
    ...(startTimestamp === undefined ? {} : { startTimestamp }),
    ...(endTimestamp === undefined ? {} : { endTimestamp }),
    end: first ?? end,
  })

  while (position < sizeBytes) {
    const record = await readRecord(scanner, position)
    if (scheduler !== undefined && scanner.takeRefilled()) await scheduler.yield()
    let problem: SegmentProblem | undefined
    let kind: 'partial' | 'damage' | 'contradiction' = 'damage'
    let batch: ScannedBatch | undefined
    if ('check' in record) problem = record
    else {
      // The window may be refilled by another read only in the next round, so `bytes` is stable here.
      const { bytes } = record
      const checked = verifier ? verifier.verify(bytes) : checkBatch(bytes)
      // Nearly all are there at once; waiting for those too would cost a turn of the queue each.
      const verdict = checked instanceof Promise ? await checked : checked
      batch = describeBatch(
        bytes,
        position,
        verdict.ok ? 'valid' : CONTENT.has(verdict.check) ? 'bad_checksum' : 'bad_layout',
      )
      if (!verdict.ok) {
        problem = {
          check: verdict.check,
          batchPosition: position,
          position: position + verdict.position,
          message: verdict.message,
        }
      } else if (verdict.messageCount === 0) {
        batch = { ...batch, verdict: 'bad_layout' }
        problem = {
          check: 'empty_batch',
          batchPosition: position,
          position: position + 48,
          message: 'the batch has no message',
        }
      } else if (partition !== undefined && batch.partitionId !== partition) {
        kind = 'contradiction'
        problem = contradiction(
          'foreign_batch',
          position,
          0,
          'the batch belongs to another partition',
          partition,
          batch.partitionId,
        )
      } else if (expected !== undefined && batch.baseOffset !== expected) {
        kind = 'contradiction'
        problem = contradiction(
          'offset_discontinuity',
          position,
          8,
          'the batch does not continue the offsets',
          expected,
          batch.baseOffset,
        )
      }
    }

    if (problem === undefined) {
      const { baseOffset, baseTimestamp, messages: count, lengthBytes } = batch!
      expected = baseOffset + BigInt(count)
      position += lengthBytes
      if (first === undefined) {
        walkedBytes = position
        batches++
        messages += BigInt(count)
        endOffset = Offset(expected - 1n)
        startTimestamp ??= baseTimestamp
        endTimestamp = baseTimestamp
      }
      if (onBatch?.(batch!) === false) return finish({ kind: 'stopped' })
      continue
    }

    if (PARTIAL.has(problem.check)) kind = 'partial'
    const end: SegmentEnd = { kind, problem }
    if (onProblem === undefined) return finish(end)
    first ??= end
    onProblem(problem)
    if (batch === undefined || (batch.verdict !== 'valid' && !extentHolds(batch, record))) return finish(end)
    position += batch.lengthBytes
    // The header of a bad batch may be what is bad: it says nothing of the offsets behind it.
    expected = kind === 'contradiction' ? batch.baseOffset + BigInt(batch.messages) : undefined
    if (onBatch?.(batch) === false) return finish({ kind: 'stopped' })
  }
  return finish({ kind: 'clean' })
}

/** The bytes of the record at `position`, or why they cannot be read. */
async function readRecord(
  scanner: FileScanner,
  position: number,
): Promise<{ readonly bytes: Uint8Array } | SegmentProblem> {
  const rest = scanner.sizeBytes - position
  const head = scanner.peek(position, BATCH_HEADER_BYTES) ?? (await scanner.read(position, BATCH_HEADER_BYTES))
  if (head === undefined) {
    const message = `a batch header needs ${BATCH_HEADER_BYTES} bytes, ${rest} are left`
    return { check: 'header_cut', batchPosition: position, position, message }
  }
  const length = batchLengthAt(head, 0)
  if (length < BATCH_HEADER_BYTES) return { bytes: head }
  if (length > rest || length > RECOVERABLE_BATCH_BYTES_MAX) {
    // A header that is wrong by itself is judged as it stands; its length says nothing then.
    const verdict = checkBatch(head, 0)
    if (!verdict.ok && verdict.check === 'batch_reserved') return { bytes: head }
  }
  if (length > RECOVERABLE_BATCH_BYTES_MAX) {
    return {
      check: 'batch_too_long',
      batchPosition: position,
      position: position + 32,
      message: `batch length ${length} is above any legal one`,
      expected: `at most ${RECOVERABLE_BATCH_BYTES_MAX}`,
      actual: `${length}`,
    }
  }
  if (length > rest) {
    return {
      check: 'batch_cut',
      batchPosition: position,
      position,
      message: `batch length ${length}, but ${rest} bytes are left`,
      expected: `${length}`,
      actual: `${rest}`,
    }
  }
  const bytes = scanner.peek(position, length) ?? (await scanner.read(position, length))!
  return { bytes }
}

/** True when the frames of a bad batch still tile it, so that its end can be believed. */
function extentHolds(batch: ScannedBatch, record: { readonly bytes: Uint8Array } | SegmentProblem): boolean {
  if (batch.verdict !== 'bad_checksum' || !('bytes' in record)) return false
  const layout = checkBatch(record.bytes, 0)
  return layout.ok || layout.check === 'message_count'
}

function describeBatch(bytes: Uint8Array, position: number, verdict: ScannedBatch['verdict']): ScannedBatch {
  const view = new DataView(bytes.buffer, bytes.byteOffset, BATCH_HEADER_BYTES)
  return {
    position: BytePosition(position),
    lengthBytes: batchLengthAt(bytes, 0),
    partitionId: view.getBigUint64(0, true),
    baseOffset: Offset(view.getBigUint64(8, true)),
    baseTimestamp: Micros(view.getBigUint64(16, true)),
    originTimestamp: Micros(view.getBigUint64(24, true)),
    checksum: Checksum(view.getBigUint64(40, true)),
    messages: view.getUint32(48, true),
    verdict,
  }
}

const contradiction = (
  check: SegmentCheck,
  batchPosition: number,
  at: number,
  message: string,
  expected: bigint,
  actual: bigint,
): SegmentProblem => ({
  check,
  batchPosition,
  position: batchPosition + at,
  message: `${message}: expected ${expected}, found ${actual}`,
  expected: `${expected}`,
  actual: `${actual}`,
})
