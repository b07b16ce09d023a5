/** From an offset to its place: segment, index floor, batch. The same steps that a read takes (spec partition.md §2.5). Pure. */

export interface IndexEntry {
  readonly number: number
  readonly offset: string
  readonly positionBytes: number
}
export interface Floor {
  readonly entry: IndexEntry
  /** Last offset that this entry answers for; undefined for the last entry, which answers to the end of the log. */
  readonly validTo: bigint | undefined
}

/** The last entry whose offset is not above the wanted one; undefined when the index is empty or begins later. */
export function floorEntry(entries: readonly IndexEntry[], offset: bigint): Floor | undefined {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (BigInt(entries[middle]!.offset) <= offset) low = middle + 1
    else high = middle
  }
  const entry = entries[low - 1]
  if (!entry) return undefined
  const next = entries[low]
  return { entry, validTo: next ? BigInt(next.offset) - 1n : undefined }
}

/**
 * About where an offset lies, from the entries around it: batches are much alike, so the share of offsets is the share of
 * bytes. Only for choosing a window; the batch itself is found by walking from the floor.
 */
export function estimatePosition(
  floor: Floor,
  entries: readonly IndexEntry[],
  offset: bigint,
  end: { readonly offset: bigint; readonly position: number },
): number {
  const start = BigInt(floor.entry.offset)
  const next = entries.find(entry => entry.number === floor.entry.number + 1)
  const last = floor.validTo ?? end.offset
  const stop = next?.positionBytes ?? end.position
  if (last <= start) return floor.entry.positionBytes
  const share = Number(((offset - start) * 10_000n) / (last - start + 1n)) / 10_000
  return Math.round(floor.entry.positionBytes + Math.min(1, Math.max(0, share)) * (stop - floor.entry.positionBytes))
}

/** The segment that holds an offset: the last one that starts at or below it. */
export function segmentOf<T extends { readonly startOffset: string }>(
  segments: readonly T[],
  offset: bigint,
): T | undefined {
  let found: T | undefined
  for (const segment of segments) {
    if (BigInt(segment.startOffset) <= offset && (!found || BigInt(segment.startOffset) > BigInt(found.startOffset)))
      found = segment
  }
  return found
}

export interface BatchPlace {
  readonly baseOffset: string
  readonly messages: number
  readonly positionBytes: number
  readonly lengthBytes: number
}
/** The batch that holds an offset, among some that follow each other. */
export const batchOf = <T extends BatchPlace>(batches: readonly T[], offset: bigint): T | undefined =>
  batches.find(
    batch => BigInt(batch.baseOffset) <= offset && offset < BigInt(batch.baseOffset) + BigInt(batch.messages),
  )

/** Where the bytes of a window may be asked for: the last known batch boundary at or before `position`. */
export function boundaryBefore(entries: readonly IndexEntry[], position: number): number {
  let found = 0
  for (const entry of entries)
    if (entry.positionBytes <= position && entry.positionBytes > found) found = entry.positionBytes
  return found
}
