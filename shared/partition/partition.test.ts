import { describe, expect, it } from 'vitest'
import { Op } from '../bytes/units.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { openPartition } from './open.ts'
import { pollOffset, Sender, TestHost, testOptions } from './testing/harness.ts'

describe('a partition', () => {
  it('serves committed messages from memory, and the same ones from disk once they are flushed', async () => {
    const host = new TestHost(new MemoryDisk())
    const partition = await openPartition(testOptions(host))
    const sender = new Sender(partition)
    expect(sender.send('a', 'b').baseOffset).toBe(0n)
    expect(sender.send('c').baseOffset).toBe(2n)
    expect(await pollOffset(partition, 1n)).toEqual(['1:b', '2:c'])
    await partition.flush()
    expect(partition.info().flusher.persistedBytes).toBeGreaterThan(0n)
    expect(partition.journal.frame(Op(1n))).toBeUndefined()
    expect(await pollOffset(partition, 1n)).toEqual(['1:b', '2:c'])
    sender.send('d')
    expect(await pollOffset(partition, 1n)).toEqual(['1:b', '2:c', '3:d'])
    await partition.close()
    expect(host.failures).toEqual([])
  })
})
