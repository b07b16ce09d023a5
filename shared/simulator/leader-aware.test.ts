/** Clients that follow the leader, against the real engine (spec wire.md §6.3; drills.md §1.13). */
import { describe, expect, test } from 'vitest'
import { Client } from '../client/client.ts'
import { FakeCluster, status } from '../client/testing/fake-cluster.ts'
import { ClientCommands } from '../protocol/command-codes.ts'
import { Operation } from '../protocol/operations.ts'
import { hash, newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const leaderOf = (world: World, node: number): number => world.replica(node).inspect.metadata().primary
/** The node that a client stands on. */
const nodeOf = (world: World, client: Client): number =>
  [0, 1, 2].find(node => world.endpoint(node).port === client.endpoint?.port)!

async function three(seed: bigint): Promise<World> {
  const world = newWorld({ seed, nodes: 3 })
  await startAll(world)
  return world
}
const registrations = (world: World) => world.factsOf('client_registered').map(({ node }) => node)

describe('AU-15 a leader-aware client', () => {
  test('that dials a follower is led to the leader and logged in there; one that dials the leader stays', async () => {
    const world = await three(91n)
    for (const dialled of [2, 1, 0]) {
      const before = registrations(world).length
      const client = world.client([dialled])
      await world.drive(client.connect())
      expect([dialled, nodeOf(world, client)]).toEqual([dialled, 0])
      expect(registrations(world).slice(before)).toEqual(dialled === 0 ? [0] : [dialled, 0])
      await world.drive(client.createStream(`by ${dialled}`))
    }
  })

  test('two of them, dialled at different nodes, stand on the same one, before an election and after it', async () => {
    const world = await three(92n)
    const clients = [world.client([1, 2, 0]), world.client([2, 1, 0])]
    await world.drive(Promise.all(clients.map(client => client.connect())))
    expect(clients.map(client => nodeOf(world, client))).toEqual([0, 0])
    world.kill(0)
    const elected = () =>
      [1, 2].every(node => world.replica(node).inspect.metadata().status === 'normal' && leaderOf(world, node) !== 0)
    expect(await world.until(elected, 30_000)).toBe(true)
    await world.drive(Promise.all(clients.map((client, index) => client.createStream(`after ${index}`))), 40_000)
    const leader = leaderOf(world, 1)
    expect(clients.map(client => nodeOf(world, client))).toEqual([leader, leader])
  })

  test('whose server tells no roster stays where it is', async () => {
    const cluster = new FakeCluster()
    const roster = ClientCommands.roster.code
    cluster.answer = ({ header }) => (header.code === roster ? status(header, 3) : undefined)
    const endpoints = [1, 2].map(port => ({ host: '127.0.0.1', port }))
    const credentials = { username: 'iggy', password: 'iggy' }
    const client = new Client(cluster.ports, { endpoints, hash, credentials })
    await cluster.run(client.connect())
    await cluster.run(client.ping())
    expect(client.endpoint).toEqual(endpoints[0])
    expect(cluster.seen.map(({ port, header }) => [port, header.operation, header.code])).toEqual([
      [1, Operation.Register, 0],
      [1, Operation.NonReplicated, roster],
      [1, Operation.NonReplicated, ClientCommands.ping.code],
    ])
  })
})
