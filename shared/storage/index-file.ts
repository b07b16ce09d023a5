/**
 * The sparse index of a segment (spec partition.md §2.5): 24-byte entries, one per persisted chunk, no header.
 *
 *   0 offset u64 | 8 timestamp u64 | 16 position u64
 *
 * The log is the authority. Entries ascend strictly in offset and position, timestamps need not; a trailing partial entry
 * is ignored by readers and cut by recovery.
 */
import { type LayoutRecord, layout, u64 } from '../bytes/layout.ts'
import type { Micros, Offset } from '../bytes/units.ts'

export const INDEX_ENTRY_BYTES = 24

export const indexEntryLayout = layout('IndexEntry', INDEX_ENTRY_BYTES, {
  offset: u64<Offset>(0),
  timestamp: u64<Micros>(8),
  position: u64(16),
})
export type IndexEntry = LayoutRecord<typeof indexEntryLayout>

export interface IndexContent {
  readonly entries: readonly IndexEntry[]
  /** Bytes of a torn last entry, 0 to 23. */
  readonly trailingBytes: number
}

/** Splits the bytes of an index file into whole entries. */
export function decodeIndex(bytes: Uint8Array): IndexContent {
  const count = Math.floor(bytes.length / INDEX_ENTRY_BYTES)
  const entries: IndexEntry[] = []
  for (let number = 0; number < count; number++)
    entries.push(indexEntryLayout.decode(bytes, number * INDEX_ENTRY_BYTES))
  return { entries, trailingBytes: bytes.length - count * INDEX_ENTRY_BYTES }
}

export function encodeIndex(entries: readonly IndexEntry[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(entries.length * INDEX_ENTRY_BYTES)
  for (const [number, entry] of entries.entries()) indexEntryLayout.encode(entry, bytes, number * INDEX_ENTRY_BYTES)
  return bytes
}
