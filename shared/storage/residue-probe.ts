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
import { BATCH_HEADER_BYTES, checkBatch, MESSAGE_HEADER_BYTES } from '../protocol/batch.ts'
import { BatchVerifier } from './batch-verifier.ts'
import type { FileScanner } from './file-scanner.ts'
import type { Scheduler } from './ports.ts'
import { RECOVERABLE_BATCH_BYTES_MAX } from './segment-scan.ts'

/** Shared by all segments of one load, and grown only by residue: hostile bytes can neither hang a boot nor buy a cut. */
export interface ProbeBudget {
  candidates: number
  verifyBytes: number
  /** Frames that may be hashed: of the smallest ones there are so many in a few bytes that their number is what costs. */
  frames: number
}

export const CANDIDATES_PER_RESIDUE_BYTE = 2
export const VERIFY_BYTES_PER_RESIDUE_BYTE = 4

/** The most that one legal batch can hold, twice: a search that has hashed so many in vain was made to. */
const FRAMES_MAX = Math.ceil((2 * RECOVERABLE_BATCH_BYTES_MAX) / MESSAGE_HEADER_BYTES)

export const emptyBudget = (): ProbeBudget => ({ candidates: 0, verifyBytes: 0, frames: FRAMES_MAX })

export function growBudget(budget: ProbeBudget, residueBytes: number): void {
  budget.candidates += CANDIDATES_PER_RESIDUE_BYTE * residueBytes
  budget.verifyBytes += VERIFY_BYTES_PER_RESIDUE_BYTE * residueBytes
}

export type ProbeVerdict =
  | { readonly kind: 'no_survivor' }
  | { readonly kind: 'survivor'; readonly position: number; readonly baseOffset: Offset }
  | { readonly kind: 'exhausted'; readonly candidatesExamined: number; readonly verifiedBytes: number }

/** Bytes that are looked at between two breaths, a fraction of a millisecond; a candidate costs as much as some of them. */
const BREATH_BYTES = 256 * 1024
const CANDIDATE_COST_BYTES = 16 * 1024

/** Bytes that one look covers; small against the window, so that forward refills stay linear. */
const STEP_BYTES = 64 * 1024

/**
 * Looks for a batch that verifies anywhere in (damagePosition, end of file). `offsetMin`: lowest base offset that counts,
 * one above the last walked offset, or the start of the segment. `badFrame`: what the walk found wrong, where it was a
 * frame. Grows and spends `budget`. Throws DiskError.
 */
export async function probeResidue(
  scanner: FileScanner,
  damagePosition: number,
  offsetMin: bigint,
  hash: Hash,
  budget: ProbeBudget,
  scheduler?: Scheduler,
  badFrame?: number,
): Promise<ProbeVerdict> {
  const size = scanner.sizeBytes
  if (damagePosition >= size) return { kind: 'no_survivor' }
  growBudget(budget, size - damagePosition)
  const verifier = new BatchVerifier(hash, scheduler, badFrame)
  let candidatesExamined = 0
  let verifiedBytes = 0
  let at = damagePosition + 1
  let looked = 0
  while (at + BATCH_HEADER_BYTES <= size) {
    if (scheduler !== undefined && looked >= BREATH_BYTES) {
      looked = 0
      await scheduler.yield()
    }
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
      if (budget.verifyBytes < 0 || budget.frames < 0) return { kind: 'exhausted', candidatesExamined, verifiedBytes }
      verifiedBytes += length
      candidate = at + index
      const record = (await scanner.read(candidate, length))!
      const hashed = verifier.framesHashed
      const holds = await verifier.holds(record, candidate)
      budget.frames -= verifier.framesHashed - hashed
      if (holds) {
        const baseOffset = new DataView(record.buffer, record.byteOffset).getBigUint64(8, true) as Offset
        return { kind: 'survivor', position: candidate, baseOffset }
      }
      if (scheduler !== undefined && scanner.takeRefilled()) await scheduler.yield()
      break
    }
    looked += index + (candidate === undefined ? 0 : CANDIDATE_COST_BYTES)
    // After a candidate was read the window may have moved: go on right behind it with a fresh look.
    at = candidate === undefined ? at + last + 1 : candidate + 1
  }
  return { kind: 'no_survivor' }
}
