/** Checker 11: answers that the log explains pass, whatever the log says; answers that it does not explain are found. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Checksum, ClientId, GroupId, Micros, Op, ReplicaId, View } from '../../bytes/units.ts'
import { MetadataMachine } from '../../metadata/machine.ts'
import { seedRoot } from '../../metadata/state.ts'
import { NO_STATS, streamDetailsView, topicDetailsView } from '../../metadata/views.ts'
import { type Codec, encodeBody } from '../../protocol/codec.ts'
import { ClientCommands } from '../../protocol/command-codes.ts'
import { Command } from '../../protocol/commands.ts'
import { encodeFrame } from '../../protocol/frames.ts'
import { METADATA_GROUP } from '../../protocol/groups.ts'
import { type PrepareHeader, prepareLayout } from '../../protocol/headers.ts'
import { Ident } from '../../protocol/ident.ts'
import { Operation } from '../../protocol/operations.ts'
import {
  createPartitionsWithAssignments,
  createTokenReplicated,
  createTopicWithAssignments,
  deleteTokenReplicated,
} from '../../protocol/replicated.ts'
import { localReply, rejectionBody } from '../../protocol/replies.ts'
import { readClientFrame, requestFrame } from '../../protocol/requests.ts'
import { createStream, streamRef, updateStream } from '../../protocol/streams.ts'
import { TlvKind } from '../../protocol/tlv.ts'
import { partitionsChange, topicRef, updateTopic } from '../../protocol/topics.ts'
import { hash } from '../testing/worlds.ts'
import { Answers } from './answers.ts'
import { Checker, type Violation } from './checker.ts'

const CLIENT = ClientId(7n)

interface Step {
  /** As the client sends it; the log may give it another number. */
  readonly sent: number
  readonly operation: number
  readonly body: Uint8Array
}

const step = <T>(operation: number, codec: Codec<T>, value: T, sent = operation): Step => ({
  sent,
  operation,
  body: encodeBody(codec, value),
})
const assigned = (count: number) =>
  [...Array(count).keys()].map(partitionId => ({ partitionId, consensusGroupId: GroupId(1n) }))
const option = (key: string, value: number) => ({ key, kind: TlvKind.bool, value: new Uint8Array([value]) })
const at = (stream: string, topic: string) => ({ stream: Ident.name(stream), topic: Ident.name(topic) })

const makeStream = (name: string) => step(Operation.CreateStream, createStream, { name, options: [] })
const dropStream = (name: string) => step(Operation.DeleteStream, streamRef, { stream: Ident.name(name) })
const renameStream = (from: string, name: string) =>
  step(Operation.UpdateStream, updateStream, { stream: Ident.name(from), name, options: [] })
const purgeStream = (name: string) => step(Operation.PurgeStream, streamRef, { stream: Ident.name(name) })
const makeTopic = (stream: string, name: string, count: number) =>
  step(
    Operation.CreateTopicWithAssignments,
    createTopicWithAssignments,
    {
      request: {
        stream: Ident.name(stream),
        partitionsCount: count,
        name,
        options: [option('enforce_fsync', count % 2)],
      },
      derivedOptions: [option('preallocate_segments', 0)],
      assignments: assigned(count),
    },
    Operation.CreateTopic,
  )
const changeTopic = (stream: string, topic: string, name: string) =>
  step(Operation.UpdateTopic, updateTopic, { ...at(stream, topic), name, options: [option('preallocate_segments', 1)] })
const dropTopic = (stream: string, topic: string) => step(Operation.DeleteTopic, topicRef, at(stream, topic))
const addPartitions = (stream: string, topic: string, count: number) =>
  step(
    Operation.CreatePartitionsWithAssignments,
    createPartitionsWithAssignments,
    { request: { ...at(stream, topic), count }, assignments: assigned(count) },
    Operation.CreatePartitions,
  )
const dropPartitions = (stream: string, topic: string, count: number) =>
  step(Operation.DeletePartitions, partitionsChange, { ...at(stream, topic), count })
const makeToken = (name: string, expiry: bigint) =>
  step(Operation.CreatePersonalAccessToken, createTokenReplicated, { userId: 0, name, expiry, hash: '0'.repeat(64) })
const dropToken = (name: string, onlyIfExpired: boolean) =>
  step(Operation.DeletePersonalAccessToken, deleteTokenReplicated, { userId: 0, name, onlyIfExpired })

/** One node, one client: the engine's machine answers, and the checker compares. */
class Session {
  readonly machine = new MetadataMachine(8)
  readonly violations: Violation[] = []
  readonly answers: Answers
  private readonly prepares: Uint8Array[] = []
  private readonly checker = new Checker([], hash)
  /** What the node says it had applied when it was asked. */
  applied = 0

  constructor() {
    seedRoot(this.machine.state, 'iggy', 'hash')
    const { canonical } = this.checker
    this.answers = new Answers({
      canonical,
      durable: [{ entry: op => this.prepares[Number(op) - 1] }],
      appliedBy: () => this.applied,
      fail: (checker, message) => this.violations.push({ checker, message }),
    })
  }

  /** Commits it; the result is the reply of the engine. */
  commit({ operation, body }: Step): Uint8Array {
    const op = Op(BigInt(this.prepares.length + 1))
    const header: PrepareHeader = {
      checksum: Checksum(op),
      checksumBody: Checksum(0n),
      cluster: 1n,
      size: 256 + body.length,
      view: View(0),
      release: 0,
      command: Command.Prepare,
      replica: ReplicaId(0),
      client: CLIENT,
      parent: Checksum(op - 1n),
      requestChecksum: Checksum(0n),
      op,
      commit: op,
      timestamp: Micros(1_000n * op),
      request: op,
      operation,
      group: METADATA_GROUP,
      userId: 0,
      purgeGeneration: 0n,
    }
    this.prepares.push(encodeFrame(prepareLayout, header, body))
    this.checker.canonical.push({ ...header })
    return this.machine.apply(header, body).reply
  }

  write(one: Step, changed: (reply: Uint8Array) => Uint8Array = reply => reply): void {
    this.send(one.sent, 0, one.body)
    this.answers.answered(1, changed(this.commit(one)))
  }

  /** Sent twice, since no answer came to the first sending, which is committed. */
  repeat(one: Step, changed: (reply: Uint8Array) => Uint8Array): void {
    const request = this.next
    this.send(one.sent, 0, one.body)
    const reply = this.commit(one)
    this.send(one.sent, 0, one.body, request)
    this.answers.answered(1, changed(reply))
  }

  read<Q, R>(command: { code: number; request: Codec<Q>; reply: Codec<R> }, request: Q, reply: R, meanwhile?: Step) {
    const frame = this.send(Operation.NonReplicated, command.code, encodeBody(command.request, request))
    if (meanwhile) this.commit(meanwhile)
    const asked = readClientFrame(frame)
    if (asked.kind !== 'request') throw new Error('no request')
    this.answers.answered(1, localReply(asked.header, { commit: 99n }, encodeBody(command.reply, reply)))
  }

  streams() {
    return [...this.machine.state.streams].map(stream => streamDetailsView(stream, NO_STATS))
  }
  stream(name: string) {
    const stream = this.machine.state.stream(Ident.name(name))
    return stream && streamDetailsView(stream, NO_STATS)
  }
  topic(of: string, name: string) {
    const stream = this.machine.state.stream(Ident.name(of))
    const topic = stream && this.machine.state.topic(stream, Ident.name(name))
    return topic && topicDetailsView(stream.id, topic, NO_STATS)
  }

  /** Everything that can be read, as the machine has it now. */
  readAll(): void {
    this.read(ClientCommands.listStreams, {}, this.streams())
    for (const name of NAMES) {
      const stream = this.stream(name)
      this.read(ClientCommands.getStream, { stream: Ident.name(name) }, stream)
      this.read(ClientCommands.listTopics, { stream: Ident.name(name) }, stream?.topics ?? [])
      for (const topic of NAMES) this.read(ClientCommands.getTopic, at(name, topic), this.topic(name, topic))
    }
    const tokens = this.machine.state.tokens.get(0) ?? []
    this.read(
      ClientCommands.listTokens,
      {},
      tokens.map(({ name, expiryAt }) => ({ name, expiryAt: expiryAt ?? Micros(0n) })),
    )
  }

  private get next(): bigint {
    return BigInt(this.prepares.length + 1)
  }

  private send(operation: number, code: number, body: Uint8Array, request = this.next): Uint8Array {
    const frame = requestFrame(
      { client: CLIENT, session: 1n, request, operation, code, requestChecksum: Checksum(0n) },
      body,
    )
    this.answers.requested(1, 0, frame)
    return frame
  }
}

const NAMES = ['a', 'b', 'c'] as const
const name = fc.constantFrom(...NAMES)
const count = fc.integer({ min: 0, max: 3 })
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  name.map(makeStream),
  name.map(makeStream),
  name.map(dropStream),
  name.map(purgeStream),
  fc.tuple(name, name).map(names => renameStream(...names)),
  fc.tuple(name, name, count).map(each => makeTopic(...each)),
  fc.tuple(name, name, count).map(each => makeTopic(...each)),
  fc.tuple(name, name, name).map(each => changeTopic(...each)),
  fc.tuple(name, name).map(each => dropTopic(...each)),
  fc.tuple(name, name, count).map(each => addPartitions(...each)),
  fc.tuple(name, name, count).map(each => dropPartitions(...each)),
  fc.tuple(name, fc.constantFrom(0n, 1_500n, 0xffff_ffff_ffff_ffffn)).map(each => makeToken(...each)),
  fc.tuple(name, fc.boolean()).map(each => dropToken(...each)),
)

/** A stream and a topic of two partitions, known to the client. */
function begun(): Session {
  const session = new Session()
  for (const one of [makeStream('a'), makeTopic('a', 'b', 2)]) session.write(one)
  expect(session.violations).toEqual([])
  return session
}

const found = ({ violations }: Session) => violations.map(({ checker }) => checker)

test('the model and the engine, written twice, say the same of every log', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 40 }), steps => {
      const session = new Session()
      for (const one of steps) {
        session.write(one)
        session.readAll()
      }
      expect(session.violations).toEqual([])
      expect(session.answers.compared).toBe(session.answers.reads + steps.length)
    }),
    { numRuns: 60, seed: 11 },
  )
})

describe('a read', () => {
  test('of what the session has not seen yet may be old, or new', () => {
    const session = begun()
    const before = session.streams()
    session.commit(makeStream('c'))
    session.read(ClientCommands.listStreams, {}, before)
    session.read(ClientCommands.listStreams, {}, session.streams())
    expect(session.violations).toEqual([])
  })

  test('behind the last op that answered the session is stale', () => {
    const session = begun()
    const before = session.streams()
    session.write(makeStream('c'))
    session.read(ClientCommands.listStreams, {}, before)
    expect(found(session)).toEqual(['stale-answer'])
  })

  test('behind an earlier read of the session is stale', () => {
    const session = begun()
    const before = session.streams()
    session.commit(makeStream('c'))
    session.read(ClientCommands.listStreams, {}, session.streams())
    session.read(ClientCommands.listStreams, {}, before)
    expect(found(session)).toEqual(['stale-answer'])
  })

  test('older than what the node had applied when it was asked is stale', () => {
    const session = begun()
    const before = session.streams()
    session.commit(makeStream('c'))
    session.applied = 3
    session.read(ClientCommands.listStreams, {}, before)
    expect(found(session)).toEqual(['stale-answer'])
  })

  test('of an op that is applied while it is on its way is as good as one without it', () => {
    const session = begun()
    session.applied = 2
    session.read(ClientCommands.listStreams, {}, session.streams(), makeStream('c'))
    expect(session.violations).toEqual([])
  })

  test('of what nobody has committed is found', () => {
    const [session, ahead] = [begun(), begun()]
    ahead.commit(makeStream('c'))
    session.read(ClientCommands.listStreams, {}, ahead.streams())
    expect(found(session)).toEqual(['model-answer'])
  })

  test('in which a stream is missing is found', () => {
    const session = begun()
    session.write(makeStream('c'))
    session.read(ClientCommands.listStreams, {}, session.streams().slice(1))
    expect(found(session)).toEqual(['model-answer'])
  })

  test('with a wrong number of partitions is found', () => {
    const session = begun()
    const topic = session.topic('a', 'b')!
    session.read(ClientCommands.getTopic, at('a', 'b'), { ...topic, partitionsCount: 3 })
    expect(found(session)).toEqual(['model-answer'])
  })

  test('with a partition of another time is found', () => {
    const session = begun()
    const topic = session.topic('a', 'b')!
    const [first, second] = topic.partitions
    const partitions = [first!, { ...second!, createdAt: Micros(1n) }]
    session.read(ClientCommands.getTopic, at('a', 'b'), { ...topic, partitions })
    expect(found(session)).toEqual(['model-answer'])
  })

  test('with another value of an option is found', () => {
    const session = begun()
    const topic = session.topic('a', 'b')!
    session.read(ClientCommands.getTopic, at('a', 'b'), { ...topic, explicitOptions: [option('enforce_fsync', 1)] })
    expect(found(session)).toEqual(['model-answer'])
  })
})

describe('the reply to an op', () => {
  const withBody = (reply: Uint8Array, body: Uint8Array) => {
    const frame = new Uint8Array(256 + body.length)
    frame.set(reply.subarray(0, 256))
    frame.set(body, 256)
    new DataView(frame.buffer).setUint32(48, frame.length, true)
    return frame
  }

  test('that refuses what the log accepts is found', () => {
    const session = begun()
    session.write(makeStream('c'), reply => withBody(reply, rejectionBody(1012)))
    expect(found(session)).toEqual(['model-answer'])
  })

  test('that accepts what the log refuses is found', () => {
    const session = begun()
    session.write(dropStream('c'), reply => withBody(reply, new Uint8Array(4)))
    expect(found(session)).toEqual(['model-answer'])
  })

  test('that tells a repeated creation of a token that the token exists is right, as its own op too', () => {
    const session = begun()
    session.repeat(makeToken('c', 0n), reply => withBody(reply, rejectionBody(51)))
    expect(session.violations).toEqual([])
  })

  test('that tells the first creation of a token that the token exists is found', () => {
    const session = begun()
    session.write(makeToken('c', 0n), reply => withBody(reply, rejectionBody(51)))
    expect(found(session)).toEqual(['model-answer'])
  })

  test('that names another id is found', () => {
    const session = begun()
    session.write(makeStream('c'), reply => {
      const changed = reply.slice()
      changed[260]! += 1
      return changed
    })
    expect(found(session)).toEqual(['model-answer'])
  })

  test('that is the reply to another op is found', () => {
    const session = begun()
    session.write(makeStream('c'), reply => {
      const changed = reply.slice()
      new DataView(changed.buffer).setBigUint64(184, 1n, true)
      return changed
    })
    expect(found(session)).toEqual(['model-answer'])
  })
})
