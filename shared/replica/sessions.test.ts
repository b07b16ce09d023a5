/** Sessions at the door of a node (spec wire.md §1.6, §2; drills.md §1.6, §1.13). */
import { beforeEach, describe, expect, test } from 'vitest'
import { ByteReader } from '../bytes/reader.ts'
import { Checksum, ClientId } from '../bytes/units.ts'
import { type Codec, encodeBody } from '../protocol/codec.ts'
import { ClientCommands } from '../protocol/command-codes.ts'
import { evictionLayout, replyLayout } from '../protocol/headers.ts'
import { Operation } from '../protocol/operations.ts'
import { EvictionReason, readServerFrame } from '../protocol/replies.ts'
import { requestFrame } from '../protocol/requests.ts'
import { loginReply, PROTOCOL_VERSION, packVersion, passwordLogin, tokenLogin } from '../protocol/session.ts'
import { Solo } from './testing/solo.ts'

let solo: Solo
let connections = 0

beforeEach(async () => {
  solo = await Solo.boot()
})

class Peer {
  readonly connection = ++connections
  readonly client: ClientId
  session = 0n
  request = 0n

  constructor(client = BigInt(0x7000 + connections)) {
    this.client = ClientId(client)
    solo.connect(this.connection)
  }

  async frame(operation: number, body: Uint8Array, request: bigint, code = 0): Promise<Uint8Array> {
    const session = operation === Operation.Register ? 0n : this.session
    const fields = { client: this.client, session, request, operation, code, requestChecksum: Checksum(0n) }
    return (await solo.exchange(this.connection, requestFrame(fields, body)))!
  }

  async register(body: Uint8Array) {
    const frame = await this.frame(Operation.Register, body, 0n)
    const answer = readServerFrame(frame)
    if (answer.kind === 'reply' && answer.code === 0) {
      this.session = loginReply.read(new ByteReader(answer.payload)).session
    }
    return { answer, frame }
  }

  login(username = 'iggy', password = 'iggy', protocol = PROTOCOL_VERSION) {
    const fields = { protocol, sdkName: 'test', sdkVersion: '1', username, password, context: '' }
    return this.register(encodeBody(passwordLogin, fields))
  }

  async call<Q>({ operation, code, request }: { operation: number; code: number; request: Codec<Q> }, value: Q) {
    if (operation !== Operation.NonReplicated) this.request++
    const number = operation === Operation.NonReplicated ? 1n : this.request
    const sent = operation === Operation.NonReplicated ? code : 0
    return readServerFrame(await this.frame(operation, encodeBody(request, value), number, sent))
  }

  createStream(name: string, request = ++this.request) {
    const body = encodeBody(ClientCommands.createStream.request, { name, options: [] })
    return this.frame(Operation.CreateStream, body, request)
  }

  raw(code: number) {
    return this.frame(Operation.NonReplicated, new Uint8Array(0), 1n, code)
  }
}

const streams = () => solo.inspect.topics().streams.map(({ name }) => name)

describe('AU-01 a login', () => {
  test('with a wrong password and of an unknown user are refused alike, and the connection stays usable', async () => {
    const other = new Peer()
    await other.login()
    const peer = new Peer()
    const wrong = await peer.login('iggy', 'wrong')
    const unknown = await peer.login('nobody', 'iggy')
    expect(evictionLayout.decode(wrong.frame).reason).toBe(EvictionReason.InvalidCredentials)
    // Nothing in the answer tells which of the two it was.
    expect(unknown.frame).toEqual(wrong.frame)
    expect((await peer.login()).answer).toMatchObject({ kind: 'reply', code: 0 })
    expect(await other.call(ClientCommands.createStream, { name: 'other', options: [] })).toMatchObject({ code: 0 })
  })

  test('with a token is refused as a token, while none exists', async () => {
    const version = { protocol: PROTOCOL_VERSION, sdkName: 'test', sdkVersion: '1' }
    const body = encodeBody(tokenLogin, { ...version, token: 't'.repeat(60), context: '' })
    expect((await new Peer().register(body)).answer).toMatchObject({ kind: 'eviction', reason: 10 })
  })
})

describe('AU-02 a login of another time', () => {
  test('legacy codes and a missing version prefix are evicted as malformed, an old protocol is told both versions', async () => {
    const peer = new Peer()
    for (const code of [38, 44]) expect(evictionLayout.decode(await peer.raw(code)).reason).toBe(15)
    const unversioned = encodeBody(passwordLogin, {
      protocol: PROTOCOL_VERSION,
      sdkName: 'test',
      sdkVersion: '1',
      username: 'iggy',
      password: 'iggy',
      context: '',
    }).slice(4)
    expect((await peer.register(unversioned)).answer.kind).toBe('eviction')
    const { frame } = await peer.login('iggy', 'iggy', packVersion(0, 10, 0))
    expect(evictionLayout.decode(frame)).toMatchObject({ reason: 14, serverVersion: 11264, serverVersionMin: 11264 })
    expect((await peer.login()).answer).toMatchObject({ code: 0 })
  })
})

describe('AU-03 before a login', () => {
  test('a ping is answered; reads get status 40, writes of either plane an eviction, and nothing happens', async () => {
    const peer = new Peer()
    const status = async (code: number) => replyLayout.decode(await peer.raw(code)).status
    expect(await status(ClientCommands.ping.code)).toBe(0)
    for (const { code } of [
      ClientCommands.stats,
      ClientCommands.roster,
      ClientCommands.poll,
      ClientCommands.getOffset,
    ]) {
      expect(await status(code)).toBe(40)
    }
    peer.session = 5n
    expect(evictionLayout.decode(await peer.createStream('early')).reason).toBe(1)
    for (const operation of [Operation.SendMessages, Operation.StoreConsumerOffset, Operation.DeleteSegments]) {
      const frame = await peer.frame(operation, new Uint8Array(40), 1n)
      expect(evictionLayout.decode(frame).reason).toBe(1)
    }
    expect(streams()).toEqual([])
  })
})

test('AU-13 raw codes: a ping is empty, stats are not, an unknown one and a legacy login are refused, and it goes on', async () => {
  const peer = new Peer()
  await peer.login()
  expect(await peer.raw(1)).toHaveLength(256)
  expect((await peer.raw(10)).length).toBeGreaterThan(256 + 108)
  expect(replyLayout.decode(await peer.raw(60_000))).toMatchObject({ status: 3, operation: 2 })
  expect(evictionLayout.decode(await peer.raw(38)).reason).toBe(15)
  expect(replyLayout.decode(await peer.raw(1)).status).toBe(0)
})

describe('requests that were seen before', () => {
  test('CT-08 one whose reply has left the ring is answered 59 and not executed again', async () => {
    const peer = new Peer()
    await peer.login()
    for (let number = 1n; number <= 7n; number++) await peer.createStream(`s${number}`, number)
    const { op } = solo.inspect.metadata()
    expect(readServerFrame(await peer.createStream('s1', 1n))).toMatchObject({ kind: 'reply', code: 59 })
    expect(readServerFrame(await peer.createStream('s7', 7n))).toMatchObject({ kind: 'reply', code: 0 })
    expect(solo.inspect.metadata().op).toBe(op)
  })

  test('CT-10 a number with a gap before it is new', async () => {
    const peer = new Peer()
    await peer.login()
    await peer.createStream('s5', 5n)
    expect(readServerFrame(await peer.createStream('s9', 9n))).toMatchObject({ code: 0 })
    expect(streams()).toEqual(['s5', 's9'])
  })
})
