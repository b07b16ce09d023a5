/** Purges and deleted segments, as a client asks for them (spec wire.md §3.4–3.5, partition.md §4.3–4.4). */
import { describe, expect, test } from 'vitest'
import type { Client } from '../client/client.ts'
import { newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const EAGER = { enforceFsync: true, messagesRequiredToSave: 1 }

async function withMessages(
  seed: bigint,
  nodes: number,
  count: number,
  bytes = 10,
): Promise<{ world: World; client: Client }> {
  const world = newWorld({ seed, nodes })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', 1, { ...EAGER, segmentSize: 1024n * 1024n }))
  for (let number = 0; number < count; number++) await world.drive(send(client, bytes))
  return { world, client }
}

const send = (client: Client, bytes = 10) =>
  client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload: new Uint8Array(bytes) }])
const all = async (world: World, client: Client) => {
  const polled = await world.drive(
    client.poll({ stream: 's', topic: 't', partition: 0, strategy: { kind: 'first' }, count: 1000 }),
  )
  return polled.messages.map(({ offset }) => offset)
}
const segments = (world: World, node: number) =>
  world.replica(node).inspect.partition({ stream: 0, topic: 0, partition: 0 })!.segments

describe.each([1, 3])('on %s nodes', nodes => {
  test.each(['topic', 'stream'] as const)(
    'RP-05 a purge of the %s is a full reset: the very next read counts nothing, and offsets begin anew',
    async what => {
      const { world, client } = await withMessages(61n, nodes, 12)
      await world.drive(client.storeOffset('s', 't', 0, 7n))
      await world.drive(what === 'topic' ? client.purgeTopic('s', 't') : client.purgeStream('s'))
      expect(await world.drive(client.topic('s', 't'))).toMatchObject({ messagesCount: 0n, sizeBytes: 0n })
      expect(await all(world, client)).toEqual([])
      expect(await world.drive(client.storedOffset('s', 't', 0))).toBeUndefined()
      expect(await world.drive(send(client))).toMatchObject({ baseOffset: 0n })
      await world.run(3_000)
      for (const { id } of world.nodes) {
        const reader = world.client([id], { followLeader: false })
        expect(await all(world, reader)).toEqual([0n])
        expect(segments(world, id)).toHaveLength(1)
      }
    },
  )

  test('deleted segments go on every node, the oldest first, never the one that is written', async () => {
    const { world, client } = await withMessages(62n, nodes, 13, 300_000)
    await world.run(2_000)
    const before = segments(world, 0)
    expect(before.length).toBeGreaterThan(2)
    await world.drive(client.deleteSegments('s', 't', 0, 1))
    const gone = () => world.nodes.every(({ id }) => segments(world, id)[0]!.startOffset === before[1]!.startOffset)
    expect(await world.until(gone, 10_000)).toBe(true)
    await world.drive(client.deleteSegments('s', 't', 0, 100))
    const active = before.at(-1)!.startOffset
    expect(
      await world.until(() => world.nodes.every(({ id }) => segments(world, id)[0]!.startOffset === active), 10_000),
    ).toBe(true)
    // Nothing is sealed now: a success, and no op.
    const { op } = world.replica(0).inspect.metadata()
    await world.drive(client.deleteSegments('s', 't', 0, 1))
    expect(world.replica(0).inspect.metadata().op).toBe(op)
    expect((await all(world, client))[0]).toBe(BigInt(active))
  })
})

test('RP-03 deleted segments wait for the slowest consumer, which is said once, and go when it has passed them', async () => {
  const { world, client } = await withMessages(68n, 3, 13, 300_000)
  await world.run(2_000)
  const before = segments(world, 0)
  const [first, second] = before
  expect(before.length).toBeGreaterThan(2)
  const slowest = BigInt(second!.startOffset) - 2n
  await world.drive(client.storeOffset('s', 't', 0, slowest))
  // A backup hears of the commit with the next heartbeat; the deletion comes to it by another group.
  await world.run(1_000)
  await world.drive(client.deleteSegments('s', 't', 0, 1))
  await world.run(5_000)
  for (const { id } of world.nodes) {
    expect(segments(world, id)[0]!.startOffset).toBe(first!.startOffset)
    const said = world.factsOf('retention_held').filter(({ node }) => node === id)
    expect(said.map(({ data }) => data)).toEqual([{ consumer: 'consumer/0', upTo: String(slowest + 1n) }])
  }
  await world.drive(client.storeOffset('s', 't', 0, slowest + 1n))
  const gone = () => world.nodes.every(({ id }) => segments(world, id)[0]!.startOffset === second!.startOffset)
  expect(await world.until(gone, 5_000)).toBe(true)
})

test.each([64n, 65n, 66n, 67n])(
  'a topic that is deleted, and made again, while it is being purged: no node falls over it (seed %s)',
  async seed => {
    const { world, client } = await withMessages(seed, 3, 5)
    for (let round = 0; round < 5; round++) {
      await world.drive(client.purgeTopic('s', 't'))
      await world.drive(client.deleteTopic('s', 't'))
      await world.drive(client.createTopic('s', 't', 1, EAGER))
      expect(await world.drive(send(client))).toMatchObject({ baseOffset: 0n })
    }
    await world.run(3_000)
    for (const { id, exit } of world.nodes) {
      expect(exit).toBeUndefined()
      expect(await all(world, world.client([id], { followLeader: false }))).toEqual([0n])
    }
  },
)

test('a purge and a deletion of what is not there have their codes', async () => {
  const { world, client } = await withMessages(63n, 1, 1)
  const code = (work: Promise<unknown>) =>
    world.drive(
      work.then(
        () => 0,
        (error: { status: number }) => error.status,
      ),
    )
  expect(await code(client.purgeStream('gone'))).toBe(1009)
  expect(await code(client.purgeTopic('gone', 't'))).toBe(1009)
  expect(await code(client.purgeTopic('s', 'gone'))).toBe(2010)
  expect(await code(client.deleteSegments('gone', 't', 0, 1))).toBe(1009)
  expect(await code(client.deleteSegments('s', 'gone', 0, 1))).toBe(2010)
  expect(await code(client.deleteSegments('s', 't', 9, 1))).toBe(3007)
})
