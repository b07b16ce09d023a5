import { describe, expect, it } from 'vitest'
import { ClientId, Offset, Op, U128_MAX } from '../bytes/units.ts'
import { encodeBody } from '../protocol/codec.ts'
import { Ident } from '../protocol/ident.ts'
import { deleteOffset, storeOffset } from '../protocol/messages.ts'
import { Operation } from '../protocol/operations.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import type { ConsumerKey, Partition, PartitionHost } from './contract.ts'
import { openPartition } from './open.ts'
import {
  DIRECTORY,
  EAGER,
  hash,
  pollOffset,
  prepare,
  Sender,
  settle,
  TestHost,
  testOptions,
} from './testing/harness.ts'
import { SlowDisk } from './testing/slow-disk.ts'

async function open(disk: MemoryDisk | SlowDisk, groupId?: PartitionHost['groupId']) {
  const host = new TestHost(disk)
  if (groupId) Object.assign(host, { groupId })
  const partition = await openPartition(testOptions(host, EAGER))
  return { host, partition, sender: new Sender(partition) }
}

const target = (kind: ConsumerKey['kind'], id: Ident) => ({
  consumer: { kind, id },
  stream: Ident.id(1),
  topic: Ident.id(2),
  partition: 3,
  ack: 1,
})
const store = (kind: ConsumerKey['kind'], id: Ident, offset: bigint) =>
  encodeBody(storeOffset, { ...target(kind, id), offset: Offset(offset) })

function commit(partition: Partition, op: bigint, body: Uint8Array, operation: number, client = 5n) {
  const { header, frame } = prepare(op, body, { operation, client: ClientId(client) })
  const result = partition.append('primary', header, frame)
  if (!result.ok) throw result.error
  return partition.apply(header)
}

const CONSUMER: ConsumerKey = { kind: 'consumer', id: 42 }
const file = (kind: 'consumers' | 'groups', id: number) => `${DIRECTORY}/offsets/${kind}/${id}`

describe('consumer offsets', () => {
  it('are stored by committed ops, survive a restart, may rewind, and are deleted', async () => {
    const disk = new MemoryDisk()
    const { partition, sender } = await open(disk)
    for (let n = 0; n < 6; n++) sender.send(`m${n}`)
    expect(commit(partition, 7n, store('consumer', Ident.id(42), 5n), Operation.StoreConsumerOffset)).toEqual({
      op: 7n,
      operation: Operation.StoreConsumerOffset,
      messages: 0,
    })
    expect(partition.storedOffset(CONSUMER)).toBe(5n)
    await partition.flush()
    // worked example of the format
    expect(Buffer.from(disk.peek(file('consumers', 42))!).toString('hex')).toBe('05000000000000008ca7aa39aae9038e')
    commit(partition, 8n, store('consumer', Ident.id(42), 2n), Operation.StoreConsumerOffset)
    expect(await partition.poll({ kind: 'next', consumer: CONSUMER }, 1, 1000)).toMatchObject({ lastOffset: 3n })
    await partition.flush()
    await partition.close()
    const again = await open(disk)
    expect(again.partition.storedOffset(CONSUMER)).toBe(2n)
    commit(
      again.partition,
      1n,
      encodeBody(deleteOffset, target('consumer', Ident.id(42))),
      Operation.DeleteConsumerOffset,
    )
    expect(again.partition.storedOffset(CONSUMER)).toBeUndefined()
    await again.partition.flush()
    expect(disk.peek(file('consumers', 42))).toBeUndefined()
  })

  it('of auto-commits only move forward', async () => {
    const { partition, sender } = await open(new MemoryDisk())
    for (let n = 0; n < 6; n++) sender.send(`m${n}`)
    partition.advanceOffset(CONSUMER, Offset(4n))
    partition.advanceOffset(CONSUMER, Offset(3n))
    expect(partition.storedOffset(CONSUMER)).toBe(4n)
    commit(partition, 7n, store('consumer', Ident.id(42), 3n), Operation.StoreConsumerOffset, U128_MAX)
    expect(partition.storedOffset(CONSUMER)).toBe(4n)
  })

  it('take a name by its hash, and a group’s name by what the metadata says', async () => {
    const { partition, host } = await open(new MemoryDisk(), name => (name === 'readers' ? 9 : undefined))
    commit(partition, 1n, store('consumer', Ident.name('me'), 1n), Operation.StoreConsumerOffset)
    commit(partition, 2n, store('group', Ident.name('readers'), 2n), Operation.StoreConsumerOffset)
    commit(partition, 3n, store('group', Ident.name('gone'), 3n), Operation.StoreConsumerOffset)
    expect(partition.storedOffset({ kind: 'consumer', id: hash.xxh32(new TextEncoder().encode('me')) })).toBe(1n)
    expect(partition.storedOffset({ kind: 'group', id: 9 })).toBe(2n)
    expect(host.kinds()).toEqual(['offset_ignored'])
  })

  it('are refused at the append when the body cannot be read, so that no commit can fail', async () => {
    const { partition } = await open(new MemoryDisk())
    const { header, frame } = prepare(1n, new Uint8Array([1, 2, 3]), { operation: Operation.StoreConsumerOffset })
    expect(partition.append('primary', header, frame)).toMatchObject({ ok: false })
    expect(partition.journal.highestOp()).toBe(0n)
  })

  it('are written one at a time, the newest value only, and say when they are', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const { partition } = await open(disk)
    const told: number[] = []
    for (let n = 1; n <= 20; n++) {
      commit(partition, BigInt(n), store('consumer', Ident.id(42), BigInt(n)), Operation.StoreConsumerOffset)
      partition.whenPersisted(Op(BigInt(n)), () => told.push(n))
    }
    expect(told).toEqual([])
    await partition.flush()
    expect(disk.count('write', '/42')).toBe(2)
    expect(told.length).toBe(20)
    expect(partition.info().journal.batches).toBe(0)
    partition.whenPersisted(Op(20n), () => told.push(21))
    expect(told.at(-1)).toBe(21)
  })

  it('that cannot be written end the process', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const { partition, host } = await open(disk)
    disk.faults.push({ operation: 'write', ending: '/42' })
    commit(partition, 1n, store('consumer', Ident.id(42), 1n), Operation.StoreConsumerOffset)
    for (let n = 0; n < 5; n++) await settle()
    expect(host.failures.map(error => error.code)).toEqual(['PersistFailed'])
  })

  it('at boot: clamped to the log, dropped when torn or corrupt, and odd names left alone', async () => {
    const disk = new MemoryDisk()
    const first = await open(disk)
    first.sender.send('a', 'b', 'c')
    for (const [op, id, offset] of [
      [2n, 1, 1n],
      [3n, 2, 2n],
      [4n, 3, 2n],
      [5n, 4, 2n],
    ] as const) {
      commit(first.partition, op, store('consumer', Ident.id(id), offset), Operation.StoreConsumerOffset)
    }
    await first.partition.flush()
    await first.partition.close()
    const put = (id: number, edit: (bytes: Uint8Array) => Uint8Array) =>
      disk.put(file('consumers', id), edit(disk.peek(file('consumers', id))!))
    put(2, bytes => bytes.subarray(0, 3))
    put(3, bytes => new Uint8Array([9, ...bytes.subarray(1)]))
    put(4, () => new Uint8Array([200, 0, 0, 0, 0, 0, 0, 0]))
    disk.put(file('consumers', 0).replace(/0$/, 'notes.txt'), new Uint8Array(16))
    const { partition, host } = await open(disk)
    const stored = [1, 2, 3, 4].map(id => partition.storedOffset({ kind: 'consumer', id }))
    expect(stored).toEqual([1n, undefined, undefined, 2n])
    expect(host.kinds().sort()).toEqual(['odd_name', 'offset_clamped', 'offset_corrupt', 'offset_torn'])
    expect(disk.peek(file('consumers', 3))).toBeUndefined()
    expect(disk.peek(file('consumers', 2))).toBeDefined()
  })

  it('G27 of an empty log count for nothing, and are gone before offset 0 is given out again', async () => {
    const disk = new SlowDisk(new MemoryDisk())
    const memory = disk.inner as MemoryDisk
    const first = await open(disk)
    first.sender.send('a')
    commit(first.partition, 2n, store('consumer', Ident.id(1), 0n), Operation.StoreConsumerOffset)
    commit(first.partition, 3n, store('group', Ident.id(2), 0n), Operation.StoreConsumerOffset)
    await first.partition.flush()
    await first.partition.close()
    memory.put(`${DIRECTORY}/00000000000000000000.log`, new Uint8Array(0))
    const { partition, sender } = await open(disk)
    expect(partition.storedOffset({ kind: 'consumer', id: 1 })).toBeUndefined()
    expect(memory.peek(file('consumers', 1))).toBeDefined()
    commit(partition, 1n, store('group', Ident.id(2), 0n), Operation.StoreConsumerOffset)
    await partition.flush()
    sender.op = 1n
    sender.send('fresh')
    await partition.flush()
    expect(memory.peek(file('consumers', 1))).toBeUndefined()
    expect(memory.peek(file('groups', 2))).toBeDefined()
    await partition.close()
    const again = await open(disk)
    expect(again.partition.storedOffset({ kind: 'consumer', id: 1 })).toBeUndefined()
    expect(await pollOffset(again.partition, 0n)).toEqual(['0:fresh'])
  })
})
