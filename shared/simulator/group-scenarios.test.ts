/** Scenarios of several groups, clients and inboxes at once, on whole replicas (spec drills.md §1.1, §1.9). */
import { describe, expect, test } from 'vitest'
import type { Client } from '../client/client.ts'
import type { TopicOptions } from '../client/topic-options.ts'
import type { Partition } from '../partition/contract.ts'
import { Command } from '../protocol/commands.ts'
import { packGroup } from '../protocol/groups.ts'
import { Operation } from '../protocol/operations.ts'
import { OFFERS_MAX, PartitionOffers, TRANSFERS_MAX, TransferSlots } from '../replica/partition-transfer.ts'
import { HardRefusal } from '../replica/transfer-offers.ts'
import { commitsAgree, groupsOf, hash, logFiles, newWorld, runningIds, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const EAGER: TopicOptions = { enforceFsync: true, messagesRequiredToSave: 1 }
const PARTITION = { kind: 'partition', partition: 0 } as const
const ALL = [0, 1, 2]
const groupOfTopic = (topic: number, partition = 0) => packGroup({ stream: 0, topic, partition })

async function withTopics(
  seed: bigint,
  topics: readonly TopicOptions[],
  config: Parameters<typeof newWorld>[0]['config'] = {},
): Promise<World> {
  const world = newWorld({ seed, nodes: 3, config })
  await startAll(world)
  const client = world.client(ALL)
  await world.drive(client.createStream('s'))
  for (const [index, options] of topics.entries()) await world.drive(client.createTopic('s', `t${index}`, 1, options))
  client.close()
  const built = () => runningIds(world).every(id => world.replica(id).inspect.groups().length === topics.length)
  expect(await world.until(built, 5_000)).toBe(true)
  return world
}

const send = (client: Client, topic: string, payload: string) =>
  client.sendMessages('s', topic, PARTITION, [{ payload }])

const settled = (world: World, ms = 60_000) =>
  world.until(() => world.nodes.every(({ id }) => world.isRunning(id)) && commitsAgree(world), ms)

test('CN-11 a group whose acknowledgements are lost fills up alone: another commits, and the first one drains', async () => {
  const world = await withTopics(1n, [EAGER, EAGER])
  const stuck = groupOfTopic(0)
  for (const from of [1, 2]) world.links.cut(from as never, 0 as never, Command.PrepareOk, stuck)
  const writers = Array.from({ length: 40 }, () => world.client([0]))
  const writes = Promise.all(writers.map((client, number) => send(client, 't0', `a${number}`)))
  writes.catch(() => {})
  const full = () => {
    const { pipeline, requestQueue } = world.replica(0).inspect.group(stuck)!
    return pipeline.length === 32 && requestQueue === 8
  }
  expect(await world.until(full, 2_000)).toBe(true)
  const other = world.client([0])
  expect(await world.drive(send(other, 't1', 'b'), 1_000)).toMatchObject({ baseOffset: 0n })
  expect(full()).toBe(true)
  expect(world.replica(0).inspect.group(stuck)!.commitMax).toBe('0')
  for (const from of [1, 2]) world.links.heal(from as never, 0 as never, Command.PrepareOk, stuck)
  const offsets = (await world.drive(writes)).map(confirmed => confirmed!.baseOffset)
  expect(new Set(offsets)).toEqual(new Set(Array.from({ length: 40 }, (_, index) => BigInt(index))))
  expect(world.factsOf('view_change_started')).toEqual([])
})

test('CN-15 at rest nothing waits in any inbox of any node, whatever happened before', async () => {
  const world = newWorld({ seed: 2n, nodes: 3 })
  await startAll(world)
  const client = world.client(ALL)
  await world.drive(client.createStream('s'))
  const topics = Array.from({ length: 8 }, (_, index) => `t${index}`)
  for (const topic of topics) {
    // Written to before any node can have built it: frames and requests wait for the partition.
    await world.drive(client.createTopic('s', topic, 2, EAGER))
    const early = ALL.map(id => send(world.client([id], { followLeader: false }), topic, 'early'))
    for (const write of early) write.catch(() => {})
  }
  world.kill(2)
  await world.run(300)
  world.start(2)
  await world.drive(client.purgeTopic('s', 't0'))
  await world.drive(client.deleteTopic('s', 't1'))
  world.kill(0)
  await world.run(50)
  for (const topic of topics.slice(2)) await world.drive(send(client, topic, 'late'))
  world.start(0)
  expect(await settled(world)).toBe(true)
  // As long as the slowest timer that could still move something.
  await world.run(10_000)
  for (const id of ALL) {
    const { inspect } = world.replica(id)
    expect(inspect.forwards(0)).toMatchObject({ parked: 0, waiting: 0, parkedBytes: 0 })
    const groups = groupsOf(world, id)
    expect(groups).toHaveLength(15)
    for (const { group } of groups) {
      const { pipeline, requestQueue, repair, transferStage, offsets } = inspect.group(BigInt(group))!
      expect({ id, group, pipeline, requestQueue, repair, transferStage }).toEqual({
        id,
        group,
        pipeline: [],
        requestQueue: 0,
        repair: undefined,
        transferStage: 'idle',
      })
      if (offsets) expect(offsets.persisted).toBe(offsets.next)
    }
  }
})

test('CN-16 a login and a logout that come while an op commits are queued behind it, and neither is refused', async () => {
  const world = await withTopics(3n, [])
  const [writer, leaving, coming] = [world.client([0]), world.client([0]), world.client([0])]
  await world.drive(Promise.all([writer.streams(), leaving.streams()]))
  for (const { trouble } of world.nodes) trouble.slowness = 400
  const before = BigInt(world.replica(0).inspect.metadata().op)
  const created = writer.createStream('while-the-disk-is-slow')
  created.catch(() => {})
  await world.run(50)
  leaving.close()
  const listed = coming.streams()
  listed.catch(() => {})
  const operations = () =>
    world
      .replica(0)
      .inspect.metadata()
      .pipeline.map(({ operation }) => operation)
  const waiting = () =>
    [Operation.CreateStream, Operation.Register, Operation.Logout].every(one => operations().includes(one))
  expect(await world.until(waiting, 1_000)).toBe(true)
  for (const { trouble } of world.nodes) trouble.slowness = 1
  await world.drive(created)
  expect((await world.drive(listed)).map(({ name }) => name)).toContain('while-the-disk-is-slow')
  expect(await settled(world)).toBe(true)
  const entries = world
    .replica(0)
    .inspect.wal()
    .entries.filter(({ op }) => BigInt(op) > before)
  expect(entries.map(({ operation }) => operation).sort()).toEqual(
    [Operation.CreateStream, Operation.Register, Operation.Logout].sort(),
  )
})

test('CN-19 eight producers with batches of every size leave equal logs, and equal metadata logs', async () => {
  const world = await withTopics(4n, [{ ...EAGER, segmentSize: 1n << 20n }, { segmentSize: 1n << 20n }])
  const producers = Array.from({ length: 8 }, async (_, lane) => {
    const client = world.client(ALL)
    for (let round = 0; round < 12; round++) {
      const messages = Array.from({ length: 1 + ((lane * 7 + round * 3) % 9) }, (_, index) => ({
        payload: `${lane}-${round}-${index}`.padEnd(100 + ((lane * 997 + round * 331) % 12_000), '.'),
      }))
      await client.sendMessages('s', `t${(lane + round) % 2}`, PARTITION, messages)
    }
    client.close()
  })
  await world.drive(Promise.all(producers), 120_000)
  expect(await settled(world)).toBe(true)
  await world.drive(Promise.all(ALL.map(id => world.stop(id))))
  for (const topic of [0, 1]) {
    const directory = `streams/0/topics/${topic}/partitions/0`
    const [first, ...others] = await Promise.all(ALL.map(id => logFiles(world, id, directory)))
    expect(first!.size).toBeGreaterThan(1)
    for (const other of others) {
      expect([...other.keys()]).toEqual([...first!.keys()])
      for (const [name, bytes] of other) expect(Buffer.from(bytes).equals(first!.get(name)!), name).toBe(true)
    }
  }
  const [wal, ...copies] = world.nodes.map(({ disk }) => disk.peek('metadata/journal.wal')!)
  expect(wal!.length).toBeGreaterThan(0)
  for (const copy of copies) expect(Buffer.from(copy).equals(wal!)).toBe(true)
})

describe('ST-18 what was evicted, and a window of stored offsets', () => {
  const RING = 4
  const config = { partition: { prepareQueueDepth: 32, evictedRingCapacity: RING, evictedRingBytesMax: 1 << 20 } }

  async function behind(seed: bigint, while_: (world: World, client: Client) => Promise<void>): Promise<World> {
    const world = await withTopics(seed, [EAGER], config)
    const client = world.client([0, 1])
    for (let number = 0; number < 10; number++) await world.drive(send(client, 't0', `m${number}`))
    expect(await settled(world)).toBe(true)
    await world.run(500)
    world.kill(2)
    await while_(world, client)
    world.start(2)
    expect(await settled(world)).toBe(true)
    return world
  }

  const store = async (world: World, client: Client, count: number) => {
    for (let number = 0; number < count; number++)
      await world.drive(client.storeOffset('s', 't0', 0, BigInt(number % 10)))
  }
  const transfers = (world: World) => world.factsOf('transfer_installed').filter(({ plane }) => plane === 'partition')
  const read = async (world: World, id: number) => {
    const client = world.client([id], { followLeader: false })
    const strategy = { kind: 'first' } as const
    const polled = await world.drive(client.poll({ stream: 's', topic: 't0', partition: 0, strategy, count: 100 }))
    return polled.messages.map(({ payload }) => new TextDecoder().decode(payload))
  }
  const held = Array.from({ length: 10 }, (_, number) => `m${number}`)

  test('ST-18 the floor is taken where the window holds no message, and the replica had all there were', async () => {
    const world = await behind(5n, (world, client) => store(world, client, 2 * RING))
    expect(transfers(world)).toEqual([])
    expect(await read(world, 2)).toEqual(held)
  })

  test('ST-18 it is refused where a message behind it does not continue what is held', async () => {
    const world = await behind(6n, async (world, client) => {
      await world.drive(send(client, 't0', 'evicted'))
      await store(world, client, 2 * RING)
      await world.drive(send(client, 't0', 'last'))
    })
    expect(transfers(world).map(({ node }) => node)).toEqual([2])
    expect(await read(world, 2)).toEqual([...held, 'evicted', 'last'])
  })

  test('ST-18 nor does a message that was evicted whole get lost behind such a window', async () => {
    const world = await behind(7n, async (world, client) => {
      await world.drive(send(client, 't0', 'evicted'))
      await store(world, client, 2 * RING)
    })
    expect(await read(world, 2)).toEqual([...held, 'evicted'])
    await world.drive(send(world.client([0, 1]), 't0', 'next'))
    expect(await settled(world)).toBe(true)
    expect(await read(world, 2)).toEqual([...held, 'evicted', 'next'])
  })
})

test('PL-39 a consumer that reads on and commits by itself sees every offset across a restart of all, while more is written', async () => {
  const world = await withTopics(8n, [EAGER])
  const writer = world.client(ALL)
  for (let number = 0; number < 25; number++) {
    const messages = Array.from({ length: 4 }, (_, index) => ({ payload: `${number * 4 + index}` }))
    await world.drive(writer.sendMessages('s', 't0', PARTITION, messages))
  }
  expect(await settled(world)).toBe(true)
  await world.run(500)
  const reader = world.client(ALL)
  const seen: bigint[] = []
  const read = async () => {
    const strategy = { kind: 'next' } as const
    const poll = { stream: 's', topic: 't0', partition: 0, strategy, count: 10, autoCommit: true }
    for (const { offset } of (await world.drive(reader.poll(poll))).messages) seen.push(offset)
  }
  for (let turn = 0; turn < 3; turn++) await read()
  expect(seen).toHaveLength(30)
  await world.run(1_000)
  await world.drive(Promise.all(ALL.map(id => world.stop(id))))
  for (const id of ALL) world.start(id)
  expect(await settled(world)).toBe(true)
  for (let number = 100; number < 130; number++) {
    await world.drive(send(writer, 't0', `${number}`))
    if (number % 3 === 0) await read()
  }
  for (let turn = 0; turn < 20 && seen.at(-1) !== 129n; turn++) {
    await read()
    await world.run(200)
  }
  // Read twice is no gap: a commit that was on its way at the stop may be gone.
  const inOrder = [...new Set(seen)]
  expect(inOrder).toEqual(Array.from({ length: 130 }, (_, offset) => BigInt(offset)))
})

describe('ST-20 state transfers are bounded', () => {
  const config = { partition: { prepareQueueDepth: 32, evictedRingCapacity: 2, evictedRingBytesMax: 1 << 20 } }

  test('ST-20 a node that lost seven partitions fetches at most four at a time, and gets all of them', async () => {
    const topics = Array.from({ length: 7 }, () => EAGER)
    const world = await withTopics(9n, topics, config)
    const client = world.client(ALL)
    const big = '.'.repeat(200_000)
    for (const [index] of topics.entries())
      for (let number = 0; number < 6; number++) await world.drive(send(client, `t${index}`, `${number} ${big}`))
    expect(await settled(world)).toBe(true)
    world.kill(2)
    world.wipe(2)
    world.start(2)
    let most = 0
    const underWay = () => {
      if (!world.isRunning(2)) return 0
      const { inspect } = world.replica(2)
      const stages = inspect.groups().map(({ group }) => inspect.group(BigInt(group))!.transferStage)
      return stages.filter(stage => stage === 'fetching' || stage === 'installing').length
    }
    const installed = () => {
      most = Math.max(most, underWay())
      return world.factsOf('transfer_installed').filter(({ plane }) => plane === 'partition').length === topics.length
    }
    expect(await world.until(installed, 60_000)).toBe(true)
    expect(most).toBe(TRANSFERS_MAX)
    expect(await settled(world)).toBe(true)
  })

  test('ST-20 a node that keeps all the offers it may tells the next one to ask again', async () => {
    const slots = new TransferSlots()
    slots.serving = OFFERS_MAX
    const partition = { journal: { mayAcknowledge: () => true } } as unknown as Partition
    const offers = new PartitionOffers({ ports: { hash } } as never, partition, slots)
    const refused = await offers.build().catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'TransferUnavailable' })
    // Worth asking again, unlike a refusal that every later request would meet too.
    expect(refused).not.toBeInstanceOf(HardRefusal)
    expect(slots.serving).toBe(OFFERS_MAX)
  })
})
