/**
 * Every replica dies at once (design.md §3, What an acknowledgement survives; docs/decisions/001): no offset is confirmed for
 * two payloads, an eager topic keeps what it acknowledged, and what a default topic has lost is said.
 */
import { describe, expect, test } from 'vitest'
import { OffsetLedger, readAll, writeUntil } from './testing/offset-ledger.ts'
import { commitsAgree, logFiles, newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

const DIRECTORY = 'streams/0/topics/0/partitions/0'
const EAGER = { enforceFsync: true, messagesRequiredToSave: 1 }
/** Every order in the soak run; two of them in each test run. */
const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
].slice(process.env.ALL_ORDERS ? 0 : 4)

async function withTopic(seed: bigint, nodes: number, options: object, config = {}): Promise<World> {
  const world = newWorld({ seed, nodes, config })
  await startAll(world)
  const creator = world.client([0])
  await world.drive(creator.createStream('s'))
  await world.drive(creator.createTopic('s', 't', 1, options))
  creator.close()
  return world
}

const ids = (world: World): number[] => world.nodes.map(({ id }) => id as number)

async function agreed(world: World): Promise<void> {
  const all = ids(world)
  const there = () => all.every(id => world.isRunning(id)) && commitsAgree(world)
  expect(await world.until(there, 90_000), 'the nodes agree').toBe(true)
}

/** Sealed logs are equal on all nodes, and each active one is a prefix of the longest. */
async function expectEqualLogs(world: World): Promise<void> {
  const chains = await Promise.all(ids(world).map(id => logFiles(world, id, DIRECTORY)))
  const names = [...new Set(chains.flatMap(chain => [...chain.keys()]))].sort()
  for (const [index, name] of names.entries()) {
    const versions = chains.map(chain => chain.get(name) ?? new Uint8Array(0))
    const longest = versions.reduce((a, b) => (b.length > a.length ? b : a))
    for (const [node, version] of versions.entries()) {
      if (index < names.length - 1) expect(version.length, `${name} on node ${node}`).toBe(longest.length)
      expect(Buffer.from(longest.subarray(0, version.length)).equals(version), `${name} on node ${node}`).toBe(true)
    }
  }
}

async function killAllAndRestart(world: World, order: readonly number[]): Promise<void> {
  for (const id of ids(world)) world.kill(id)
  for (const id of order) {
    await world.run(world.below(1_500))
    world.start(id)
  }
}

describe('OR-27 all three nodes are killed at once under load', () => {
  test.each(
    ORDERS.flatMap((order, index) => [
      { order, eager: true, seed: BigInt(100 + index) },
      { order, eager: false, seed: BigInt(200 + index) },
    ]),
  )('restarted as $order, eager: $eager', async ({ order, eager, seed }) => {
    const world = await withTopic(seed, 3, eager ? EAGER : { messagesRequiredToSave: 16 })
    const ledger = new OffsetLedger()
    let over = false
    const writers = Promise.all(['a', 'b', 'c'].map(name => writeUntil(world, name, ledger, () => over)))
    writers.catch(() => {})
    for (let round = 0; round < 2; round++) {
      await world.run(500 + world.below(2_500))
      await killAllAndRestart(world, order)
      await agreed(world)
      await world.run(1_000)
    }
    over = true
    await world.drive(writers, 120_000)
    await agreed(world)
    await world.run(1_000)
    const [first, ...others] = await readEverywhere(world, ledger)
    for (const other of others) expect(other).toEqual(first)
    const lost = [...ledger.acknowledged].filter(([offset]) => !first!.has(offset)).map(([offset]) => offset)
    if (eager) expect(lost).toEqual([])
    const said = world
      .factsOf('jump_announced')
      .map(({ data }) => ({ first: BigInt(String(data.first ?? 0)), last: BigInt(String(data.last ?? -1)) }))
    for (const offset of lost)
      expect(
        said.some(range => range.first <= offset && offset <= range.last),
        `loss of ${offset} is said`,
      ).toBe(true)
    expect(ledger.acknowledged.size).toBeGreaterThan(20)
    expect(world.factsOf('gap_planted').length).toBeGreaterThanOrEqual(3)
    await expectEqualLogs(world)
    for (const node of world.nodes) expect(node.exit).toBeUndefined()
    // the anchored gap is accepted by one more boot
    for (const id of ids(world)) await world.drive(world.stop(id))
    for (const id of ids(world)) world.start(id)
    await agreed(world)
    expect(world.factsOf('partition_refused')).toEqual([])
    expect(world.factsOf('chain_refused')).toEqual([])
    for (const content of await readEverywhere(world, ledger)) expect(content).toEqual(first)
  })
})

test('OR-27 the one with the longest disk leads, and dies again before a transfer: the others do not go on with less', async () => {
  const world = await withTopic(400n, 3, EAGER)
  const ledger = new OffsetLedger()
  const write = async (count: number) => {
    const client = world.client([0, 1, 2])
    for (let n = 0; n < count; n++) {
      const payload = `${ledger.acknowledged.size}`
      const sent = client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }])
      const { baseOffset } = (await world.drive(sent))!
      ledger.confirm(baseOffset, payload)
      ledger.acknowledged.set(baseOffset, payload)
    }
    client.close()
  }
  const said = (kind: string, node: number, from: number) =>
    world.factsOf(kind).some(fact => fact.node === node && fact.atMicros >= from)
  await write(20)
  // The last one is on the disk of the node that answered; the others have not heard that it is committed.
  for (const id of ids(world)) world.kill(id)
  const killedAt = world.timeline.nowMicros
  for (const id of ids(world)) world.start(id)
  const told = () => [1, 2].every(id => said('transfer_needed', id, killedAt))
  expect(await world.until(told, 20_000), 'the others are told to fetch').toBe(true)
  expect(world.factsOf('transfer_installed')).toEqual([])
  world.kill(0)
  const alone = world.timeline.nowMicros
  const electing = () => [1, 2].some(id => said('view_change_started', id, alone))
  expect(await world.until(electing, 20_000), 'they elect').toBe(true)
  await world.run(500)
  world.start(0)
  await agreed(world)
  await write(5)
  await world.run(1_000)
  const [first, ...others] = await readEverywhere(world, ledger)
  for (const other of others) expect(other).toEqual(first)
  expect([...ledger.acknowledged].filter(([offset]) => !first!.has(offset))).toEqual([])
  await expectEqualLogs(world)
})

async function readEverywhere(world: World, ledger: OffsetLedger): Promise<Map<bigint, string>[]> {
  const contents: Map<bigint, string>[] = []
  for (const id of ids(world)) contents.push(await readAll(world, id, ledger))
  return contents
}

describe('a cluster that goes on', () => {
  const send = (world: World, payload: string) => {
    const client = world.client([0, 1, 2])
    return world
      .drive(client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }]))
      .then(confirmed => {
        client.close()
        return confirmed!.baseOffset
      })
  }
  const reservation = (world: World, id: number) =>
    world.replica(id).inspect.partition({ stream: 0, topic: 0, partition: 0 })!.reservation

  test('OR-16 OR-09 does not jump when one node restarts, nor when the primary dies', async () => {
    const world = await withTopic(300n, 3, {})
    for (let n = 0n; n < 10n; n++) expect(await send(world, `m${n}`)).toBe(n)
    world.kill(1)
    await world.run(500)
    world.start(1)
    await agreed(world)
    expect(await send(world, 'after the restart')).toBe(10n)
    world.kill(0)
    expect(await world.until(() => world.factsOf('view_started').length > 0, 30_000)).toBe(true)
    await world.run(2_000)
    expect(await send(world, 'after the election')).toBe(11n)
    expect(world.factsOf('jump_announced')).toEqual([])
    // a view write carries the reservation, and every record covers what was appended
    for (const id of [1, 2]) expect(BigInt(reservation(world, id).reserved)).toBeGreaterThan(11n)
  })

  test('OR-11 a flush that fails at the stop ends the node and keeps its reservation', async () => {
    const world = await withTopic(301n, 1, {})
    for (let n = 0n; n < 5n; n++) await send(world, `m${n}`)
    const [node] = world.nodes
    node!.trouble.fault = (call, path) => (call === 'write' && path.endsWith('.log') ? 'NoSpace' : undefined)
    world.stop(0).catch(() => {})
    expect(await world.until(() => node!.exit !== undefined, 10_000)).toBe(true)
    expect(node!.exit!.status).toBe(74)
    node!.trouble.fault = () => undefined
    world.start(0)
    await agreed(world)
    expect(BigInt(reservation(world, 0).reserved)).toBe(65_537n)
    expect(await send(world, 'next')).toBe(65_537n)
  })

  test('PL-31 a stop whose flush fails on one partition of three flushes the others, ends with 74, and boots clean', async () => {
    const world = newWorld({ seed: 302n, nodes: 1 })
    await startAll(world)
    const client = world.client([0])
    await world.drive(client.createStream('s'))
    await world.drive(client.createTopic('s', 't', 3))
    const sendTo = (partition: number, payload: string) =>
      world.drive(client.sendMessages('s', 't', { kind: 'partition', partition }, [{ payload }]))
    for (const partition of [0, 1, 2]) for (const n of [0, 1]) await sendTo(partition, `${partition}-${n}`)
    const [node] = world.nodes
    const log = (partition: number) =>
      node!.disk.peek(`streams/0/topics/0/partitions/${partition}/00000000000000000000.log`)!.length
    expect([0, 1, 2].map(log)).toEqual([0, 0, 0])
    node!.trouble.fault = (call, path) => (call === 'write' && path.includes('/1/0') ? 'NoSpace' : undefined)
    world.stop(0).catch(() => {})
    expect(await world.until(() => node!.exit !== undefined, 10_000)).toBe(true)
    expect(node!.exit).toMatchObject({ status: 74, error: { code: 'PersistFailed' } })
    expect(node!.exit!.error.context.path).toContain('/partitions/1/')
    expect([0, 1, 2].map(partition => log(partition) > 0)).toEqual([true, false, true])
    node!.trouble.fault = () => undefined
    world.start(0)
    await agreed(world)
    expect(world.factsOf('partition_refused')).toEqual([])
    // The flushed ones go on densely; the other one skips what its last life may have confirmed.
    const next = [await sendTo(0, 'a'), await sendTo(1, 'b'), await sendTo(2, 'c')]
    expect(next.map(confirmed => confirmed!.baseOffset)).toEqual([2n, 65_537n, 2n])
  })
})
