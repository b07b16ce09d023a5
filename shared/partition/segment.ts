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

export interface BatchMark {
  /** Offset of the batch that starts at `position`, there already or the next to be written. */
  readonly offset: bigint
  readonly position: number
}

/** As many consumers read one segment side by side without walking any batch twice. */
const MARKS_MAX = 16

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

  /**
   * Batch boundaries where polls stopped: the next poll of the same consumer starts there. The index has one entry per
   * flush round, and walking a whole round again for every poll of a few messages would cost far more than it saves.
   * A boundary stays true for as long as the segment lives, since the file only grows.
   */
  private readonly marks: BatchMark[] = []
  private nextMark = 0

  remember(offset: bigint, position: number): void {
    if (this.marks.some(mark => mark.position === position)) return
    this.marks[this.nextMark] = { offset, position }
    this.nextMark = (this.nextMark + 1) % MARKS_MAX
  }

  /** The file was cut: what polls remember may lie behind the cut. */
  forget(): void {
    this.marks.length = 0
    this.nextMark = 0
  }

  /** The boundary closest before `offset` that a poll has left, if any. */
  markBefore(offset: bigint): BatchMark | undefined {
    let best: BatchMark | undefined
    for (const mark of this.marks) {
      if (mark.offset <= offset && (best === undefined || mark.offset > best.offset)) best = mark
    }
    return best
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
