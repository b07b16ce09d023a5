/**
 * Open descriptors and index positions for disk polls (spec partition.md §5.3, §5.4). The active segment is read through
 * its writer, so that a consumer at the head opens nothing. Of the sealed segments, the 12 that polls started in most
 * recently stay open with their index; a poll that merely walks into a segment opens and closes it.
 */

import { Offset } from '../bytes/units.ts'
import type { Rules } from '../protocol/rules.ts'
import type { Disk, DiskFile } from '../storage/disk.ts'
import { INDEX_ENTRY_BYTES } from '../storage/index-file.ts'
import type { DescriptorsInfo } from './contract.ts'
import type { Segment } from './segment.ts'
import type { Query } from './selection.ts'
import { SharedFile } from './shared-file.ts'
import { SparseIndex } from './sparse-index.ts'

export const SEALED_HANDLES_MAX = 12
/** A larger index is not kept in memory but searched in the file. */
export const INDEX_RESIDENT_BYTES_MAX = 512 * 1024

interface Tracked {
  log?: SharedFile
  index?: SparseIndex
}

export class ReadHandles {
  private readonly disk: Disk
  private readonly closeFailed: (error: unknown) => void
  private readonly readersHold: boolean
  /** Least recently started first. */
  private readonly tracked = new Map<Segment, Tracked>()
  private opened = 0

  constructor(disk: Disk, closeFailed: (error: unknown) => void, rules: Rules) {
    this.disk = disk
    this.closeFailed = closeFailed
    this.readersHold = rules.readersHoldDescriptors
  }

  /** @param active the segment that is written to */
  info(active: Segment | undefined): DescriptorsInfo {
    const writer = active?.writers?.log
    return {
      ...(active && writer && { active: { startOffset: Offset(active.startOffset), readers: writer.readers } }),
      sealed: [...this.tracked].map(([{ startOffset }, { log, index }]) => ({
        startOffset: Offset(startOffset),
        log: log !== undefined,
        index: index !== undefined,
      })),
      sealedMax: SEALED_HANDLES_MAX,
      opened: this.opened,
    }
  }

  /** Marks a sealed segment as one that a poll starts in. */
  touch(segment: Segment): void {
    const known = this.tracked.get(segment)
    this.tracked.delete(segment)
    this.tracked.set(segment, known ?? {})
    if (this.tracked.size <= SEALED_HANDLES_MAX) return
    const [oldest, { log }] = this.tracked.entries().next().value!
    this.tracked.delete(oldest)
    log?.letGo(this.readersHold)
  }

  /** The log of `segment`, open for reading; to be released when done. @throws DiskError */
  async acquire(segment: Segment): Promise<SharedFile> {
    const open = segment.writers?.log ?? this.tracked.get(segment)?.log
    if (open) {
      open.acquire()
      return open
    }
    const file = new SharedFile(await this.open(segment.logPath), this.closeFailed)
    // while it was opened the segment may have left the tracked ones, or another poll may have opened it as well
    const slot = this.tracked.get(segment)
    if (slot && slot.log === undefined) {
      slot.log = file
      file.acquire()
    }
    return file
  }

  /**
   * Where in a sealed segment a walk for `query` may start. The index only saves time: whatever is wrong with it, the
   * answer is 0 and the walk reads more. @throws DiskError from reading it
   */
  async startPosition(segment: Segment, query: Query): Promise<number> {
    if (query.by === 'timestamp' && !segment.monotone) return 0
    const entries = segment.indexEntries
    if (entries <= 1) return 0
    const slot = this.tracked.get(segment)
    let index = slot?.index
    if (index === undefined) {
      const bytes = entries * INDEX_ENTRY_BYTES
      if (bytes > INDEX_RESIDENT_BYTES_MAX) return this.searchFile(segment, entries, query)
      index = new SparseIndex(await this.readIndex(segment, bytes))
      const now = this.tracked.get(segment)
      if (now) now.index = index
    }
    return positionIn(index, query)
  }

  private open(path: string): Promise<DiskFile> {
    this.opened++
    return this.disk.open(path, 'read')
  }

  close(): void {
    for (const { log } of this.tracked.values()) log?.letGo(this.readersHold)
    this.tracked.clear()
  }

  private async readIndex(segment: Segment, length: number): Promise<Uint8Array> {
    const file = await this.open(segment.indexPath)
    try {
      const bytes = new Uint8Array(length)
      return bytes.subarray(0, await file.read(0, bytes))
    } finally {
      await file.close()
    }
  }

  /** Halves the file down to one resident window, then searches that. */
  private async searchFile(segment: Segment, entries: number, query: Query): Promise<number> {
    const file = await this.open(segment.indexPath)
    try {
      const windowEntries = Math.floor(INDEX_RESIDENT_BYTES_MAX / INDEX_ENTRY_BYTES)
      let low = 0
      let high = entries
      const one = new Uint8Array(INDEX_ENTRY_BYTES)
      while (high - low > windowEntries) {
        const middle = Math.floor((low + high) / 2)
        if ((await file.read(middle * INDEX_ENTRY_BYTES, one)) < INDEX_ENTRY_BYTES) return 0
        const entry = new SparseIndex(one).entry(0)
        const below = query.by === 'offset' ? entry.offset <= query.from : entry.timestamp < query.from
        if (below) low = middle
        else high = middle
      }
      const window = new Uint8Array((high - low) * INDEX_ENTRY_BYTES)
      const length = await file.read(low * INDEX_ENTRY_BYTES, window)
      return positionIn(new SparseIndex(window.subarray(0, length)), query)
    } finally {
      await file.close()
    }
  }
}

/** Position in a resident index from which a walk finds everything that `query` asks for. */
export function positionIn(index: SparseIndex, query: Query): number {
  return query.by === 'offset' ? index.positionOfOffset(query.from) : index.positionOfTimestamp(query.from)
}
