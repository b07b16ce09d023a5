/** Stamped batches back to back, as they lie in a log. */
import type { Hash } from '../../bytes/hash.ts'
import { Micros, Offset } from '../../bytes/units.ts'
import { produceBatch, stampBatch } from '../../protocol/batch.ts'

export interface TestBatch {
  readonly messages: number
  readonly payloadBytes: number
  readonly partitionId?: number
}

/** One record per entry, offsets dense from `start` on, one second apart. */
export function makeBatches(hash: Hash, start: bigint, batches: readonly TestBatch[]): Uint8Array[] {
  let offset = start
  return batches.map(({ messages, payloadBytes, partitionId = 0 }) => {
    const record = produceBatch(
      hash,
      Array.from({ length: messages }, (_, index) => ({
        id: offset + BigInt(index) + 1n,
        payload: new Uint8Array(payloadBytes).fill(Number(offset & 0x7fn) + 1),
        originTimestamp: Micros(1_700_000_000_000_000n + offset),
      })),
    )
    stampBatch(hash, record, 0, {
      partitionId,
      baseOffset: Offset(offset),
      baseTimestamp: Micros(1_700_000_000_000_000n + offset * 1_000_000n),
    })
    offset += BigInt(messages)
    return record
  })
}
