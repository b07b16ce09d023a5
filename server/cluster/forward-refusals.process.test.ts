/**
 * Each of the six causes for which a primary refuses a forward, on real processes: the refusal comes back through the origin
 * as an answer, never by the origin's own timeout (design.md §3, Forwarded writes; drills.md MF-06). Prints how long each took.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { Checksum, ClientId, GroupId, Micros, ReplicaId } from '../../shared/bytes/units.ts'
import type { Client } from '../../shared/client/client.ts'
import type { ClientError } from '../../shared/client/errors.ts'
import { produceBatch } from '../../shared/protocol/batch.ts'
import { Command } from '../../shared/protocol/commands.ts'
import { encodeFrame, ForwardOutcome, parseReplicaFrame } from '../../shared/protocol/frames.ts'
import { packGroup } from '../../shared/protocol/groups.ts'
import { clusterId } from '../../shared/protocol/handshake.ts'
import { routedRequestLayout } from '../../shared/protocol/headers.ts'
import { Operation } from '../../shared/protocol/operations.ts'
import { routedRequest } from '../../shared/replica/routed-request.ts'
import type { ClusterSpec } from '../../shared/scenario/language.ts'
import type { SeenEvent } from '../../shared/scenario/runner.ts'
import { systemEntropy } from '../node/entropy.ts'
import { TcpReplicaLinks } from '../node/replica-links.ts'
import { RealRunner } from './scenario-runner.ts'
import { buildEntry } from './testing/build-entry.ts'

const NODES = [0, 1, 2]
/** The node that the client dials; the groups start with node 0. */
const ORIGIN = 1
/** After this time the origin would answer by itself, with 57. */
const TIMEOUT_MS = 4_500
const ALWAYS = 1_000_000

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
const runners: RealRunner[] = []
const clients: Client[] = []
const took: string[] = []

beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(async () => {
  await built.remove()
  console.log(`refused through the origin:\n${took.join('\n')}`)
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  for (const runner of runners.splice(0)) await runner.close()
})

async function until(what: string, runner: RealRunner, condition: () => boolean | Promise<boolean>): Promise<void> {
  const limit = runner.nowMs() + 40_000
  while (!(await condition())) {
    if (runner.nowMs() > limit) throw new Error(`never came true: ${what}`)
    await runner.progress()
  }
}

/** Three nodes with topics of one partition each: `topics[n]` has the group n. */
async function opened(settings: ClusterSpec['settings'], topics: readonly string[]): Promise<RealRunner> {
  const runner = await RealRunner.open({ nodes: 3, ...(settings && { settings }) }, { hash, entry: built.entry })
  runners.push(runner)
  await Promise.all(NODES.map(node => runner.start(node)))
  const groups = async () => (await Promise.all(NODES.map(node => runner.groups(node)))).map(each => each ?? [])
  await until('the cluster is up', runner, async () => (await groups()).every(([first]) => first?.status === 'normal'))
  const admin = dial(runner, 0)
  await admin.createStream('s')
  for (const topic of topics) await admin.createTopic('s', topic, 1)
  await until('all groups are built', runner, async () =>
    (await groups()).every(each => each.length === 1 + topics.length && each.every(({ primary }) => primary === 0)),
  )
  return runner
}

function dial(runner: RealRunner, node: number): Client {
  const client = runner.client([node], { followLeader: false, retry: false, requestTimeoutMs: 9_000 })
  clients.push(client)
  return client
}
const send = (client: Client, topic: string) =>
  client.sendMessages('s', topic, { kind: 'partition', partition: 0 }, [{ payload: 'x' }])
const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as ClientError,
  )
const group = async (runner: RealRunner, node: number, topic: number) => {
  const key = packGroup({ stream: 0, topic, partition: 0 }).toString()
  return (await runner.groups(node))?.find(each => each.group === key)
}
const seen = (runner: RealRunner, kind: string): SeenEvent[] => runner.events().filter(event => event.kind === kind)

/** Sends through the origin, and expects the refusal of the primary as the answer. */
async function refused(runner: RealRunner, client: Client, topic: string, cause: string, reason: string) {
  const before = seen(runner, 'forward_answered').length
  const asked = performance.now()
  const error = await failure(send(client, topic))
  const ms = performance.now() - asked
  expect([cause, error?.status, error?.outcome]).toEqual([cause, 58, 'not_applied'])
  const answers = () => seen(runner, 'forward_answered').slice(before)
  await until(`the events of "${cause}" are told`, runner, () =>
    answers().some(({ data }) => seen(runner, 'forward_refused').some(other => other.data.nonce === data.nonce)),
  )
  const answer = answers().find(({ data }) => data.status === 58)!
  const { data } = seen(runner, 'forward_refused').find(other => other.data.nonce === answer.data.nonce)!
  expect(data).toMatchObject({ status: 58, reason })
  // Nothing ran into its timeout.
  expect(seen(runner, 'forward_lost').filter(lost => lost.data.nonce === answer.data.nonce)).toEqual([])
  expect(ms).toBeLessThan(TIMEOUT_MS)
  took.push(`  ${cause}: 58 after ${ms.toFixed(1)} ms`)
}

test('MF-06 queues full, partition made anew, fence failing, partition tombstoned: each is answered by the primary', async () => {
  const runner = await opened(
    {
      'cluster.heartbeat_timeout': '20 s',
      'partition.prepare_queue_depth': 1,
      'partition.offset_reservation_lease': 1,
    },
    ['full', 'anew', 'fence', 'stone'],
  )
  const admin = dial(runner, 0)
  const doors = Array.from({ length: 4 }, () => dial(runner, ORIGIN))
  for (const door of doors) await door.connect()
  const [door] = doors

  // What the primary takes cannot commit: no acknowledgement reaches it. One is in flight, two are queued.
  for (const peer of [1, 2]) await runner.cut(peer, 0, Command.PrepareOk)
  const waiting = doors.slice(1).map(each => failure(send(each, 'full')))
  await until('three are taken', runner, () => seen(runner, 'forward_taken').length === 3)
  await refused(runner, door!, 'full', 'pipeline and queue full', 'queues_full')
  for (const peer of [1, 2]) await runner.heal(peer, 0, Command.PrepareOk)
  expect(await Promise.all(waiting)).toEqual([undefined, undefined, undefined])

  await runner.arm(0, 'reserve.beforeWrite@streams/0/topics/2/**', { effect: 'error', error: 'Io' }, 0, ALWAYS)
  await refused(runner, door!, 'fence', 'reservation cannot be written', 'append_failed')
  await runner.disarm(0, 'reserve.beforeWrite@streams/0/topics/2/**')

  // The origin does not learn that the topic was deleted and made again.
  for (const [from, command] of [
    [0, Command.Prepare],
    [2, Command.Prepare],
    [0, Command.Commit],
  ] as const) {
    await runner.cut(from, ORIGIN, command)
  }
  await admin.deleteTopic('s', 'anew')
  await admin.createTopic('s', 'anew', 1)
  await refused(runner, door!, 'anew', 'another incarnation', 'the partition was made anew')
  for (const [from, command] of [
    [0, Command.Prepare],
    [2, Command.Prepare],
    [0, Command.Commit],
  ] as const) {
    await runner.heal(from, ORIGIN, command)
  }

  await send(door!, 'stone')
  await runner.kill(0)
  await runner.writeFile(0, 'streams/0/topics/3/partitions/0/purge.gen', new Uint8Array(3))
  await runner.start(0)
  await until('the partition is refused there, and its peers have not missed it', runner, async () => {
    const connected = seen(runner, 'peer_connected').filter(({ node, data }) => node === ORIGIN && data.peer === 0)
    return connected.length > 1 && (await group(runner, 0, 3))?.status === 'tombstoned'
  })
  expect(await group(runner, ORIGIN, 3)).toMatchObject({ status: 'normal', primary: 0 })
  await refused(runner, door!, 'stone', 'partition tombstoned', 'refused at boot: PurgeGenerationTorn')
})

test('MF-06 not primary any more, and no right to write: each is answered by the node that was asked', async () => {
  const runner = await opened({ 'cluster.heartbeat_timeout': '3 s' }, ['moved'])
  const door = dial(runner, ORIGIN)
  await door.connect()
  // Node 2 hears nothing more from node 0 and calls for view 1; of that, the origin does not hear.
  await runner.cut(0, 2)
  await runner.cut(2, ORIGIN)
  for (const command of [Command.StartViewChange, Command.DoViewChange]) await runner.cut(0, ORIGIN, command)
  await until('the primary has left its view', runner, async () => (await group(runner, 0, 0))?.status !== 'normal')
  expect(await group(runner, ORIGIN, 0)).toMatchObject({ status: 'normal', view: 0, primary: 0 })
  await refused(runner, door, 'moved', 'not primary any more', 'not the primary of the partition')
  for (const [from, to] of [
    [0, 2],
    [2, ORIGIN],
    [0, ORIGIN],
  ] as const) {
    await runner.heal(from, to)
  }
  await until('one of them leads', runner, async () => {
    const [one, two] = await Promise.all([group(runner, 1, 0), group(runner, 2, 0)])
    return one?.status === 'normal' && two?.status === 'normal' && one.view === two.view && one.view > 0
  })
  await runner.kill(0)
  await until('one of the others leads', runner, async () => {
    const [one, two] = await Promise.all([group(runner, 1, 0), group(runner, 2, 0)])
    return one?.status === 'normal' && two?.status === 'normal' && one.primary === two.primary && one.primary > 0
  })
  await forgedForward(runner, (await group(runner, 1, 0))!.primary)
})

/** This process stands in for node 0, and forwards a write for a user that may not write. */
async function forgedForward(runner: RealRunner, primary: number): Promise<void> {
  const status = runner.supervisor.status()
  const name = clusterId(status.name)
  const batch = produceBatch(hash, [{ id: 1n, payload: new Uint8Array([1]), originTimestamp: Micros(1n) }])
  const header = routedRequest(
    {
      cluster: name,
      replica: ReplicaId(0),
      client: ClientId(1n),
      session: 1n,
      request: 1n,
      requestChecksum: Checksum(0n),
      operation: Operation.SendMessages,
      userId: 7,
      group: GroupId(packGroup({ stream: 0, topic: 0, partition: 0 })),
      nonce: 99n,
      origin: 1,
      incarnation: 1n,
    },
    batch,
  )
  const links = new TcpReplicaLinks({
    cluster: name,
    self: ReplicaId(0),
    replicaCount: 3,
    peers: [{ replica: ReplicaId(primary), host: '127.0.0.1', port: status.nodes[primary]!.ports.replica }],
    handshakeGraceMs: 5_000,
    queueFramesMax: 16,
    frameBytesMax: 1 << 20,
    entropy: systemEntropy,
    onLink: () => {},
  })
  let asked = 0
  const answer = new Promise<{ ms: number; status: number; outcome: number }>(resolve => {
    void links.start(
      { host: '127.0.0.1', port: 0 },
      {
        peerConnected: peer => {
          asked = performance.now()
          links.send(peer, encodeFrame(routedRequestLayout, header, batch))
        },
        peerDisconnected: () => {},
        peerFrame: (_, bytes) => {
          if (bytes[60] !== Command.ForwardRequestResult) return
          const frame = parseReplicaFrame(hash, bytes)
          if (frame.kind !== 'ForwardRequestResult' || frame.header.nonce !== 99n) return
          resolve({ ms: performance.now() - asked, status: frame.header.status, outcome: frame.header.outcome })
        },
      },
    )
  })
  const { ms, status: code, outcome } = await answer
  links.stop()
  expect([code, outcome]).toEqual([41, ForwardOutcome.Rejected])
  expect((await group(runner, primary, 0))?.offsets).toMatchObject({ empty: true })
  took.push(`  no right to write: 41 after ${ms.toFixed(1)} ms`)
}
