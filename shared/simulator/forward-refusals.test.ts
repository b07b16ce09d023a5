/** How forwards end, and what they leave behind (spec consensus.md §8.3, design.md §3; drills.md §1.10). */
import { describe, expect, test } from 'vitest'
import { Checksum, ClientId, GroupId, Micros, ReplicaId } from '../bytes/units.ts'
import type { Client } from '../client/client.ts'
import type { ClientError } from '../client/errors.ts'
import { type ForwardChain, joinForwards } from '../inspection/forwards.ts'
import { produceBatch } from '../protocol/batch.ts'
import { Command } from '../protocol/commands.ts'
import { encodeFrame } from '../protocol/frames.ts'
import { routedRequestLayout } from '../protocol/headers.ts'
import { Operation } from '../protocol/operations.ts'
import { routedRequest } from '../replica/routed-request.ts'
import { hash, newWorld, startAll } from './testing/worlds.ts'
import type { World, WorldOptions } from './world.ts'

const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as ClientError,
  )
const send = (client: Client, payload = 'x', partition = 0, topic = 't') =>
  client.sendMessages('s', topic, { kind: 'partition', partition }, [{ payload }])

async function withTopic(seed: bigint, partitions = 1, config: WorldOptions['config'] = {}): Promise<World> {
  const world = newWorld({ seed, nodes: 3, config })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', partitions))
  client.close()
  await built(world, partitions)
  return world
}

async function built(world: World, partitions: number) {
  const all = () => [0, 1, 2].every(id => world.replica(id).inspect.groups().length === partitions)
  expect(await world.until(all, 5_000)).toBe(true)
}

const staying = (world: World, node: number) =>
  world.client([node], { followLeader: false, retry: false, requestTimeoutMs: 9_000 })

async function connected(world: World, node: number, count = 1): Promise<Client[]> {
  const clients = Array.from({ length: count }, () => staying(world, node))
  for (const client of clients) await world.drive(client.connect())
  return clients
}

const group = (world: World, node: number) => world.replica(node).inspect.groups()[0]!
const cut = (world: World, from: number, to: number, command: number) =>
  world.links.cut(ReplicaId(from), ReplicaId(to), command)
const heal = (world: World, from: number, to: number, command: number) =>
  world.links.heal(ReplicaId(from), ReplicaId(to), command)

/** The longest that a refusal may take on its way through the origin. */
const AT_ONCE_MS = 200

async function refusedAtOnce(world: World, client: Client, status: number, reason: string) {
  const asked = world.nowMs
  expect(await world.drive(failure(send(client)), 10_000)).toMatchObject({ status, outcome: 'not_applied' })
  expect(world.nowMs - asked).toBeLessThan(AT_ONCE_MS)
  const [refused] = world.factsOf('forward_refused').slice(-1)
  expect(refused?.data).toMatchObject({ status, reason })
  expect(world.factsOf('forward_answered').at(-1)?.data).toMatchObject({ nonce: refused!.data.nonce!, status })
}

describe('MF-06 the primary refuses at once, through the origin', () => {
  test('because it is not the primary any more', async () => {
    const world = await withTopic(41n)
    const [client] = await connected(world, 1)
    // Node 2 hears nothing more from node 0 and calls for view 1; of that, node 1 does not hear.
    world.cut(0, 2)
    world.cut(2, 1)
    const left = () => group(world, 0).status !== 'normal'
    expect(await world.until(left, 20_000)).toBe(true)
    expect(group(world, 1)).toMatchObject({ status: 'normal', view: 0 })
    await refusedAtOnce(world, client!, 58, 'not the primary of the partition')
  })

  test('because its pipeline and its queue are full', async () => {
    const world = await withTopic(42n, 1, {
      partition: { prepareQueueDepth: 1, evictedRingCapacity: 4096, evictedRingBytesMax: 1 << 20 },
    })
    const clients = await connected(world, 1, 4)
    // What it takes cannot commit: no acknowledgement reaches it.
    for (const peer of [1, 2]) cut(world, peer, 0, Command.PrepareOk)
    const waiting = clients.slice(0, 3).map(client => failure(send(client)))
    expect(await world.until(() => world.factsOf('forward_taken').length === 3, 1_000)).toBe(true)
    await refusedAtOnce(world, clients[3]!, 58, 'queues_full')
    for (const peer of [1, 2]) heal(world, peer, 0, Command.PrepareOk)
    expect(await world.drive(Promise.all(waiting))).toEqual([undefined, undefined, undefined])
  })

  test('because the partition is tombstoned there', async () => {
    const world = await withTopic(43n)
    await world.drive(send(world.client([0])))
    const [client] = await connected(world, 1)
    world.kill(0)
    const { disk } = world.nodes[0]!
    disk.put('streams/0/topics/0/partitions/0/purge.gen', new Uint8Array(3))
    world.start(0)
    const back = () => world.isRunning(0) && world.links.isConnected(ReplicaId(0), ReplicaId(1))
    expect(await world.until(back, 2_000)).toBe(true)
    // Nobody has missed it yet: for node 1 it leads as before.
    expect([group(world, 0).status, group(world, 1).status, group(world, 1).primary]).toEqual([
      'tombstoned',
      'normal',
      0,
    ])
    await refusedAtOnce(world, client!, 58, 'refused at boot: PurgeGenerationTorn')
  })

  test('because the partition was made anew', async () => {
    const world = await withTopic(44n)
    const [client] = await connected(world, 1)
    // Node 1 does not learn of it.
    cut(world, 0, 1, Command.Prepare)
    cut(world, 2, 1, Command.Prepare)
    cut(world, 0, 1, Command.Commit)
    const admin = world.client([0])
    await world.drive(admin.deleteTopic('s', 't'))
    await world.drive(admin.createTopic('s', 't', 1))
    await refusedAtOnce(world, client!, 58, 'the partition was made anew')
    const { messages } = await world.drive(
      admin.poll({ stream: 's', topic: 't', partition: 0, strategy: { kind: 'first' }, count: 10 }),
    )
    expect(messages).toEqual([])
  })

  test('because its reservation cannot be written', async () => {
    const world = await withTopic(45n, 1, {
      partition: {
        prepareQueueDepth: 32,
        evictedRingCapacity: 4096,
        evictedRingBytesMax: 1 << 20,
        offsetReservationLease: 1,
      },
    })
    const [client] = await connected(world, 1)
    world.nodes[0]!.trouble.fault = (_, path) => (path.includes('partitions/0/superblock') ? 'Io' : undefined)
    await refusedAtOnce(world, client!, 58, 'append_failed')
    world.nodes[0]!.trouble.fault = () => undefined
    await world.run(2_000)
    expect(await world.drive(send(client!))).toMatchObject({ baseOffset: 0n })
  })

  test('because the user has no right to it, which the primary looks up itself', async () => {
    const world = await withTopic(46n)
    const batch = produceBatch(hash, [{ id: 1n, payload: new Uint8Array([1]), originTimestamp: Micros(1n) }])
    const forged = routedRequest(
      {
        cluster: 0n,
        replica: ReplicaId(1),
        client: ClientId(1n),
        session: 1n,
        request: 1n,
        requestChecksum: Checksum(0n),
        operation: Operation.SendMessages,
        userId: 7,
        group: GroupId(0n),
        nonce: 99n,
        origin: 2,
        incarnation: 1n,
      },
      batch,
    )
    const asked = world.nowMs
    world.links.send(ReplicaId(1), ReplicaId(0), encodeFrame(routedRequestLayout, forged, batch))
    expect(await world.until(() => world.factsOf('forward_refused').length > 0, 1_000)).toBe(true)
    expect(world.nowMs - asked).toBeLessThan(AT_ONCE_MS)
    expect(world.factsOf('forward_refused')[0]?.data).toMatchObject({ outcome: 3, status: 41 })
  })
})

test('MF-02 a forward to a primary that takes two seconds keeps no other write waiting', async () => {
  const world = await withTopic(47n, 50)
  // The groups of `t` move to node 1; those of `u`, made later, start with node 0.
  world.kill(0)
  const moved = () =>
    [1, 2].every(id =>
      world
        .replica(id)
        .inspect.groups()
        .every(({ primary, status }) => primary === 1 && status === 'normal'),
    )
  expect(await world.until(moved, 30_000)).toBe(true)
  world.start(0)
  await world.until(() => world.isRunning(0) && world.replica(0).inspect.metadata().status === 'normal', 20_000)
  await world.drive(world.client([1]).createTopic('s', 'u', 1))
  await built(world, 51)
  const [slow] = await connected(world, 1)
  const others = await connected(world, 1, 50)
  const latencies = async () => {
    const took: number[] = []
    const one = async (client: Client, partition: number) => {
      const asked = world.nowMs
      await send(client, 'x', partition)
      took.push(world.nowMs - asked)
    }
    await world.drive(Promise.all(others.map(one)))
    return Math.max(...took)
  }
  const before = await latencies()
  world.pause(0)
  const forwarded = failure(send(slow!, 'slow', 0, 'u'))
  await world.run(50)
  expect(world.factsOf('forward_sent')).toHaveLength(1)
  expect(await latencies()).toBeLessThan(before + 10)
  await world.run(2_000)
  world.resume(0)
  expect(await world.drive(forwarded)).toBeUndefined()
})

test('MF-05 CT-16 a result that is lost and a client that tries again: two offsets, one payload, and no offset twice', async () => {
  const world = await withTopic(48n)
  const [client] = await connected(world, 1)
  cut(world, 0, 1, Command.ForwardRequestResult)
  expect(await world.drive(failure(send(client!, 'once')), 10_000)).toMatchObject({ status: 57, outcome: 'unknown' })
  heal(world, 0, 1, Command.ForwardRequestResult)
  expect(await world.drive(send(client!, 'once'))).toMatchObject({ baseOffset: 1n })
  const { messages } = await world.drive(
    world.client([0]).poll({ stream: 's', topic: 't', partition: 0, strategy: { kind: 'first' }, count: 10 }),
  )
  expect(messages.map(({ offset, payload }) => [offset, new TextDecoder().decode(payload)])).toEqual([
    [0n, 'once'],
    [1n, 'once'],
  ])
})

test('MF-09 a primary that drops the frame, as an older build does: 57 after the time of a forward, and nothing else', async () => {
  const world = await withTopic(49n)
  const [client] = await connected(world, 1)
  cut(world, 1, 0, Command.Request)
  const asked = world.nowMs
  expect(await world.drive(failure(send(client!)), 10_000)).toMatchObject({ status: 57 })
  const took = world.nowMs - asked
  expect(took).toBeGreaterThan(4_000)
  expect(took).toBeLessThan(5_000)
  expect(world.replica(1).inspect.forwards(10)).toMatchObject({ parked: 0 })
})

test('MF-10 a poll is served where it was asked and never forwarded', async () => {
  const world = await withTopic(50n)
  await world.drive(send(world.client([0]), 'here'))
  await world.run(1_000)
  const [client] = await connected(world, 2)
  const { messages } = await world.drive(
    client!.poll({ stream: 's', topic: 't', partition: 0, strategy: { kind: 'first' }, count: 10 }),
  )
  expect(messages).toHaveLength(1)
  expect(world.factsOf('forward_received')).toEqual([])
})

test('MF-17 more than fits behind a partition that is being built: the rest gets 58 at once, and nothing stays behind', async () => {
  // Room for all that is parked: what is refused is refused by the parking.
  const world = await withTopic(51n, 1, {
    partition: { prepareQueueDepth: 64, evictedRingCapacity: 4096, evictedRingBytesMax: 1 << 20 },
  })
  const clients = await connected(world, 0, 129)
  const creating = world.client([0]).createTopic('s', 'u', 1)
  await world.drive(creating)
  // Its directory takes long; what stands in the log already does not.
  world.nodes[0]!.trouble.slowness = 400
  const asked = world.nowMs
  const outcomes = clients.map(client =>
    failure(send(client, 'x', 0, 'u')).then(error => ({ status: error?.status ?? 0, tookMs: world.nowMs - asked })),
  )
  await world.run(20)
  world.nodes[0]!.trouble.slowness = 1
  const all = await world.drive(Promise.all(outcomes))
  const refused = all.filter(({ status }) => status === 58)
  expect(refused).toHaveLength(1)
  expect(refused[0]!.tookMs).toBeLessThan(AT_ONCE_MS)
  expect(all.filter(({ status }) => status === 0)).toHaveLength(128)
  expect(world.replica(0).inspect.forwards(1)).toMatchObject({ parkedBytes: 0, waiting: 0 })
})

describe('the chain of a forward', () => {
  const chains = (world: World, ids = [0, 1, 2]): ForwardChain[] => {
    const reporter = { node: 0, boot: '', takenWallUs: '0', takenMonoUs: 0, seq: 0 }
    return joinForwards(
      ids.map(id => ({ reporter, ...world.replica(id).inspect.forwards(100) })),
      100,
    )
  }
  const stepsOf = ({ steps }: ForwardChain) => steps.map(({ step, node }) => `${step}@${node}`)

  test('runs from origin to primary and back, each frame matched at both ends', async () => {
    const world = await withTopic(52n)
    const [client] = await connected(world, 1)
    await world.drive(send(client!, 'a'))
    await world.drive(send(client!, 'b'))
    const [newer, older] = chains(world)
    for (const chain of [newer!, older!]) {
      expect(stepsOf(chain)).toEqual(['received@1', 'parked@1', 'sent@1', 'taken@0', 'accepted@0', 'answered@1'])
      expect(chain).toMatchObject({ state: 'accepted', status: 0, matched: true, origin: 1, primary: 0 })
      const [, , sent, taken, accepted, answered] = chain.steps
      expect([sent!.link!.id, accepted!.link!.id]).toEqual([taken!.link!.id, answered!.link!.id])
      expect([sent!.link!.ordinal, accepted!.link!.ordinal]).toEqual([taken!.link!.ordinal, answered!.link!.ordinal])
    }
    // Where each stands in the log of its group, as both ends tell it.
    expect([older!, newer!].map(({ view, firstOffset }) => [view, firstOffset])).toEqual([
      ['0', '0'],
      ['0', '1'],
    ])
    expect(BigInt(newer!.op!)).toBe(BigInt(older!.op!) + 1n)
    expect(Number(older!.request)).toBeGreaterThan(0)
    for (const id of [0, 1]) {
      const told = world.replica(id).inspect.forwards(2).forwards
      const ops = told.map(({ request, op, firstOffset }) => ({ request, op, firstOffset }))
      expect(ops).toEqual([newer!, older!].map(({ request, op, firstOffset }) => ({ request, op, firstOffset })))
    }
    expect(BigInt(newer!.wallUs)).toBeGreaterThan(BigInt(older!.wallUs))
    // The events say the same, parked before it is sent.
    const kinds = [
      'forward_received',
      'forward_parked',
      'forward_sent',
      'forward_taken',
      'forward_accepted',
      'forward_answered',
    ]
    const told = world.facts.filter(({ kind, data }) => kind.startsWith('forward_') && data.nonce === older!.nonce)
    expect(told.map(({ kind }) => kind)).toEqual(kinds)
  })

  test('tells an unknown outcome from a refusal, and what the primary made of it', async () => {
    const world = await withTopic(53n)
    const [client] = await connected(world, 1)
    cut(world, 0, 1, Command.ForwardRequestResult)
    await world.drive(failure(send(client!)), 10_000)
    const [chain] = chains(world)
    expect(stepsOf(chain!)).toEqual(['received@1', 'parked@1', 'sent@1', 'taken@0', 'accepted@0', 'lost@1'])
    // Its client was not told, and still its place is known: it stands in the log.
    expect(chain).toMatchObject({ state: 'unknown', status: 57, atPrimary: 'accepted', view: '0', firstOffset: '0' })
    world.kill(0)
    await world.run(50)
    expect(await world.drive(failure(send(client!)), 10_000)).toMatchObject({ status: 58 })
    const [unsent] = chains(world, [1, 2])
    expect(stepsOf(unsent!)).toEqual(['received@1', 'parked@1', 'unsent@1'])
    expect(unsent).toMatchObject({ state: 'refused', status: 58, matched: false })
    for (const place of ['op', 'view', 'firstOffset']) expect(unsent).not.toHaveProperty(place)
  })
})

test('forwards that were answered, refused and lost leave nothing behind', async () => {
  const world = await withTopic(54n)
  const clients = await connected(world, 1, 20)
  const round = async (index: number) => {
    if (index % 4 === 1) cut(world, 0, 1, Command.ForwardRequestResult)
    const outcomes = clients.map(client => failure(send(client)))
    await world.drive(Promise.all(outcomes), 10_000)
    heal(world, 0, 1, Command.ForwardRequestResult)
  }
  for (let index = 0; index < 20; index++) await round(index)
  await world.run(1_000)
  for (const id of [0, 1, 2]) {
    expect(world.replica(id).inspect.forwards(1)).toMatchObject({ parked: 0, waiting: 0, parkedBytes: 0 })
  }
  expect(world.factsOf('forward_lost')).toHaveLength(100)
  expect(world.factsOf('forward_answered')).toHaveLength(300)
})
