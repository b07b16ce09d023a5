/** Misrouted writes and logins (spec consensus.md §8, drills.md §1.10). */
import { describe, expect, test } from 'vitest'
import { Checksum, ClientId, GroupId, Micros, ReplicaId, View } from '../bytes/units.ts'
import type { Client } from '../client/client.ts'
import type { ClientError } from '../client/errors.ts'
import { produceBatch } from '../protocol/batch.ts'
import { encodeFrame, sealFrame } from '../protocol/frames.ts'
import { routedRequestLayout } from '../protocol/headers.ts'
import { Operation } from '../protocol/operations.ts'
import { routedRequest } from '../replica/routed-request.ts'
import { groupsOf, hash, newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const send = (client: Client, payload = 'x', partition = 0) =>
  client.sendMessages('s', 't', { kind: 'partition', partition }, [{ payload }])
const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as ClientError,
  )

async function withTopic(seed: bigint, partitions = 1): Promise<World> {
  const world = newWorld({ seed, nodes: 3 })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', partitions))
  client.close()
  await world.until(() => [0, 1, 2].every(id => world.replica(id).inspect.groups().length === partitions), 5_000)
  return world
}

/** A client that stays on the node it dialled and passes every answer on. */
const staying = (world: World, node: number) =>
  world.client([node], { followLeader: false, retry: false, requestTimeoutMs: 9_000 })

test.each([1n, 2n, 3n])(
  'MF-01 planes with different primaries: a write through the dialled node and through the leader commit (seed %s)',
  async seed => {
    const world = newWorld({ seed, nodes: 3 })
    await startAll(world)
    const first = world.client([0])
    await world.drive(first.connect())
    first.close()
    world.kill(0)
    await world.until(
      () => [1, 2].some(id => world.isRunning(id) && world.replica(id).inspect.metadata().view > 0),
      20_000,
    )
    await world.run(2_000)
    world.start(0)
    await world.until(() => world.isRunning(0) && world.replica(0).inspect.metadata().status === 'normal', 20_000)
    const leader = world.replica(0).inspect.metadata().primary
    expect(leader).not.toBe(0)
    const creator = world.client([leader])
    await world.drive(creator.createStream('s'))
    await world.drive(creator.createTopic('s', 't', 1))
    await world.until(() => [0, 1, 2].every(id => world.replica(id).inspect.groups().length === 1), 5_000)
    const group = groupsOf(world, 1).find(({ plane }) => plane === 'partition')
    expect(group).toMatchObject({ view: 0, primary: 0 })
    for (const node of [0, 1, 2]) {
      const client = staying(world, node)
      await world.drive(client.connect())
      const asked = world.nowMs
      await world.drive(send(client, `through ${node}`))
      expect(world.nowMs - asked).toBeLessThan(5_000)
    }
    expect(world.factsOf('forward_accepted')).toHaveLength(2)
  },
)

describe('a forward', () => {
  test('MF-03 is answered by its nonce: many at once, each with its own offset', async () => {
    const world = await withTopic(4n, 3)
    const clients = Array.from({ length: 12 }, () => staying(world, 1))
    const confirmed = await world.drive(
      Promise.all(clients.map((client, index) => send(client, `m${index}`, index % 3))),
    )
    for (let partition = 0; partition < 3; partition++) {
      const offsets = confirmed.filter(one => one!.partitionId === partition).map(one => one!.baseOffset)
      expect(offsets.sort()).toEqual([0n, 1n, 2n, 3n])
    }
    expect(world.factsOf('forward_answered')).toHaveLength(12)
    const nonces = new Set(world.factsOf('forward_sent').map(fact => fact.data.nonce))
    expect(nonces.size).toBe(12)
  })

  test('MF-04 whose primary dies under it is answered 57, and nothing stays parked', async () => {
    const world = await withTopic(5n)
    const client = staying(world, 1)
    await world.drive(client.connect())
    // The forward arrives, the result does not.
    world.cut(0, 1)
    const pending = failure(send(client))
    await world.until(() => world.factsOf('forward_taken').length > 0, 1_000)
    world.kill(0)
    const asked = world.nowMs
    expect(await world.drive(pending, 10_000)).toMatchObject({ status: 57, outcome: 'unknown' })
    // At once: the lost connection says it, no timer has to.
    expect(world.nowMs - asked).toBeLessThan(100)
    expect(world.factsOf('forward_lost')).toHaveLength(1)
  })

  test('MF-04 whose result is lost is answered 57 when its time is over', async () => {
    const world = await withTopic(6n)
    const client = staying(world, 1)
    await world.drive(client.connect())
    world.cut(0, 1)
    const asked = world.nowMs
    expect(await world.drive(failure(send(client)), 10_000)).toMatchObject({ status: 57 })
    expect(world.nowMs - asked).toBeLessThan(5_000)
  })

  test('MF-09 to a primary that cannot be reached is refused at once with 58', async () => {
    const world = await withTopic(7n)
    const client = staying(world, 1)
    await world.drive(client.connect())
    world.kill(0)
    await world.run(50)
    const asked = world.nowMs
    expect(await world.drive(failure(send(client)), 10_000)).toMatchObject({ status: 58 })
    expect(world.nowMs - asked).toBeLessThan(1_000)
  })

  test('MF-06 to a primary without a quorum is answered by the primary with 57', async () => {
    const world = await withTopic(8n)
    const client = staying(world, 1)
    await world.drive(client.connect())
    world.pause(2)
    world.cut(0, 2)
    // Node 1 takes the write to node 0, but its acknowledgement of the prepare never arrives.
    const pending = failure(send(client))
    await world.until(() => world.factsOf('forward_taken').length > 0, 1_000)
    world.cut(1, 0)
    expect(await world.drive(pending, 10_000)).toMatchObject({ status: 57 })
    expect(world.factsOf('forward_refused')[0]?.data).toMatchObject({ status: 57 })
  })
})

describe('a forged frame', () => {
  const batch = produceBatch(hash, [{ id: 1n, payload: new Uint8Array([1]), originTimestamp: Micros(1n) }])
  const forward = (change: Partial<Parameters<typeof routedRequest>[0]> & { encrypted?: number }) => {
    const fields = {
      cluster: 0n,
      replica: ReplicaId(1),
      client: ClientId(1n),
      session: 1n,
      request: 1n,
      requestChecksum: Checksum(0n),
      operation: Operation.SendMessages as number,
      userId: 0,
      group: GroupId(0n),
      nonce: 99n,
      origin: 2,
      ...change,
    }
    return encodeFrame(routedRequestLayout, routedRequest(fields, batch), batch)
  }
  const refusals = (world: World) =>
    world.factsOf('forward_refused').map(({ node, data }) => [node, data.outcome, data.status])

  test('MF-11 that was forwarded once already is not forwarded again', async () => {
    const world = await withTopic(15n)
    // Node 2 leads nothing; node 1 believed it did.
    world.links.send(ReplicaId(1), ReplicaId(2), forward({}))
    await world.run(100)
    expect(refusals(world)).toEqual([[2, 2, 58]])
    expect(world.factsOf('forward_sent')).toEqual([])
  })

  test('MF-07 MF-08 of a user that does not exist is refused with 41, an encrypted one with 5, a bad batch with its code', async () => {
    const world = await withTopic(16n)
    world.links.send(ReplicaId(1), ReplicaId(0), forward({ userId: 7 }))
    world.links.send(ReplicaId(1), ReplicaId(0), forward({ encrypted: 1 }))
    const spoilt = forward({})
    spoilt[spoilt.length - 1]! ^= 1
    world.links.send(ReplicaId(1), ReplicaId(0), spoilt)
    await world.run(100)
    expect(refusals(world)).toEqual([
      [0, 3, 41],
      [0, 3, 5],
      [0, 3, 4027],
    ])
    expect(groupsOf(world, 0).find(({ plane }) => plane === 'partition')?.op).toBe('0')
  })

  test('MF-03 result with the nonce of a request, but of another client or peer, leaves it parked', async () => {
    const world = await withTopic(17n)
    const client = staying(world, 1)
    await world.drive(client.connect())
    world.cut(0, 1)
    const pending = failure(send(client))
    await world.until(() => world.factsOf('forward_sent').length > 0, 1_000)
    const nonce = BigInt(`0x${world.factsOf('forward_sent')[0]!.data.nonce}`)
    const result = (id: bigint, peer: number) =>
      sealFrame(hash, 'ForwardRequestResult', {
        cluster: 0n,
        view: View(0),
        replica: ReplicaId(peer),
        nonce,
        client: ClientId(id),
        status: 0,
        operation: Operation.SendMessages,
        op: 1n,
        commit: 1n,
        request: 1n,
        group: GroupId(0n),
        outcome: 0,
      })
    world.links.send(ReplicaId(2), ReplicaId(1), result(1n, 2))
    world.heal(0, 1)
    world.links.send(ReplicaId(0), ReplicaId(1), result(77n, 0))
    world.cut(0, 1)
    await world.run(100)
    expect(world.factsOf('forward_answered')).toEqual([])
    expect(await world.drive(pending, 10_000)).toMatchObject({ status: 57 })
  })
})

describe('a login on a backup', () => {
  test('MF-12 is handed to the primary: bound there, known everywhere, and a logout removes it everywhere', async () => {
    const world = await withTopic(9n)
    const client = staying(world, 2)
    await world.drive(client.connect())
    await world.drive(client.login({ username: 'iggy', password: 'iggy' }))
    await world.run(1_000)
    const known = () => [0, 1, 2].map(id => world.replica(id).inspect.clients().table.length)
    const before = known()
    expect(new Set(before).size).toBe(1)
    await world.drive(client.logout())
    await world.run(1_000)
    expect(known()).toEqual(before.map(count => count - 1))
  })

  test('MF-12 with a wrong password is refused there, without a forward', async () => {
    const world = await withTopic(10n)
    const client = world.client([2], {
      followLeader: false,
      retry: false,
      credentials: { username: 'iggy', password: 'nope' },
    })
    expect(await world.drive(failure(client.connect()))).toMatchObject({ status: 42 })
    expect(world.factsOf('client_registered').filter(fact => fact.node === 2)).toEqual([])
  })

  test('MF-13 while the primary is gone is a transient refusal, and a later one succeeds', async () => {
    const world = await withTopic(11n)
    world.kill(0)
    await world.run(50)
    const client = world.client([1], { followLeader: false, retry: false })
    expect(await world.drive(failure(client.connect()), 10_000)).toMatchObject({ status: 58 })
    await world.run(12_000)
    await world.drive(world.client([1], { followLeader: false, retry: false }).connect())
  })
})

test('MF-15 a topic that was just created takes writes at once, also through a backup', async () => {
  const world = await withTopic(12n)
  const creator = world.client([0])
  await world.drive(creator.createTopic('s', 'fresh', 8))
  const work = Array.from({ length: 8 }, (_, partition) =>
    world.client([0]).sendMessages('s', 'fresh', { kind: 'partition', partition }, [{ payload: 'now' }]),
  )
  const confirmed = await world.drive(Promise.all(work))
  expect(confirmed.map(one => one?.baseOffset)).toEqual(Array(8).fill(0n))
})

test('MF-15 a topic that the dialled backup has in its log and not applied yet: 58 at once, and repeated it lands; no topic: 20', async () => {
  const world = await withTopic(36n)
  const [patient, curt] = [world.client([1], { followLeader: false }), staying(world, 1)]
  for (const client of [patient, curt]) await world.drive(client.connect())
  const to = (client: Client, topic: string) =>
    client.sendMessages('s', topic, { kind: 'partition', partition: 0 }, [{ payload: 'x' }])
  // What it has acknowledged is committed; that it is, it hears with the next heartbeat.
  await world.drive(world.client([0]).createTopic('s', 'fresh', 1))
  const { op, commitMin } = world.replica(1).inspect.metadata()
  expect(BigInt(op)).toBeGreaterThan(BigInt(commitMin))
  const landing = to(patient, 'fresh')
  expect(await world.drive(failure(to(curt, 'fresh')))).toMatchObject({ status: 58, outcome: 'not_applied' })
  expect(await world.drive(landing)).toMatchObject({ baseOffset: 0n })
  expect(await world.drive(failure(to(curt, 'absent')))).toMatchObject({ status: 20 })
})

test('MF-16 a topic that is deleted and made again has only the messages of its new life', async () => {
  const world = await withTopic(13n)
  const client = world.client([0])
  for (let index = 0; index < 5; index++) await world.drive(send(client, 'old'))
  await world.drive(client.deleteTopic('s', 't'))
  await world.drive(client.createTopic('s', 't', 1))
  const confirmed = await world.drive(send(client, 'new'))
  expect(confirmed?.baseOffset).toBe(0n)
  await world.run(3_000)
  for (const node of [0, 1, 2]) {
    const reader = staying(world, node)
    const { messages } = await world.drive(
      reader.poll({ stream: 's', topic: 't', partition: 0, strategy: { kind: 'first' }, count: 10 }),
    )
    expect(messages.map(message => new TextDecoder().decode(message.payload))).toEqual(['new'])
  }
})

test('one seed is one history', async () => {
  const history = async () => {
    const world = await withTopic(14n, 2)
    const client = world.client([1], { followLeader: false })
    for (let index = 0; index < 5; index++) await world.drive(send(client, `m${index}`, index % 2))
    world.kill(0)
    await world.run(9_000)
    world.start(0)
    await world.run(5_000)
    return world.facts.map(
      ({ atMicros, node, group, kind, data }) => `${atMicros} ${node} ${group} ${kind} ${JSON.stringify(data)}`,
    )
  }
  expect(await history()).toEqual(await history())
})
