/**
 * Fields of a batch record where it lies, for the paths that touch every batch and must not decode it (layout:
 * `protocol/batch.ts`, spec partition.md §2.1).
 */
import { BATCH_HEADER_BYTES, MESSAGE_HEADER_BYTES } from '../protocol/batch.ts'
import { HEADER_BYTES } from '../protocol/headers.ts'

/** Where the record starts inside a SendMessages prepare frame. */
export const RECORD_AT = HEADER_BYTES

export const dataView = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

export const recordPartition = (view: DataView, at = 0): bigint => view.getBigUint64(at, true)
export const recordBaseOffset = (view: DataView, at = 0): bigint => view.getBigUint64(at + 8, true)
export const recordTimestamp = (view: DataView, at = 0): bigint => view.getBigUint64(at + 16, true)
export const recordOrigin = (view: DataView, at = 0): bigint => view.getBigUint64(at + 24, true)
export const recordChecksum = (view: DataView, at = 0): bigint => view.getBigUint64(at + 40, true)
export const recordMessages = (view: DataView, at = 0): number => view.getUint32(at + 48, true)

/** The record of a SendMessages prepare, as the `.log` gets it; a view of `frame`. */
export const recordOf = (frame: Uint8Array): Uint8Array => frame.subarray(RECORD_AT)

/**
 * How many of the messages from `first` on, at most `countMax`, fit into `bytesMax` together with a record header.
 * The layout of the record at `at` must have been checked.
 */
export function messagesWithin(view: DataView, at: number, first: number, countMax: number, bytesMax: number): number {
  let p = at + BATCH_HEADER_BYTES
  let bytes = BATCH_HEADER_BYTES
  const end = first + countMax
  for (let index = 0; index < end; index++) {
    const length = MESSAGE_HEADER_BYTES + view.getUint32(p + 32, true) + view.getUint32(p + 36, true)
    if (index >= first) {
      bytes += length
      if (bytes > bytesMax) return index - first
    }
    p += length
  }
  return countMax
}
