/**
 * One segment of the chain as memory knows it (spec partition.md §3.2). The object is its identity: polls hold segments
 * across awaits, never their place in the chain, which retention moves. Only the last segment is unsealed and has writers.
 */
import { Offset } from '../bytes/units.ts'
import type { DiskFile } from '../storage/disk.ts'
import { INDEX_ENTRY_BYTES } from '../storage/index-file.ts'
import { joinPath } from '../storage/paths.ts'
import { type SegmentFileKind, segmentFileName } from '../storage/segment-names.ts'
import type { SharedFile } from './shared-file.ts'
import type { SparseIndex } from './sparse-index.ts'

/** Path of a file of the segment that starts at `startOffset` (§1). */
export const segmentPath = (directory: string, startOffset: bigint, kind: SegmentFileKind): string =>
  joinPath(directory, segmentFileName(Offset(startOffset), kind))

export interface Writers {
  /** Also what polls read the active segment through, so it closes with its last reader. */
  readonly log: SharedFile
  readonly index: DiskFile
}

export class Segment {
  readonly startOffset: bigint
  readonly maxSizeBytes: number
  readonly logPath: string
  readonly indexPath: string
  /** Exclusive end; equal to `startOffset` while the segment is empty. */
  endOffset: bigint
  /** Persisted bytes; nothing beyond is ever served. */
  sizeBytes = 0
  indexBytes = 0
  sealed = false
  startTimestamp = 0n
  endTimestamp = 0n
  /** Highest base timestamp in it. */
  maxTimestamp = 0n
  /** False once a batch is older than one before it: index searches by time would overlook batches then. */
  monotone = true
  writers: Writers | undefined
  /** Resident for the active segment; a sealed one is loaded on demand. */
  index: SparseIndex | undefined

  constructor(directory: string, startOffset: bigint, maxSizeBytes: number) {
    this.startOffset = startOffset
    this.endOffset = startOffset
    this.maxSizeBytes = maxSizeBytes
    this.logPath = segmentPath(directory, startOffset, 'log')
    this.indexPath = segmentPath(directory, startOffset, 'index')
  }

  get empty(): boolean {
    return this.sizeBytes === 0
  }

  get full(): boolean {
    return this.sizeBytes >= this.maxSizeBytes
  }

  get indexEntries(): number {
    return Math.floor(this.indexBytes / INDEX_ENTRY_BYTES)
  }

  /** Accounts one batch that lies in the file now. */
  addBatch(endOffset: bigint, timestamp: bigint): void {
    if (this.startTimestamp === 0n) this.startTimestamp = timestamp
    if (timestamp < this.endTimestamp) this.monotone = false
    if (timestamp > this.maxTimestamp) this.maxTimestamp = timestamp
    this.endTimestamp = timestamp
    this.endOffset = endOffset
  }
}
