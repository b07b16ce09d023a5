/** Purges, deleted segments and retention on three replicas under load (spec partition.md §4, known-faults G27). */
import { expect, test } from 'vitest'
import { commitsAgree, logFiles, newWorld, runningIds, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const DIRECTORY = 'streams/0/topics/0/partitions/0'
const TARGET = { kind: 'partition', partition: 0 } as const

async function prepared(seed: bigint, options = {}, config = {}): Promise<World> {
  const world = newWorld({ seed, nodes: 3, config })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', 1, options))
  client.close()
  await world.until(() => runningIds(world).every(id => world.replica(id).inspect.groups().length === 1), 5_000)
  return world
}

const settled = (world: World) =>
  world.until(() => world.nodes.every(({ id }) => world.isRunning(id)) && commitsAgree(world), 60_000)

async function read(world: World, node: number): Promise<string[]> {
  const client = world.client([node], { followLeader: false })
  const strategy = { kind: 'first' } as const
  const { messages } = await world.drive(client.poll({ stream: 's', topic: 't', partition: 0, strategy, count: 1000 }))
  client.close()
  return messages.map(({ offset, payload }) => `${offset}:${new TextDecoder().decode(payload)}`)
}

test.each([
  ['default', {}],
  ['eager', { messagesRequiredToSave: 1, enforceFsync: true }],
] as const)(
  'RP-07 a purge between two loads leaves only what came behind it, at the same offsets everywhere (%s topic)',
  async (_, options) => {
    for (let seed = 1n; seed <= 5n; seed++) {
      const world = await prepared(seed, options)
      const client = world.client([0])
      const send = (text: string) => world.drive(client.sendMessages('s', 't', TARGET, [{ payload: text }]))
      for (let number = 0; number < 15; number++) await send(`old${number}`)
      await world.drive(client.storeOffset('s', 't', 0, 2n))
      await world.drive(client.purgeTopic('s', 't'))
      const restarted = Number(seed % 3n)
      for (let number = 0; number < 3; number++) await send(`new${number}`)
      if (restarted !== 0) {
        world.kill(restarted)
        world.start(restarted)
      }
      for (let number = 3; number < 6; number++) await send(`new${number}`)
      client.close()
      expect(await settled(world)).toBe(true)
      await world.run(2_000)
      const expected = Array.from({ length: 6 }, (_, index) => `${index}:new${index}`)
      for (const id of [0, 1, 2]) expect([id, await read(world, id)]).toEqual([id, expected])
    }
  },
)

test('a purge while clients write ends in one history, and every write is answered', async () => {
  const world = await prepared(11n, { messagesRequiredToSave: 1, enforceFsync: true })
  const client = world.client([0])
  const writers = [0, 1, 2].map(async id => {
    const writer = world.client([id], { followLeader: false })
    for (let number = 0; number < 30; number++) {
      await writer.sendMessages('s', 't', TARGET, [{ payload: `w${id}.${number}` }]).catch(() => {})
    }
    writer.close()
  })
  const purges = async () => {
    for (let number = 0; number < 3; number++) await client.purgeTopic('s', 't')
  }
  await world.drive(Promise.all([...writers, purges()]), 120_000)
  client.close()
  expect(await settled(world)).toBe(true)
  await world.run(2_000)
  const first = await read(world, 0)
  for (const id of [1, 2]) expect(await read(world, id)).toEqual(first)
  expect(await logFiles(world, 1, DIRECTORY)).toEqual(await logFiles(world, 0, DIRECTORY))
  expect(await logFiles(world, 2, DIRECTORY)).toEqual(await logFiles(world, 0, DIRECTORY))
})

test('RP-01 the cleaner removes expired segments on every node, and what is left is served', async () => {
  const options = { segmentSize: 1n << 20n, messagesRequiredToSave: 1, messageExpiry: 20_000_000n }
  const world = await prepared(21n, options, { cleanerIntervalMs: 1_000 })
  const client = world.client([0])
  const payload = 'x'.repeat(400_000)
  for (let number = 0; number < 7; number++) await world.drive(client.sendMessages('s', 't', TARGET, [{ payload }]))
  await world.run(2_000)
  expect((await logFiles(world, 1, DIRECTORY)).size).toBe(3)
  await world.run(30_000)
  for (const id of [0, 1, 2]) expect((await logFiles(world, id, DIRECTORY)).size).toBe(1)
  const confirmed = await world.drive(client.sendMessages('s', 't', TARGET, [{ payload: 'after' }]))
  expect(confirmed!.baseOffset).toBe(7n)
  client.close()
})

test('each replica says what its topic keeps, and which purge it has applied beside the one that is committed', async () => {
  const world = await prepared(3n, { messageExpiry: 60_000_000n, segmentSize: 1n << 20n, maxTopicSize: 5n << 20n })
  const told = () =>
    world.nodes.map(({ id }) => world.replica(id).inspect.partition({ stream: 0, topic: 0, partition: 0 })!)
  for (const { settings, purge } of told()) {
    expect(settings).toMatchObject({ expiryUs: '60000000', segmentSizeBytes: 1 << 20 })
    // A cap below one sealed segment and a batch is raised to it.
    expect(BigInt(settings.sealedBytesMax!)).toBeGreaterThanOrEqual(5n << 20n)
    expect(purge).toEqual({ applied: '0', committed: '0' })
  }
  const client = world.client([0])
  await world.drive(client.sendMessages('s', 't', TARGET, [{ payload: 'old' }]))
  await world.drive(client.purgeTopic('s', 't'))
  client.close()
  expect(await world.until(() => told().every(({ purge }) => purge?.applied === '1'), 10_000)).toBe(true)
  for (const { purge, group } of told()) {
    expect(purge).toEqual({ applied: '1', committed: '1' })
    expect(group.offsets).toMatchObject({ next: '0', empty: true })
  }
  const other = await prepared(4n)
  expect(other.replica(0).inspect.partition({ stream: 0, topic: 0, partition: 0 })!.settings).not.toHaveProperty(
    'expiryUs',
  )
})
