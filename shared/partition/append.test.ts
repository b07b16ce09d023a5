import { describe, expect, it } from 'vitest'
import { Checksum, Micros, Offset, Op, type View } from '../bytes/units.ts'
import { batchHeaderLayout, checkBatch, stampBatch } from '../protocol/batch.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import type { Partition } from './contract.ts'
import { openPartition } from './open.ts'
import {
  hash,
  KEY,
  must,
  pollOffset,
  prepare,
  producedBatch,
  Sender,
  TestHost,
  testOptions,
  text,
} from './testing/harness.ts'
import { TestSuperblock } from './testing/superblock.ts'

async function open(replicaCount = 3, disk = new MemoryDisk(), ring: { ops?: number; bytes?: number } = {}) {
  const host = new TestHost(disk)
  const partition = await openPartition({
    ...testOptions(host),
    replicaCount,
    evictedRingOps: ring.ops ?? 4096,
    evictedRingBytes: ring.bytes ?? 1 << 24,
  })
  return { host, disk, partition, sender: new Sender(partition) }
}

/** A batch as the primary forwards it. */
const forwarded = (base: bigint, payloads: string[], timestamp: bigint, partition = KEY.partition) => {
  const body = producedBatch(payloads.map(text))
  stampBatch(hash, body, 0, { partitionId: partition, baseOffset: Offset(base), baseTimestamp: Micros(timestamp) })
  return body
}

/** Everything that a refused append must leave alone. */
const state = (partition: Partition) => ({
  info: partition.info(),
  highest: partition.journal.highestOp(),
  oldest: partition.journal.oldestOp(),
  standing: partition.repairStanding(),
})

describe('mint', () => {
  it('stamps base offset, time and checksum into the body, and leaves the frames alone', async () => {
    const { partition } = await open()
    const body = producedBatch([text('a'), text('b')])
    const frames = body.slice(256)
    for (const [op, base] of [
      [1n, 0n],
      [2n, 2n],
    ] as const) {
      const { header, frame } = prepare(op, body.slice(), { timestamp: Micros(1000n + op) })
      const result = partition.append('primary', header, frame)
      expect(result.ok).toBe(true)
      const stored = must(partition.journal.frame(Op(op)))
      expect(batchHeaderLayout.decode(stored, 256)).toMatchObject({
        partitionId: BigInt(KEY.partition),
        baseOffset: base,
        baseTimestamp: 1000n + op,
        messageCount: 2,
      })
      expect(checkBatch(stored, 256, hash)).toMatchObject({ ok: true })
      expect(stored.slice(512)).toEqual(frames)
      expect(partition.journal.header(Op(op))).toEqual(header)
    }
    expect(partition.info().nextOffset).toBe(4n)
  })

  it('refuses what is not one whole batch, or has no offset left, and nothing changes', async () => {
    const whole = producedBatch([text('a')])
    const count = whole.slice()
    new DataView(count.buffer).setUint32(48, 2, true)
    const empty = new Uint8Array(256)
    new DataView(empty.buffer).setBigUint64(32, 256n, true)
    const { partition, sender } = await open()
    sender.send('first')
    const before = state(partition)
    for (const [code, body] of [
      ['InvalidBatch', whole.slice(0, 200)],
      ['InvalidBatch', whole.slice(0, -1)],
      ['InvalidBatch', new Uint8Array([...whole, 0])],
      ['InvalidBatch', count],
      ['EmptyBatch', empty],
    ] as const) {
      const { header, frame } = prepare(2n, body)
      const copy = frame.slice()
      const result = partition.append('primary', header, frame)
      expect(!result.ok && result.error.code).toBe(code)
      expect(frame).toEqual(copy)
      expect(state(partition)).toEqual(before)
    }
  })

  it('OR-24 refuses cleanly at the end of the offset space', async () => {
    const host = new TestHost(new MemoryDisk())
    const partition = await openPartition({
      ...testOptions(host),
      superblock: await TestSuperblock.saying(host.disk, 2n ** 64n - 3n, 0n),
    })
    const three = prepare(1n, producedBatch([text('a'), text('b'), text('c')]))
    const result = partition.append('primary', three.header, three.frame)
    expect(!result.ok && result.error.code).toBe('OffsetSpaceExhausted')
    const two = prepare(1n, producedBatch([text('a'), text('b')]))
    const waiting = partition.append('primary', two.header, two.frame)
    expect(!waiting.ok && waiting.pending).toBe(true)
    await new Promise<void>(resolve => partition.whenReserved(resolve))
    expect(partition.append('primary', two.header, two.frame).ok).toBe(true)
    // the ceiling is as high as it gets; nothing wraps
    expect(partition.info()).toMatchObject({ reserved: 2n ** 64n - 1n, nextOffset: 2n ** 64n - 1n })
    const one = prepare(2n, producedBatch([text('c')]))
    const refused = partition.append('primary', one.header, one.frame)
    expect(!refused.ok && refused.error.code).toBe('OffsetSpaceExhausted')
  })
})

describe('a backup', () => {
  it('takes exactly the next offset at the time of the header, verified to the last byte', async () => {
    const { partition } = await open()
    const first = prepare(1n, forwarded(0n, ['a', 'b'], 50n), { timestamp: Micros(50n) })
    expect(partition.append('backup', first.header, first.frame).ok).toBe(true)
    const before = state(partition)
    const flipped = forwarded(2n, ['c'], 60n)
    flipped[flipped.length - 1]! ^= 1
    for (const [code, body] of [
      ['OffsetMismatch', forwarded(1n, ['c'], 60n)],
      ['OffsetMismatch', forwarded(3n, ['c'], 60n)],
      ['OffsetMismatch', forwarded(2n, ['c'], 61n)],
      ['ForeignBatch', forwarded(2n, ['c'], 60n, 4)],
      ['InvalidBatch', flipped],
    ] as const) {
      const { header, frame } = prepare(2n, body, { timestamp: Micros(60n) })
      const result = partition.append('backup', header, frame)
      expect(!result.ok && result.error.code).toBe(code)
      expect(state(partition)).toEqual(before)
    }
    const good = prepare(2n, forwarded(2n, ['c'], 60n), { timestamp: Micros(60n) })
    expect(partition.append('backup', good.header, good.frame).ok).toBe(true)
    expect(partition.info().nextOffset).toBe(3n)
  })

  it('takes the same op again in another view, and refuses another prepare under its number', async () => {
    const { partition } = await open()
    const body = forwarded(0n, ['a'], 50n)
    const first = prepare(1n, body, { timestamp: Micros(50n) })
    partition.append('backup', first.header, first.frame)
    const again = prepare(1n, body, { timestamp: Micros(50n), view: 3 as View })
    const result = partition.append('backup', again.header, again.frame)
    expect(result.ok && result.header.view).toBe(0)
    const other = prepare(1n, body, { timestamp: Micros(50n), client: 6n as never, checksum: Checksum(4n) })
    const refused = partition.append('backup', other.header, other.frame)
    expect(!refused.ok && refused.error.code).toBe('PrepareConflict')
    expect(partition.info().journal.batches).toBe(1)
  })
})

describe('repair', () => {
  it('keeps stamps, skips what was on disk at boot, and says how it connects', async () => {
    const disk = new MemoryDisk()
    const first = await open(3, disk)
    first.sender.send('a', 'b')
    first.sender.send('c')
    await first.partition.flush()
    await first.partition.close()
    const { partition, host } = await open(3, disk)
    expect(partition.repairStanding()).toEqual({ recoveredEnd: 3n })
    // fetched newest first: the order of arrival is not the order of ops
    for (const [op, base, payloads] of [
      [3n, 3n, ['d']],
      [2n, 2n, ['c']],
      [1n, 0n, ['a', 'b']],
    ] as const) {
      // what is on disk is recognised by its checksum, so it must be the same to the byte
      const { header, frame } = prepare(op, forwarded(base, [...payloads], 1_700_000_000_001_000n + op))
      expect(partition.append('repair', header, frame).ok).toBe(true)
    }
    expect(partition.repairStanding()).toEqual({ recoveredEnd: 3n, lowestUnapplied: 0n })
    expect(partition.info()).toMatchObject({ nextOffset: 4n, visibleEnd: 3n, journal: { batches: 1, messages: 1 } })
    const applied = [1n, 2n, 3n].map(op => partition.apply(must(partition.journal.header(Op(op)))))
    expect(applied.map(one => one.baseOffset)).toEqual([undefined, undefined, 3n])
    expect(partition.repairStanding()).toEqual({ recoveredEnd: 3n })
    // a later gap is judged by itself
    const far = prepare(90n, forwarded(70n, ['far'], 99n))
    partition.append('repair', far.header, far.frame)
    expect(partition.repairStanding()).toEqual({ recoveredEnd: 3n, lowestUnapplied: 70n })
    partition.truncateFrom(Op(90n))
    await partition.flush()
    expect(await pollOffset(partition, 0n)).toEqual(['0:a', '1:b', '2:c', '3:d'])
    expect(host.failures).toEqual([])
  })

  it('starts above a commit floor, far above what is held', async () => {
    const { partition } = await open()
    const body = forwarded(0n, ['a'], 50n)
    partition.setCommitFloor(Op(1_000_000n))
    const { header, frame } = prepare(1_000_001n, body)
    partition.append('repair', header, frame)
    expect(partition.apply(header).baseOffset).toBe(0n)
    expect(() => partition.apply(header)).toThrow('cannot be applied')
    await partition.flush()
    expect(await pollOffset(partition, 0n)).toEqual(['0:a'])
  })
})

describe('truncation of the uncommitted tail', () => {
  it('gives the dropped offsets back, and no committed op', async () => {
    const { partition, sender } = await open()
    sender.send('a', 'b')
    sender.append([text('c')])
    sender.append([text('d'), text('e')])
    expect(partition.info().nextOffset).toBe(5n)
    partition.truncateFrom(Op(3n))
    expect(partition.info()).toMatchObject({ nextOffset: 3n, visibleEnd: 2n, journal: { batches: 2, messages: 3 } })
    expect(partition.journal.highestOp()).toBe(2n)
    partition.truncateFrom(Op(2n))
    expect(partition.info().nextOffset).toBe(2n)
    expect(() => partition.truncateFrom(Op(1n))).toThrow('committed')
    sender.op = 1n
    expect(sender.send('x').baseOffset).toBe(2n)
    await partition.flush()
    expect(await pollOffset(partition, 0n)).toEqual(['0:a', '1:b', '2:x'])
  })

  it('never goes below what the files or a rest of the journal hold', async () => {
    const { partition, sender } = await open()
    sender.send('a', 'b')
    await partition.flush()
    // a repaired batch that lies below the end, dropped again
    const { header, frame } = prepare(5n, forwarded(0n, ['z'], 50n))
    expect(partition.append('repair', header, frame).ok).toBe(true)
    partition.truncateFrom(Op(5n))
    expect(partition.info().nextOffset).toBe(2n)
    expect(sender.send('c').baseOffset).toBe(2n)
  })
})

describe('what left the journal', () => {
  it('can still be served to a repair, bounded by ops and by bytes, and never by solo partitions', async () => {
    const oldest = async (replicas: number, ring: { ops?: number; bytes?: number }) => {
      const { partition, sender } = await open(replicas, new MemoryDisk(), ring)
      for (let n = 0; n < 6; n++) sender.send(`m${n}`)
      await partition.flush()
      expect(partition.info().journal.batches).toBe(0)
      const { journal } = partition
      const held = [1n, 2n, 3n, 4n, 5n, 6n].filter(op => journal.frame(Op(op)) !== undefined)
      expect(journal.oldestOp()).toBe(held[0] ?? 0n)
      expect(held.every(op => journal.header(Op(op)) !== undefined)).toBe(true)
      return held
    }
    expect(await oldest(3, {})).toEqual([1n, 2n, 3n, 4n, 5n, 6n])
    expect(await oldest(3, { ops: 2 })).toEqual([5n, 6n])
    expect(await oldest(3, { bytes: 3 * (256 + 306) })).toEqual([4n, 5n, 6n])
    expect(await oldest(3, { bytes: 1 })).toEqual([6n])
    expect(await oldest(1, {})).toEqual([])
  })
})
