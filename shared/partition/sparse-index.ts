/**
 * The sparse index of one segment as its bytes: entries of 24, `offset u64 | timestamp u64 | position u64`, ascending in
 * offset and position (spec partition.md §2.5). Kept as bytes, because an eager topic has one entry per flush and a full
 * segment of it holds millions.
 */
import { Micros, Offset } from '../bytes/units.ts'
import { INDEX_ENTRY_BYTES, indexEntryLayout } from '../storage/index-file.ts'
import { dataView } from './record.ts'

export interface IndexPoint {
  readonly offset: bigint
  readonly timestamp: bigint
  readonly position: number
}

export const encodeIndexPoint = ({ offset, timestamp, position }: IndexPoint): Uint8Array =>
  indexEntryLayout.encode({ offset: Offset(offset), timestamp: Micros(timestamp), position: BigInt(position) })

export class SparseIndex {
  private bytes: Uint8Array
  private view: DataView
  entries: number

  /** Takes over `bytes`; a trailing partial entry is ignored. */
  constructor(bytes: Uint8Array = new Uint8Array(0)) {
    this.bytes = bytes
    this.view = dataView(bytes)
    this.entries = Math.floor(bytes.length / INDEX_ENTRY_BYTES)
  }

  push(encoded: Uint8Array): void {
    const at = this.entries * INDEX_ENTRY_BYTES
    if (at + INDEX_ENTRY_BYTES > this.bytes.length) {
      const grown = new Uint8Array(Math.max(1024 * INDEX_ENTRY_BYTES, this.bytes.length * 2))
      grown.set(this.bytes.subarray(0, at))
      this.bytes = grown
      this.view = dataView(grown)
    }
    this.bytes.set(encoded, at)
    this.entries++
  }

  /** The whole entries as they lie in a file; a view. */
  toBytes(): Uint8Array {
    return this.bytes.subarray(0, this.entries * INDEX_ENTRY_BYTES)
  }

  entry(number: number): IndexPoint {
    const at = number * INDEX_ENTRY_BYTES
    return {
      offset: this.view.getBigUint64(at, true),
      timestamp: this.view.getBigUint64(at + 8, true),
      position: Number(this.view.getBigUint64(at + 16, true)),
    }
  }

  /** Position of the last entry at or below `offset`, else 0: where a walk to `offset` starts. */
  positionOfOffset(offset: bigint): number {
    const number = this.lastWhere(at => this.view.getBigUint64(at, true) <= offset)
    return number < 0 ? 0 : this.entry(number).position
  }

  /**
   * Position of the last entry whose batch is older than `timestamp`, else 0: every batch at or after `timestamp` lies
   * behind it. Only for segments whose timestamps never step back.
   */
  positionOfTimestamp(timestamp: bigint): number {
    const number = this.lastWhere(at => this.view.getBigUint64(at + 8, true) < timestamp)
    return number < 0 ? 0 : this.entry(number).position
  }

  private lastWhere(holds: (at: number) => boolean): number {
    let low = 0
    let high = this.entries
    while (low < high) {
      const middle = (low + high) >>> 1
      if (holds(middle * INDEX_ENTRY_BYTES)) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}
