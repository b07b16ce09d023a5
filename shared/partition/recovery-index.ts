/**
 * One index file against what the walk of its log meets (spec partition.md §6.5; how the verdict comes about:
 * recovery-walk.ts). The file is read in windows with a breath in between, since a hostile or forgotten one can be far
 * longer than its log; only entries that point into the log are kept, and of those no more than a log of its size can
 * have batches.
 */
import { Offset } from '../bytes/units.ts'
import { BATCH_HEADER_BYTES, MESSAGE_HEADER_BYTES } from '../protocol/batch.ts'
import { type DiskFile, isNotFound } from '../storage/disk.ts'
import { INDEX_ENTRY_BYTES } from '../storage/index-file.ts'
import { type ScannedBatch, scanSegment } from '../storage/segment-scan.ts'
import type { PartitionHost } from './contract.ts'
import { encodeIndexPoint, SparseIndex } from './sparse-index.ts'

/** A rebuilt index has an entry at its first batch, and then one at least this many bytes behind the last (§2.5). */
export const REBUILT_STRIDE_BYTES = 65_536
const WINDOW_BYTES = Math.floor((1024 * 1024) / INDEX_ENTRY_BYTES) * INDEX_ENTRY_BYTES
const SMALLEST_BATCH_BYTES = BATCH_HEADER_BYTES + MESSAGE_HEADER_BYTES

export type IndexVerdict =
  /** Every entry is proven; `bytes` cuts a torn last entry off. */
  | { readonly kind: 'intact'; readonly bytes: number }
  /** The first `bytes` stay: 24 for each entry up to the highest proven one. */
  | { readonly kind: 'floor'; readonly bytes: number; readonly entries: number; readonly dropped: number }
  /** Written anew from the walk: `reason` says why the old one is worth nothing, or that there was none. */
  | {
      readonly kind: 'rebuild'
      readonly reason: 'absent' | 'contradictory' | 'unproven' | 'disproved'
      readonly index: SparseIndex
      readonly entry?: number
    }
  /** The segment is empty, and so is its index from now on. */
  | { readonly kind: 'empty' }

export class IndexComparison {
  private readonly host: PartitionHost
  private readonly path: string
  private readonly startOffset: Offset
  readonly fileBytes: number
  readonly exists: boolean
  /** Entries that point into the log, in order. */
  private inRange = new SparseIndex()
  /** Number of the first entry that contradicts the ones before it. */
  private contradiction: number | undefined
  private cursor = 0
  private proven = -1
  private disproved: number | undefined
  private readonly rebuilt = new SparseIndex()
  private rebuiltPosition = 0

  private constructor(host: PartitionHost, path: string, startOffset: Offset, fileBytes: number, exists: boolean) {
    this.host = host
    this.path = path
    this.startOffset = startOffset
    this.fileBytes = fileBytes
    this.exists = exists
  }

  /** Looks at the file; an absent one is an empty one. Throws DiskError. */
  static async read(host: PartitionHost, path: string, startOffset: Offset): Promise<IndexComparison> {
    try {
      const { sizeBytes } = await host.disk.stat(path)
      return new IndexComparison(host, path, startOffset, sizeBytes, true)
    } catch (error) {
      if (isNotFound(error)) return new IndexComparison(host, path, startOffset, 0, false)
      throw error
    }
  }

  private get entries(): number {
    return Math.floor(this.fileBytes / INDEX_ENTRY_BYTES)
  }

  /** Reads the entries and checks their structure; `logBytes` is the length of the log they belong to. */
  async load(logBytes: number): Promise<void> {
    if (!this.exists || this.entries === 0) return
    const inRangeMax = Math.floor(logBytes / SMALLEST_BATCH_BYTES) + 1
    const file = await this.host.disk.open(this.path, 'read')
    try {
      const total = this.entries * INDEX_ENTRY_BYTES
      let offset = -1n
      let position = -1
      let number = 0
      for (let at = 0; at < total && this.contradiction === undefined; at += WINDOW_BYTES) {
        const bytes = new Uint8Array(Math.min(WINDOW_BYTES, total - at))
        const read = await file.read(at, bytes)
        const window = new SparseIndex(bytes.subarray(0, read))
        for (let index = 0; index < window.entries; index++, number++) {
          const point = window.entry(index)
          const head = number > 0 || (point.offset === this.startOffset && point.position === 0)
          if (!head || point.offset <= offset || point.position <= position || this.inRange.entries > inRangeMax) {
            this.contradiction = number
            break
          }
          offset = point.offset
          position = point.position
          if (position < logBytes) this.inRange.push(encodeIndexPoint(point))
        }
        await this.host.scheduler.yield()
      }
    } finally {
      await file.close()
    }
  }

  /**
   * The highest entry that names a whole batch, and all entries below it believed unseen: where a boot starts that breaks
   * the rule of the walk from byte 0. Throws DiskError.
   */
  async anchor(log: DiskFile, logBytes: number): Promise<{ offset: Offset; position: number } | undefined> {
    for (let number = this.inRange.entries - 1; number > 0; number--) {
      const { offset, position } = this.inRange.entry(number)
      const startOffset = Offset(offset)
      const { batches } = await scanSegment(log, logBytes, this.host.hash, {
        startOffset,
        from: position,
        onBatch: () => false,
      })
      if (batches === 0) continue
      this.cursor = number
      return { offset: startOffset, position }
    }
    return undefined
  }

  /** The walk met this batch. To be called for each, in order. */
  meet(batch: ScannedBatch): void {
    if (this.rebuilt.entries === 0 || batch.position - this.rebuiltPosition >= REBUILT_STRIDE_BYTES) {
      this.rebuilt.push(
        encodeIndexPoint({ offset: batch.baseOffset, timestamp: batch.baseTimestamp, position: batch.position }),
      )
      this.rebuiltPosition = batch.position
    }
    while (this.cursor < this.inRange.entries) {
      const point = this.inRange.entry(this.cursor)
      if (point.position > batch.position) return
      const same =
        point.position === batch.position &&
        point.offset === batch.baseOffset &&
        point.timestamp === batch.baseTimestamp
      if (same) this.proven = this.cursor
      else this.disproved ??= this.cursor
      this.cursor++
    }
  }

  verdict(walkedBytes: number): IndexVerdict {
    if (walkedBytes === 0) return { kind: 'empty' }
    const rebuild = (reason: 'absent' | 'contradictory' | 'unproven' | 'disproved', entry?: number): IndexVerdict => ({
      kind: 'rebuild',
      reason,
      index: this.rebuilt,
      ...(entry !== undefined && { entry }),
    })
    if (this.entries === 0) return rebuild('absent')
    if (this.contradiction !== undefined) return rebuild('contradictory', this.contradiction)
    if (this.proven < 0) return rebuild('unproven', this.entries - 1)
    if (this.disproved !== undefined && this.disproved < this.proven) return rebuild('disproved', this.disproved)
    const kept = this.proven + 1
    const bytes = kept * INDEX_ENTRY_BYTES
    return kept === this.entries
      ? { kind: 'intact', bytes }
      : { kind: 'floor', bytes, entries: this.entries, dropped: this.entries - kept }
  }
}
