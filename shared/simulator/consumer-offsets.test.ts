/** Consumer offsets in a cluster (spec wire.md §3.7, partition.md §5.5, §9; drills.md §1.11). */
import { describe, expect, test } from 'vitest'
import { Offset } from '../bytes/units.ts'
import type { Client } from '../client/client.ts'
import type { ClientError } from '../client/errors.ts'
import { encodeOffsetFile } from '../storage/offset-file.ts'
import { hash, newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const PARTITION = 'streams/0/topics/0/partitions/0'
const FILE = `${PARTITION}/offsets/consumers/0`
const EAGER = { enforceFsync: true, messagesRequiredToSave: 1 }
const text = new TextDecoder()

const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as ClientError,
  )
const send = async (client: Client, payloads: readonly string[]) => {
  for (const payload of payloads)
    await client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }])
}
const numbered = (from: number, count: number) => Array.from({ length: count }, (_, index) => `m${from + index}`)
const poll = (client: Client, kind: 'next' | 'first', count: number, autoCommit = true) =>
  client.poll({ stream: 's', topic: 't', partition: 0, strategy: { kind }, count, autoCommit })
const payloads = async (client: Client, count = 100) =>
  (await poll(client, 'next', count)).messages.map(({ payload }) => text.decode(payload))
const staying = (world: World, node: number) => world.client([node], { followLeader: false, requestTimeoutMs: 9_000 })

async function withMessages(seed: bigint, nodes: number, count: number): Promise<{ world: World; client: Client }> {
  const world = newWorld({ seed, nodes })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', 1, EAGER))
  await world.drive(send(client, numbered(0, count)))
  return { world, client }
}

const files = (world: World) => world.nodes.map(({ disk }) => disk.peek(FILE)?.join(' '))
const filesAre = (world: World, offset: bigint) => {
  const expected = encodeOffsetFile(Offset(offset), hash).join(' ')
  return files(world).every(file => file === expected)
}

describe('a poll with auto-commit', () => {
  test.each([0, 1])('CG-12 through node %s: the next one goes on behind it, and all three files follow', async node => {
    const { world } = await withMessages(31n, 3, 10)
    await world.run(1_000)
    const reader = staying(world, node)
    expect(await world.drive(payloads(reader, 4))).toEqual(numbered(0, 4))
    expect(await world.drive(payloads(reader, 4))).toEqual(numbered(4, 4))
    expect(await world.until(() => filesAre(world, 7n), 15_000)).toBe(true)
    expect(await world.drive(payloads(reader))).toEqual(numbered(8, 2))
    expect(await world.drive(payloads(reader))).toEqual([])
    expect(await world.until(() => filesAre(world, 9n), 15_000)).toBe(true)
    expect(await world.drive(reader.storedOffset('s', 't', 0))).toMatchObject({ currentOffset: 9n, storedOffset: 9n })
  })

  test('CG-14 never rewinds; an explicit store may', async () => {
    const { world, client } = await withMessages(32n, 3, 10)
    await world.drive(payloads(client))
    // An older part is served again.
    await world.drive(poll(client, 'first', 3))
    expect(await world.drive(client.storedOffset('s', 't', 0))).toMatchObject({ storedOffset: 9n })
    expect(await world.until(() => filesAre(world, 9n), 15_000)).toBe(true)
    await world.drive(client.storeOffset('s', 't', 0, 2n))
    expect(await world.drive(client.storedOffset('s', 't', 0))).toMatchObject({ storedOffset: 2n })
    expect(await world.until(() => filesAre(world, 2n), 15_000)).toBe(true)
    expect(await world.drive(payloads(client, 1))).toEqual(['m3'])
  })

  test('is made last although its first op was refused: the primary of the partition was gone for a while', async () => {
    const { world } = await withMessages(33n, 3, 5)
    await world.run(1_000)
    const reader = staying(world, 1)
    await world.drive(reader.connect())
    world.cut(1, 0)
    world.cut(0, 1)
    expect(await world.drive(payloads(reader))).toEqual(numbered(0, 5))
    await world.run(1_000)
    expect(filesAre(world, 4n)).toBe(false)
    world.heal(1, 0)
    world.heal(0, 1)
    expect(await world.until(() => filesAre(world, 4n), 15_000)).toBe(true)
  })
})

test('CG-13 an offset that was stored while a backup was dead is on all three disks once it is back', async () => {
  const { world, client } = await withMessages(34n, 3, 10)
  world.kill(2)
  await world.drive(client.storeOffset('s', 't', 0, 6n))
  world.start(2)
  expect(await world.until(() => world.isRunning(2) && filesAre(world, 6n), 20_000)).toBe(true)
})

describe('a store and a delete through a backup', () => {
  test('are forwarded, and their refusals come back with their own codes', async () => {
    const { world } = await withMessages(35n, 3, 3)
    const client = staying(world, 2)
    await world.drive(client.storeOffset('s', 't', 0, 2n))
    await world.run(1_000)
    expect(await world.drive(client.storedOffset('s', 't', 0))).toMatchObject({ storedOffset: 2n })
    expect(await world.drive(failure(client.storeOffset('s', 't', 0, 3n)))).toMatchObject({ status: 4100 })
    await world.drive(client.deleteOffset('s', 't', 0))
    expect(await world.drive(failure(client.deleteOffset('s', 't', 0)))).toMatchObject({ status: 3021 })
    await world.run(1_000)
    expect(await world.drive(client.storedOffset('s', 't', 0))).toBeUndefined()
    expect(files(world)).toEqual([undefined, undefined, undefined])
    expect(world.factsOf('forward_refused').map(({ data }) => [data.outcome, data.status])).toEqual([
      [3, 4100],
      [3, 3021],
    ])
  })
})

test.each([
  ['three bytes', (file: Uint8Array) => file.slice(0, 3), undefined],
  ['eight bytes, the legacy form', (file: Uint8Array) => file.slice(0, 8), 4n],
  ['twelve bytes, a bare value', (file: Uint8Array) => file.slice(0, 12), 4n],
  ['a flipped bit of the value', (file: Uint8Array) => file.with(0, file[0]! ^ 1), undefined],
  ['a flipped bit of the checksum', (file: Uint8Array) => file.with(9, file[9]! ^ 1), undefined],
] as const)(
  'CG-15 a file with %s: the boot goes on, and the next commit writes it whole',
  async (_, damage, stored) => {
    const { world, client } = await withMessages(36n, 1, 10)
    await world.drive(client.storeOffset('s', 't', 0, 4n))
    world.kill(0)
    const { disk } = world.nodes[0]!
    disk.put(FILE, damage(disk.peek(FILE)!))
    await startAll(world)
    const again = world.client([0])
    const found = await world.drive(again.storedOffset('s', 't', 0))
    expect(found?.storedOffset).toBe(stored)
    const from = stored === undefined ? 0 : 5
    expect(await world.drive(payloads(again))).toEqual(numbered(from, 10 - from))
    expect(await world.until(() => filesAre(world, 9n), 5_000)).toBe(true)
    expect(disk.peek(FILE)).toHaveLength(16)
  },
)

test('CG-16 an offset ahead of the data comes down to it, and what is sent next is delivered', async () => {
  const { world } = await withMessages(37n, 1, 10)
  await world.drive(world.stop(0))
  world.nodes[0]!.disk.put(FILE, encodeOffsetFile(Offset(999n), hash))
  await startAll(world)
  const client = world.client([0])
  await world.drive(send(client, numbered(10, 5)))
  expect(await world.drive(payloads(client))).toEqual(numbered(10, 5))
})

test('CG-17 what is missing has its code, at once', async () => {
  const { world, client } = await withMessages(38n, 3, 3)
  const from = (stream: string, topic: string, partition: number) =>
    client.poll({ stream, topic, partition, strategy: { kind: 'first' }, count: 1 })
  expect(await world.drive(failure(from('gone', 't', 0)))).toMatchObject({ status: 1009 })
  expect(await world.drive(failure(from('s', 'gone', 0)))).toMatchObject({ status: 2010 })
  expect(await world.drive(failure(from('s', 't', 7)))).toMatchObject({ status: 3007 })
  expect(await world.drive(failure(client.storedOffset('s', 't', 7)))).toMatchObject({ status: 3007 })
  expect(await world.drive(client.storedOffset('gone', 't', 0))).toBeUndefined()
  const asked = world.nowMs
  expect(await world.drive(failure(client.deleteOffset('s', 't', 0)))).toMatchObject({ status: 3021 })
  expect(await world.drive(failure(client.storeOffset('s', 't', 0, 3n)))).toMatchObject({ status: 4100 })
  expect(await world.drive(failure(client.storeOffset('s', 't', 7, 0n)))).toMatchObject({ status: 20 })
  expect(world.nowMs - asked).toBeLessThan(100)
})

test('CG-18 a poll at exactly the time of a batch includes it', async () => {
  const { world, client } = await withMessages(39n, 3, 6)
  const { messages } = await world.drive(poll(client, 'first', 100, false))
  const third = messages[3]!
  const at = (timestamp: bigint) =>
    world.drive(
      client.poll({ stream: 's', topic: 't', partition: 0, strategy: { kind: 'timestamp', timestamp }, count: 100 }),
    )
  expect((await at(third.timestamp)).messages.map(({ offset }) => offset)).toEqual([3n, 4n, 5n])
  expect((await at(third.timestamp + 1n)).messages.map(({ offset }) => offset)).toEqual([4n, 5n])
})
