/** A disk that stands in for one that is gone (design.md §3, What an acknowledgement survives). */
import { expect, test } from 'vitest'
import { commitsAgree, newWorld, startAll } from './testing/worlds.ts'

/** Groups of partitions that a node does not take part in before it has heard from the others. */
const asking = (world: ReturnType<typeof newWorld>, node: number) =>
  new Set(
    world
      .factsOf('probe_started')
      .filter(fact => fact.node === node && fact.plane === 'partition')
      .map(({ group }) => group),
  )

test('its replica denies nothing in the partitions that were there before it, and takes part at once in those made later', async () => {
  const world = newWorld({ seed: 41n, nodes: 3 })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 'before', 2))
  await world.drive(client.sendMessages('s', 'before', { kind: 'partition', partition: 0 }, [{ payload: 'm' }]))
  expect(await world.until(() => commitsAgree(world), 30_000)).toBe(true)
  expect([0, 1, 2].map(node => asking(world, node).size)).toEqual([0, 0, 0])
  world.kill(2)
  world.wipe(2)
  world.start(2)
  expect(await world.until(() => world.isRunning(2) && commitsAgree(world), 60_000)).toBe(true)
  expect(asking(world, 2).size).toBe(2)
  await world.drive(client.createTopic('s', 'after', 2))
  expect(await world.until(() => commitsAgree(world), 30_000)).toBe(true)
  expect(asking(world, 2).size).toBe(2)
  expect(
    world
      .replica(2)
      .inspect.groups()
      .filter(({ plane }) => plane === 'partition'),
  ).toHaveLength(4)
})
