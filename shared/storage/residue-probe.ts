/**
 * What lies behind damage in a log (spec partition.md §6.6): a torn tail, or something that verifies? A complete batch
 * behind damage means that cutting there would destroy durable data, so a cut is allowed only when none is found, and not
 * when the search ran out of budget.
 *
 * This is a loop over every byte of what can be hundreds of MiB, mostly zeros: a candidate is tested on two u32 reads
 * before anything else is looked at.
 */
import type { Hash } from '../bytes/hash.ts'
import type { Offset } from '../bytes/units.ts'
import { BATCH_HEADER_BYTES, checkBatch } from '../protocol/batch.ts'
import type { FileScanner } from './file-scanner.ts'
import type { Scheduler } from './ports.ts'
import { RECOVERABLE_BATCH_BYTES_MAX } from './segment-scan.ts'

/** Shared by all segments of one load, and grown only by residue: hostile bytes can neither hang a boot nor buy a cut. */
export interface ProbeBudget {
  candidates: number
  verifyBytes: number
}

export const CANDIDATES_PER_RESIDUE_BYTE = 2
export const VERIFY_BYTES_PER_RESIDUE_BYTE = 4

export const emptyBudget = (): ProbeBudget => ({ candidates: 0, verifyBytes: 0 })

export function growBudget(budget: ProbeBudget, residueBytes: number): void {
  budget.candidates += CANDIDATES_PER_RESIDUE_BYTE * residueBytes
  budget.verifyBytes += VERIFY_BYTES_PER_RESIDUE_BYTE * residueBytes
}

export type ProbeVerdict =
  | { readonly kind: 'no_survivor' }
  | { readonly kind: 'survivor'; readonly position: number; readonly baseOffset: Offset }
  | { readonly kind: 'exhausted'; readonly candidatesExamined: number; readonly verifiedBytes: number }

/** Bytes that one look covers; small against the window, so that forward refills stay linear. */
const STEP_BYTES = 64 * 1024

/**
 * Looks for a batch that verifies anywhere in (damagePosition, end of file). `offsetMin`: lowest base offset that counts,
 * one above the last walked offset, or the start of the segment. Grows and spends `budget`. Throws DiskError.
 */
export async function probeResidue(
  scanner: FileScanner,
  damagePosition: number,
  offsetMin: bigint,
  hash: Hash,
  budget: ProbeBudget,
  scheduler?: Scheduler,
): Promise<ProbeVerdict> {
  const size = scanner.sizeBytes
  if (damagePosition >= size) return { kind: 'no_survivor' }
  growBudget(budget, size - damagePosition)
  let candidatesExamined = 0
  let verifiedBytes = 0
  let at = damagePosition + 1
  while (at + BATCH_HEADER_BYTES <= size) {
    const span = Math.min(STEP_BYTES, size - at)
    let bytes = (await scanner.read(at, span))!
    if (scheduler !== undefined && scanner.takeRefilled()) {
      await scheduler.yield()
      bytes = (await scanner.read(at, span))!
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const last = span - BATCH_HEADER_BYTES
    let candidate: number | undefined
    let index = 0
    for (; index <= last; index++) {
      if (budget.candidates-- <= 0) return { kind: 'exhausted', candidatesExamined, verifiedBytes }
      candidatesExamined++
      if (view.getUint32(index + 36, true) !== 0) continue
      const length = view.getUint32(index + 32, true)
      if (length < BATCH_HEADER_BYTES || length > RECOVERABLE_BATCH_BYTES_MAX || at + index + length > size) continue
      if (view.getUint32(index + 48, true) === 0 || view.getUint32(index + 52, true) !== 0) continue
      if (view.getBigUint64(index + 8, true) < offsetMin) continue
      const header = checkBatch(bytes.subarray(index, index + BATCH_HEADER_BYTES))
      if (!header.ok && header.check === 'batch_reserved') continue
      budget.verifyBytes -= length
      if (budget.verifyBytes < 0) return { kind: 'exhausted', candidatesExamined, verifiedBytes }
      verifiedBytes += length
      candidate = at + index
      const record = (await scanner.read(candidate, length))!
      if (checkBatch(record, 0, hash).ok) {
        const baseOffset = new DataView(record.buffer, record.byteOffset).getBigUint64(8, true) as Offset
        return { kind: 'survivor', position: candidate, baseOffset }
      }
      if (scheduler !== undefined && scanner.takeRefilled()) await scheduler.yield()
      break
    }
    // After a candidate was read the window may have moved: go on right behind it with a fresh look.
    at = candidate === undefined ? at + last + 1 : candidate + 1
  }
  return { kind: 'no_survivor' }
}
