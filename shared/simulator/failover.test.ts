/** Crashes and restarts of single nodes (spec consensus.md §5, §6, §8). */
import { expect, test } from 'vitest'
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/errors.ts'
import { Operation } from '../protocol/operations.ts'
import { commitsAgree, groupsOf, newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

async function threeWithTopic(seed: bigint): Promise<World> {
  const world = newWorld({ seed, nodes: 3 })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', 1))
  client.close()
  await world.run(1_000)
  return world
}

const send = (client: Client, payload: string) =>
  client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }])

/** Sends until it is acknowledged: a write whose connection broke may be there already, and is then there twice (CT-16). */
async function sendSurely(world: World, client: Client, payload: string): Promise<void> {
  for (;;) {
    const answer = await world.drive(send(client, payload).catch((error: unknown) => error))
    if (!(answer instanceof ClientError)) return
    expect(answer.outcome).toBe('unknown')
  }
}

async function payloads(world: World, node: number): Promise<string[]> {
  const client = world.client([node], { followLeader: false })
  const { messages } = await world.drive(
    client.poll({ stream: 's', topic: 't', partition: 0, strategy: { kind: 'first' }, count: 10_000 }),
  )
  client.close()
  return messages.map(message => new TextDecoder().decode(message.payload))
}

const SEEDS = [1n, 2n, 3n, 4n, 5n]

test.each(SEEDS)('a killed backup comes back and catches up through repair (seed %s)', async seed => {
  const world = await threeWithTopic(seed)
  const client = world.client([0])
  for (let index = 0; index < 20; index++) await world.drive(send(client, `a${index}`))
  world.kill(2)
  for (let index = 0; index < 20; index++) await world.drive(send(client, `b${index}`))
  await world.drive(client.createTopic('s', 'while-away', 2))
  world.start(2)
  expect(await world.until(() => world.isRunning(2) && commitsAgree(world), 20_000)).toBe(true)
  const expected = [...Array(20).keys()]
    .map(index => `a${index}`)
    .concat([...Array(20).keys()].map(index => `b${index}`))
  expect(await payloads(world, 2)).toEqual(expected)
  // Nobody needed another primary for that.
  expect(world.factsOf('view_started')).toEqual([])
})

test.each(SEEDS)('a killed primary is replaced, writes go on, nothing acknowledged is lost (seed %s)', async seed => {
  const world = await threeWithTopic(seed)
  const client = world.client([0, 1, 2])
  const acknowledged: string[] = []
  for (let index = 0; index < 10; index++) {
    await world.drive(send(client, `a${index}`))
    acknowledged.push(`a${index}`)
  }
  world.kill(0)
  for (let index = 0; index < 10; index++) {
    await sendSurely(world, client, `b${index}`)
    acknowledged.push(`b${index}`)
  }
  await world.run(1_000)
  for (const node of [1, 2]) {
    const read = await payloads(world, node)
    expect(read.filter((payload, at) => read.indexOf(payload) === at)).toEqual(acknowledged)
  }
  world.start(0)
  expect(await world.until(() => world.isRunning(0) && commitsAgree(world), 20_000)).toBe(true)
  expect(await payloads(world, 0)).toEqual(await payloads(world, 1))
  for (const id of [0, 1, 2]) {
    for (const group of groupsOf(world, id)) expect(group.view).toBeGreaterThan(0)
  }
})

test.each(SEEDS)('without a primary a write gets a typed answer within five seconds (seed %s)', async seed => {
  const world = await threeWithTopic(seed)
  const client = world.client([1], { followLeader: false, retry: false })
  await world.drive(client.connect())
  world.kill(0)
  world.kill(2)
  const asked = world.nowMs
  const answer = await world.drive(
    send(client, 'lost').catch((error: unknown) => error),
    10_000,
  )
  expect(answer).toBeInstanceOf(ClientError)
  expect([57, 58]).toContain((answer as ClientError).status)
  expect(world.nowMs - asked).toBeLessThan(5_000)
  const created = await world.drive(
    client.createStream('lost').catch((error: unknown) => error),
    10_000,
  )
  expect([57, 58]).toContain((created as ClientError).status)
})

test('a primary that has lost its quorum answers 57 and keeps the op (seed 6)', async () => {
  const world = await threeWithTopic(6n)
  const client = world.client([0], { retry: false })
  await world.drive(client.connect())
  world.pause(1)
  world.pause(2)
  const asked = world.nowMs
  const answer = await world.drive(
    send(client, 'late').catch((error: unknown) => error),
    10_000,
  )
  expect((answer as ClientError).status).toBe(57)
  expect((answer as ClientError).outcome).toBe('unknown')
  expect(world.nowMs - asked).toBeLessThan(5_000)
  world.resume(1)
  world.resume(2)
  await world.run(2_000)
  expect(await payloads(world, 0)).toEqual(['late'])
})

test('a metadata request that is repeated while its op waits for a quorum is executed once', async () => {
  const world = await threeWithTopic(8n)
  const client = world.client([0], { followLeader: false })
  await world.drive(client.connect())
  world.pause(1)
  world.pause(2)
  const created = client.createStream('once')
  await world.run(6_000)
  const asked = world
    .replica(0)
    .inspect.wal()
    .entries.filter(entry => entry.operation === Operation.CreateStream).length
  world.resume(1)
  world.resume(2)
  expect(await world.drive(created)).toMatchObject({ name: 'once' })
  const { entries } = world.replica(0).inspect.wal()
  expect(entries.filter(entry => entry.operation === Operation.CreateStream)).toHaveLength(asked)
})

test('topics that come and go faster than they are built leave nothing behind', async () => {
  const world = await threeWithTopic(9n)
  const [one, two] = [world.client([0]), world.client([0])]
  const churn = async (client: Client, name: string) => {
    for (let round = 0; round < 10; round++) {
      await client.createTopic('s', name, 3)
      await client.deleteTopic('s', name)
    }
  }
  await world.drive(Promise.all([churn(one, 'left'), churn(two, 'right')]))
  const settled = () => [0, 1, 2].every(id => world.replica(id).inspect.groups().length === 1)
  expect(await world.until(settled, 10_000)).toBe(true)
  await world.run(3_000)
  expect(settled()).toBe(true)
  const left = world.nodes.flatMap(({ disk }) =>
    [...disk.paths()].filter(path => /^streams\/0\/topics\/[12]\//.test(path)),
  )
  expect(left).toEqual([])
  expect(world.factsOf('partition_refused')).toEqual([])
})

test('a clean stop of all nodes and a start keep sessions, topics and messages', async () => {
  const world = await threeWithTopic(7n)
  const client = world.client([0])
  for (let index = 0; index < 30; index++) await world.drive(send(client, `m${index}`))
  const clients = () => [0, 1, 2].map(id => world.replica(id).inspect.clients().table)
  await world.until(() => commitsAgree(world), 5_000)
  const before = clients()
  expect(before[1]).toEqual(before[0])
  await world.drive(Promise.all([0, 1, 2].map(id => world.stop(id))))
  await startAll(world)
  expect(await world.until(() => commitsAgree(world), 30_000)).toBe(true)
  expect(clients()[1]).toEqual(clients()[0])
  for (const node of [0, 1, 2])
    expect(await payloads(world, node)).toEqual([...Array(30).keys()].map(index => `m${index}`))
  const again = world.client([0, 1, 2])
  const confirmed = await world.drive(send(again, 'after'))
  expect(confirmed?.baseOffset).toBe(30n)
})
