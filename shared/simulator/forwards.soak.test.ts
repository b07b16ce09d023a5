/** A hundred thousand forwards, half of them refused or lost: nothing stays behind (design.md §3, Forwarded writes). */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { ReplicaId } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { newWorld, startAll } from './testing/worlds.ts'

const FORWARDS = 100_000
const CLIENTS = 250
const NODES = [0, 1, 2]
/** Share of the heap by which it may have grown. */
const GROWTH_MAX = 0.1

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

test('MF-04 a hundred thousand forwards, half of them refused or timed out, leave nothing parked and no memory behind', async () => {
  const world = newWorld({
    seed: 71n,
    nodes: 3,
    factsMax: 1_000,
    // A ring that is full soon: until it is, every op adds to it.
    config: { partition: { prepareQueueDepth: 32, evictedRingCapacity: 64, evictedRingBytesMax: 1 << 20 } },
  })
  await startAll(world)
  const admin = world.client([0])
  await world.drive(admin.createStream('s'))
  await world.drive(admin.createTopic('s', 't', 8))
  await world.until(() => NODES.every(id => world.replica(id).inspect.groups().length === 8), 5_000)
  const clients = Array.from({ length: CLIENTS }, () =>
    world.client([1], { followLeader: false, retry: false, requestTimeoutMs: 9_000 }),
  )
  for (const client of clients) await world.drive(client.connect())
  const outcomes = { accepted: 0, refused: 0, unknown: 0 }
  const round = async (cut: boolean) => {
    if (cut) world.links.cut(ReplicaId(0), ReplicaId(1), Command.ForwardRequestResult)
    const work = clients.map((client, index) =>
      client.sendMessages('s', 't', { kind: 'partition', partition: index % 8 }, [{ payload: 'x' }]).then(
        () => outcomes.accepted++,
        ({ status }: { status: number }) => (status === 57 ? outcomes.unknown++ : outcomes.refused++),
      ),
    )
    await world.drive(Promise.all(work), 20_000)
    world.links.heal(ReplicaId(0), ReplicaId(1), Command.ForwardRequestResult)
  }
  const nothingWaits = () => {
    for (const id of NODES) {
      expect(world.replica(id).inspect.forwards(1)).toMatchObject({ parked: 0, waiting: 0, parkedBytes: 0 })
    }
  }
  /** Messages are what the disks of the world hold, in memory; without them the rest can be compared. */
  const heap = async () => {
    await world.drive(admin.purgeTopic('s', 't'))
    await world.run(5_000)
    nothingWaits()
    collect()
    return process.memoryUsage().heapUsed
  }
  // What fills bounded rings first is no leak.
  for (let warm = 0; warm < 80; warm++) await round(warm % 2 === 1)
  const before = await heap()
  for (let done = 0; done < FORWARDS; done += CLIENTS) {
    await round((done / CLIENTS) % 2 === 1)
    if (done % 10_000 === 0) await world.drive(admin.purgeTopic('s', 't'))
  }
  const growth = (await heap()) - before
  console.log(outcomes, `heap ${(before / 2 ** 20).toFixed(0)} MiB, ${(growth / 2 ** 20).toFixed(1)} MiB more`)
  expect(outcomes.accepted).toBeGreaterThan(FORWARDS / 4)
  expect(outcomes.unknown + outcomes.refused).toBeGreaterThan(FORWARDS / 4)
  expect(growth).toBeLessThan(before * GROWTH_MAX)
})
