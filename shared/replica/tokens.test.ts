/** Personal access tokens and the users that log in with them (spec wire.md §2.2, §3.3, metadata-storage.md §4.7). */
import { describe, expect, test } from 'vitest'
import { ByteReader } from '../bytes/reader.ts'
import { Checksum, ClientId, Micros, Op, U64_MAX } from '../bytes/units.ts'
import { MetadataMachine } from '../metadata/machine.ts'
import { restoreState, snapshotOf } from '../metadata/snapshot.ts'
import { seedRoot } from '../metadata/state.ts'
import { tokenByHash, tokenHash } from '../metadata/tokens.ts'
import { type Codec, encodeBody } from '../protocol/codec.ts'
import { ClientCommands } from '../protocol/command-codes.ts'
import { Operation } from '../protocol/operations.ts'
import { readServerFrame } from '../protocol/replies.ts'
import { requestFrame } from '../protocol/requests.ts'
import { loginReply, PROTOCOL_VERSION, passwordLogin, tokenLogin } from '../protocol/session.ts'
import { decodeSnapshot } from '../storage/snapshot-decode.ts'
import { encodeSnapshot } from '../storage/snapshot-encode.ts'
import type { TokenRecord } from '../storage/snapshot-record.ts'
import { writeSnapshot } from '../storage/snapshot-store.ts'
import { newDisk, putSuperblock, WAL } from './testing/directories.ts'
import { hash, Solo, soloConfig } from './testing/solo.ts'

const VERSION = { protocol: PROTOCOL_VERSION, sdkName: 'test', sdkVersion: '1', context: '' }
let connections = 0

/** One connection, under an id and request numbers of its own choice. */
class Line {
  session = 0n
  userId = -1
  private readonly solo: Solo
  private readonly client: ClientId
  private readonly connection = ++connections

  constructor(solo: Solo, client = BigInt(0x9000 + connections)) {
    this.solo = solo
    this.client = ClientId(client)
    solo.connect(this.connection)
  }

  async frame(operation: number, body: Uint8Array, request: bigint, code = 0): Promise<Uint8Array> {
    const session = operation === Operation.Register ? 0n : this.session
    const requestChecksum = request === 0n ? Checksum(0n) : hash.xxh3(body)
    const fields = { client: this.client, session, request, operation, code, requestChecksum }
    return (await this.solo.exchange(this.connection, requestFrame(fields, body)))!
  }

  async call<Q, R>(command: { operation: number; code: number; request: Codec<Q>; reply: Codec<R> }, value: Q, n = 1n) {
    const read = command.operation === Operation.NonReplicated
    const frame = await this.frame(command.operation, encodeBody(command.request, value), n, read ? command.code : 0)
    return readServerFrame(frame)
  }

  create = (name: string, request: bigint, expiry = 0n) =>
    this.call(ClientCommands.createToken, { name, expiry }, request)
  remove = (name: string, request: bigint) => this.call(ClientCommands.deleteToken, { name }, request)

  async names(): Promise<string[]> {
    const answer = await this.call(ClientCommands.listTokens, {})
    if (answer.kind !== 'reply') throw new Error('evicted')
    return ClientCommands.listTokens.reply.read(new ByteReader(answer.payload)).map(({ name }) => name)
  }

  private async register(body: Uint8Array) {
    const answer = readServerFrame(await this.frame(Operation.Register, body, 0n))
    if (answer.kind === 'reply' && answer.code === 0) {
      const { session, userId } = loginReply.read(new ByteReader(answer.payload))
      this.session = session
      this.userId = userId
    }
    return answer
  }

  login = (username = 'iggy', password = 'iggy') =>
    this.register(encodeBody(passwordLogin, { ...VERSION, username, password }))
  loginWith = (token: string) => this.register(encodeBody(tokenLogin, { ...VERSION, token }))
}

const secretOf = (answer: ReturnType<typeof readServerFrame>): string => {
  expect(answer).toMatchObject({ kind: 'reply', code: 0 })
  return answer.kind === 'reply' ? ClientCommands.createToken.reply.read(new ByteReader(answer.payload)).token : ''
}

async function loggedIn(solo: Solo, client?: bigint): Promise<Line> {
  const line = new Line(solo, client)
  expect(await line.login()).toMatchObject({ kind: 'reply', code: 0 })
  return line
}

describe('CT-15 a token-create that is sent again', () => {
  test('is refused with 51, also after a restart; its secret is on no disk; other requests replay as they were', async () => {
    const disk = newDisk()
    const solo = await Solo.boot(disk)
    const line = await loggedIn(solo, 0x51n)
    const secret = secretOf(await line.create('ci', 1n))
    expect(secret).toMatch(/^[A-Za-z0-9+/]{67}=$/)
    const { op } = solo.inspect.metadata()
    expect(await line.create('ci', 1n)).toMatchObject({ kind: 'reply', code: 51 })
    // Answered from the table: nothing entered the log for it.
    expect(solo.inspect.metadata().op).toBe(op)
    const stream = { name: 's', options: [] }
    const made = await line.frame(Operation.CreateStream, encodeBody(ClientCommands.createStream.request, stream), 2n)
    expect(
      await line.frame(Operation.CreateStream, encodeBody(ClientCommands.createStream.request, stream), 2n),
    ).toEqual(made)
    const log = new TextDecoder('latin1').decode(disk.peek(WAL))
    expect([log.includes(secret), log.includes(tokenHash(secret))]).toEqual([false, true])
    await solo.stop()

    const again = await Solo.boot(disk)
    const back = await loggedIn(again, 0x51n)
    expect(await back.create('ci', 1n)).toMatchObject({ kind: 'reply', code: 51 })
    expect(await back.names()).toEqual(['ci'])
    expect(await new Line(again).loginWith(secret)).toMatchObject({ kind: 'reply', code: 0 })
  })

  test('that was rejected is rejected again with the bytes of the first time', async () => {
    const line = await loggedIn(await Solo.boot())
    await line.create('ci', 1n)
    const body = encodeBody(ClientCommands.createToken.request, { name: 'ci', expiry: 0n })
    const first = await line.frame(Operation.CreatePersonalAccessToken, body, 2n)
    expect(readServerFrame(first)).toMatchObject({ code: 51 })
    expect(await line.frame(Operation.CreatePersonalAccessToken, body, 2n)).toEqual(first)
  })
})

describe('AU-07 tokens', () => {
  test('the limit comes before the name, an expired one is refused and can be deleted, a deleted one is gone', async () => {
    const solo = await Solo.boot(newDisk(), { tokensPerUserMax: 2 })
    const line = await loggedIn(solo)
    const first = secretOf(await line.create('b', 1n))
    const second = secretOf(await line.create('a', 2n, 1_000n))
    expect(second).not.toBe(first)
    expect(await line.names()).toEqual(['a', 'b'])
    for (const name of ['b', 'c']) expect(await line.create(name, 3n)).toMatchObject({ code: 52 })
    const user = new Line(solo)
    expect(await user.loginWith(second)).toMatchObject({ code: 0 })
    expect(user.userId).toBe(0)
    solo.wallMicros += 1_000_000n
    expect(await new Line(solo).loginWith(second)).toMatchObject({ kind: 'eviction', reason: 10 })
    expect(await line.names()).toEqual(['a', 'b'])
    expect(await line.remove('a', 4n)).toMatchObject({ code: 0 })
    expect(await line.remove('a', 5n)).toMatchObject({ code: 20 })
    expect(await line.remove('b', 6n)).toMatchObject({ code: 0 })
    expect(await new Line(solo).loginWith(first)).toMatchObject({ kind: 'eviction', reason: 10 })
    expect(await line.names()).toEqual([])
  })

  test('0 and the largest number mean never; a duration that leads nowhere is refused with 56', async () => {
    const line = await loggedIn(await Solo.boot())
    expect(await line.create('zero', 1n)).toMatchObject({ code: 0 })
    expect(await line.create('most', 2n, U64_MAX)).toMatchObject({ code: 0 })
    expect(await line.create('wraps', 3n, U64_MAX - 1n)).toMatchObject({ code: 56 })
    const answer = await line.call(ClientCommands.listTokens, {})
    const listed = ClientCommands.listTokens.reply.read(
      new ByteReader(answer.kind === 'reply' ? answer.payload : new Uint8Array()),
    )
    expect(listed.map(({ expiryAt }) => expiryAt)).toEqual([0n, 0n])
  })

  test('expired ones are removed now and then, and only they', async () => {
    const disk = newDisk()
    const solo = await Solo.boot(disk, { tokenCleanerIntervalMs: 500 })
    const line = await loggedIn(solo)
    await line.create('kept', 1n, 60_000_000n)
    for (const [name, request] of [
      ['one', 2n],
      ['two', 3n],
    ] as const)
      await line.create(name, request, 1_000n)
    const { op } = solo.inspect.metadata()
    await solo.settle(() => solo.facts.length > 0)
    expect(await line.names()).toEqual(['kept', 'one', 'two'])
    solo.wallMicros += 1_000_000n
    const removed = () => solo.facts.filter(({ kind, data }) => kind === 'metadata_applied' && data.client === '0')
    await solo.settle(() => removed().length === 2)
    expect(await line.names()).toEqual(['kept'])
    expect(solo.inspect.metadata().op).toBe((BigInt(op) + 2n).toString())
    await solo.stop()
    expect(await (await loggedIn(await Solo.boot(disk))).names()).toEqual(['kept'])
  })

  test('a snapshot keeps them', () => {
    const token: TokenRecord = { userId: 0, name: 'kept', hash: tokenHash('secret'), expiryAt: Micros(9n) }
    const machine = new MetadataMachine(4)
    seedRoot(machine.state, 'iggy', 'hash')
    machine.state.tokens.set(0, [token])
    const bytes = encodeSnapshot(snapshotOf(machine.state, machine.clients, Op(3n), Micros(5n)))
    const other = new MetadataMachine(4)
    restoreState(other.state, decodeSnapshot(bytes))
    expect(tokenByHash(other.state, tokenHash('secret'))).toEqual(token)
  })
})

describe('AU-01 an inactive user', () => {
  /** A node whose snapshot holds a second user, with a token. */
  async function withUser(status: 'active' | 'inactive'): Promise<Solo> {
    const disk = newDisk()
    const machine = new MetadataMachine(4)
    seedRoot(machine.state, 'iggy', 'test$iggy')
    machine.state.users.insert(id => ({
      id,
      createdAt: Micros(2n),
      username: 'other',
      passwordHash: 'test$right',
      status,
      permissions: undefined,
      options: [],
    }))
    machine.state.tokens.set(1, [{ userId: 1, name: 't', hash: tokenHash('t'.repeat(68)), expiryAt: undefined }])
    const payload = encodeSnapshot(snapshotOf(machine.state, machine.clients, Op(1n), Micros(5n)))
    await disk.makeDirectory('metadata')
    const checksum = await writeSnapshot(disk, 'metadata', payload, hash)
    putSuperblock(disk, { checkpointOp: Op(1n), checkpointChecksum: checksum, commitMax: Op(1n) })
    return Solo.boot(disk, { metadata: { ...soloConfig().metadata, clientsTableMax: 4 } })
  }
  const frameOf = async (line: Line, username: string, password: string): Promise<Uint8Array> =>
    line.frame(Operation.Register, encodeBody(passwordLogin, { ...VERSION, username, password }), 0n)

  test('is refused like a wrong password, however right the password is, and the connection stays usable', async () => {
    const line = new Line(await withUser('inactive'))
    const inactive = await frameOf(line, 'other', 'right')
    expect(readServerFrame(inactive)).toMatchObject({ kind: 'eviction', reason: 9 })
    for (const [username, password] of [
      ['other', 'wrong'],
      ['nobody', 'right'],
      ['iggy', 'wrong'],
    ] as const) {
      expect(await frameOf(line, username, password)).toEqual(inactive)
    }
    expect(await line.loginWith('t'.repeat(68))).toMatchObject({ kind: 'eviction', reason: 11 })
    expect(await line.login()).toMatchObject({ kind: 'reply', code: 0 })
  })

  test('is the only thing that is wrong with it: the same user, active, logs in', async () => {
    const solo = await withUser('active')
    const line = new Line(solo)
    expect(await line.login('other', 'right')).toMatchObject({ kind: 'reply', code: 0 })
    expect(line.userId).toBe(1)
    // Its tokens are its own.
    expect(await line.names()).toEqual(['t'])
    expect(await (await loggedIn(solo)).names()).toEqual([])
  })
})
