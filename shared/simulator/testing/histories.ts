/**
 * Random lives of a world with one topic: kills of one, some or all nodes, at any moment or in the middle of a port call,
 * losses of power, clean stops, restarts in any order, some of them late. Whatever happens, no offset is confirmed for two
 * payloads, and in the end everybody serves the same.
 */
import { expect } from 'vitest'
import type { CrashKind } from '../disk.ts'
import type { World } from '../world.ts'
import { OffsetLedger, readAll, writeUntil } from './offset-ledger.ts'
import { commitsAgree, newWorld, startAll } from './worlds.ts'

export interface History {
  readonly nodes: number
  readonly topic: Readonly<Record<string, unknown>>
  readonly rounds: number
  /** A loss of power takes what was not synced; what the disk promised stays. */
  readonly kinds: readonly CrashKind[]
  readonly leaseOffsets?: number
}

export interface Outcome {
  readonly world: World
  readonly ledger: OffsetLedger
  readonly contents: readonly ReadonlyMap<bigint, string>[]
}

/** Virtual time within which a world that is left alone must be of one mind. */
const SETTLE_MS = 120_000

export async function live(seed: bigint, history: History): Promise<Outcome> {
  const { nodes, topic, rounds, kinds, leaseOffsets } = history
  const partition = {
    prepareQueueDepth: 32,
    evictedRingCapacity: 64,
    evictedRingBytesMax: 1 << 20,
    ...(leaseOffsets !== undefined && { offsetReservationLease: leaseOffsets }),
  }
  const world = newWorld({ seed, nodes, config: { partition }, factsMax: 20_000 })
  await startAll(world)
  const creator = world.client([0])
  await world.drive(creator.createStream('s'))
  await world.drive(creator.createTopic('s', 't', 1, topic))
  creator.close()
  const ledger = new OffsetLedger()
  let over = false
  const writers = Promise.all(['a', 'b', 'c'].map(name => writeUntil(world, name, ledger, () => over)))
  writers.catch(() => {})
  const all = world.nodes.map(({ id }) => id as number)
  const kind = () => kinds[world.below(kinds.length)]!
  world.onCrash = id => world.kill(id, kind())
  for (let round = 0; round < rounds; round++) {
    await world.run(200 + world.below(3_000))
    const running = all.filter(id => world.isRunning(id))
    if (running.length > 0 && world.below(3) === 0)
      await readAll(world, running[world.below(running.length)]!, ledger).catch(() => {})
    await end(world, all, kind)
    for (const id of shuffled(world, all)) {
      if (world.nodes[id]!.life) continue
      await world.run(world.below(5) === 0 ? world.below(12_000) : world.below(800))
      if (!world.nodes[id]!.life) world.start(id)
    }
  }
  for (const node of world.nodes) node.crashIn = undefined
  for (const id of all) if (!world.nodes[id]!.life) world.start(id)
  await settled(world, all)
  await world.run(500)
  over = true
  await world.drive(writers, SETTLE_MS)
  await settled(world, all)
  const contents: Map<bigint, string>[] = []
  for (const id of all) contents.push(await readAll(world, id, ledger))
  return { world, ledger, contents }
}

async function end(world: World, all: readonly number[], kind: () => CrashKind): Promise<void> {
  switch (world.below(5)) {
    case 0:
    case 1:
      for (const id of all) world.kill(id, kind())
      return
    case 2:
      world.kill(world.below(all.length), kind())
      return
    case 3:
      // in the middle of what it does, the boot that follows included
      for (const id of all) if (world.below(2) === 0) world.nodes[id]!.crashIn = 1 + world.below(60)
      await world.run(300)
      return
    default:
      for (const id of all) {
        if (!world.isRunning(id)) continue
        const stopping = world.stop(id)
        stopping.catch(() => {})
        // a stop that takes long is killed
        await world.drive(stopping, 5_000).catch(() => world.kill(id, kind()))
      }
  }
}

function shuffled(world: World, ids: readonly number[]): number[] {
  const left = [...ids]
  const order: number[] = []
  while (left.length > 0) order.push(...left.splice(world.below(left.length), 1))
  return order
}

async function settled(world: World, all: readonly number[]): Promise<void> {
  const there = () => {
    for (const id of all) {
      const node = world.nodes[id]!
      if (node.exit) throw new Error(`node ${id} ended by itself: ${node.exit.error.code}: ${node.exit.error.message}`)
    }
    return all.every(id => world.isRunning(id)) && commitsAgree(world)
  }
  if (!(await world.until(there, SETTLE_MS))) throw new Error('the nodes did not come to agree')
}

export const EAGER = { enforceFsync: true, messagesRequiredToSave: 1 }
export const HISTORIES: readonly [string, History][] = [
  [
    'solo, default topic',
    { nodes: 1, topic: { messagesRequiredToSave: 8 }, rounds: 8, kinds: ['process'], leaseOffsets: 20 },
  ],
  ['solo, eager topic, power lost', { nodes: 1, topic: EAGER, rounds: 8, kinds: ['drop', 'part'], leaseOffsets: 20 }],
  [
    'three nodes, default topic',
    { nodes: 3, topic: { messagesRequiredToSave: 8 }, rounds: 5, kinds: ['process'], leaseOffsets: 20 },
  ],
  ['three nodes, eager topic', { nodes: 3, topic: EAGER, rounds: 5, kinds: ['process'], leaseOffsets: 20 }],
  [
    'three nodes, default topic, power lost',
    { nodes: 3, topic: {}, rounds: 5, kinds: ['drop', 'part'], leaseOffsets: 20 },
  ],
]

/** Lives one history and checks what must hold in the end. */
export async function liveAndCheck(seed: bigint, history: History): Promise<void> {
  const { ledger, contents, world } = await live(seed, history)
  expect(ledger.acknowledged.size).toBeGreaterThan(10)
  for (const other of contents) expect(other).toEqual(contents[0])
  if (history.nodes === 1 && history.topic === EAGER)
    for (const [offset, payload] of ledger.acknowledged) expect(contents[0]!.get(offset)).toBe(payload)
  expect(world.factsOf('partition_refused')).toEqual([])
}
