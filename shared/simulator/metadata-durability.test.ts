/** What a cluster keeps of its metadata plane through damage, crashes and failing disks (spec metadata-storage.md §1.7, §6). */
import { describe, expect, test } from 'vitest'
import { ClientId } from '../bytes/units.ts'
import type { Client } from '../client/client.ts'
import type { Transport } from '../client/ports.ts'
import { encodeBody } from '../protocol/codec.ts'
import { Command } from '../protocol/commands.ts'
import { METADATA_GROUP } from '../protocol/groups.ts'
import { clusterId } from '../protocol/handshake.ts'
import { doViewChangeLayout, HEADER_BYTES } from '../protocol/headers.ts'
import { Operation } from '../protocol/operations.ts'
import { readServerFrame } from '../protocol/replies.ts'
import { requestFrame } from '../protocol/requests.ts'
import { PROTOCOL_VERSION, passwordLogin } from '../protocol/session.ts'
import { FrameSplitter } from '../protocol/splitter.ts'
import { createStream } from '../protocol/streams.ts'
import { frameGroup } from '../replica/frame-group.ts'
import { bytesOf, entriesOf, type TestOp, upTo } from '../replica/testing/directories.ts'
import { encodeSuperblockRecord, encodeVsrState, type VsrState } from '../storage/superblock-record.ts'
import { commitsAgree, hash, newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

/** A checkpoint is taken while op 65 is replicated. */
const metadata = { prepareQueueDepth: 32, journalSlots: 128, clientsTableMax: 64 }
const WAL = 'metadata/journal.wal'
const CLUSTER = clusterId('simulated')

const three = async (seed: bigint, config = {}): Promise<World> => {
  const world = newWorld({ seed, nodes: 3, config: { metadata, ...config } })
  await startAll(world)
  return world
}
/** Made for sure; an interrupted one may have been made already. */
const surely = (client: Client, name: string): Promise<unknown> =>
  client.createStream(name).catch(error => (error.status === 1012 ? undefined : surely(client, name)))

async function create(world: World, prefix: string, count: number, through = [0, 1, 2]): Promise<void> {
  const client = world.client(through)
  for (let index = 0; index < count; index++) await world.drive(surely(client, `${prefix}${index}`), 120_000)
  client.close()
  await world.run(600)
}
const names = (world: World, id: number): string[] =>
  world
    .replica(id)
    .inspect.topics()
    .streams.map(stream => stream.name)
const settled = (world: World, limitMs = 40_000) =>
  world.until(() => [0, 1, 2].every(id => world.isRunning(id)) && commitsAgree(world), limitMs)
const step = (world: World, id: number, name: string) =>
  world
    .replica(id)
    .inspect.recovery()
    .steps.find(taken => taken.step === name)

/** Newest pair that the disk of a node surely holds for a group. */
function durablePair(world: World, id: number, directory: string): { view: number; logView: number } {
  let pair = { view: 0, logView: 0 }
  for (const slot of ['a', 'b']) {
    const held = world.nodes[id]!.disk.durable(`${directory}/superblock.${slot}`)
    if (!held || held.content.size === 0) continue
    const view = new DataView(held.content.copy().buffer)
    const found = { view: view.getUint32(46, true), logView: view.getUint32(50, true) }
    if (found.view > pair.view || (found.view === pair.view && found.logView > pair.logView)) pair = found
  }
  return pair
}

function watch(world: World, see: (from: number, to: number, frame: Uint8Array) => void): void {
  const { links } = world
  const send = links.send.bind(links)
  links.send = (from, to, frame) => {
    see(from, to, frame)
    return send(from, to, frame)
  }
}

function putState(world: World, id: number, ops: readonly TestOp[], state?: Partial<VsrState>): void {
  const { disk } = world.nodes[id]!
  disk.put(WAL, bytesOf(entriesOf(ops, CLUSTER)))
  if (state === undefined) return
  const whole = {
    cluster: CLUSTER,
    replicaId: id,
    replicaCount: 3,
    view: 0,
    logView: 0,
    commitMax: 0n,
    checkpointOp: 0n,
    checkpointChecksum: 0n,
    offsetFrontier: 0n,
    offsetReserved: 0n,
    ...state,
  } as VsrState
  disk.put('metadata/superblock.a', encodeSuperblockRecord({ sequence: 1n, payload: encodeVsrState(whole) }, hash))
}

describe('the superblock', () => {
  test('SB-13 SB-14 the views that the survivors agreed on are those that a restarted one comes back with', async () => {
    const world = await three(1n)
    const client = world.client([0, 1, 2])
    await world.drive(client.createStream('s'))
    await world.drive(client.createTopic('s', 't', 1))
    for (const payload of ['a', 'b', 'c'])
      await world.drive(client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }]))
    world.kill(0)
    const partition = 'streams/0/topics/0/partitions/0'
    const settledIn = (id: number) => [durablePair(world, id, 'metadata'), durablePair(world, id, partition)]
    expect(await world.until(() => [1, 2].every(id => settledIn(id).every(pair => pair.logView >= 1)), 30_000)).toBe(
      true,
    )
    world.start(0)
    expect(await settled(world)).toBe(true)
    const other = settledIn(1)
    world.kill(2, 'drop')
    world.start(2)
    expect(await world.until(() => world.isRunning(2), 10_000)).toBe(true)
    const recorded = step(world, 2, 'superblock')!
    expect(recorded.verdict).toBe('present')
    expect(recorded.detail.view as number).toBeGreaterThanOrEqual(other[0]!.view)
    expect(durablePair(world, 2, partition).logView).toBeGreaterThanOrEqual(1)
    expect(await settled(world)).toBe(true)
    const reader = world.client([2], { followLeader: false })
    const request = { stream: 's', topic: 't', partition: 0, strategy: { kind: 'first' }, count: 10 } as const
    const { messages } = await world.drive(reader.poll(request))
    expect(messages.map(message => new TextDecoder().decode(message.payload))).toEqual(['a', 'b', 'c'])
  })

  test('SB-17 failing writes back off to one a second, and partitions of the node keep serving', async () => {
    const world = await three(2n)
    const client = world.client([0, 1, 2])
    await world.drive(client.createStream('s'))
    await world.drive(client.createTopic('s', 't', 1))
    const send = (payload: string) => client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }])
    await world.drive(send('before'))
    await world.until(() => world.replica(2).inspect.groups().length === 1, 5_000)
    world.nodes[2]!.trouble.fault = (_, path) => (/^metadata.superblock.*tmp$/.test(path) ? 'Io' : undefined)
    world.kill(1)
    world.cut(0, 2)
    expect(await world.until(() => world.factsOf('superblock_failed').length > 0, 30_000)).toBe(true)
    await world.run(5_000)
    const times = world.factsOf('superblock_failed').map(fact => fact.atMicros / 1_000)
    const gaps = times.slice(1).map((at, index) => at - times[index]!)
    // 20, 40, 80, … ms, each up to a tick and a disk call late.
    for (const [index, expected] of [20, 40, 80, 160, 320, 640, 1_000, 1_000].entries()) {
      expect(gaps[index]!).toBeGreaterThan(expected - 5)
      expect(gaps[index]!).toBeLessThan(expected + 40)
    }
    world.heal(0, 2)
    // The metadata plane has no quorum now; the partition has one, with this very node.
    const confirmed = await world.drive(send('served'), 60_000)
    expect(confirmed?.baseOffset).toBe(1n)
  })

  test.each([30_000, 0])(
    'SB-18 a metadata superblock that stays unwritable ends the node (window %i ms; 0: never)',
    async window => {
      const world = await three(3n, { superblockWedgedFatalMs: window })
      world.nodes[0]!.trouble.fault = (_, path) => (/^metadata.superblock.*tmp$/.test(path) ? 'Io' : undefined)
      for (const peer of [1, 2]) {
        world.cut(0, peer)
        world.cut(peer, 0)
      }
      expect(await world.until(() => world.factsOf('view_started').some(fact => fact.node === 1), 60_000)).toBe(true)
      for (const peer of [1, 2]) {
        world.heal(0, peer)
        world.heal(peer, 0)
      }
      let scoped = 0
      watch(world, (from, _, frame) => {
        const claims: number[] = [Command.PrepareOk, Command.StartViewChange, Command.DoViewChange, Command.StartView]
        if (from === 0 && frameGroup(frame) === METADATA_GROUP && claims.includes(frame[60]!)) scoped++
      })
      await create(world, 'around it', 5, [1, 2])
      await world.run(45_000)
      expect(scoped).toBe(0)
      expect(world.nodes[0]!.exit?.status).toBe(window === 0 ? undefined : 3)
      expect(names(world, 1)).toHaveLength(5)
    },
  )

  test('SB-19 CK-03 WA-03 a damaged node refuses with 65, the others serve, and a clean slate heals it', async () => {
    const damages: [string, string, number][] = [
      ['SuperblockUnreadable', 'metadata/superblock.a', 50],
      ['SnapshotChecksum', 'metadata/snapshot.bin', 500],
      ['WAL_DAMAGED', WAL, 257],
    ]
    const world = await three(4n)
    await create(world, 's', 80)
    for (const [code, path, at] of damages) {
      world.kill(2)
      expect(world.nodes[2]!.disk.damage(path, at, 0x10)).toBe(true)
      world.start(2)
      expect(await world.until(() => world.nodes[2]!.exit !== undefined, 10_000)).toBe(true)
      expect(world.nodes[2]!.exit).toMatchObject({ status: 65, error: { code, context: { path } } })
      await create(world, `while ${code}`, 3)
      world.wipe(2)
      world.start(2)
      expect(await settled(world)).toBe(true)
      expect(names(world, 2)).toEqual(names(world, 0))
    }
    expect(names(world, 2)).toHaveLength(89)
  })

  test('SB-20 no frame speaks for a view that the disk of its sender does not hold', async () => {
    let checked = 0
    for (const seed of [11n, 12n, 13n]) {
      const world = newWorld({ seed, nodes: 3, config: { metadata } })
      const scoped: number[] = [
        Command.StartViewChange,
        Command.DoViewChange,
        Command.StartView,
        Command.PrepareOk,
        Command.Commit,
      ]
      watch(world, (from, _, frame) => {
        if (frameGroup(frame) !== METADATA_GROUP || !scoped.includes(frame[60]!)) return
        const view = new DataView(frame.buffer, frame.byteOffset).getUint32(52, true)
        expect(view).toBeLessThanOrEqual(durablePair(world, from, 'metadata').view)
        if (view > 0) checked++
      })
      await startAll(world)
      for (let round = 0; round < 3; round++) {
        await create(world, `r${round}.`, 5)
        const primary = world.factsOf('view_started').at(-1)?.node ?? 0
        world.kill(primary, 'drop')
        await create(world, `r${round}x`, 3)
        world.start(primary)
        expect(await settled(world, 60_000)).toBe(true)
      }
    }
    expect(checked).toBeGreaterThan(100)
  })

  test('SB-22 a wild view in the last entry of a backup does not reach the others, a believable one is overtaken', async () => {
    for (const bit of [30, 2]) {
      const world = await three(5n)
      await create(world, 's', 10)
      await world.drive(world.stop(2))
      const { disk } = world.nodes[2]!
      const last = bytesLast(disk.peek(WAL)!)
      disk.damage(WAL, last + 52 + (bit >> 3), 1 << (bit & 7))
      world.start(2)
      await world.until(() => world.isRunning(2), 5_000)
      expect(step(world, 2, 'inferred_view')?.verdict).toBe(bit === 30 ? 'damaged' : undefined)
      await create(world, 't', 3)
      expect(await settled(world, 60_000)).toBe(true)
      const views = [0, 1, 2].map(id => world.replica(id).inspect.metadata().view)
      if (bit === 30) expect([views, world.factsOf('view_started')]).toEqual([[0, 0, 0], []])
      else expect(Math.min(...views)).toBeGreaterThanOrEqual(4)
      for (const id of [0, 1, 2]) expect(names(world, id)).toHaveLength(13)
    }
  })
})

/** Position of the last entry of a log. */
function bytesLast(log: Uint8Array): number {
  const view = new DataView(log.buffer, log.byteOffset)
  let at = 0
  for (let size = view.getUint32(48, true); at + size < log.length; size = view.getUint32(at + 48, true)) at += size
  return at
}

describe('the log', () => {
  test('WA-15 a drain that fails past its rename ends the process with the disk fault, and a boot is clean', async () => {
    const world = await three(21n)
    let renamed = false
    world.nodes[0]!.trouble.fault = (call, path) => {
      if (call === 'rename' && path.includes('journal.wal')) renamed = true
      return renamed && call === 'syncDirectory' ? 'Io' : undefined
    }
    await create(world, 's', 80)
    expect(world.nodes[0]!.exit).toMatchObject({ status: 74, error: { code: 'WAL_REWRITE_FAILED' } })
    world.nodes[0]!.trouble.fault = () => undefined
    world.start(0)
    expect(await settled(world)).toBe(true)
    expect(names(world, 0)).toEqual(names(world, 1))
    expect(names(world, 0)).toHaveLength(80)
  })

  test('WA-21 a replica killed while catching up denies nothing of its gap, and what it acknowledged survives', async () => {
    for (const kills of [1, 2]) {
      const world = newWorld({ seed: BigInt(30 + kills), nodes: 3, config: { metadata } })
      const pair = { view: 1 as never, logView: 1 as never }
      // Node 1 led view 1 and holds all; node 2 missed 11..20 and acknowledged 21..25; node 0 never saw 21.
      putState(world, 1, upTo(25, { commit: 10, view: 1 }), pair)
      putState(
        world,
        2,
        upTo(25, { commit: 10, view: 1 }).filter(({ op }) => op <= 10 || op > 20),
        pair,
      )
      putState(world, 0, upTo(20, { commit: 10, view: 1 }), pair)
      const votes: { op: bigint; nacks: bigint; present: bigint }[] = []
      watch(world, (from, _, frame) => {
        if (from !== 2 || frame[60] !== Command.DoViewChange || frameGroup(frame) !== METADATA_GROUP) return
        const { op, nackBitset, presentBitset } = doViewChangeLayout.decode(frame.subarray(0, HEADER_BYTES))
        votes.push({ op, nacks: nackBitset, present: presentBitset })
      })
      const before = world.nodes[2]!.disk.peek(WAL)!
      world.start(2)
      world.start(0)
      for (let kill = 1; kill < kills; kill++) {
        await world.run(1_000)
        world.kill(2)
        expect(world.nodes[2]!.disk.peek(WAL)).toEqual(before)
        world.start(2)
      }
      await world.run(2_000)
      world.start(1)
      const whole = () => [0, 1, 2].every(id => world.isRunning(id) && names(world, id).length === 25)
      expect(await world.until(whole, 60_000)).toBe(true)
      for (const vote of votes.filter(({ op }) => op === 25n)) {
        // Bit i is op 25 - i: 21..25 are held, 11..20 are neither held nor denied.
        expect(vote.present & 0b11111n).toBe(0b11111n)
        expect((vote.nacks >> 5n) & 0b11_1111_1111n).toBe(0n)
      }
      expect(votes.length).toBeGreaterThan(0)
      for (const id of [0, 1, 2]) expect(names(world, id)).toEqual(upTo(25).map(({ op }) => `s${op}`))
    }
  })

  test.each(['rotted', 'cut off', 'torn'] as const)('WA-25 an acknowledged end of the log that is %s', async how => {
    const world = newWorld({ seed: 41n, nodes: 3, config: { metadata } })
    const ops = upTo(25)
    putState(world, 0, ops)
    putState(world, 2, upTo(24))
    if (how === 'cut off') putState(world, 1, upTo(24), { commitMax: 25n as never })
    else putState(world, 1, ops)
    const { disk } = world.nodes[1]!
    const log = disk.peek(WAL)!
    if (how === 'rotted') disk.damage(WAL, bytesLast(log) + 257, 4)
    if (how === 'torn') disk.put(WAL, log.slice(0, -100))
    world.start(1)
    world.start(2)
    await world.run(5_000)
    if (how !== 'torn') {
      world.kill(1)
      world.start(1)
      await world.run(10_000)
      // Whoever could deny it does not, so nobody leads without it.
      expect(world.factsOf('view_started')).toEqual([])
      world.start(0)
    } else {
      expect(await world.until(() => world.factsOf('view_started').length > 0, 20_000)).toBe(true)
      world.start(0)
    }
    const last = how === 'torn' ? 24 : 25
    const whole = () => [0, 1, 2].every(id => world.isRunning(id) && names(world, id).length === last)
    expect(await world.until(whole, 60_000)).toBe(true)
    for (const id of [0, 1, 2]) expect([id, names(world, id)]).toEqual([id, upTo(last).map(({ op }) => `s${op}`)])
  })
})

describe('a checkpoint', () => {
  test('CK-01 power lost behind any rename leaves a pair that boots, whichever names survive', async () => {
    for (const file of ['snapshot.bin', 'superblock.a', 'journal.wal']) {
      const outcomes = new Set<string>()
      for (let seed = 1n; seed <= 12n; seed++) {
        let armed = true
        const world = newWorld({
          seed,
          nodes: 1,
          config: { metadata },
          observer: {
            diskCall: (_, call, path) => {
              if (
                !armed ||
                call !== 'rename' ||
                !path.includes(file) ||
                world.factsOf('checkpoint_started').length === 0
              )
                return
              armed = false
              world.kill(0, 'part')
            },
          },
        })
        world.start(0)
        await world.until(() => world.isRunning(0), 5_000)
        const client = world.client([0], { retry: false })
        let made = 0
        while (armed && made < 100)
          await world.drive(
            client.createStream(`s${made}`).then(
              () => made++,
              () => {},
            ),
          )
        expect(armed).toBe(false)
        world.start(0)
        await world.until(() => world.isRunning(0) || world.nodes[0]!.exit !== undefined, 5_000)
        expect([file, seed, world.nodes[0]!.exit?.error.message]).toEqual([file, seed, undefined])
        expect(names(world, 0).slice(0, made)).toEqual(Array.from({ length: made }, (_, index) => `s${index}`))
        outcomes.add(String(step(world, 0, 'snapshot')?.verdict))
      }
      // Both outcomes of the rename were met; behind the pairing the snapshot is always there.
      expect([file, [...outcomes].sort()]).toEqual([
        file,
        { 'snapshot.bin': ['newer', 'undefined'], 'superblock.a': ['equal', 'newer'], 'journal.wal': ['equal'] }[file],
      ])
    }
  })

  test('CK-11 a view change right behind a drain finds the commit point described', async () => {
    const world = await three(51n)
    const client = world.client([0, 1, 2])
    for (let index = 0; world.factsOf('checkpoint_finished').length < 3; index++)
      await world.drive(surely(client, `s${index}`))
    const made = names(world, 0).length
    const described: bigint[] = []
    watch(world, (_, __, frame) => {
      if (frame[60] !== Command.DoViewChange || frameGroup(frame) !== METADATA_GROUP) return
      const header = doViewChangeLayout.decode(frame.subarray(0, HEADER_BYTES))
      described.push(header.presentBitset >> (header.op - header.commit))
    })
    world.kill(0)
    await create(world, 'after', 3, [1, 2])
    expect(described.length).toBeGreaterThan(0)
    for (const bits of described) expect(bits & 1n).toBe(1n)
    expect(names(world, 1).length).toBe(made + 3)
  })

  test('CK-09 a cluster that stands exactly at its checkpoint: nothing above it, nothing to repair', async () => {
    const source = await three(52n)
    await create(source, 's', 70)
    const files = source.nodes[0]!.disk
    const snapshot = files.peek('metadata/snapshot.bin')!
    const at = new DataView(files.peek('metadata/superblock.a')!.buffer).getBigUint64(62, true)
    const log = files.peek(WAL)!
    const first = new DataView(log.buffer).getUint32(48, true)
    expect(new DataView(log.buffer).getBigUint64(176, true)).toBe(at)
    const world = newWorld({ seed: 53n, nodes: 3, config: { metadata } })
    for (const id of [0, 1]) {
      world.nodes[id]!.disk.put('metadata/snapshot.bin', snapshot)
      world.nodes[id]!.disk.put(WAL, log.slice(0, first))
    }
    for (const id of [0, 1, 2]) world.start(id)
    expect(await settled(world, 60_000)).toBe(true)
    expect(world.factsOf('transfer_installed')).toMatchObject([{ node: 2, op: at.toString() }])
    for (const id of [0, 1, 2]) expect(world.replica(id).inspect.metadata()).toMatchObject({ op: at.toString() })
    expect(names(world, 2)).toEqual(names(world, 0))
    await create(world, 'on', 2)
    expect(names(world, 2)).toEqual(names(world, 1))
  })

  test('CK-06 replicas at one op write the same bytes, but for what each salts itself', async () => {
    const world = await three(54n)
    const client = world.client([0, 1, 2])
    for (let index = 0; index < 20; index++) await world.drive(client.createStream(`s${index}`))
    for (const id of [12, 3, 7]) await world.drive(client.deleteStream(id))
    for (let topic = 0; topic < 5; topic++) await world.drive(client.createTopic('s1', `t${topic}`, 3))
    for (let index = 0; index < 120; index++) await world.drive(client.createStream(`u${index}`))
    await world.run(600)
    const snapshots = [1, 2].map(id => world.nodes[id]!.disk.peek('metadata/snapshot.bin')!)
    expect(snapshots[0]).toEqual(snapshots[1])
  })
})

/** One client that speaks frame by frame, under request numbers of its own choice. */
class RawClient {
  private readonly world: World
  private readonly client: bigint
  private session = 0n
  private transport: Transport | undefined
  private answers: Uint8Array[] = []
  private closed = false

  constructor(world: World, client: bigint) {
    this.world = world
    this.client = client
  }

  async login(node: number): Promise<void> {
    this.closed = false
    this.answers = []
    const splitter = new FrameSplitter()
    const connecting = this.world.clientPorts().network.connect(this.world.endpoint(node), {
      data: bytes => splitter.push(bytes, frame => this.answers.push(frame.slice())),
      close: () => {
        this.closed = true
      },
    })
    this.transport = await this.world.drive(connecting)
    const body = encodeBody(passwordLogin, {
      protocol: PROTOCOL_VERSION,
      sdkName: 't',
      sdkVersion: '1',
      username: 'iggy',
      password: 'iggy',
      context: '',
    })
    const frame = (await this.exchange(Operation.Register, body, 0n))!
    this.session = new DataView(frame.buffer, frame.byteOffset).getBigUint64(176, true)
  }

  /** Undefined when the connection ended instead of an answer. */
  async createStream(name: string, request: bigint) {
    const frame = await this.exchange(Operation.CreateStream, encodeBody(createStream, { name, options: [] }), request)
    return frame && readServerFrame(frame)
  }

  private async exchange(operation: number, body: Uint8Array, request: bigint): Promise<Uint8Array | undefined> {
    const session = request === 0n ? 0n : this.session
    const fields = { client: ClientId(this.client), session, request, operation, code: 0 }
    this.transport!.send(requestFrame(fields, body))
    await this.world.until(() => this.answers.length > 0 || this.closed, 20_000)
    return this.answers.shift()
  }
}

describe('the client table', () => {
  test('CT-14 CT-01 a request whose primary dies behind the commit is answered by the next one, and done once', async () => {
    const world = await three(61n)
    const owner = new RawClient(world, 0x77n)
    await owner.login(0)
    await owner.createStream('first', 1n)
    // The reply is behind the commit; nothing of it leaves.
    world.nodes[0]!.server!.send = () => world.timeline.after(0, () => world.kill(0))
    expect(await owner.createStream('once', 2n)).toBeUndefined()
    expect(await world.until(() => world.factsOf('view_started').length > 0, 30_000)).toBe(true)
    await world.run(1_000)
    await owner.login(world.factsOf('view_started').at(-1)!.node)
    const retried = await owner.createStream('once', 2n)
    expect(retried).toMatchObject({ kind: 'reply', code: 0 })
    expect(names(world, 1)).toEqual(['first', 'once'])
    // An unused number is executed.
    expect(await owner.createStream('once', 3n)).toMatchObject({ kind: 'reply', code: 1012 })
    world.start(0)
    expect(await settled(world)).toBe(true)
    expect(names(world, 0)).toEqual(['first', 'once'])
  })
})
