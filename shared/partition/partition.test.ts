import { describe, expect, it } from 'vitest'
import { Offset, Op } from '../bytes/units.ts'
import { decodeBatch } from '../protocol/batch.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import type { Partition } from './contract.ts'
import { openPartition } from './open.ts'
import { hash, prepare, producedBatch, settle, TestHost, testOptions, text } from './testing/harness.ts'

const send = (partition: Partition, op: bigint, payloads: string[]) => {
  const { header, frame } = prepare(op, producedBatch(payloads.map(text)))
  const result = partition.append('primary', header, frame)
  if (!result.ok) throw result.error
  return partition.apply(header)
}

const read = async (partition: Partition, from: bigint, count = 1000, bytesMax = 1 << 20) => {
  const result = await partition.poll({ kind: 'offset', offset: Offset(from) }, count, bytesMax)
  return result.records.flatMap(record => {
    const batch = decodeBatch(record, 0, hash)
    return batch.messages.map(
      message =>
        `${batch.header.baseOffset + BigInt(message.header.offsetDelta)}:${new TextDecoder().decode(message.payload)}`,
    )
  })
}

describe('a partition', () => {
  it('serves committed messages from memory, and the same ones from disk once they are flushed', async () => {
    const host = new TestHost(new MemoryDisk())
    const partition = await openPartition(testOptions(host))
    expect(send(partition, 1n, ['a', 'b']).baseOffset).toBe(0n)
    expect(send(partition, 2n, ['c']).baseOffset).toBe(2n)
    expect(await read(partition, 1n)).toEqual(['1:b', '2:c'])
    await partition.flush()
    expect(partition.info().flusher.persistedBytes).toBeGreaterThan(0n)
    expect(partition.journal.frame(Op(1n))).toBeUndefined()
    expect(await read(partition, 1n)).toEqual(['1:b', '2:c'])
    send(partition, 3n, ['d'])
    expect(await read(partition, 1n)).toEqual(['1:b', '2:c', '3:d'])
    await partition.close()
    await settle()
    expect(host.failures).toEqual([])
  })
})
