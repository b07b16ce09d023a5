/** Partitions that no load would write in a reader's time: a chain of many segments, and one segment as large as they get. */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Hash } from '../../shared/bytes/hash.ts'
import { Micros, Offset } from '../../shared/bytes/units.ts'
import { produceBatch, stampBatch } from '../../shared/protocol/batch.ts'
import { encodeIndex, type IndexEntry } from '../../shared/storage/index-file.ts'
import { segmentFileName } from '../../shared/storage/segment-names.ts'

const NOW = 1_700_000_000_000_000n

export interface ChainShape {
  readonly segments: number
  readonly batchesPerSegment: number
  readonly messagesPerBatch: number
  readonly payloadBytes: number
}

/**
 * Whole segments with an index entry for each batch, as a flusher that writes batch by batch leaves them.
 *
 * @param directory of the partition; files in it of the same names are overwritten
 * @returns the offset after the last message
 */
export function writeChain(directory: string, hash: Hash, shape: ChainShape): bigint {
  mkdirSync(directory, { recursive: true })
  const batch = produceBatch(
    hash,
    Array.from({ length: shape.messagesPerBatch }, (_, index) => ({
      id: BigInt(index + 1),
      payload: new Uint8Array(shape.payloadBytes).fill(1 + (index % 250)),
      originTimestamp: Micros(NOW),
    })),
  )
  let offset = 0n
  for (let segment = 0; segment < shape.segments; segment++) {
    const start = Offset(offset)
    const entries: IndexEntry[] = []
    const log = openSync(join(directory, segmentFileName(start, 'log')), 'w')
    try {
      for (let at = 0; at < shape.batchesPerSegment; at++) {
        const baseTimestamp = Micros(NOW + offset)
        stampBatch(hash, batch, 0, { partitionId: 0, baseOffset: Offset(offset), baseTimestamp })
        writeSync(log, batch)
        entries.push({ offset: Offset(offset), timestamp: baseTimestamp, position: BigInt(at * batch.length) })
        offset += BigInt(shape.messagesPerBatch)
      }
    } finally {
      closeSync(log)
    }
    writeFileSync(join(directory, segmentFileName(start, 'index')), encodeIndex(entries))
  }
  return offset
}
