/** Start-up without a spurious election (design.md §3). */
import { expect, test } from 'vitest'
import { groupsOf, newWorld, startWithin } from './testing/worlds.ts'

const SEEDS = Array.from({ length: 20 }, (_, index) => BigInt(index + 1))

test.each(SEEDS)(
  'three nodes started in any order within ten seconds settle in view 0, no election (seed %s)',
  async seed => {
    const world = newWorld({ seed, nodes: 3 })
    startWithin(world, [0, 1, 2], 10_000)
    expect(await world.until(() => [0, 1, 2].every(id => world.isRunning(id)), 11_000)).toBe(true)
    const client = world.client([0, 1, 2])
    await world.drive(client.createStream('s'))
    await world.drive(client.createTopic('s', 't', 3))
    for (let index = 0; index < 6; index++) {
      await world.drive(client.sendMessages('s', 't', { kind: 'balanced' }, [{ payload: `m${index}` }]))
    }
    await world.run(3_000)
    for (const id of [0, 1, 2]) {
      const groups = groupsOf(world, id)
      expect(groups).toHaveLength(4)
      for (const group of groups) expect(group).toMatchObject({ view: 0, status: 'normal', primary: 0 })
    }
    expect(world.factsOf('view_change_started')).toEqual([])
  },
)

test.each([1n, 2n, 3n, 4n, 5n])(
  'node 0 never comes: the other two elect and serve within 20 s (seed %s)',
  async seed => {
    const world = newWorld({ seed, nodes: 3 })
    startWithin(world, [1, 2], 1_000)
    await world.until(() => [1, 2].every(id => world.isRunning(id)), 2_000)
    const served = async () => {
      const client = world.client([1, 2], { budgetMs: 25_000 })
      await client.createStream('s')
      await client.createTopic('s', 't', 1)
      return client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload: 'first' }])
    }
    const confirmed = await world.drive(served(), 30_000)
    expect(confirmed?.baseOffset).toBe(0n)
    expect(world.nowMs).toBeLessThan(20_000)
  },
)
