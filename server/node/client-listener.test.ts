import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Command } from '../../shared/protocol/commands.ts'
import { type ClientEngine, ClientListener, type ClientListenerOptions } from './client-listener.ts'

const HEADER = 256
const FRAME_MAX = 64 * 1024 * 1024

/** Echoes each request as a reply frame, and keeps book of what it saw. */
class EchoEngine implements ClientEngine {
  readonly open = new Set<number>()
  readonly frames: Uint8Array[] = []
  closes = 0
  private readonly listener: () => ClientListener
  constructor(listener: () => ClientListener) {
    this.listener = listener
  }
  clientConnected(connection: number): void {
    this.open.add(connection)
  }
  clientFrame(connection: number, bytes: Uint8Array): void {
    expect(this.open.has(connection)).toBe(true)
    this.frames.push(bytes)
    const reply = bytes.slice()
    reply[60] = Command.Reply
    this.listener().send(connection, reply)
  }
  clientClosed(connection: number): void {
    expect(this.open.delete(connection)).toBe(true)
    this.closes++
  }
}

let listener: ClientListener
let engine: EchoEngine
let port: number
let closed: string[]
let dropped: string[]
const sockets: Socket[] = []

async function listen(over: Partial<ClientListenerOptions> = {}): Promise<void> {
  closed = []
  dropped = []
  listener = new ClientListener({
    frameBytesMax: FRAME_MAX,
    connectionsMax: 10_000,
    onClosed: reason => closed.push(reason),
    onDropped: command => dropped.push(command),
    ...over,
  })
  engine = new EchoEngine(() => listener)
  port = await listener.listen('127.0.0.1', 0)
  listener.serve(engine)
}

beforeEach(() => listen())
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  listener.destroy()
})

async function client(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

function frame(command: number, body: Uint8Array = new Uint8Array(), size = HEADER + body.length): Uint8Array {
  const bytes = new Uint8Array(HEADER + body.length)
  new DataView(bytes.buffer).setUint32(48, size, true)
  bytes[60] = command
  bytes.set(body, HEADER)
  return bytes
}

/** Collects exactly `length` bytes from the socket. */
async function take(socket: Socket, length: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let have = 0
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer)
    have += (chunk as Buffer).length
    if (have >= length) return Buffer.concat(chunks)
  }
  throw new Error(`the connection ended after ${have} of ${length} bytes`)
}

const ended = (socket: Socket): Promise<unknown> => {
  socket.resume()
  return socket.closed ? Promise.resolve() : new Promise(resolve => socket.once('close', resolve))
}

async function expectServing(): Promise<void> {
  const socket = await client()
  const body = Uint8Array.of(1, 2, 3)
  socket.write(frame(Command.Request, body))
  const reply = await take(socket, HEADER + 3)
  expect([...reply.subarray(HEADER)]).toEqual([1, 2, 3])
  socket.destroy()
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2000 && !condition(); turn++) await new Promise(resolve => setTimeout(resolve, 5))
  expect(condition()).toBe(true)
}

describe('bad input closes its own connection and no other', () => {
  test.each([0, 1, 255, FRAME_MAX + 1, 2 ** 31, 2 ** 32 - 1])('a frame of size %d', async size => {
    const neighbour = await client()
    const bad = await client()
    bad.write(frame(Command.Request, new Uint8Array(), size))
    await ended(bad)
    expect(closed).toEqual(['bad_size'])
    expect(engine.frames).toEqual([])
    neighbour.write(frame(Command.Request))
    expect((await take(neighbour, HEADER))[60]).toBe(Command.Reply)
    await expectServing()
  })

  test.each([31, 99, 255])('frame command %d, which does not exist', async command => {
    const bad = await client()
    bad.write(frame(command))
    await ended(bad)
    expect(closed).toEqual(['unknown_command'])
    await expectServing()
  })

  test('a request before the bad frame is answered before the connection closes', async () => {
    const socket = await client()
    const reply = take(socket, HEADER)
    socket.write(Buffer.concat([frame(Command.Request), frame(200), frame(Command.Request)]))
    expect((await reply)[60]).toBe(Command.Reply)
    await ended(socket)
    expect(engine.frames).toHaveLength(1)
  })

  test('a body cut short never reaches the engine', async () => {
    const socket = await client()
    socket.write(frame(Command.Request, new Uint8Array(100), HEADER + 5000))
    socket.end()
    await ended(socket)
    await until(() => engine.closes === 1)
    expect(engine.frames).toEqual([])
    await expectServing()
  })

  test('a header cut short, and a connection that says nothing at all', async () => {
    const half = await client()
    half.end(frame(Command.Request).subarray(0, 255))
    const silent = await client()
    silent.end()
    await Promise.all([ended(half), ended(silent)])
    await until(() => engine.closes === 2)
    expect(engine.frames).toEqual([])
    await expectServing()
  })
})

test.each([Command.Ping, Command.Prepare, Command.Reply, Command.ReplicaHello, Command.StartView])(
  'a known command that is no request (%d) is dropped, and the connection lives on',
  async command => {
    const socket = await client()
    socket.write(frame(command))
    socket.write(frame(Command.Request))
    expect((await take(socket, HEADER))[60]).toBe(Command.Reply)
    expect(engine.frames).toHaveLength(1)
    expect(dropped).toHaveLength(1)
  },
)

test('a frame that comes one byte at a time is one frame', async () => {
  const socket = await client()
  socket.setNoDelay(true)
  const bytes = frame(Command.Request, Uint8Array.of(7, 8, 9))
  const reply = take(socket, bytes.length)
  for (const byte of bytes) {
    socket.write(Uint8Array.of(byte))
    await new Promise(resolve => setImmediate(resolve))
  }
  expect([...(await reply).subarray(HEADER)]).toEqual([7, 8, 9])
  expect(engine.frames).toHaveLength(1)
})

test('a hundred frames in one write are a hundred frames, in order, and answered in order', async () => {
  const socket = await client()
  const frames = Array.from({ length: 100 }, (_, index) => frame(Command.Request, Uint8Array.of(index)))
  socket.write(Buffer.concat(frames))
  const replies = await take(socket, 100 * (HEADER + 1))
  expect(engine.frames.map(bytes => bytes[HEADER])).toEqual(frames.map((_, index) => index))
  for (let index = 0; index < 100; index++) expect(replies[index * (HEADER + 1) + HEADER]).toBe(index)
})

test('thousands of connections that come and go leave nothing behind', async () => {
  const kinds = [
    (socket: Socket) => socket.destroy(),
    (socket: Socket) => socket.end(),
    (socket: Socket) => socket.resetAndDestroy(),
    (socket: Socket) => {
      socket.write(frame(Command.Request).subarray(0, 100))
      socket.destroy()
    },
    (socket: Socket) => socket.end(frame(250)),
  ]
  for (let round = 0; round < 30; round++) {
    const batch = await Promise.all(Array.from({ length: 100 }, client))
    for (const [index, socket] of batch.entries()) kinds[index % kinds.length]!(socket)
    await Promise.all(batch.map(ended))
    sockets.length = 0
  }
  await until(() => listener.connectionCount === 0)
  expect(engine.open.size).toBe(0)
  await expectServing()
}, 60_000)

test('a client that does not read is not read from either, and cannot fill the memory of the node', async () => {
  const socket = await client()
  socket.pause()
  const body = new Uint8Array(60_000)
  const total = 4000
  let written = 0
  const push = (): void => {
    while (written < total && socket.write(frame(Command.Request, body))) written++
  }
  socket.on('drain', push)
  push()
  // What it wrote is far beyond the sockets' buffers, so the node must have stopped taking it.
  await until(() => socket.writableLength > 0 && engine.frames.length > 0)
  let seen = -1
  await until(() => {
    const stands = engine.frames.length === seen
    seen = engine.frames.length
    return stands
  })
  expect(engine.frames.length).toBeLessThan(total / 2)
  await expectServing()
  // As soon as it reads again, it gets every answer.
  const answered = take(socket, 500 * (HEADER + body.length))
  await answered
  expect(engine.frames.length).toBeGreaterThan(seen)
  expect(closed).toEqual([])
})

test('unfinished frames are bounded over all connections together', async () => {
  const claim = frame(Command.Request, new Uint8Array(), FRAME_MAX)
  const chunk = Buffer.alloc(1024 * 1024)
  const hoarders = await Promise.all(Array.from({ length: 6 }, client))
  await Promise.all(
    hoarders.map(async socket => {
      const over = ended(socket)
      socket.write(claim)
      for (let sent = 0; sent < 60 && !socket.destroyed; sent++) {
        if (!socket.write(chunk)) await Promise.race([new Promise(resolve => socket.once('drain', resolve)), over])
      }
    }),
  )
  await until(() => closed.includes('memory'))
  await expectServing()
}, 60_000)

test('beyond the bound of connections new ones are closed and the old ones served', async () => {
  listener.destroy()
  await listen({ connectionsMax: 3 })
  const first = await Promise.all([client(), client(), client()])
  const fourth = await client()
  await ended(fourth)
  expect(closed).toEqual(['too_many'])
  first[2]!.write(frame(Command.Request))
  expect((await take(first[2]!, HEADER))[60]).toBe(Command.Reply)
})

test('clients that come before the node serves wait for it', async () => {
  listener.destroy()
  listener = new ClientListener({ frameBytesMax: FRAME_MAX, connectionsMax: 10 })
  engine = new EchoEngine(() => listener)
  port = await listener.listen('127.0.0.1', 0)
  const early = await client()
  early.write(frame(Command.Request))
  await new Promise(resolve => setTimeout(resolve, 20))
  expect(engine.frames).toHaveLength(0)
  listener.serve(engine)
  expect((await take(early, HEADER))[60]).toBe(Command.Reply)
})

test('the engine can close a connection; what it sent before arrives first', async () => {
  const socket = await client()
  const reply = take(socket, HEADER)
  socket.write(frame(Command.Request))
  await until(() => engine.frames.length === 1)
  const [id] = [...engine.open]
  listener.close(id!)
  expect((await reply)[60]).toBe(Command.Reply)
  await ended(socket)
  await until(() => engine.closes === 1)
  listener.send(id!, frame(Command.Reply))
})

test('a port in use is a typed error', async () => {
  const second = new ClientListener({ frameBytesMax: FRAME_MAX, connectionsMax: 10 })
  await expect(second.listen('127.0.0.1', port)).rejects.toMatchObject({ code: 'PortUnavailable' })
  second.destroy()
})
