/** Every body codec: arbitrary values survive bytes and JSON, and damage is a DecodeError wherever it strikes. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../bytes/errors.ts'
import { type Codec, decodeBody, encodeBody } from './codec.ts'
import * as groups from './consumer-groups.ts'
import { consumer, Ident, ident } from './ident.ts'
import * as messages from './messages.ts'
import { permissions } from './permissions.ts'
import * as replicated from './replicated.ts'
import { roster } from './roster.ts'
import * as session from './session.ts'
import * as streams from './streams.ts'
import * as system from './system.ts'
import * as any from './testing/bodies.ts'
import { throughJson } from './testing/golden.ts'
import { options, tlvMeaning, tlvOf, userHeaders } from './tlv.ts'
import * as topics from './topics.ts'
import * as users from './users.ts'

const { u8, u16, u32, u64, u128, f32, text, name, bytes } = any
const target = { stream: any.ident, topic: any.ident }
const rec = fc.record
const list = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 })
const opt = <T>(item: fc.Arbitrary<T>) => fc.option(item, { nil: undefined })

const topicHeader = {
  id: u32,
  createdAt: u64,
  partitionsCount: u32,
  messageExpiry: u64,
  compression: u8,
  maxTopicSize: u64,
  sizeBytes: u64,
  messagesCount: u64,
  name,
  explicitOptions: any.options,
  derivedOptions: any.options,
}
const stream = {
  id: u32,
  createdAt: u64,
  topicsCount: u32,
  sizeBytes: u64,
  messagesCount: u64,
  name,
  options: any.options,
}
const partition = rec({
  id: u32,
  createdAt: u64,
  segmentsCount: u32,
  currentOffset: u64,
  sizeBytes: u64,
  messagesCount: u64,
})
const flags = <K extends string>(...keys: K[]) =>
  Object.fromEntries(keys.map(key => [key, fc.boolean()])) as Record<K, fc.Arbitrary<boolean>>
const ascending = <T extends { id: number }>(item: fc.Arbitrary<T>) =>
  fc.option(
    fc
      .uniqueArray(item, { selector: entry => entry.id, minLength: 1, maxLength: 3 })
      .map(entries => entries.sort((a, b) => a.id - b.id)),
    { nil: undefined },
  )
const somePermissions = rec({
  global: rec(
    flags(
      'manageServers',
      'readServers',
      'manageUsers',
      'readUsers',
      'manageStreams',
      'readStreams',
      'manageTopics',
      'readTopics',
      'pollMessages',
      'sendMessages',
    ),
  ),
  streams: ascending(
    rec({
      id: u32,
      ...flags('manageStream', 'readStream', 'manageTopics', 'readTopics', 'pollMessages', 'sendMessages'),
      topics: ascending(rec({ id: u32, ...flags('manageTopic', 'readTopic', 'pollMessages', 'sendMessages') })),
    }),
  ),
})
const user = { id: u32, createdAt: u64, status: u8, username: name, options: any.options }
const group = { id: u32, partitionsCount: u32, membersCount: u32, name }
const version = { protocol: u32, sdkName: name, sdkVersion: name }
const someConsumer = rec({ kind: fc.constantFrom('consumer' as const, 'group' as const), id: any.ident })
const offsetTarget = { consumer: someConsumer, ...target, partition: opt(u32) }
const client = {
  clientId: u32,
  userId: u32,
  transport: fc.constantFrom('tcp', 'quic', 'http', 'websocket'),
  address: text,
}
const ascii64 = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 })
const assignments = list(rec({ partitionId: u32, consensusGroupId: u64 }))

// biome-ignore lint/suspicious/noExplicitAny: each row pairs a codec with values of its own type
const CODECS: readonly (readonly [string, Codec<any>, fc.Arbitrary<any>])[] = [
  ['ident', ident, any.ident],
  ['consumer', consumer, someConsumer],
  ['user headers', userHeaders, any.userHeaders],
  ['options', options, any.options],
  ['password login', session.passwordLogin, rec({ ...version, username: name, password: text, context: text })],
  ['token login', session.tokenLogin, rec({ ...version, token: text, context: text })],
  ['login reply', session.loginReply, rec({ userId: u32, session: u64, serverProtocol: u32, serverVersion: text })],
  [
    'roster',
    roster,
    rec({
      clusterName: text,
      nodes: list(
        rec({
          name: text,
          ip: text,
          tcp: u16,
          quic: u16,
          http: u16,
          websocket: u16,
          role: fc.constantFrom('leader', 'follower'),
          status: fc.constantFrom('healthy', 'starting', 'stopping', 'unreachable', 'maintenance', 'unknown'),
        }),
      ),
    }),
  ],
  ['create stream', streams.createStream, rec({ name, options: any.options })],
  ['update stream', streams.updateStream, rec({ stream: any.ident, name, options: any.options })],
  ['stream details', streams.getStreamReply, opt(rec({ ...stream, topics: list(rec(topicHeader)) }))],
  ['streams', streams.listStreamsReply, list(rec(stream))],
  ['create topic', topics.createTopic, rec({ stream: any.ident, partitionsCount: u32, name, options: any.options })],
  ['update topic', topics.updateTopic, rec({ ...target, name, options: any.options })],
  ['partitions change', topics.partitionsChange, rec({ ...target, count: u32 })],
  ['delete segments', topics.deleteSegments, rec({ ...target, partitionId: u32, segmentsCount: u32 })],
  ['topic details', topics.getTopicReply, opt(rec({ ...topicHeader, partitions: list(partition) }))],
  ['topics', topics.listTopicsReply, list(rec(topicHeader))],
  [
    'send',
    messages.sendMessages,
    rec({ metadata: rec({ ...target, partitioning: any.partitioning, messagesCount: u32 }), batch: bytes(0, 50) }),
  ],
  ['send reply', messages.sendReply, list(rec({ streamId: u32, topicId: u32, partitionId: u32, baseOffset: u64 }))],
  [
    'poll',
    messages.pollMessages,
    rec({ ...offsetTarget, strategy: u8, value: u64, count: u32, autoCommit: fc.boolean() }),
  ],
  ['poll reply', messages.pollReply, rec({ partitionId: u32, currentOffset: u64, count: u32, records: bytes(0, 50) })],
  ['get offset', messages.getOffset, rec(offsetTarget)],
  ['store offset', messages.storeOffset, rec({ ...offsetTarget, offset: u64, ack: u8 })],
  ['delete offset', messages.deleteOffset, rec({ ...offsetTarget, ack: u8 })],
  ['stored offset', messages.getOffsetReply, opt(rec({ partitionId: u32, currentOffset: u64, storedOffset: u64 }))],
  ['create group', groups.createGroup, rec({ ...target, name })],
  ['group ref', groups.groupRef, rec({ ...target, group: any.ident })],
  [
    'group details',
    groups.getGroupReply,
    opt(rec({ ...group, members: list(rec({ id: u32, partitions: list(u32) })) })),
  ],
  ['groups', groups.listGroupsReply, list(rec(group))],
  ['group assignment', groups.syncGroupReply, opt(rec({ generation: u64, partitions: list(u32) }))],
  ['permissions', permissions, somePermissions],
  [
    'create user',
    users.createUser,
    rec({ username: name, password: text, status: u8, permissions: opt(somePermissions), options: any.options }),
  ],
  [
    'update user',
    users.updateUser,
    rec({ user: any.ident, username: opt(name), status: opt(u8), options: any.options }),
  ],
  ['update permissions', users.updatePermissions, rec({ user: any.ident, permissions: opt(somePermissions) })],
  ['change password', users.changePassword, rec({ user: any.ident, currentPassword: text, newPassword: text })],
  ['user details', users.getUserReply, opt(rec({ ...user, permissions: opt(somePermissions) }))],
  ['users', users.listUsersReply, list(rec(user))],
  ['create token', users.createToken, rec({ name, expiry: u64 })],
  ['create token reply', users.createTokenReply, rec({ token: name })],
  ['tokens', users.listTokensReply, list(rec({ name, expiryAt: u64 }))],
  [
    'stats',
    system.stats,
    rec({
      processId: u32,
      cpuUsage: f32,
      totalCpuUsage: f32,
      memoryUsage: u64,
      totalMemory: u64,
      availableMemory: u64,
      runTime: u64,
      startTime: u64,
      readBytes: u64,
      writtenBytes: u64,
      messagesSizeBytes: u64,
      streamsCount: u32,
      topicsCount: u32,
      partitionsCount: u32,
      segmentsCount: u32,
      messagesCount: u64,
      clientsCount: u32,
      consumerGroupsCount: u32,
      hostname: text,
      osName: text,
      osVersion: text,
      kernelVersion: text,
      serverVersion: text,
      serverSemver: u32,
      cacheMetrics: list(rec({ streamId: u32, topicId: u32, partitionId: u32, hits: u64, misses: u64, hitRatio: f32 })),
      threadsCount: u32,
      freeDiskSpace: u64,
      totalDiskSpace: u64,
    }),
  ],
  ['clients', system.listClientsReply, list(rec({ ...client, groupsCount: u32 }))],
  [
    'client details',
    system.getClientReply,
    opt(rec({ ...client, groups: list(rec({ streamId: u32, topicId: u32, groupId: u32 })) })),
  ],
  [
    'option descriptions',
    system.describeOptionsReply,
    list(rec({ key: name, kind: u8, defaultValue: bytes(0, 9), description: text })),
  ],
  [
    'snapshot request',
    system.snapshotRequest,
    rec({ compression: fc.constantFrom('zstd', 'stored'), types: list(fc.constantFrom('all', 'test', 'processList')) }),
  ],
  [
    'create topic, as journaled',
    replicated.createTopicWithAssignments,
    rec({
      request: rec({ stream: any.ident, partitionsCount: u32, name, options: any.options }),
      derivedOptions: any.options,
      assignments,
    }),
  ],
  [
    'create partitions, as journaled',
    replicated.createPartitionsWithAssignments,
    rec({ request: rec({ ...target, count: u32 }), assignments }),
  ],
  ['remove member', replicated.removeGroupMember, rec({ client: u128 })],
  [
    'complete revocation',
    replicated.completeRevocation,
    rec({ ...target, groupId: u64, source: u128, partition: u32 }),
  ],
  ['truncate partition', replicated.truncatePartition, rec({ ...target, partition: u32, upToOffset: u64 })],
  [
    'create token, as journaled',
    replicated.createTokenReplicated,
    rec({ userId: u32, name, expiry: u64, hash: ascii64 }),
  ],
  [
    'delete token, as journaled',
    replicated.deleteTokenReplicated,
    rec({ userId: u32, name, onlyIfExpired: fc.boolean() }),
  ],
  [
    'join group, as journaled',
    replicated.joinGroupReplicated,
    rec({ ...target, group: any.ident, client: u128, inFlight: list(u32) }),
  ],
  ['leave group, as journaled', replicated.leaveGroupReplicated, rec({ ...target, group: any.ident, client: u128 })],
]

/** Decodes what may be damaged; anything but a value or a DecodeError fails the test. */
function decodeDamaged<T>(codec: Codec<T>, body: Uint8Array): T | undefined {
  try {
    return decodeBody(codec, body)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    // Tens of thousands of times: an assertion of the test runner takes longer than a decoding.
    const { position } = error
    if (!(position >= 0 && position <= body.length))
      expect.fail(`position ${position} in a body of ${body.length} bytes`)
    return undefined
  }
}

describe.each(CODECS)('%s', (_, codec, values) => {
  it('any value survives bytes and JSON', () => {
    fc.assert(
      fc.property(values, value => {
        const body = encodeBody(codec, value)
        const decoded = decodeBody(codec, body)
        expect(decoded).toEqual(value)
        expect(encodeBody(codec, codec.fromJson(throughJson(codec.toJson(decoded))))).toEqual(body)
      }),
      { numRuns: 60 },
    )
  })

  it('a cut at any byte and a flip of any bit give a value or a DecodeError', () => {
    fc.assert(
      fc.property(values, fc.nat(), fc.nat(7), (value, at, bit) => {
        const body = encodeBody(codec, value)
        for (let end = 0; end < body.length; end++) {
          const cut = decodeDamaged(codec, body.slice(0, end))
          // What still decodes after a cut must be what its bytes say.
          if (cut !== undefined) expect(encodeBody(codec, cut)).toEqual(body.slice(0, end))
        }
        if (body.length === 0) return
        const flipped = body.slice()
        flipped[at % body.length]! ^= 1 << bit
        decodeDamaged(codec, flipped)
      }),
      { numRuns: 25 },
    )
  })
})

describe('text and blocks', () => {
  it('a byte order mark is a character like any other', () => {
    const body = encodeBody(ident, Ident.name('\ufeffa'))
    expect(decodeBody(ident, body)).toEqual({ kind: 'name', name: '\ufeffa' })
  })

  it('text that is not UTF-8 is refused where it stands', () => {
    expect(() => decodeBody(ident, Uint8Array.of(2, 2, 0xc3, 0x28))).toThrow(
      expect.objectContaining({ code: 'BadUtf8', position: 2 }),
    )
  })

  it('a block must be used up to its end, and end within the body', () => {
    const value = {
      metadata: {
        stream: Ident.id(0),
        topic: Ident.id(0),
        partitioning: { kind: 'balanced' as const },
        messagesCount: 1,
      },
      batch: new Uint8Array(9),
    }
    const body = encodeBody(messages.sendMessages, value)
    const longer = body.slice()
    longer[0]!++
    expect(() => decodeBody(messages.sendMessages, longer)).toThrow(expect.objectContaining({ code: 'TrailingBytes' }))
    const far = body.slice()
    far[3] = 0xff
    expect(() => decodeBody(messages.sendMessages, far)).toThrow(expect.objectContaining({ code: 'TooShort' }))
  })

  it('bytes behind a body are refused', () => {
    const body = encodeBody(ident, Ident.id(1))
    expect(() => decodeBody(ident, new Uint8Array([...body, 0]))).toThrow(
      expect.objectContaining({ code: 'TrailingBytes', position: body.length }),
    )
  })
})

describe('tagged values', () => {
  it('mean what was written, in every kind', () => {
    const cases = [
      ['bool', true],
      ['i8', -128],
      ['i16', -2],
      ['i32', 2 ** 31 - 1],
      ['i64', -(2n ** 63n)],
      ['i128', -(2n ** 127n)],
      ['u8', 255],
      ['u16', 65_535],
      ['u32', 2 ** 32 - 1],
      ['u64', 2n ** 64n - 1n],
      ['u128', 2n ** 128n - 1n],
      ['f32', 0.5],
      ['f64', 0.1],
      ['string', 'äöü'],
      ['raw', '00ff'],
    ] as const
    for (const [kind, value] of cases) expect(tlvMeaning(tlvOf(kind, value))).toBe(value)
    expect(() => tlvOf('u8', 256)).toThrow(RangeError)
    expect(() => tlvOf('i8', 128)).toThrow(RangeError)
  })

  it('have no meaning where it would not give the bytes back', () => {
    expect(tlvMeaning({ kind: 3, bytes: Uint8Array.of(2) })).toBeUndefined()
    expect(tlvMeaning({ kind: 2, bytes: Uint8Array.of(0xff) })).toBeUndefined()
    expect(tlvMeaning({ kind: 12, bytes: Uint8Array.of(1, 2) })).toBeUndefined()
    expect(tlvMeaning({ kind: 200, bytes: Uint8Array.of(1) })).toBeUndefined()
    expect(tlvMeaning(tlvOf('f64', Number.NaN))).toBeUndefined()
  })

  it('refuse kind 0, a length of 0 or above 255, and an odd half', () => {
    const bad = (bytes: number[]) => expect(() => decodeBody(userHeaders, Uint8Array.from(bytes))).toThrow(DecodeError)
    bad([0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1])
    bad([1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1])
    bad([1, 0, 1, 0, 0, ...new Array(256).fill(7), 1, 1, 0, 0, 0, 1])
    bad([1, 1, 0, 0, 0, 1])
  })

  it('as options need text keys, each once', () => {
    const pair = (kind: number, key: number) => [kind, 1, 0, 0, 0, key, 1, 1, 0, 0, 0, 1]
    expect(decodeBody(options, Uint8Array.from(pair(2, 97)))).toHaveLength(1)
    expect(() => decodeBody(options, Uint8Array.from(pair(1, 97)))).toThrow(/key has kind 1/)
    expect(() => decodeBody(options, Uint8Array.from([...pair(2, 97), ...pair(2, 97)]))).toThrow(/twice/)
    expect(() => decodeBody(options, new Uint8Array(100_001))).toThrow(/above 100000/)
  })
})

describe('worked examples of wire.md §10', () => {
  const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'))

  it('10.2 login, and its reply', () => {
    const body = hex('002c0000 086e6f64652d73646b 0d302e31302e302d656467652e34 0469676779 0469676779 00000000')
    expect(body).toHaveLength(41)
    expect(decodeBody(session.passwordLogin, body)).toEqual({
      protocol: session.PROTOCOL_VERSION,
      sdkName: 'node-sdk',
      sdkVersion: '0.10.0-edge.4',
      username: 'iggy',
      password: 'iggy',
      context: '',
    })
    const reply = { userId: 0, session: 1n, serverProtocol: 11_264, serverVersion: '0.9.0-edge.5' }
    expect(encodeBody(session.loginReply, reply)).toEqual(
      hex('00000000 0100000000000000 002c0000 0c302e392e302d656467652e35'),
    )
  })

  it('10.3 roster', () => {
    const node = { name: 'iggy-node', ip: '127.0.0.1', tcp: 8090, quic: 8080, http: 3000, websocket: 8092 }
    const value = { clusterName: 'single-node', nodes: [{ ...node, role: 'leader', status: 'healthy' }] } as const
    expect(encodeBody(roster, value)).toEqual(
      hex(
        '0b000000 73696e676c652d6e6f6465 01000000 09000000 696767792d6e6f6465 09000000 3132372e302e302e31 9a1f 901f b80b 9c1f 0000',
      ),
    )
  })

  it('10.6 create topic with an option', () => {
    const value = {
      stream: Ident.name('s1'),
      partitionsCount: 3,
      name: 't1',
      options: [{ key: 'message_expiry', kind: 12, value: tlvOf('u64', 60_000_000n).bytes }],
    }
    expect(encodeBody(topics.createTopic, value)).toEqual(
      hex('02027331 03000000 027431 020e000000 6d6573736167655f657870697279 0c08000000 0087930300000000'),
    )
  })

  it('10.8 poll', () => {
    const value = {
      consumer: { kind: 'consumer', id: Ident.id(0) },
      stream: Ident.id(0),
      topic: Ident.id(0),
      partition: 0,
      strategy: messages.PollKind.next,
      value: 0n,
      count: 10,
      autoCommit: true,
    } as const
    expect(encodeBody(messages.pollMessages, value)).toEqual(
      hex('01010400000000 010400000000 010400000000 0100000000 05 0000000000000000 0a000000 01'),
    )
  })
})

describe('login bodies', () => {
  it('a token is not taken for a password, nor the other way round', () => {
    const version = { protocol: session.PROTOCOL_VERSION, sdkName: 'a', sdkVersion: 'b' }
    const token = session.decodeLogin(
      encodeBody(session.tokenLogin, { ...version, token: 't'.repeat(68), context: '' }),
    )
    expect(token.token?.token).toHaveLength(68)
    expect(token.password).toBeUndefined()
    const login = { ...version, username: 'iggy', password: 'iggy', context: '' }
    const password = session.decodeLogin(encodeBody(session.passwordLogin, login))
    expect(password.password).toEqual(login)
    expect(password.token).toBeUndefined()
  })

  it('bytes behind the last field are ignored, missing version words are not', () => {
    const login = { protocol: 1, sdkName: 'a', sdkVersion: 'b', username: 'u', password: 'p', context: '' }
    const body = new Uint8Array([...encodeBody(session.passwordLogin, login), 1, 2, 3])
    expect(session.decodeLogin(body).password).toEqual(login)
    expect(() => session.decodeLogin(new Uint8Array(3))).toThrow(DecodeError)
  })

  it('serves every patch of its own minor version, and older minors not at all', () => {
    const { packVersion, isCompatible } = session
    expect(packVersion(0, 11, 0)).toBe(11_264)
    expect(isCompatible(packVersion(0, 11, 0))).toBe(true)
    expect(isCompatible(packVersion(0, 11, 99))).toBe(true)
    expect(isCompatible(packVersion(0, 10, 5))).toBe(false)
    expect(isCompatible(packVersion(0, 12, 0))).toBe(false)
    expect(session.unpackVersion(packVersion(3, 2, 1))).toBe('3.2.1')
  })
})
