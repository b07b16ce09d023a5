/** State transfer of the metadata plane between whole replicas (spec consensus.md §6.2–6.6). */
import { describe, expect, test } from 'vitest'
import { Command } from '../protocol/commands.ts'
import { sealFrame } from '../protocol/frames.ts'
import { HEADER_BYTES, stateChunkLayout, stateTransferTargetLayout } from '../protocol/headers.ts'
import { encodeManifest } from '../protocol/transfer-manifest.ts'
import { decodeSnapshot } from '../storage/snapshot-decode.ts'
import { commitsAgree, hash, newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

/** A checkpoint is taken while op 65 is replicated. */
const metadata = { prepareQueueDepth: 32, journalSlots: 128, clientsTableMax: 64 }

async function withStreams(seed: bigint, count: number): Promise<World> {
  const world = newWorld({ seed, nodes: 3, config: { metadata } })
  await startAll(world)
  await create(world, 's', count)
  return world
}

/** Makes `count` streams through whoever leads. */
async function create(world: World, prefix: string, count: number): Promise<void> {
  const client = world.client([0, 1, 2])
  for (let index = 0; index < count; index++) await world.drive(client.createStream(`${prefix}${index}`))
  client.close()
  await world.run(600)
}

const names = (world: World, id: number): string[] =>
  world
    .replica(id)
    .inspect.topics()
    .streams.map(stream => stream.name)
const settled = (world: World, limitMs = 30_000) =>
  world.until(() => [0, 1, 2].every(id => world.isRunning(id)) && commitsAgree(world), limitMs)

function wipe(world: World, id: number): void {
  world.kill(id)
  world.wipe(id)
}

/** Highest checkpoint op that a superblock of the node names, and the op of its snapshot. */
function pairing(world: World, id: number) {
  const { disk } = world.nodes[id]!
  const ops = ['a', 'b'].map(slot => {
    const bytes = disk.peek(`metadata/superblock.${slot}`)
    return bytes ? new DataView(bytes.buffer).getBigUint64(28 + 34, true) : 0n
  })
  const snapshot = disk.peek('metadata/snapshot.bin')
  return {
    // biome-ignore lint/complexity/useMathMinMax: these are bigint
    paired: ops.reduce((a, b) => (a > b ? a : b)),
    snapshot: snapshot && decodeSnapshot(snapshot.slice(0, -20)).op,
  }
}

/** Lets a test look at, replace or drop what goes over the links. */
function intercept(world: World, change: (from: number, to: number, frame: Uint8Array) => readonly Uint8Array[]) {
  const { links } = world
  const send = links.send.bind(links)
  links.send = (from, to, frame) => change(from, to, frame).every(sent => send(from, to, sent))
  return () => {
    links.send = send
  }
}
const commandOf = (frame: Uint8Array): number => frame[60]!

test('ST-01 a node that slept past a checkpoint installs it, and a session from before goes on', async () => {
  const world = newWorld({ seed: 1n, nodes: 3, config: { metadata } })
  await startAll(world)
  const client = world.client([1, 0, 2])
  for (let index = 0; index < 5; index++) await world.drive(client.createStream(`s${index}`))
  world.kill(0)
  for (let index = 5; index < 80; index++) {
    // The one that the crash interrupted may have been made already.
    const made = (): Promise<unknown> =>
      client.createStream(`s${index}`).catch(error => (error.status === 1012 ? undefined : made()))
    await world.drive(made())
  }
  world.start(0)
  expect(await settled(world)).toBe(true)
  const [installed] = world.factsOf('transfer_installed')
  expect(installed).toMatchObject({ node: 0 })
  expect(pairing(world, 0)).toEqual({ paired: BigInt(installed!.op!), snapshot: BigInt(installed!.op!) })
  await world.drive(client.createStream('goes on'))
  await world.run(600)
  expect(names(world, 0)).toEqual(names(world, 1))
  expect(names(world, 0)).toContain('goes on')
  expect(
    world
      .replica(0)
      .inspect.clients()
      .table.map(row => row.session),
  ).toEqual(
    world
      .replica(1)
      .inspect.clients()
      .table.map(row => row.session),
  )
})

test('ST-02 a node with an empty disk joins by transfer, and ST-04 its next boot starts from what it installed', async () => {
  const world = await withStreams(2n, 80)
  wipe(world, 2)
  world.start(2)
  expect(await settled(world)).toBe(true)
  const [installed] = world.factsOf('transfer_installed')
  expect(installed).toMatchObject({ node: 2 })
  expect(installed!.data.checkpointOp).toBe(installed!.op)
  expect(BigInt(installed!.data.commitMax as string) >= BigInt(installed!.op!)).toBe(true)
  expect(names(world, 2)).toEqual(names(world, 0))
  world.kill(2, 'drop')
  world.start(2)
  expect(await settled(world)).toBe(true)
  const steps = world.replica(2).inspect.recovery().steps
  expect(steps.find(step => step.step === 'snapshot')).toMatchObject({
    verdict: 'equal',
    detail: { op: installed!.op },
  })
  expect(world.factsOf('transfer_installed')).toHaveLength(1)
  expect(names(world, 2)).toEqual(names(world, 0))
})

test('ST-03 the serving peer dies in the middle, and the wiped node is whole in the end', async () => {
  const world = await withStreams(3n, 80)
  wipe(world, 2)
  world.start(2)
  expect(await world.until(() => world.factsOf('transfer_offered').length > 0, 20_000)).toBe(true)
  world.kill(0)
  await world.run(8_000)
  // The election that follows tells it whom to ask instead.
  expect(world.factsOf('transfer_requested').map(fact => fact.data.peer)).toEqual([0, 1])
  expect(world.factsOf('transfer_installed')).toMatchObject([{ node: 2, data: { peer: 1 } }])
  world.start(0)
  expect(await settled(world, 60_000)).toBe(true)
  expect(names(world, 2)).toEqual(names(world, 1))
  expect(names(world, 2)).toHaveLength(80)
})

test('ST-08 a damaged artifact is fetched again, and one that stays damaged is never installed', async () => {
  for (const rounds of [2, Number.POSITIVE_INFINITY]) {
    const world = await withStreams(4n, 80)
    wipe(world, 2)
    let damaged = 0
    const restore = intercept(world, (_, __, frame) => {
      if (commandOf(frame) !== Command.StateChunk || damaged >= rounds) return [frame]
      damaged++
      const copy = frame.slice()
      copy[HEADER_BYTES + 40]! ^= 1
      return [copy]
    })
    world.start(2)
    if (rounds === 2) {
      expect(await settled(world)).toBe(true)
      expect(world.factsOf('transfer_refetched')).toHaveLength(2)
    } else {
      await world.run(20_000)
      expect(world.factsOf('transfer_installed')).toEqual([])
      expect(world.factsOf('transfer_abandoned').length).toBeGreaterThan(1)
      expect(names(world, 2)).toEqual([])
      restore()
      expect(await settled(world)).toBe(true)
    }
    expect(names(world, 2)).toEqual(names(world, 0))
  }
})

test('ST-09 doubled, misplaced and foreign chunks change nothing', async () => {
  const world = await withStreams(5n, 80)
  wipe(world, 2)
  intercept(world, (_, __, frame) => {
    if (commandOf(frame) !== Command.StateChunk) return [frame]
    const header = stateChunkLayout.decode(frame)
    const body = frame.subarray(HEADER_BYTES)
    const other = (fields: Partial<typeof header>) => sealFrame(hash, 'StateChunk', { ...header, ...fields }, body)
    return [
      other({ nonce: header.nonce + 1n }),
      other({ offset: header.offset + 1n }),
      other({ artifact: 7 }),
      sealFrame(hash, 'StateChunk', header),
      frame,
      frame,
    ]
  })
  world.start(2)
  expect(await settled(world)).toBe(true)
  expect(world.factsOf('transfer_refetched')).toEqual([])
  expect(world.factsOf('transfer_installed')).toHaveLength(1)
  expect(names(world, 2)).toEqual(names(world, 0))
})

test('ST-12 an offer that is older than what the replica has is refused, whatever the peer says', async () => {
  const world = await withStreams(6n, 20)
  world.kill(2)
  await create(world, 't', 80)
  let lies = 0
  const restore = intercept(world, (_, __, frame) => {
    if (commandOf(frame) !== Command.StateTransferTarget) return [frame]
    const header = stateTransferTargetLayout.decode(frame)
    if (header.available === 0) return [frame]
    lies++
    const artifact = { frontier: 3n, length: 10n, checksum: 1n as never }
    const manifest = encodeManifest(
      [
        { kind: 0, ...artifact },
        { kind: 1, ...artifact },
      ],
      hash,
    )
    return [sealFrame(hash, 'StateTransferTarget', { ...header, commitOp: 5n as never }, manifest)]
  })
  world.start(2)
  expect(await world.until(() => lies >= 3, 30_000)).toBe(true)
  expect(world.factsOf('transfer_abandoned').map(fact => fact.data.reason)).toContain(
    'the offer is older than what this replica has',
  )
  expect(names(world, 2)).toHaveLength(20)
  restore()
  expect(await settled(world)).toBe(true)
  expect(names(world, 2)).toEqual(names(world, 0))
})

test('ST-15 between the request and the install no acknowledgement leaves, and writes go on', async () => {
  const world = await withStreams(7n, 80)
  wipe(world, 2)
  let holding = true
  let acks = 0
  intercept(world, (from, _, frame) => {
    if (from === 2 && commandOf(frame) === Command.PrepareOk) acks++
    return holding && commandOf(frame) === Command.StateChunk ? [] : [frame]
  })
  world.start(2)
  expect(await world.until(() => world.factsOf('transfer_offered').length > 0, 20_000)).toBe(true)
  acks = 0
  await create(world, 'during', 10)
  expect(world.replica(2).inspect.metadata().transferStage).toBe('fetching')
  expect(acks).toBe(0)
  holding = false
  expect(await settled(world)).toBe(true)
  await create(world, 'after', 3)
  expect(acks).toBeGreaterThan(0)
  expect(names(world, 2)).toEqual(names(world, 0))
})

describe('an install', () => {
  test.each(['process', 'drop', 'part'] as const)(
    'ST-04 crashed at every call of the disk (%s) boots and ends up whole',
    async kind => {
      let victim = 0
      let calls = 0
      let crashed: string | undefined
      const world = newWorld({
        seed: 8n,
        nodes: 3,
        config: { metadata },
        observer: {
          diskCall: (node, call, path) => {
            if (node !== 2 || victim === 0 || crashed !== undefined) return
            if (world.facts.at(-1)?.kind !== 'transfer_installing' && calls === 0) return
            if (++calls < victim) return
            crashed = `${call} ${path}`
            // Behind the call, before its completion reaches the replica.
            world.kill(2, kind)
          },
        },
      })
      await startAll(world)
      await create(world, 's', 80)
      const seen: string[] = []
      for (victim = 1; victim < 40; victim++) {
        calls = 0
        crashed = undefined
        wipe(world, 2)
        world.facts.length = 0
        world.start(2)
        await world.until(() => crashed !== undefined || world.factsOf('transfer_installed').length > 0, 20_000)
        if (crashed === undefined) break
        seen.push(crashed)
        world.start(2)
        expect([crashed, await settled(world)]).toEqual([crashed, true])
        expect([crashed, names(world, 2)]).toEqual([crashed, names(world, 0)])
      }
      expect(seen).toEqual(
        expect.arrayContaining([
          'rename metadata/snapshot.bin.tmp',
          'rename metadata/superblock.a.tmp',
          'rename metadata/journal.wal.tmp',
        ]),
      )
    },
  )

  test('whose superblock cannot be written is degraded, not lost', async () => {
    const world = await withStreams(9n, 80)
    wipe(world, 2)
    world.nodes[2]!.trouble.fault = (_, path) => (/^metadata.superblock.*tmp$/.test(path) ? 'Io' : undefined)
    world.start(2)
    expect(await settled(world)).toBe(true)
    expect(pairing(world, 2).paired).toBe(0n)
    world.nodes[2]!.trouble.fault = () => undefined
    world.kill(2)
    world.start(2)
    expect(await settled(world)).toBe(true)
    expect(
      world
        .replica(2)
        .inspect.recovery()
        .steps.find(step => step.step === 'snapshot')!.verdict,
    ).toBe('newer')
    expect(names(world, 2)).toEqual(names(world, 0))
  })
})
