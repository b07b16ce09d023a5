/**
 * What the next flush round writes (spec partition.md §3.7). A pure function of the active segment and the committed
 * batches: where a segment ends depends on the bytes alone, never on timing or on how many batches a round happens to
 * take, so that every replica seals at the same offsets.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Rules } from '../protocol/rules.ts'
import type { QueuedBatch } from './journal.ts'

/** A round takes no more than this, so that a long backlog becomes visible and leaves memory step by step. */
export const ROUND_BYTES_MAX = 32 * 1024 * 1024

export interface ActiveSegment {
  readonly startOffset: bigint
  readonly endOffset: bigint
  readonly sizeBytes: number
  readonly maxSizeBytes: number
}

export type RoundPlan =
  /** The first `batches` queued batches go to the active segment, `bytes` in all. */
  | { readonly kind: 'write'; readonly batches: number; readonly bytes: number; readonly messages: number }
  /** The active segment is full: seal it and go on in a new one. */
  | { readonly kind: 'rotate' }
  /** The next batch starts past the end of the chain: plant a segment of its name, in front of it a gap. */
  | { readonly kind: 'plant'; readonly startOffset: bigint }
  /** The next batch starts below the end of the chain: the log and the group have diverged; never written. */
  | { readonly kind: 'diverged'; readonly error: EngineError }

/** `batchAt(0)` exists. `batchesMax`: no round takes more. */
export function planRound(
  active: ActiveSegment,
  batchAt: (index: number) => QueuedBatch | undefined,
  rules: Rules,
  batchesMax = Number.POSITIVE_INFINITY,
): RoundPlan {
  let expected = active.endOffset
  let position = active.sizeBytes
  let batches = 0
  let messages = 0
  for (let next = batchAt(0); next !== undefined; next = batchAt(batches)) {
    const { batch, header } = next
    const continues = batch.baseOffset === expected || (batch.baseOffset > expected && !rules.holeOnBoundary)
    if (!continues) {
      if (batches > 0) break
      if (batch.baseOffset > expected) return { kind: 'plant', startOffset: batch.baseOffset }
      const message = `op ${header.op} starts at offset ${batch.baseOffset}, but the log ends at ${expected}`
      return { kind: 'diverged', error: new EngineError('LogDiverged', message, { op: header.op }) }
    }
    if (position >= active.maxSizeBytes && batches === 0) return { kind: 'rotate' }
    const bytes = position - active.sizeBytes
    if (batches > 0 && bytes + batch.bytes > ROUND_BYTES_MAX) break
    position += batch.bytes
    batches++
    messages += batch.messages
    expected = batch.endOffset
    // the crossing batch is written whole: a sealed size lies in [max, max + one batch)
    if (position >= active.maxSizeBytes || batches >= batchesMax) break
  }
  return { kind: 'write', batches, bytes: position - active.sizeBytes, messages }
}
