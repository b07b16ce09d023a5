/** Writes of many clients to three replicas, and what lies on their disks afterwards (design.md §3, Group commit). */
import { expect, test } from 'vitest'
import type { Client } from '../client/client.ts'
import type { TopicOptions } from '../client/topic-options.ts'
import { commitsAgree, hash, logFiles, newWorld, runningIds, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const PARTITIONS = 3
const CLIENTS = 8
const MESSAGES = 10_000

interface Sent {
  readonly offset: bigint
  readonly payload: string
}

/** Each client sends batches of 1 to 50 messages to a partition of its choice until all are sent; the ledger by partition. */
async function produce(world: World, messages: number): Promise<Sent[][]> {
  const ledger: Sent[][] = Array.from({ length: PARTITIONS }, () => [])
  let left = messages
  let number = 0
  const work = async (client: Client) => {
    await client.connect()
    while (left > 0) {
      const count = Math.min(left, world.between(1, 50))
      left -= count
      const partition = world.below(PARTITIONS)
      const payloads = Array.from({ length: count }, () => `${number++}:${'x'.repeat(world.below(200))}`)
      const confirmed = await client.sendMessages(
        's',
        't',
        { kind: 'partition', partition },
        payloads.map(payload => ({ payload })),
      )
      payloads.forEach((payload, index) => {
        ledger[partition]!.push({ offset: confirmed!.baseOffset + BigInt(index), payload })
      })
    }
  }
  // Every other client stays where it dialled, so that writes to a backup are forwarded.
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    world.client([index % world.nodes.length], { followLeader: index % 2 === 0 }),
  )
  await world.drive(Promise.all(clients.map(work)), 600_000)
  for (const client of clients) client.close()
  return ledger.map(sent => sent.sort((a, b) => (a.offset < b.offset ? -1 : 1)))
}

async function readAll(world: World, node: number, partition: number): Promise<Sent[]> {
  const client = world.client([node], { followLeader: false })
  const read: Sent[] = []
  for (;;) {
    const { messages } = await world.drive(
      client.poll({
        stream: 's',
        topic: 't',
        partition,
        strategy: { kind: 'offset', offset: BigInt(read.length) },
        count: 997,
      }),
    )
    if (messages.length === 0) break
    for (const { offset, payload } of messages) read.push({ offset, payload: new TextDecoder().decode(payload) })
  }
  client.close()
  return read
}

async function prepared(seed: bigint, nodes: number, options: TopicOptions, paced = false): Promise<World> {
  const world = newWorld({ seed, nodes, paced })
  await startAll(world)
  const client = world.client([0])
  await world.drive(client.createStream('s'))
  await world.drive(client.createTopic('s', 't', PARTITIONS, options))
  client.close()
  await world.until(
    () => runningIds(world).every(id => world.replica(id).inspect.groups().length === PARTITIONS),
    5_000,
  )
  return world
}

function expectDense(ledger: readonly Sent[][], messages: number): void {
  expect(ledger.reduce((total, sent) => total + sent.length, 0)).toBe(messages)
  for (const sent of ledger) expect(sent.map(entry => entry.offset)).toEqual(sent.map((_, index) => BigInt(index)))
}

/** Names, lengths and hashes: comparing megabytes element by element takes minutes. */
const digests = (files: Map<string, Uint8Array>) =>
  [...files].map(([name, bytes]) => [name, bytes.length, hash.xxh3(bytes)])

function expectRead(read: readonly Sent[], sent: readonly Sent[]): void {
  expect(read.length).toBe(sent.length)
  const differing = read.findIndex(
    ({ offset, payload }, at) => offset !== sent[at]!.offset || payload !== sent[at]!.payload,
  )
  expect(differing).toBe(-1)
}

const directory = (partition: number) => `streams/0/topics/0/partitions/${partition}`

test('an eager topic: offsets are dense, every message polls back equal, and the logs are equal on all nodes', async () => {
  const world = await prepared(7n, 3, { enforceFsync: true, messagesRequiredToSave: 1, segmentSize: 1_048_576n })
  const ledger = await produce(world, MESSAGES)
  expectDense(ledger, MESSAGES)
  expect(await world.until(() => commitsAgree(world), 10_000)).toBe(true)
  await world.run(100)
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const [first, ...others] = await Promise.all([0, 1, 2].map(id => logFiles(world, id, directory(partition))))
    expect([...first!.values()].some(bytes => bytes.length > 0)).toBe(true)
    for (const other of others) expect(digests(other)).toEqual(digests(first!))
    for (const node of [0, 1, 2]) expectRead(await readAll(world, node, partition), ledger[partition]!)
  }
  expect(world.factsOf('view_change_started')).toEqual([])
  expect(world.factsOf('forward_accepted').length).toBeGreaterThan(0)
})

test('a reply of an eager topic leaves only after its batch is on the disk of the node that gives it', async () => {
  const world = await prepared(10n, 3, { enforceFsync: true, messagesRequiredToSave: 1 })
  const client = world.client([0])
  for (let index = 0; index < 10; index++) {
    const payload = `durable ${index}`
    await world.drive(client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }]))
    const [log] = [...(await logFiles(world, 0, directory(0))).values()]
    expect(Buffer.from(log!).includes(payload)).toBe(true)
  }
})

test('a default topic: each chain is a prefix of the longest, all are equal after a clean stop, and nothing is lost', async () => {
  const world = await prepared(8n, 3, {})
  const ledger = await produce(world, MESSAGES)
  expectDense(ledger, MESSAGES)
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const chains = (await Promise.all([0, 1, 2].map(id => logFiles(world, id, directory(partition))))).map(
      files => [...files.values()][0]!,
    )
    const longest = chains.reduce((a, b) => (b.length > a.length ? b : a))
    for (const chain of chains) expect(Buffer.compare(chain, longest.subarray(0, chain.length))).toBe(0)
  }
  await world.drive(Promise.all([0, 1, 2].map(id => world.stop(id))))
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const [first, ...others] = await Promise.all([0, 1, 2].map(id => logFiles(world, id, directory(partition))))
    for (const other of others) expect(digests(other)).toEqual(digests(first!))
  }
  await startAll(world)
  await world.run(15_000)
  for (let partition = 0; partition < PARTITIONS; partition++) {
    for (const node of [0, 1, 2]) expectRead(await readAll(world, node, partition), ledger[partition]!)
  }
})

test('a solo node: the same, and a clean stop and restart keep everything', async () => {
  const world = await prepared(9n, 1, {})
  const ledger = await produce(world, 2_000)
  expectDense(ledger, 2_000)
  await world.drive(world.stop(0))
  await startAll(world)
  for (let partition = 0; partition < PARTITIONS; partition++) {
    expectRead(await readAll(world, 0, partition), ledger[partition]!)
  }
})

/** Eight closed loops of one batch each against one eager partition; then the process is killed. */
async function closedLoops(paced: boolean): Promise<{ batchesPerRound: number; sent: Sent[]; read: Sent[] }> {
  const world = await prepared(11n, 1, { enforceFsync: true, messagesRequiredToSave: 1 }, paced)
  const sent: Sent[] = []
  const work = async (client: Client, name: number) => {
    await client.connect()
    for (let number = 0; number < 100; number++) {
      const payload = `${name}:${number}`
      const confirmed = await client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }])
      sent.push({ offset: confirmed!.baseOffset, payload })
    }
  }
  const clients = Array.from({ length: CLIENTS }, () => world.client([0]))
  await world.drive(Promise.all(clients.map(work)), 600_000)
  for (const client of clients) client.close()
  const { rounds, batches } = world.replica(0).inspect.partition({ stream: 0, topic: 0, partition: 0 })!.flusher
  world.kill(0)
  await startAll(world)
  const read = await readAll(world, 0, 0)
  return { batchesPerRound: batches / rounds, sent: sent.sort((a, b) => (a.offset < b.offset ? -1 : 1)), read }
}

test('rounds that wait for company take more batches each, and what they confirmed outlives the process', async () => {
  const [paced, plain] = [await closedLoops(true), await closedLoops(false)]
  expect(paced.batchesPerRound).toBeGreaterThan(plain.batchesPerRound)
  for (const { read, sent } of [paced, plain]) expectRead(read, sent)
})
