import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { ReplicaId } from '../../shared/bytes/units.ts'
import { clusterId, HandshakeDialer, macKey } from '../../shared/protocol/handshake.ts'
import type { LinkMark } from '../../shared/replica/ports.ts'
import { chooseFreePorts } from '../cluster/free-ports.ts'
import { systemEntropy } from './entropy.ts'
import { type LinkEvent, type ReplicaLinkOptions, TcpReplicaLinks } from './replica-links.ts'

const HEADER = 256
const CLUSTER = clusterId('links')
const SECRET = 's'.repeat(32)
const OTHER = 'o'.repeat(32)

interface Seen {
  readonly from: number
  readonly bytes: Uint8Array
  readonly mark: LinkMark
}

class Peer {
  readonly frames: Seen[] = []
  readonly events: LinkEvent[] = []
  readonly connected: number[] = []
  readonly links: TcpReplicaLinks

  constructor(self: number, count: number, ports: readonly number[], over: Partial<ReplicaLinkOptions> = {}) {
    this.links = new TcpReplicaLinks({
      cluster: CLUSTER,
      self: ReplicaId(self),
      replicaCount: count,
      peers: ports.flatMap((port, replica) =>
        replica === self ? [] : [{ replica: ReplicaId(replica), host: '127.0.0.1', port }],
      ),
      handshakeGraceMs: 10_000,
      queueFramesMax: 256,
      frameBytesMax: 1024 * 1024,
      entropy: systemEntropy,
      onLink: event => this.events.push(event),
      ...over,
    })
  }

  start(port: number): Promise<number> {
    return this.links.start(
      { host: '127.0.0.1', port },
      {
        peerFrame: (from, bytes, mark) => this.frames.push({ from, bytes, mark }),
        peerConnected: peer => {
          expect(this.connected).not.toContain(peer)
          this.connected.push(peer)
        },
        peerDisconnected: peer => {
          expect(this.connected).toContain(peer)
          this.connected.splice(this.connected.indexOf(peer), 1)
        },
      },
    )
  }

  reasons(): string[] {
    return this.events.flatMap(event => (event.kind === 'handshake_failed' ? [event.reason] : []))
  }
}

const peers: Peer[] = []
const sockets: Socket[] = []
afterEach(() => {
  for (const peer of peers.splice(0)) peer.links.stop()
  for (const socket of sockets.splice(0)) socket.destroy()
})

const ports = (count: number): Promise<number[]> => chooseFreePorts('127.0.0.1', count)

function peer(...args: ConstructorParameters<typeof Peer>): Peer {
  const made = new Peer(...args)
  peers.push(made)
  return made
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2000 && !condition(); turn++) await new Promise(resolve => setTimeout(resolve, 5))
  expect(condition()).toBe(true)
}

function frame(command: number, size = HEADER): Uint8Array {
  const bytes = new Uint8Array(size)
  new DataView(bytes.buffer).setUint32(48, size, true)
  bytes[60] = command
  return bytes
}

/** A dialer by hand: what it sends, and the connection it sends it on. */
async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

const closed = (socket: Socket): Promise<unknown> => {
  socket.resume()
  return socket.closed ? Promise.resolve() : new Promise(resolve => socket.once('close', resolve))
}

const hello = (self: number, cluster = CLUSTER, secret?: string): Uint8Array => {
  const config = {
    cluster,
    self: ReplicaId(self),
    replicaCount: 3,
    ...(secret && { auth: { current: macKey(secret) } }),
  }
  const step = new HandshakeDialer(config, ReplicaId(2), systemEntropy.bytes(32)).start()
  return step.send[0]!
}

describe.each([
  { name: 'without a secret', auth: undefined },
  { name: 'with a secret', auth: { secret: SECRET } },
])('$name', ({ auth }) => {
  const over = auth ? { auth } : {}

  test.each([[[0, 1, 2]], [[2, 1, 0]], [[1, 2, 0]]])(
    'three replicas started in the order %j are linked, one connection a pair',
    async order => {
      const at = await ports(3)
      const all = at.map((_, replica) => peer(replica, 3, at, over))
      for (const replica of order) {
        await all[replica]!.start(at[replica]!)
        await new Promise(resolve => setTimeout(resolve, 150))
      }
      await until(() => all.every(one => one.connected.length === 2))
      const ups = all.flatMap(one => one.events).filter(event => event.kind === 'link_up')
      expect(ups).toHaveLength(6)
      // The lower one dials, always, and both ends call the connection alike.
      expect(new Set(ups.map(event => event.link)).size).toBe(3)
      for (const event of ups) expect(event.link).toMatch(/^(0>1|0>2|1>2)#[1-9a-f]/)
    },
  )

  test('frames arrive whole, in order, from the authenticated peer, with marks that match at both ends', async () => {
    const at = await ports(2)
    const [low, high] = at.map((_, replica) => peer(replica, 2, at, over)) as [Peer, Peer]
    await high.start(at[1]!)
    await low.start(at[0]!)
    await until(() => low.links.isConnected(ReplicaId(1)) && high.links.isConnected(ReplicaId(0)))
    const sent: LinkMark[] = []
    for (let index = 0; index < 200; index++) {
      const bytes = frame(7, HEADER + index)
      // A header may name any replica; the sender is the one that shook hands.
      bytes[61] = 9
      expect(low.links.send(ReplicaId(1), bytes)).toBe(true)
      sent.push(low.links.lastSent(ReplicaId(1))!)
    }
    high.links.send(ReplicaId(0), frame(8))
    await until(() => high.frames.length === 200 && low.frames.length === 1)
    expect(high.frames.map(({ bytes }) => bytes.length)).toEqual(sent.map((_, index) => HEADER + index))
    expect(high.frames.every(({ from }) => from === 0)).toBe(true)
    expect(high.frames.map(({ mark }) => mark)).toEqual(sent.map(mark => ({ ...mark, dir: 'in' })))
    expect(sent[0]).toEqual({ id: expect.stringMatching(/^0>1#/), ordinal: 1, dir: 'out' })
    expect(low.frames[0]!.mark).toEqual({ id: sent[0]!.id.replace('0>1', '1>0'), ordinal: 1, dir: 'in' })
  })

  test('a peer that comes back is dialled again, and its link has a new name', async () => {
    const at = await ports(2)
    const low = peer(0, 2, at, over)
    await low.start(at[0]!)
    for (let life = 1; life <= 3; life++) {
      const high = peer(1, 2, at, over)
      await high.start(at[1]!)
      await until(() => low.connected.length === 1 && high.connected.length === 1)
      high.links.send(ReplicaId(0), frame(7))
      await until(() => low.frames.length === life)
      high.links.stop()
      await until(() => low.connected.length === 0)
      expect(low.links.send(ReplicaId(1), frame(7))).toBe(false)
    }
    expect(new Set(low.frames.map(({ mark }) => mark.id)).size).toBe(3)
    expect(low.frames.map(({ mark }) => mark.ordinal)).toEqual([1, 1, 1])
  })
})

describe('refused handshakes', () => {
  async function acceptor(over: Partial<ReplicaLinkOptions> = {}): Promise<{ one: Peer; port: number }> {
    const at = await ports(3)
    const one = peer(2, 3, at, over)
    await one.start(at[2]!)
    return { one, port: at[2]! }
  }

  test.each([
    ['another cluster', hello(0, clusterId('other')), 'ClusterMismatch'],
    ['a peer that must not dial', hello(2), 'DirectionalRule'],
    ['a peer beyond the count', hello(7), 'DirectionalRule'],
    ['a frame that is no greeting', frame(7), 'UnknownCommand'],
    ['rubbish', new Uint8Array(HEADER).fill(0xff), 'UnknownCommand'],
  ])('%s', async (_what, greeting, reason) => {
    const { one, port } = await acceptor()
    const socket = await dial(port)
    socket.write(greeting)
    await closed(socket)
    expect(one.reasons()).toEqual([reason])
    expect(one.connected).toEqual([])
  })

  test('no proof where one is asked for', async () => {
    const { one, port } = await acceptor({ auth: { secret: SECRET } })
    const socket = await dial(port)
    socket.write(hello(0))
    await closed(socket)
    expect(one.reasons()).toEqual(['AuthRequired'])
  })

  test('a stranger that says nothing is shown out when its time is over', async () => {
    const { one, port } = await acceptor({ handshakeGraceMs: 50 })
    const socket = await dial(port)
    socket.write(hello(0).subarray(0, 255))
    await closed(socket)
    expect(one.reasons()).toEqual(['no handshake in time'])
  })

  test('frames behind a refused greeting reach nobody', async () => {
    const { one, port } = await acceptor()
    const socket = await dial(port)
    socket.write(Buffer.concat([hello(0, clusterId('other')), frame(7), frame(7)]))
    await closed(socket)
    expect(one.frames).toEqual([])
  })

  test('CN-18 a wrong secret is refused at both ends and tried again, and the previous secret is still good', async () => {
    const at = await ports(2)
    const low = peer(0, 2, at, { auth: { secret: SECRET } })
    await low.start(at[0]!)
    const wrong = peer(1, 2, at, { auth: { secret: OTHER } })
    await wrong.start(at[1]!)
    await until(() => low.reasons().length >= 2)
    expect(new Set(low.reasons())).toEqual(new Set(['MacMismatch']))
    expect([...low.connected, ...wrong.connected]).toEqual([])
    wrong.links.stop()
    const right = peer(1, 2, at, { auth: { secret: OTHER, previousSecret: SECRET } })
    // The dialer does not know the new secret yet, so the answer signed with it is refused there.
    await right.start(at[1]!)
    await new Promise(resolve => setTimeout(resolve, 600))
    expect(right.connected).toEqual([])
    right.links.stop()
    const changing = peer(1, 2, at, { auth: { secret: SECRET, previousSecret: OTHER } })
    await changing.start(at[1]!)
    await until(() => low.connected.length === 1 && changing.connected.length === 1)
  })
})

test('a frame of a wrong size ends the link, and the pair finds together again', async () => {
  const at = await ports(2)
  const [low, high] = at.map((_, replica) => peer(replica, 2, at)) as [Peer, Peer]
  await high.start(at[1]!)
  await low.start(at[0]!)
  await until(() => low.connected.length === 1 && high.connected.length === 1)
  const bad = frame(7)
  new DataView(bad.buffer).setUint32(48, 255, true)
  low.links.send(ReplicaId(1), bad)
  await until(() => high.events.some(event => event.kind === 'link_down' && event.reason.includes('frame size 255')))
  await until(() => low.connected.length === 1 && high.connected.length === 1)
  low.links.send(ReplicaId(1), frame(7))
  await until(() => high.frames.length === 1)
})

test('a peer that does not read loses frames beyond the bound, and sending never waits', async () => {
  const at = await ports(2)
  const held: Socket[] = []
  const server = createServer(socket => {
    socket.pause()
    held.push(socket)
  })
  server.listen(at[1]!, '127.0.0.1')
  await once(server, 'listening')
  const low = peer(0, 2, at, { queueFramesMax: 64 })
  await low.start(at[0]!)
  // Without a secret the dialer is ready at once; the other end just never reads.
  await until(() => low.connected.length === 1)
  const big = frame(7, 256 * 1024)
  let taken = 0
  let lost = 0
  for (let round = 0; round < 200; round++) {
    if (low.links.send(ReplicaId(1), big)) taken++
    else lost++
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(lost).toBeGreaterThan(0)
  expect(taken).toBeGreaterThanOrEqual(64)
  expect(low.links.lastSent(ReplicaId(1))!.ordinal).toBe(taken)
  for (const socket of held) socket.destroy()
  server.close()
})

test('the newer of two connections of one peer is the living one', async () => {
  const at = await ports(3)
  const one = peer(2, 3, at)
  await one.start(at[2]!)
  const first = await dial(at[2]!)
  first.write(hello(0))
  await until(() => one.connected.length === 1)
  const second = await dial(at[2]!)
  second.write(hello(0))
  await closed(first)
  await until(() => one.connected.length === 1)
  second.write(frame(7))
  await until(() => one.frames.length === 1)
  expect(one.events.map(event => event.kind)).toEqual(['link_up', 'link_down', 'link_up'])
})
