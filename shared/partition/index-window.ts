/**
 * Some of the entries of one index file (spec partition.md §2.5). An index of small batches in a large segment holds
 * millions of entries: whoever looks at it gets a bounded part of it, and how many there are.
 */
import { BytePosition, Micros, Offset } from '../bytes/units.ts'
import type { Disk, DiskFile } from '../storage/disk.ts'
import { INDEX_ENTRY_BYTES } from '../storage/index-file.ts'
import { type IndexPoint, SparseIndex } from './sparse-index.ts'

/** From a place of the log up to another, thinned evenly to `limit`; or from the floor of an offset on, `limit` in a row. */
export type IndexWindow = { readonly limit: number } & (
  | { readonly by: 'position'; readonly from: number; readonly to: number }
  | { readonly by: 'offset'; readonly offset: bigint }
)

export interface ListedEntry {
  readonly number: number
  readonly offset: Offset
  readonly timestamp: Micros
  readonly position: BytePosition
}
export interface IndexListing {
  readonly entries: readonly ListedEntry[]
  /** Whole entries of the file. */
  readonly total: number
  /** Of them in the window, listed or not. */
  readonly matching: number
  /** Bytes of a torn last entry. */
  readonly trailingBytes: number
}

export const WHOLE_INDEX: IndexWindow = { by: 'position', from: 0, to: Number.MAX_SAFE_INTEGER, limit: 1000 }

/**
 * The entry at or before `from` is in the window too: from its place on the log can be walked.
 * @throws DiskError from reading the file
 */
export async function listIndex(disk: Disk, path: string, window: IndexWindow): Promise<IndexListing> {
  const file = await disk.open(path, 'read')
  try {
    const size = await file.sizeBytes()
    const total = Math.floor(size / INDEX_ENTRY_BYTES)
    const limit = Math.max(1, window.limit)
    const first = Math.max(0, (await firstWhere(file, total, entry => !isBefore(entry, window))) - 1)
    const end = window.by === 'offset' ? total : await firstWhere(file, total, entry => entry.position >= window.to)
    const matching = Math.max(0, end - first)
    const entries =
      window.by === 'offset' || matching <= limit
        ? await inARow(file, first, Math.min(limit, matching))
        : await thinned(file, first, matching, limit)
    return { entries, total, matching, trailingBytes: size - total * INDEX_ENTRY_BYTES }
  } finally {
    await file.close()
  }
}

const isBefore = (entry: IndexPoint, window: IndexWindow): boolean =>
  window.by === 'offset' ? entry.offset <= window.offset : entry.position <= window.from

/** Number of the first entry for which `holds`, which it does for all behind it; else how many there are. */
async function firstWhere(file: DiskFile, total: number, holds: (entry: IndexPoint) => boolean): Promise<number> {
  let [low, high] = [0, total]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [entry] = await inARow(file, middle, 1)
    // A file that is cut while it is read ends there.
    if (entry === undefined || holds(entry)) high = middle
    else low = middle + 1
  }
  return low
}

async function inARow(file: DiskFile, first: number, count: number): Promise<ListedEntry[]> {
  const bytes = new Uint8Array(count * INDEX_ENTRY_BYTES)
  const index = new SparseIndex(bytes.subarray(0, await file.read(first * INDEX_ENTRY_BYTES, bytes)))
  return Array.from({ length: index.entries }, (_, at) => {
    const { offset, timestamp, position } = index.entry(at)
    return {
      number: first + at,
      offset: Offset(offset),
      timestamp: Micros(timestamp),
      position: BytePosition(position),
    }
  })
}

/** Each by itself: of a long file only what is listed is read. */
async function thinned(file: DiskFile, first: number, matching: number, limit: number): Promise<ListedEntry[]> {
  const every = Math.ceil(matching / limit)
  const entries: ListedEntry[] = []
  for (let at = 0; at < matching; at += every) entries.push(...(await inARow(file, first + at, 1)))
  return entries
}
