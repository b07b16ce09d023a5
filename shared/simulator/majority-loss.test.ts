/**
 * A majority loses its memory while the third node, which was cut off, remembers an older state of the log (docs/decisions/001):
 * what is on disk wins, and the one that was left out opens its partition anew.
 */
import { expect, test } from 'vitest'
import { readAll } from './testing/offset-ledger.ts'
import { commitsAgree, newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const EAGER = { enforceFsync: true, messagesRequiredToSave: 1 }

async function send(world: World, payload: string): Promise<bigint> {
  const client = world.client([0, 1, 2])
  const confirmed = await world.drive(
    client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }]),
    120_000,
  )
  client.close()
  return confirmed!.baseOffset
}

test('what two flushed and acknowledged survives, though the one that stayed up never heard of it', async () => {
  const world = newWorld({ seed: 77n, nodes: 3 })
  await startAll(world)
  const creator = world.client([0])
  await world.drive(creator.createStream('s'))
  await world.drive(creator.createTopic('s', 't', 1, EAGER))
  creator.close()
  const acknowledged = new Map<bigint, string>()
  const write = async (payload: string) => acknowledged.set(await send(world, payload), payload)
  for (let number = 0; number < 3; number++) await write(`before-${number}`)
  await world.run(1_000)
  for (const other of [0, 1]) {
    world.cut(2, other)
    world.cut(other, 2)
  }
  for (let number = 0; number < 10; number++) await write(`without-2-${number}`)
  await world.run(2_000)
  for (const id of [0, 1]) world.kill(id)
  world.links.healAll()
  for (const id of [0, 1]) world.start(id)
  const agreed = () => [0, 1, 2].every(id => world.isRunning(id)) && commitsAgree(world)
  expect(await world.until(agreed, 90_000), 'the nodes agree').toBe(true)
  await write('after')
  expect(await world.until(agreed, 90_000), 'the nodes agree').toBe(true)
  await world.run(1_000)
  for (const id of [0, 1, 2]) expect(await readAll(world, id), `node ${id}`).toEqual(acknowledged)
  expect(world.factsOf('log_left').map(({ node }) => node)).toContain(2)
  expect(world.factsOf('chain_refused')).toEqual([])
  for (const node of world.nodes) expect(node.exit).toBeUndefined()
}, 120_000)
