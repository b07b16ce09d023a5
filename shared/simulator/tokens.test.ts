/** Access tokens in a cluster (spec wire.md §3.3; drills.md §1.6). */
import { expect, test } from 'vitest'
import { newWorld, startAll } from './testing/worlds.ts'

test('CT-15 a token outlives the primary that minted it: it logs in at every node, and its name stays taken', async () => {
  const world = newWorld({ seed: 81n, nodes: 3 })
  await startAll(world)
  const token = await world.drive(world.client([1]).createToken('ci'))
  const { op } = world.replica(0).inspect.metadata()
  world.kill(0)
  expect(await world.until(() => world.factsOf('view_started').length > 0, 30_000)).toBe(true)
  // A node tells what it has applied.
  const applied = (ids: number[]) => () =>
    ids.every(id => world.isRunning(id) && BigInt(world.replica(id).inspect.metadata().commitMin) >= BigInt(op))
  expect(await world.until(applied([1, 2]), 20_000)).toBe(true)
  for (const node of [1, 2]) {
    const client = world.client([node], { credentials: { token }, followLeader: false })
    expect(await world.drive(client.tokens(), 20_000)).toMatchObject([{ name: 'ci', expiryAt: 0n }])
  }
  const again = world.client([1, 2]).createToken('ci')
  expect(await world.drive(again.catch((error: unknown) => error))).toMatchObject({ status: 51 })
  world.start(0)
  expect(await world.until(applied([0, 1, 2]), 20_000)).toBe(true)
  const client = world.client([0], { credentials: { token }, followLeader: false })
  expect(await world.drive(client.tokens(), 20_000)).toHaveLength(1)
})

test('an expired token is removed on every node, by one op of the primary', async () => {
  const world = newWorld({ seed: 82n, nodes: 3, config: { tokenCleanerIntervalMs: 1_000 } })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createToken('short', 1_500_000n))
  expect(await world.drive(client.tokens())).toHaveLength(1)
  const removed = () => world.factsOf('metadata_applied').filter(({ data }) => data.client === '0')
  expect(await world.until(() => removed().length === 3, 10_000)).toBe(true)
  expect(
    removed()
      .map(({ node }) => node)
      .sort(),
  ).toEqual([0, 1, 2])
  for (const node of [0, 1, 2]) {
    expect(await world.drive(world.client([node], { followLeader: false }).tokens())).toEqual([])
  }
  await world.run(5_000)
  expect(removed()).toHaveLength(3)
})
