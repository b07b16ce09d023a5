/**
 * Holds the entries of one index against the batches of its log as a walk meets them (spec partition.md §2.5, §6.5): each
 * entry must name the start of a batch, with its offset and timestamp. Works on the raw bytes, because an index of a full
 * segment of small batches has millions of entries.
 */
import { INDEX_ENTRY_BYTES, indexEntryLayout } from '../index-file.ts'
import type { ScannedBatch } from '../segment-scan.ts'

/** A segment has at most 1 GiB, a batch at least 305 bytes: 84 MB of entries. */
export const INDEX_BYTES_MAX = 128 * 1024 * 1024

export interface IndexFault {
  readonly entry: number
  readonly check:
    | 'index_head'
    | 'index_offset_order'
    | 'index_position_order'
    | 'index_position'
    | 'index_offset'
    | 'index_timestamp'
    | 'index_past_log'
  readonly message: string
}

export class IndexMatcher {
  readonly entries: number
  readonly trailingBytes: number
  readonly faults: IndexFault[] = []
  /** Entries that name bytes which no walk could read: nothing can be said of them. */
  unprovable = 0
  firstUnprovable = -1
  private readonly bytes: Uint8Array
  private readonly view: DataView
  private next = 0

  constructor(bytes: Uint8Array, startOffset: bigint) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.entries = Math.floor(bytes.length / INDEX_ENTRY_BYTES)
    this.trailingBytes = bytes.length % INDEX_ENTRY_BYTES
    this.checkOrder(startOffset)
    // An index that contradicts itself is dropped whole by a boot; holding it against the log says no more.
    if (this.faults.length > 0) this.next = this.entries
  }

  /** Every batch of the walk, in order of position. */
  meet(batch: ScannedBatch): void {
    while (this.next < this.entries && this.positionAt(this.next) <= batch.position) {
      const { offset, timestamp, position } = indexEntryLayout.decode(this.bytes, this.next * INDEX_ENTRY_BYTES)
      if (position < BigInt(batch.position)) this.fault('index_position', `position ${position} is no start of a batch`)
      else if (batch.verdict !== 'valid') this.unproven()
      else if (offset !== batch.baseOffset)
        this.fault('index_offset', `offset ${offset}, but the batch at ${position} starts at ${batch.baseOffset}`)
      else if (timestamp !== batch.baseTimestamp)
        this.fault('index_timestamp', `timestamp ${timestamp}, but the batch at ${position} has ${batch.baseTimestamp}`)
      this.next++
    }
  }

  /** The walk could not read what lies before `position`. */
  skipTo(position: number): void {
    for (; this.next < this.entries && this.positionAt(this.next) < position; this.next++) this.unproven()
  }

  /** The walk is over: sound up to `walkedBytes`, unreadable from there to `logBytes`. */
  finish(walkedBytes: number, logBytes: number): void {
    for (; this.next < this.entries; this.next++) {
      const position = this.positionAt(this.next)
      if (position >= logBytes) {
        const more = this.entries - this.next - 1
        this.fault(
          'index_past_log',
          `position ${position} lies past the end of the log at ${logBytes}${more > 0 ? `, and so do ${more} entries more` : ''}`,
        )
        this.next = this.entries
      } else if (position >= walkedBytes) this.unproven()
      else this.fault('index_position', `position ${position} is no start of a batch`)
    }
  }

  private checkOrder(startOffset: bigint): void {
    let offset = 0n
    let position = 0n
    for (let entry = 0; entry < this.entries; entry++) {
      const at = entry * INDEX_ENTRY_BYTES
      const entryOffset = this.view.getBigUint64(at, true)
      const entryPosition = this.view.getBigUint64(at + 16, true)
      if (entry === 0 && (entryOffset !== startOffset || entryPosition !== 0n)) {
        this.faults.push({
          entry,
          check: 'index_head',
          message: `the first entry names offset ${entryOffset} at position ${entryPosition}, not ${startOffset} at 0`,
        })
        return
      }
      if (entry > 0 && entryOffset <= offset) {
        this.faults.push({
          entry,
          check: 'index_offset_order',
          message: `offset ${entryOffset} follows ${offset}: entries must ascend`,
        })
        return
      }
      if (entry > 0 && entryPosition <= position) {
        this.faults.push({
          entry,
          check: 'index_position_order',
          message: `position ${entryPosition} follows ${position}: entries must ascend`,
        })
        return
      }
      offset = entryOffset
      position = entryPosition
    }
  }

  private positionAt(entry: number): number {
    return Number(this.view.getBigUint64(entry * INDEX_ENTRY_BYTES + 16, true))
  }

  private fault(check: IndexFault['check'], message: string): void {
    this.faults.push({ entry: this.next, check, message })
  }

  private unproven(): void {
    if (this.unprovable++ === 0) this.firstUnprovable = this.next
  }
}
