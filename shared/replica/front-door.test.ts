/** What a node answers to clients, good and bad (spec wire.md §1, §2, §9). */
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { ByteReader } from '../bytes/reader.ts'
import { Checksum, ClientId } from '../bytes/units.ts'
import { produceBatch } from '../protocol/batch.ts'
import { type Codec, encodeBody } from '../protocol/codec.ts'
import { ClientCommands } from '../protocol/command-codes.ts'
import { evictionLayout, replyLayout } from '../protocol/headers.ts'
import { Ident } from '../protocol/ident.ts'
import { sendMessages } from '../protocol/messages.ts'
import { isMetadata, Operation } from '../protocol/operations.ts'
import { readServerFrame } from '../protocol/replies.ts'
import { requestFrame } from '../protocol/requests.ts'
import { loginReply, PROTOCOL_VERSION, packVersion, passwordLogin } from '../protocol/session.ts'
import { hash, Solo } from './testing/solo.ts'

let solo: Solo
let connections = 0
const client = ClientId(0x1234n)

beforeAll(async () => {
  solo = await Solo.boot()
})

/** A fresh connection; logged in unless told otherwise. */
async function dial(
  credentials?: { client: ClientId; password?: string; protocol?: number } | 'anonymous',
): Promise<Peer> {
  connections++
  solo.connect(connections)
  const peer = new Peer(
    connections,
    credentials === 'anonymous' ? client : (credentials?.client ?? ClientId(BigInt(0x5000 + connections))),
  )
  if (credentials !== 'anonymous') {
    const answer = await peer.login(credentials?.password, credentials?.protocol)
    if (answer.kind === 'reply' && answer.code === 0) peer.session = loginReply.read(readerOf(answer.payload)).session
  }
  return peer
}

const readerOf = (bytes: Uint8Array) => new ByteReader(bytes)

class Peer {
  readonly connection: number
  readonly client: ClientId
  session = 0n
  request = 0n

  constructor(connection: number, id: ClientId) {
    this.connection = connection
    this.client = id
  }

  frame(operation: number, body: Uint8Array, code = 0, requestChecksum = Checksum(0n)): Uint8Array {
    if (operation !== Operation.Register) this.request++
    const request = operation === Operation.Register ? 0n : this.request
    const session = operation === Operation.Register ? 0n : this.session
    return requestFrame({ client: this.client, session, request, operation, code, requestChecksum }, body)
  }

  async raw(frame: Uint8Array): Promise<Uint8Array> {
    const answer = await solo.exchange(this.connection, frame)
    if (!answer) throw new Error('the connection was closed')
    return answer
  }

  async call(operation: number, body: Uint8Array = new Uint8Array(0), code = 0) {
    return readServerFrame(await this.raw(this.frame(operation, body, code)))
  }

  read<Q>(command: { code: number; request: Codec<Q> }, request: Q) {
    return this.call(Operation.NonReplicated, encodeBody(command.request, request), command.code)
  }

  write<Q>(command: { operation: number; request: Codec<Q> }, request: Q) {
    return this.call(command.operation, encodeBody(command.request, request))
  }

  login(password = 'iggy', protocol = PROTOCOL_VERSION) {
    const body = encodeBody(passwordLogin, {
      protocol,
      sdkName: 'test',
      sdkVersion: '1',
      username: 'iggy',
      password,
      context: '',
    })
    return this.call(Operation.Register, body)
  }
}

const bytes = (...values: number[]) => new Uint8Array(values)

describe('before a login', () => {
  test('ping is answered, a read gets status 40 without the commit, a write is evicted', async () => {
    const peer = await dial('anonymous')
    expect(await peer.read(ClientCommands.ping, {})).toMatchObject({ code: 0, payload: new Uint8Array(0) })
    const denied = replyLayout.decode(
      await peer.raw(peer.frame(Operation.NonReplicated, bytes(), ClientCommands.stats.code)),
    )
    expect(denied).toMatchObject({ status: 40, commit: 0n, operation: Operation.NonReplicated })
    peer.session = 1n
    expect(await peer.call(Operation.CreateStream, bytes(1, 65))).toMatchObject({ kind: 'eviction', reason: 1 })
  })

  test('wrong credentials, an old protocol, a malformed and a legacy login are evictions of their own', async () => {
    const peer = await dial('anonymous')
    expect(await peer.login('wrong')).toMatchObject({ kind: 'eviction', reason: 9 })
    expect(await peer.login('ig')).toMatchObject({ kind: 'eviction', reason: 9 })
    const old = await peer.raw(peer.frame(Operation.Register, oldLogin()))
    expect(evictionLayout.decode(old)).toMatchObject({ reason: 14, serverVersion: 11264, serverVersionMin: 11264 })
    expect(await peer.call(Operation.Register, bytes(1, 2, 3))).toMatchObject({ kind: 'eviction', reason: 15 })
    for (const code of [38, 44]) {
      expect(await peer.call(Operation.NonReplicated, bytes(), code)).toMatchObject({ kind: 'eviction', reason: 15 })
    }
    // The socket stays usable.
    expect(await peer.login()).toMatchObject({ kind: 'reply', code: 0 })
  })

  const oldLogin = () =>
    encodeBody(passwordLogin, {
      protocol: packVersion(0, 10, 0),
      sdkName: 'test',
      sdkVersion: '1',
      username: 'iggy',
      password: 'iggy',
      context: '',
    })

  test('CT-04 the session of another client is bound to nobody who only names it', async () => {
    const owner = await dial()
    const thief = await dial('anonymous')
    const stolen = requestFrame(
      { client: owner.client, session: owner.session, request: 1n, operation: Operation.CreateStream },
      bytes(1, 66),
    )
    const answer = await solo.exchange(thief.connection, stolen)
    expect(readServerFrame(answer!)).toMatchObject({ kind: 'eviction', reason: 1 })
    expect(await owner.write(ClientCommands.createStream, { name: 'owned', options: [] })).toMatchObject({ code: 0 })
  })
})

describe('sessions', () => {
  test('a second login on a bound connection answers the same session without an op', async () => {
    const peer = await dial()
    const before = solo.inspect.metadata().op
    const again = await peer.login()
    expect(again).toMatchObject({ kind: 'reply', code: 0 })
    if (again.kind === 'reply') expect(loginReply.read(readerOf(again.payload)).session).toBe(peer.session)
    expect(solo.inspect.metadata().op).toBe(before)
  })

  test('a logout frees the slot, and the socket can log in again', async () => {
    const peer = await dial()
    expect(await peer.call(Operation.Logout)).toMatchObject({ code: 0, payload: new Uint8Array(0) })
    expect(solo.inspect.clients().table.some(entry => entry.client === peer.client.toString(16))).toBe(false)
    expect(await peer.call(Operation.Logout)).toMatchObject({ code: 0 })
    expect(await peer.login()).toMatchObject({ code: 0 })
  })

  test('CT-11 a closed connection is logged out', async () => {
    const peer = await dial()
    const there = () => solo.inspect.clients().table.some(entry => entry.client === peer.client.toString(16))
    expect(there()).toBe(true)
    solo.hangUp(peer.connection)
    await solo.settle(() => !there())
  })

  test('CT-03 the older connection of a client that logged in elsewhere is fenced', async () => {
    const older = await dial()
    const newer = await dial({ client: older.client })
    expect(newer.session).toBeGreaterThan(older.session)
    // It lost its binding when the newer one took the client id.
    expect(await older.write(ClientCommands.createStream, { name: 'zombie', options: [] })).toMatchObject({
      kind: 'eviction',
      reason: 1,
    })
    expect(await newer.read(ClientCommands.getStream, { stream: Ident.name('zombie') })).toMatchObject({
      payload: new Uint8Array(0),
    })
  })

  test('CT-01 a retried metadata request is answered with the bytes of the first time and executed once', async () => {
    const peer = await dial()
    const frame = peer.frame(
      Operation.CreateStream,
      encodeBody(ClientCommands.createStream.request, { name: 'once', options: [] }),
    )
    const first = await peer.raw(frame)
    const op = solo.inspect.metadata().op
    expect(await peer.raw(frame)).toEqual(first)
    expect(solo.inspect.metadata().op).toBe(op)
  })

  test('CT-09 a reused request number with another checksum is refused, not executed', async () => {
    const peer = await dial()
    const body = (name: string) => encodeBody(ClientCommands.createStream.request, { name, options: [] })
    const stamped = (name: string) => peer.frame(Operation.CreateStream, body(name), 0, hash.xxh3(body(name)))
    await peer.raw(stamped('first'))
    peer.request--
    expect(readServerFrame(await peer.raw(stamped('second')))).toMatchObject({ code: 4 })
    expect(await peer.read(ClientCommands.getStream, { stream: Ident.name('second') })).toMatchObject({
      payload: new Uint8Array(0),
    })
  })

  test('a checksum that does not match the body is denied with 4', async () => {
    const peer = await dial()
    const frame = peer.frame(Operation.CreateStream, bytes(1, 65), 0, Checksum(1n))
    expect(readServerFrame(await peer.raw(frame))).toMatchObject({ code: 4 })
  })
})

describe('bad input', () => {
  test('an unknown command byte closes the connection, a known one that is no request is dropped, others go on', async () => {
    const bad = await dial()
    const good = await dial()
    const frame = bad.frame(Operation.NonReplicated, bytes(), 1)
    frame[60] = 99
    expect(await solo.exchange(bad.connection, frame)).toBeUndefined()
    expect(solo.isClosed(bad.connection)).toBe(true)
    const prepare = good.frame(Operation.NonReplicated, bytes(), 1)
    prepare[60] = 6
    solo.send(good.connection, prepare)
    expect(await good.read(ClientCommands.ping, {})).toMatchObject({ code: 0 })
  })

  test.each([
    ['no client', { client: ClientId(0n) }],
    ['an unknown operation', { operation: 77 }],
    ['operation 0', { operation: 0 }],
    ['an internal operation', { operation: Operation.CreateTopicWithAssignments }],
    ['no session', { session: 0n }],
    ['request number 0', { request: 0n }],
  ])('a header with %s is denied with 3 and the connection goes on', async (_, change) => {
    const peer = await dial()
    const fields = {
      client: peer.client,
      session: peer.session,
      request: 1n,
      operation: Operation.CreateStream as number,
      ...change,
    }
    const answer = await solo.exchange(peer.connection, requestFrame(fields, bytes(1, 65)))
    expect(readServerFrame(answer!)).toMatchObject({ kind: 'reply', code: 3 })
    expect(await peer.read(ClientCommands.ping, {})).toMatchObject({ code: 0 })
  })

  test('an unknown code gets 3, a known one that is not served gets 5, also under the wrong operation', async () => {
    const peer = await dial()
    expect(await peer.call(Operation.NonReplicated, bytes(), 60_000)).toMatchObject({ code: 3 })
    for (const { code } of [ClientCommands.listUsers, ClientCommands.createStream, ClientCommands.send]) {
      expect(await peer.call(Operation.NonReplicated, bytes(), code)).toMatchObject({ code: 5 })
    }
    for (const operation of [Operation.CreateUser, Operation.ChangePassword, Operation.JoinConsumerGroup]) {
      expect(await peer.call(operation, bytes(1))).toMatchObject({ code: 5 })
    }
  })

  test('whatever the body, every request gets exactly one answer and the node goes on', async () => {
    const peer = await dial()
    const operations = Object.values(Operation).filter(
      operation => operation !== Operation.Register && operation !== Operation.Logout,
    )
    const codes = Object.values(ClientCommands).map(command => command.code)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...operations),
        fc.constantFrom(...codes, 0, 7, 0xffff_ffff),
        fc.uint8Array({ maxLength: 80 }),
        async (operation, code, body) => {
          solo.send(peer.connection, peer.frame(operation, body, code))
          solo.send(peer.connection, peer.frame(Operation.NonReplicated, bytes(), ClientCommands.ping.code))
          const first = await solo.answer(peer.connection)
          const second = await solo.answer(peer.connection)
          expect(first && second).toBeTruthy()
          expect(replyLayout.decode(second!)).toMatchObject({
            status: 0,
            size: 256,
            operation: Operation.NonReplicated,
          })
          const named = operation === Operation.NonReplicated || isMetadata(operation)
          if (named) expect(readServerFrame(first!).kind).toBe('reply')
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a hundred frames at once are answered in order', async () => {
    const peer = await dial()
    for (let number = 0; number < 100; number++) {
      const stats = number % 3 === 0
      solo.send(peer.connection, peer.frame(Operation.NonReplicated, bytes(), stats ? ClientCommands.stats.code : 1))
    }
    for (let number = 1; number <= 100; number++) {
      expect(replyLayout.decode((await solo.answer(peer.connection))!).request).toBe(BigInt(number))
    }
  })
})

describe('reads and writes', () => {
  test('what is missing has the answer of the specification: empty, four zero bytes, or a code', async () => {
    const peer = await dial()
    const nowhere = Ident.name('nowhere')
    expect(await peer.read(ClientCommands.getStream, { stream: nowhere })).toMatchObject({
      code: 0,
      payload: new Uint8Array(0),
    })
    expect(await peer.read(ClientCommands.getTopic, { stream: nowhere, topic: nowhere })).toMatchObject({
      payload: new Uint8Array(0),
    })
    expect(await peer.read(ClientCommands.listTopics, { stream: nowhere })).toMatchObject({
      payload: new Uint8Array(4),
    })
    expect(await peer.write(ClientCommands.deleteStream, { stream: nowhere })).toMatchObject({ code: 1009 })
    const poll = {
      consumer: { kind: 'consumer', id: Ident.id(0) },
      stream: nowhere,
      topic: nowhere,
      partition: 0,
      strategy: 1,
      value: 0n,
      count: 1,
      autoCommit: false,
    } as const
    expect(await peer.read(ClientCommands.poll, poll)).toMatchObject({ code: 1009 })
  })

  test('options, names and counts are checked where the specification says', async () => {
    const peer = await dial()
    await peer.write(ClientCommands.createStream, { name: 'rules', options: [] })
    const stream = Ident.name('rules')
    const create = (
      name: string,
      partitionsCount: number,
      options: { key: string; kind: number; value: Uint8Array }[] = [],
    ) => peer.write(ClientCommands.createTopic, { stream, partitionsCount, name, options })
    const u64 = (value: bigint) => new Uint8Array(new BigUint64Array([value]).buffer)
    expect(await create('none', 0)).toMatchObject({ code: 0 })
    expect(await create('none', 1)).toMatchObject({ code: 2013 })
    expect(await create('many', 1001)).toMatchObject({ code: 2015 })
    expect(await create('odd', 1, [{ key: 'colour', kind: 2, value: bytes(1) }])).toMatchObject({ code: 4041 })
    expect(await create('small', 1, [{ key: 'segment_size', kind: 12, value: u64(1000n) }])).toMatchObject({
      code: 4042,
    })
    expect(await create('capped', 1, [{ key: 'max_topic_size', kind: 12, value: u64(1n) }])).toMatchObject({
      code: 1019,
    })
    const text = (value: string) => new TextEncoder().encode(value)
    const spoken = await create('spoken', 1, [
      { key: 'segment_size', kind: 2, value: text('16 MiB') },
      { key: 'message_expiry', kind: 2, value: text('7 days') },
      { key: 'enforce_fsync', kind: 2, value: text('true') },
    ])
    expect(spoken).toMatchObject({ code: 0 })
    const topic = solo.inspect
      .topics()
      .streams.find(({ name }) => name === 'rules')!
      .topics.find(({ name }) => name === 'spoken')
    expect(topic).toMatchObject({ segmentSizeBytes: '16777216', enforceFsync: true })
    const partitions = { stream, topic: Ident.name('spoken') }
    expect(await peer.write(ClientCommands.createPartitions, { ...partitions, count: 0 })).toMatchObject({ code: 2015 })
    expect(await peer.write(ClientCommands.createPartitions, { ...partitions, count: 2 })).toMatchObject({ code: 0 })
    expect(await peer.write(ClientCommands.deletePartitions, { ...partitions, count: 4 })).toMatchObject({ code: 2019 })
  })

  test('a batch that does not verify is denied by what is wrong with it, an unknown target with 20', async () => {
    const peer = await dial()
    await peer.write(ClientCommands.createStream, { name: 'batches', options: [] })
    const stream = Ident.name('batches')
    await peer.write(ClientCommands.createTopic, { stream, partitionsCount: 1, name: 't', options: [] })
    const batch = produceBatch(hash, [{ id: 1n, payload: bytes(104, 105), originTimestamp: 5n as never }])
    const send = (change: (batch: Uint8Array) => void, partition = 0, messagesCount = 1) => {
      const copy = new Uint8Array(batch)
      change(copy)
      const metadata = {
        stream,
        topic: Ident.name('t'),
        partitioning: { kind: 'partition', partition } as const,
        messagesCount,
      }
      return peer.call(Operation.SendMessages, encodeBody(sendMessages, { metadata, batch: copy }))
    }
    const nothing = () => {}
    expect(await send(nothing)).toMatchObject({ code: 0 })
    expect(await send(copy => copy.set([1], copy.length - 1))).toMatchObject({ code: 4027 })
    expect(await send(copy => copy.set([1], 24))).toMatchObject({ code: 4039 })
    expect(await send(copy => copy.set([1], 60))).toMatchObject({ code: 3 })
    expect(await send(nothing, 0, 2)).toMatchObject({ code: 3 })
    expect(await send(nothing, 7)).toMatchObject({ code: 20 })
  })

  test('an unknown poll strategy and an unreadable poll are answered with an empty poll', async () => {
    const peer = await dial()
    await peer.write(ClientCommands.createStream, { name: 'polls', options: [] })
    const stream = Ident.name('polls')
    await peer.write(ClientCommands.createTopic, { stream, partitionsCount: 1, name: 't', options: [] })
    const poll = {
      consumer: { kind: 'consumer', id: Ident.id(0) },
      stream,
      topic: Ident.name('t'),
      partition: 0,
      strategy: 9,
      value: 0n,
      count: 1,
      autoCommit: false,
    } as const
    expect(await peer.read(ClientCommands.poll, poll)).toMatchObject({ code: 0, payload: new Uint8Array(16) })
    expect(await peer.call(Operation.NonReplicated, bytes(1, 2), ClientCommands.poll.code)).toMatchObject({
      payload: new Uint8Array(16),
    })
    expect(
      await peer.read(ClientCommands.poll, { ...poll, consumer: { kind: 'group', id: Ident.id(0) } }),
    ).toMatchObject({
      code: 5,
    })
  })
})
