import { describe, expect, it } from 'vitest'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { listBatches } from './batches.ts'
import { openPartition } from './open.ts'
import { DIRECTORY, EAGER, hash, must, Sender, TestHost, testOptions } from './testing/harness.ts'

const LOG = `${DIRECTORY}/00000000000000000000.log`
const BATCH = 256 + 48 + 2

async function three() {
  const disk = new MemoryDisk()
  const partition = await openPartition(testOptions(new TestHost(disk), EAGER))
  const sender = new Sender(partition)
  for (const payload of ['m0', 'm1', 'm2']) sender.send(payload)
  await partition.flush()
  return disk
}

describe('listing batches', () => {
  it('gives pages that continue each other and end at the end of the file', async () => {
    const disk = await three()
    const first = must(await listBatches(disk, hash, LOG, 0, 2))
    expect(first).toMatchObject({ sizeBytes: 3 * BATCH, nextPosition: 2 * BATCH })
    expect(
      first.batches.map(({ position, baseOffset, messages, verdict }) => ({ position, baseOffset, messages, verdict })),
    ).toEqual([
      { position: 0, baseOffset: 0n, messages: 1, verdict: 'valid' },
      { position: BATCH, baseOffset: 1n, messages: 1, verdict: 'valid' },
    ])
    const second = must(await listBatches(disk, hash, LOG, 2 * BATCH, 2))
    expect(second.batches.map(batch => batch.baseOffset)).toEqual([2n])
    expect(second.nextPosition).toBeUndefined()
    expect(second.problem).toBeUndefined()
    expect(must(await listBatches(disk, hash, LOG, 0, 3)).nextPosition).toBeUndefined()
  })

  it('marks a bad batch, goes on behind it, and says where a cut one starts', async () => {
    const disk = await three()
    const bytes = must(disk.peek(LOG))
    bytes[BATCH + 305]! ^= 1
    disk.put(LOG, bytes.subarray(0, 3 * BATCH - 5))
    const listing = must(await listBatches(disk, hash, LOG, 0, 10))
    expect(listing.batches.map(batch => batch.verdict)).toEqual(['valid', 'bad_checksum'])
    expect(listing.problem).toMatchObject({ check: 'message_checksum' })
    expect(listing.nextPosition).toBeUndefined()
  })

  it('has no answer for a file that is not there', async () => {
    expect(await listBatches(new MemoryDisk(), hash, 'a.log', 0, 10)).toBeUndefined()
  })
})
