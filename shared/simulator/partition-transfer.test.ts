/** State transfer of a partition between whole replicas (spec partition.md §8). */
import { expect, test } from 'vitest'
import type { TopicOptions } from '../client/topic-options.ts'
import { commitsAgree, hash, logFiles, newWorld, runningIds, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const DIRECTORY = 'streams/0/topics/0/partitions/0'
const RING = 4
const partition = { prepareQueueDepth: 32, evictedRingCapacity: RING, evictedRingBytesMax: 1 << 20 }
const EAGER: TopicOptions = { messagesRequiredToSave: 1, enforceFsync: true }

async function prepared(seed: bigint, options: TopicOptions): Promise<World> {
  const world = newWorld({ seed, nodes: 3, config: { partition } })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', 1, options))
  client.close()
  await world.until(() => runningIds(world).every(id => world.replica(id).inspect.groups().length === 1), 5_000)
  return world
}

/** Sends `count` batches of one message, numbered from `from`. */
async function send(world: World, from: number, count: number, ids = [0, 1, 2], bytes = 8): Promise<void> {
  const client = world.client(ids)
  for (let number = from; number < from + count; number++) {
    const payload = String(number).padStart(bytes, '0')
    await world.drive(client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }]))
  }
  client.close()
}

async function readAll(world: World, node: number): Promise<number[]> {
  const client = world.client([node], { followLeader: false })
  const read: number[] = []
  for (;;) {
    const strategy = { kind: 'offset', offset: BigInt(read.length) } as const
    const { messages } = await world.drive(client.poll({ stream: 's', topic: 't', partition: 0, strategy, count: 997 }))
    if (messages.length === 0) break
    for (const { payload } of messages) read.push(Number(new TextDecoder().decode(payload)))
  }
  client.close()
  return read
}

const digests = async (world: World, node: number) =>
  [...(await logFiles(world, node, DIRECTORY))].map(([name, bytes]) => `${name} ${bytes.length} ${hash.xxh3(bytes)}`)

const settled = (world: World, ms = 60_000) =>
  world.until(() => world.nodes.every(({ id }) => world.isRunning(id)) && commitsAgree(world), ms)

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

test('ST-05 a wiped node whose messages have left every ring gets all of them back, and its acknowledgement counts', async () => {
  const world = await prepared(1n, EAGER)
  await send(world, 0, 100)
  world.kill(2)
  world.wipe(2)
  world.start(2)
  expect(await settled(world)).toBe(true)
  expect(world.factsOf('transfer_installed').map(({ node, plane }) => [node, plane])).toContainEqual([2, 'partition'])
  expect(await digests(world, 2)).toEqual(await digests(world, 0))
  world.kill(1)
  await send(world, 100, 1, [0, 2])
  await world.run(1_000)
  expect(await readAll(world, 2)).toEqual(numbers(101))
})

test('a group says how far its transfer has come, and nothing of one that is over', async () => {
  const world = await prepared(1n, EAGER)
  await send(world, 0, 100, [0, 1, 2], 2_000)
  world.kill(2)
  world.wipe(2)
  world.start(2)
  const group = BigInt(world.replica(0).inspect.groups()[0]!.group)
  const seen: number[] = []
  const transfer = () => {
    const of = world.isRunning(2) ? world.replica(2).inspect.group(group) : undefined
    return of?.transfer
  }
  await world.until(() => {
    const { peer, receivedBytes, totalBytes } = transfer() ?? {}
    if (totalBytes) {
      seen.push(receivedBytes!)
      expect(peer).not.toBe(2)
      expect(receivedBytes).toBeLessThanOrEqual(totalBytes)
    }
    return world.factsOf('transfer_installed').some(({ node, plane }) => node === 2 && plane === 'partition')
  }, 60_000)
  expect(seen).toEqual([...seen].sort((a, b) => a - b))
  expect(new Set(seen).size).toBeGreaterThan(1)
  expect(await settled(world)).toBe(true)
  expect(transfer()).toBeUndefined()
})

test('ST-06 a node with a prefix on its own disk lags beyond the rings and serves all of it afterwards', async () => {
  const world = await prepared(2n, { ...EAGER, segmentSize: 1n << 20n })
  await send(world, 0, 40)
  await world.run(500)
  world.kill(2)
  await send(world, 40, 100, [0, 1])
  world.start(2)
  expect(await settled(world)).toBe(true)
  expect(world.factsOf('transfer_installed').filter(({ plane }) => plane === 'partition')).toHaveLength(1)
  expect(await digests(world, 2)).toEqual(await digests(world, 0))
  expect(await readAll(world, 2)).toEqual(numbers(140))
})

test('ST-07 several segments come one by one, and the last of them is written on', async () => {
  const world = await prepared(3n, { ...EAGER, segmentSize: 1n << 20n })
  await send(world, 0, 24, [0, 1, 2], 100_000)
  world.kill(2)
  world.wipe(2)
  world.start(2)
  expect(await settled(world)).toBe(true)
  const [installed] = world.factsOf('transfer_installed').filter(({ plane }) => plane === 'partition')
  expect(Number(installed!.data.segments)).toBeGreaterThan(1)
  await send(world, 24, 12, [0, 1, 2], 100_000)
  expect(await settled(world)).toBe(true)
  // What a backup has applied reaches its disk a round later.
  await world.run(1_000)
  expect(await digests(world, 2)).toEqual(await digests(world, 0))
  expect(await readAll(world, 2)).toEqual(numbers(36))
})
