/** A deletion that a boot does not know as committed yet (spec metadata-storage.md §6.5). */
import { expect, test } from 'vitest'
import { groupsOf, newWorld, startAll } from './testing/worlds.ts'

const DIRECTORY = 'streams/0/topics/0/partitions/0'

test('a partition whose files went with its deletion is not made anew, and casts no second vote, before that op is applied', async () => {
  const world = newWorld({ seed: 31n, nodes: 3 })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', 1))
  const there = (id: number) => world.nodes[id]!.disk.paths().some(path => path.startsWith(`${DIRECTORY}/superblock`))
  // An election leaves a view in its superblock that it must not forget.
  world.kill(0)
  expect(await world.until(() => there(1) && there(2), 60_000)).toBe(true)
  world.start(0)
  expect(await world.until(() => [0, 1, 2].every(there), 60_000)).toBe(true)
  const after = world.client([1, 2])
  void after.deleteStream('s').catch(() => {})
  expect(await world.until(() => world.factsOf('partition_removed').length > 0, 60_000)).toBe(true)
  const { node } = world.factsOf('partition_removed')[0]!
  for (const { id } of world.nodes) world.kill(id)
  expect(there(node)).toBe(false)
  world.start(node)
  await world.run(5_000)
  // Alone it learns of no commit.
  const metadata = groupsOf(world, node)[0]!
  expect(BigInt(metadata.commitMin)).toBeLessThan(BigInt(metadata.op))
  expect(groupsOf(world, node)).toHaveLength(1)
  expect(there(node)).toBe(false)
  for (const { id } of world.nodes) if (!world.isRunning(id)) world.start(id)
  const gone = () =>
    world.nodes.every(({ id }) => world.isRunning(id) && groupsOf(world, id).length === 1 && !there(id))
  expect(await world.until(gone, 60_000)).toBe(true)
})
