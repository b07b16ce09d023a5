import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { Client } from '../../shared/client/client.ts'
import { nodeSnapshot } from '../../shared/inspection/snapshots.ts'
import { Command } from '../../shared/protocol/commands.ts'
import { requestLayout } from '../../shared/protocol/headers.ts'
import { Operation } from '../../shared/protocol/operations.ts'
import { buildEntry } from '../cluster/testing/build-entry.ts'
import { eventually } from '../testing/eventually.ts'
import type { ExitLine } from './halt.ts'
import { findProcess } from './process-identity.ts'
import { nodeClientPorts } from './tcp-transport.ts'

const HEADER = 256

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
let directory: string
const children: ChildProcess[] = []
const sockets: Socket[] = []
const clients: Client[] = []

beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'node-'))
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(directory, { recursive: true, force: true })
})

interface Started {
  readonly child: ChildProcess
  readonly lines: () => Record<string, unknown>[]
  readonly ports: { client: number; inspection: number }
  /** Exit status or signal, once it is over. */
  readonly end: Promise<number | string>
}

interface StartOptions {
  readonly args?: readonly string[]
  readonly environment?: Record<string, string>
  /** A shell line that runs before the node replaces the shell. */
  readonly before?: string
}

function launch({ args = ['--with-default-root-credentials'], environment = {}, before }: StartOptions = {}) {
  const command = [process.execPath, ...built.entry.args, 'node', ...args]
  const [file, rest] = before
    ? ['/bin/sh', ['-c', `${before}; exec "$0" "$@"`, ...command]]
    : [command[0]!, command.slice(1)]
  const child = spawn(file, rest, {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      IGGY_SYSTEM_PATH: join(directory, 'data'),
      IGGY_TCP_ADDRESS: '127.0.0.1:0',
      UV_THREADPOOL_SIZE: '16',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let text = ''
  const take = (chunk: Buffer) => {
    text += chunk.toString()
  }
  child.stdout!.on('data', take)
  child.stderr!.on('data', take)
  const end = new Promise<number | string>(resolve =>
    child.once('close', (status, signal) => resolve(status ?? signal!)),
  )
  const lines = () =>
    text.split('\n').flatMap(line => (line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []))
  return { child, lines, end }
}

async function start(options: StartOptions = {}): Promise<Started> {
  const launched = launch(options)
  let over: number | string | undefined
  void launched.end.then(status => {
    over = status
  })
  for (;;) {
    const ready = launched.lines().find(line => line.ready === true)
    if (ready) return { ...launched, ports: ready.ports as Started['ports'] }
    if (over !== undefined) throw new Error(`ended with ${over}: ${JSON.stringify(launched.lines())}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

const lastWords = (lines: Record<string, unknown>[]): ExitLine =>
  lines.find(line => line.quorumscopeExit === 1) as unknown as ExitLine

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

/** A Ping request (operation NonReplicated, code 1), which is answered also before login. */
const ping = (request = 1n): Uint8Array =>
  requestLayout.encode({
    ...requestLayout.decode(new Uint8Array(HEADER)),
    size: HEADER,
    command: Command.Request,
    client: 5n as never,
    request,
    operation: Operation.NonReplicated,
    code: 1,
  })

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

async function expectPong(socket: Socket): Promise<void> {
  socket.write(ping())
  const reply = await take(socket, HEADER)
  expect([reply[60], reply.readUInt32LE(216)]).toEqual([Command.Reply, 0])
}

function clientOf(node: Started, password = 'iggy'): Client {
  const client = new Client(nodeClientPorts, {
    endpoints: [{ host: '127.0.0.1', port: node.ports.client }],
    hash,
    credentials: { username: 'iggy', password },
  })
  clients.push(client)
  return client
}

describe('bad input on the client port of a real node', () => {
  test('is closed or answered, and a neighbour is served all the while', async () => {
    const node = await start()
    const neighbour = await dial(node.ports.client)
    await expectPong(neighbour)
    for (const size of [0, 1, 255, 2 ** 31]) {
      const bad = await dial(node.ports.client)
      const frame = ping()
      new DataView(frame.buffer).setUint32(48, size, true)
      bad.write(frame)
      await closed(bad)
      await expectPong(neighbour)
    }
    const unknown = await dial(node.ports.client)
    unknown.write(ping().map((byte, at) => (at === 60 ? 77 : byte)))
    await closed(unknown)
    const cut = await dial(node.ports.client)
    const long = ping()
    new DataView(long.buffer).setUint32(48, 5000, true)
    cut.end(long)
    await closed(cut)
    await expectPong(neighbour)

    const slow = await dial(node.ports.client)
    slow.setNoDelay(true)
    const reply = take(slow, HEADER)
    for (const byte of ping()) {
      slow.write(Uint8Array.of(byte))
      await new Promise(resolve => setImmediate(resolve))
    }
    expect((await reply)[60]).toBe(Command.Reply)

    const many = await dial(node.ports.client)
    const replies = take(many, 100 * HEADER)
    many.write(Buffer.concat(Array.from({ length: 100 }, (_, index) => ping(BigInt(index)))))
    const bytes = await replies
    for (let index = 0; index < 100; index++) expect(bytes.readBigUInt64LE(index * HEADER + 200)).toBe(BigInt(index))

    // Rubbish inside a well-framed request is answered or dropped, never fatal.
    const odd = await dial(node.ports.client)
    for (let operation = 0; operation < 256; operation += 5) {
      const frame = new Uint8Array(HEADER + 40).fill(operation)
      new DataView(frame.buffer).setUint32(48, frame.length, true)
      frame[60] = Command.Request
      frame[176] = operation
      odd.write(frame)
    }
    await expectPong(neighbour)
    expect(node.child.exitCode).toBeNull()
  })
})

describe('the life of a process', () => {
  test('a solo node keeps what it was told over a clean stop and over a SIGKILL', async () => {
    let node = await start()
    await clientOf(node).createStream('first')
    expect(readFileSync(join(directory, 'data', 'runtime', 'current_config.toml'), 'utf8')).toContain(
      'journal_slots = 1024',
    )
    node.child.kill('SIGTERM')
    expect(await node.end).toBe(0)
    expect(lastWords(node.lines())).toMatchObject({ status: 0, meaning: 'clean stop' })
    expect(existsSync(join(directory, 'data', 'process.lock'))).toBe(false)

    node = await start()
    const client = clientOf(node)
    expect((await client.streams()).map(({ name }) => name)).toEqual(['first'])
    await client.createStream('second')
    node.child.kill('SIGKILL')
    expect(await node.end).toBe('SIGKILL')

    node = await start()
    expect((await clientOf(node).streams()).map(({ name }) => name)).toEqual(['first', 'second'])
    node.child.kill('SIGINT')
    expect(await node.end).toBe(0)
  })

  test('--fresh starts from nothing', async () => {
    const data = join(directory, 'data')
    mkdirSync(join(data, 'streams'), { recursive: true })
    writeFileSync(join(data, 'streams', 'old'), 'x')
    const node = await start({ args: ['--with-default-root-credentials', '--fresh'] })
    expect(existsSync(join(data, 'streams', 'old'))).toBe(false)
    expect(await clientOf(node).streams()).toEqual([])
  })

  test('a solo node without credentials makes a password up, says it once, and it is the one that counts', async () => {
    const node = await start({ args: [] })
    const said = node.lines().filter(line => typeof line.password === 'string')
    expect(said).toHaveLength(1)
    await expect(clientOf(node, 'iggy').connect()).rejects.toMatchObject({ name: 'ClientError' })
    await clientOf(node, said[0]!.password as string).connect()
  })

  test('a wrong configuration ends with 64 before any file exists; a wrong option with 2', async () => {
    const wrong = launch({ environment: { IGGY_METADATA_JOURNAL_SLOTS: '3', IGGY_QUIC_ENABLED: 'true' } })
    expect(await wrong.end).toBe(64)
    expect(lastWords(wrong.lines())).toMatchObject({
      code: 'ConfigurationInvalid',
      message: expect.stringMatching(/quic\.enabled[\s\S]*metadata\.journal_slots/),
    })
    expect(await launch({ args: ['--replica', '0'] }).end).toBe(2)
    expect(readdirSync(directory)).toEqual([])
  })

  test('a data directory that cannot be trusted ends with 65, named, and is not changed', async () => {
    let node = await start()
    for (const name of ['first', 'second', 'third']) await clientOf(node).createStream(name)
    node.child.kill('SIGTERM')
    await node.end
    const path = join(directory, 'data', 'metadata', 'journal.wal')
    const bytes = readFileSync(path)
    // Damage inside the log, with a whole entry behind it.
    bytes[200] = bytes[200]! ^ 0xff
    writeFileSync(path, bytes)
    const refused = launch()
    expect(await refused.end).toBe(65)
    expect(lastWords(refused.lines())).toMatchObject({ status: 65, path: expect.stringContaining('journal.wal') })
    expect(readFileSync(path)).toEqual(bytes)
    node = await start({ args: ['--with-default-root-credentials', '--fresh'] })
  })

  test('PL-29 a write that the disk refuses ends with 74 at once, and what was acknowledged before is there again', async () => {
    // The kernel refuses to let any file grow beyond 128 blocks; the log of the partition is the first that wants to.
    const node = await start({ before: 'ulimit -f 128' })
    const client = clientOf(node)
    await client.createStream('s')
    await client.createTopic('s', 't', 1, { enforceFsync: true, messagesRequiredToSave: 1 })
    let acknowledged = 0
    const filling = async (): Promise<void> => {
      for (;;) {
        const payload = `${acknowledged}`.padEnd(1000, '.')
        await client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }])
        acknowledged++
      }
    }
    const over = filling().catch((error: unknown) => error)
    expect(await node.end).toBe(74)
    expect(lastWords(node.lines())).toMatchObject({
      status: 74,
      meaning: 'a write to disk failed',
      path: expect.stringMatching(/streams\/0\/topics\/0\/partitions\/0/),
    })
    client.close()
    expect(await over).toMatchObject({ name: 'ClientError' })
    expect(acknowledged).toBeGreaterThan(20)

    const again = await start()
    const polled = await clientOf(again).poll({
      stream: 's',
      topic: 't',
      partition: 0,
      strategy: { kind: 'offset', offset: 0n },
      count: 1000,
    })
    const numbers = polled.messages.map(({ payload }) => Number.parseInt(Buffer.from(payload).toString(), 10))
    expect(numbers.slice(0, acknowledged)).toEqual(Array.from({ length: acknowledged }, (_, index) => index))
  })

  test('a metadata log that the disk refuses ends with 74 too, and every acknowledged change is there again', async () => {
    const node = await start({ before: 'ulimit -f 16' })
    const client = clientOf(node)
    const acknowledged: string[] = []
    const filling = async (): Promise<void> => {
      for (;;) {
        const name = `stream-${acknowledged.length}`
        await client.createStream(name)
        acknowledged.push(name)
      }
    }
    const over = filling().catch((error: unknown) => error)
    expect(await node.end).toBe(74)
    expect(lastWords(node.lines())).toMatchObject({ status: 74, path: expect.stringContaining('journal.wal') })
    client.close()
    expect(await over).toMatchObject({ name: 'ClientError' })
    expect(acknowledged.length).toBeGreaterThan(5)
    const names = (await clientOf(await start()).streams()).map(({ name }) => name)
    expect(names.slice(0, acknowledged.length)).toEqual(acknowledged)
  })

  test('a node that was stopped by a signal for a while says how many ticks it forgives', async () => {
    const node = await start()
    const stalls = () => node.lines().filter(line => 'skippedTicks' in line)
    node.child.kill('SIGSTOP')
    await eventually(() => expect(findProcess(node.child.pid!)?.condition).toBe('stopped'))
    await new Promise(resolve => setTimeout(resolve, 700))
    node.child.kill('SIGCONT')
    // A machine that others use lets it stand still for a moment as well: this was the long one.
    const long = await eventually(() => {
      const found = stalls().find(({ lateMs }) => Number(lateMs) >= 600)
      expect(found).toBeDefined()
      return found!
    })
    expect(long.skippedTicks).toBeGreaterThan(40)
    await eventually(async () => {
      const answer = await fetch(`http://127.0.0.1:${node.ports.inspection}/node`)
      expect(nodeSnapshot.parse(await answer.json()).counters.loop_stalled).toBe(stalls().length)
    })
  })
})
