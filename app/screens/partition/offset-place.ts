/**
 * What becomes of an offset that is looked up: below the earliest, in a gap, in memory only, beyond the end, or in a batch that
 * a read finds from the floor of the index (spec partition.md §2.5, known-faults G52). Pure.
 */
import type { BatchesSnapshot, PartitionSnapshot } from '../../../shared/inspection/snapshots.ts'
import { type BatchPlace, batchOf, type Floor } from '../../geometry/lookup.ts'

type Segment = PartitionSnapshot['segments'][number]

export type OffsetPlace =
  /** Removed, or never here: the log of this node begins later. */
  | { readonly kind: 'below'; readonly earliest: bigint }
  /** Nothing has this offset yet. */
  | { readonly kind: 'beyond'; readonly next: bigint }
  /** The files do not hold it yet. */
  | { readonly kind: 'memory'; readonly persisted: bigint }
  /** Between two segments: it was never given, or is lost. */
  | { readonly kind: 'gap'; readonly last: bigint; readonly next: bigint }
  /** A read starts at `fromBytes` and goes through `batches` of them; undefined: not all are listed here. */
  | {
      readonly kind: 'found'
      readonly batch: BatchPlace
      readonly fromBytes: number
      readonly scanBytes: number
      readonly batches: number | undefined
    }
  /** The place where it should be was read, and no batch there holds it. */
  | { readonly kind: 'nowhere' }
  /** The answer is not there, or does not reach so far. */
  | { readonly kind: 'unknown' }

/** First offset that a chain holds, or would give; undefined for none. By number, whatever the order of the list. */
export const earliestOf = (segments: readonly Segment[]): bigint | undefined =>
  segments.reduce<bigint | undefined>((least, { startOffset }) => {
    const start = BigInt(startOffset)
    return least === undefined || start < least ? start : least
  }, undefined)

/**
 * @param floor of the offset in its segment, by the index of the node
 * @param listed batches of that segment, as far as they were listed
 */
export function placeOf(
  offset: bigint,
  chain: PartitionSnapshot | undefined,
  floor: Floor | undefined,
  listed: BatchesSnapshot | undefined,
): OffsetPlace {
  const earliest = chain && earliestOf(chain.segments)
  if (!chain || earliest === undefined) return { kind: 'unknown' }
  if (offset < earliest) return { kind: 'below', earliest }
  const { offsets } = chain.group
  if (offsets && offset >= BigInt(offsets.next)) return { kind: 'beyond', next: BigInt(offsets.next) }
  const sized = chain.segments.filter(({ empty }) => !empty)
  const after = earliestOf(sized.filter(({ startOffset }) => BigInt(startOffset) > offset))
  const last = sized
    .filter(({ startOffset }) => BigInt(startOffset) <= offset)
    .reduce((most, { endOffset }) => (BigInt(endOffset) > most ? BigInt(endOffset) : most), -1n)
  if (offset > last && after !== undefined) return { kind: 'gap', last, next: after }
  if (offset > last && offsets) return { kind: 'memory', persisted: BigInt(offsets.persisted) }
  if (!listed) return { kind: 'unknown' }
  const batch = batchOf(listed.batches, offset)
  if (batch) {
    const fromBytes = floor?.entry.positionBytes ?? 0
    const end = batch.positionBytes + batch.lengthBytes
    const whole = listed.fromPositionBytes <= fromBytes
    return {
      kind: 'found',
      batch,
      fromBytes,
      scanBytes: end - fromBytes,
      batches: whole
        ? listed.batches.filter(item => item.positionBytes >= fromBytes && item.positionBytes < end).length
        : undefined,
    }
  }
  const [first, end] = [listed.batches[0], listed.batches.at(-1)]
  const reached =
    (first === undefined || BigInt(first.baseOffset) <= offset || listed.fromPositionBytes === 0) &&
    (listed.nextPositionBytes === undefined || (end !== undefined && BigInt(end.baseOffset) > offset))
  return { kind: reached ? 'nowhere' : 'unknown' }
}
