/** State transfer of the metadata plane between whole replicas (spec consensus.md §6.2–6.6). */
import { expect, test } from 'vitest'
import { decodeSnapshot } from '../storage/snapshot-decode.ts'
import { commitsAgree, newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const SLOTS = 256
const metadata = { prepareQueueDepth: 32, journalSlots: SLOTS, clientsTableMax: 64 }

/** Three nodes with `count` streams made through node 0; the client stays connected. */
async function withStreams(seed: bigint, count: number): Promise<World> {
  const world = newWorld({ seed, nodes: 3, config: { metadata } })
  await startAll(world)
  const client = world.client([0, 1, 2])
  for (let index = 0; index < count; index++) await world.drive(client.createStream(`s${index}`))
  client.close()
  await world.run(500)
  return world
}

const names = (world: World, id: number): string[] =>
  world
    .replica(id)
    .inspect.topics()
    .streams.map(stream => stream.name)

test('ST-02 a node with an empty disk joins by transfer', async () => {
  const world = await withStreams(1n, 220)
  world.kill(2)
  world.wipe(2)
  world.start(2)
  expect(await world.until(() => world.isRunning(2) && commitsAgree(world), 30_000)).toBe(true)
  const [installed] = world.factsOf('transfer_installed')
  expect(installed).toMatchObject({ node: 2 })
  expect(installed!.data.checkpointOp).toBe(installed!.op)
  expect(BigInt(installed!.data.commitMax as string) >= BigInt(installed!.op!)).toBe(true)
  expect(names(world, 2)).toEqual(names(world, 0))
  expect(decodeSnapshot(world.nodes[2]!.disk.peek('metadata/snapshot.bin')!.slice(0, -20)).op).toBe(
    BigInt(installed!.op!),
  )
})
