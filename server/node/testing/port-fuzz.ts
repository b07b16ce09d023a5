/**
 * Frames made from the grammar of the client protocol (spec wire.md §1–4), good and bad, to the real client port of a solo
 * node, and beside them a model that says what each may lead to: a frame that it calls invalid changes nothing, one that it
 * calls valid changes exactly what the model says. Every frame is answered, or its connection closed, within two seconds.
 */
import { isDeepStrictEqual } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createHash, type Hash } from '../../../shared/bytes/hash.ts'
import { ByteReader } from '../../../shared/bytes/reader.ts'
import { ClientId, Micros, Offset } from '../../../shared/bytes/units.ts'
import type { Transport } from '../../../shared/client/ports.ts'
import { produceBatch } from '../../../shared/protocol/batch.ts'
import { type Codec, decodeBody, encodeBody } from '../../../shared/protocol/codec.ts'
import { ClientCommands } from '../../../shared/protocol/command-codes.ts'
import { Ident } from '../../../shared/protocol/ident.ts'
import { isPartition, Operation } from '../../../shared/protocol/operations.ts'
import { readServerFrame } from '../../../shared/protocol/replies.ts'
import { requestFrame } from '../../../shared/protocol/requests.ts'
import { loginReply, PROTOCOL_VERSION, passwordLogin } from '../../../shared/protocol/session.ts'
import { FrameSplitter } from '../../../shared/protocol/splitter.ts'
import { bootReplica } from '../../../shared/replica/boot.ts'
import type { Replica } from '../../../shared/replica/contract.ts'
import { soloConfig } from '../../../shared/replica/testing/solo.ts'
import { Dice } from '../../../shared/simulator/dice.ts'
import { MemoryDisk } from '../../../shared/storage/memory-disk.ts'
import { ClientListener } from '../client-listener.ts'
import { systemClock } from '../clock.ts'
import { systemEntropy } from '../entropy.ts'
import { immediateScheduler } from '../scheduler.ts'
import { tcpNetwork } from '../tcp-transport.ts'

const ANSWER_MS = 2_000
const CONNECTIONS = 8
const STREAMS_MAX = 4
const TOPICS_MAX = 3
const TOKENS_MAX = 5
/** Frames between two looks at the whole state. */
const LOOK_EVERY = 500

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void
/** What is in use once nothing waits to be collected: without that, a figure says only when the collector last came. */
const heapBytes = (): number => {
  collect()
  return process.memoryUsage().heapUsed
}

export interface FuzzReport {
  readonly frames: number
  readonly valid: number
  readonly invalid: number
  readonly closed: number
  readonly byKind: Readonly<Record<string, number>>
  readonly heapGrowthBytes: number
}

interface ModelPartition {
  messages: number
  offset: number | undefined
}
interface ModelTopic {
  name: string
  readonly partitions: ModelPartition[]
}
interface ModelStream {
  name: string
  readonly topics: Map<number, ModelTopic>
}

/** What a frame must lead to. `silent`: nothing comes back. */
type Expected =
  | { readonly kind: 'reply'; readonly code: number }
  | { readonly kind: 'eviction'; readonly reason: number }
  | { readonly kind: 'closed' | 'silent' }

interface Shot {
  readonly name: string
  readonly bytes: Uint8Array
  readonly expected: Expected
  /** The model moves by this once the answer is there. */
  readonly then?: (answer: Uint8Array) => void
}

const OK = { kind: 'reply', code: 0 } as const
const status = (code: number): Expected => ({ kind: 'reply', code })
const lowestFree = (taken: ReadonlyMap<number, unknown>): number => {
  for (let id = 0; ; id++) if (!taken.has(id)) return id
}

export async function fuzzClientPort(seed: bigint, frames: number): Promise<FuzzReport> {
  const hash = await createHash()
  const listener = new ClientListener({ frameBytesMax: 64 * 1024 * 1024, connectionsMax: 1000 })
  const replica = await bootReplica(soloConfig(), {
    disk: new MemoryDisk(),
    clock: systemClock(),
    entropy: systemEntropy,
    scheduler: immediateScheduler,
    hash,
    halt: {
      fatal: (exit, error) => {
        throw new Error(`exit ${exit}: ${error.message}`)
      },
    },
    passwords: { hash: async password => password, verify: async (stored, password) => stored === password },
    replicaLinks: { send: () => false, isConnected: () => false },
    clientLinks: listener,
    sink: { emit: () => 0, wantsFlow: () => false, count: () => {} },
  })
  const port = await listener.listen('127.0.0.1', 0)
  listener.serve(replica)
  const ticks = setInterval(() => replica.tick(), 10)
  try {
    return await new Fuzz(seed, hash, replica, port).run(frames)
  } finally {
    clearInterval(ticks)
    listener.stopAccepting()
    listener.destroy()
  }
}

class Fuzz {
  private readonly dice: Dice
  private readonly hash: Hash
  private readonly replica: Replica
  private readonly port: number
  private readonly streams = new Map<number, ModelStream>()
  /** Of the one user that there is. */
  private readonly tokens = new Set<string>()
  private readonly lines: Line[] = []
  private readonly byKind: Record<string, number> = {}
  private clients = 0
  private names = 0
  /** Ops that the metadata log must hold. */
  private ops = 0n
  private valid = 0
  private invalid = 0
  private closed = 0

  constructor(seed: bigint, hash: Hash, replica: Replica, port: number) {
    this.dice = new Dice(seed, 'client port')
    this.hash = hash
    this.replica = replica
    this.port = port
  }

  async run(frames: number): Promise<FuzzReport> {
    for (let index = 0; index < CONNECTIONS; index++) this.lines.push(await this.dial())
    const before = heapBytes()
    for (let number = 0; number < frames; number++) {
      const at = this.dice.below(this.lines.length)
      const line = this.lines[at]!
      const bad = this.dice.chance(0.5)
      const shot = bad ? this.badShot(line) : this.goodShot(line)
      if (bad) this.invalid++
      else this.valid++
      this.byKind[shot.name] = (this.byKind[shot.name] ?? 0) + 1
      await this.fire(number, line, shot, at)
      if (number % LOOK_EVERY === LOOK_EVERY - 1) await this.look(number)
    }
    await this.look(frames)
    for (const line of this.lines) line.close()
    const heapGrowthBytes = heapBytes() - before
    const { valid, invalid, closed, byKind } = this
    return { frames, valid, invalid, closed, byKind, heapGrowthBytes }
  }

  private async fire(number: number, line: Line, shot: Shot, at: number): Promise<void> {
    const where = `frame ${number} (${shot.name})`
    line.send(this.dice, shot.bytes)
    const { expected } = shot
    if (expected.kind === 'silent') return
    const answer = await line.answer(where)
    if (expected.kind === 'closed') {
      if (answer) throw new Error(`${where}: an answer, where the connection was to be closed`)
      this.closed++
      // A lost session is logged out.
      this.ops++
      this.lines[at] = await this.dial()
      return
    }
    if (!answer) throw new Error(`${where}: the connection was closed`)
    const told = readServerFrame(answer)
    const got = told.kind === 'reply' ? { kind: told.kind, code: told.code } : { kind: told.kind, reason: told.reason }
    if (!isDeepStrictEqual(got, expected)) {
      throw new Error(`${where}: ${JSON.stringify(got)}, where the model says ${JSON.stringify(expected)}`)
    }
    if (expected.kind === 'eviction') {
      // The session is over; the connection is not. The table still has it until the connection goes.
      await line.login()
      this.ops++
    }
    shot.then?.(answer)
  }

  private async dial(): Promise<Line> {
    this.clients++
    const line = await Line.open(this.port, ClientId(BigInt(0x10_0000 + this.clients)))
    await line.login()
    this.ops++
    return line
  }

  /** The whole state, as the node tells it. */
  private async look(number: number): Promise<void> {
    const deadline = performance.now() + ANSWER_MS
    const told = () =>
      this.replica.inspect.topics().streams.map(({ id, name, topics }) => ({
        id,
        name,
        topics: topics.map(({ id: topic, name: named, partitions }) => ({ id: topic, name: named, partitions })),
      }))
    const said = [...this.streams]
      .sort(([a], [b]) => a - b)
      .map(([id, { name, topics }]) => ({
        id,
        name,
        topics: [...topics]
          .sort(([a], [b]) => a - b)
          .map(([topic, { name: named, partitions }]) => ({ id: topic, name: named, partitions: partitions.length })),
      }))
    const same = () =>
      this.replica.inspect.metadata().commitMin === this.ops.toString() && isDeepStrictEqual(told(), said)
    while (!same()) {
      if (performance.now() > deadline) {
        const { commitMin } = this.replica.inspect.metadata()
        throw new Error(
          `after frame ${number}: op ${commitMin}, the model says ${this.ops}; ${JSON.stringify(told())}, the model says ${JSON.stringify(said)}`,
        )
      }
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    for (const [stream, { topics }] of this.streams) {
      for (const [topic, { partitions }] of topics) {
        for (const [partition, { messages }] of partitions.entries()) {
          const next = this.replica.inspect.partition({ stream, topic, partition })?.group.offsets?.next
          if (next !== undefined && next !== String(messages)) {
            throw new Error(
              `after frame ${number}: ${stream}/${topic}/${partition} is at ${next}, the model at ${messages}`,
            )
          }
        }
      }
    }
  }

  private goodShot(line: Line): Shot {
    const place = this.place()
    const pick = this.dice.below(100)
    if (pick < 8 && this.streams.size < STREAMS_MAX) return this.createStream(line)
    if (pick < 11 && this.streams.size > 1) return this.deleteStream(line)
    if (pick < 14 && this.streams.size > 0) return this.renameStream(line)
    if (pick < 22 && this.streams.size > 0) return this.createTopic(line)
    if (pick < 24 && place) return this.deleteTopic(line, place)
    if (pick < 29 && place) return this.changePartitions(line, place)
    if (pick < 60 && place) return this.sendMessages(line, place)
    if (pick < 70 && place) return this.storeOffset(line, place)
    if (pick < 75 && place) return this.deleteOffset(line, place)
    if (pick < 85 && place) return this.poll(line, place)
    if (pick < 89) return this.token(line)
    return this.read(line)
  }

  /** A command of the access tokens; a rejection is an op too. */
  private token(line: Line): Shot {
    const name = `token-${this.dice.below(TOKENS_MAX)}`
    const there = this.tokens.has(name)
    const way = this.dice.below(3)
    if (way === 0) {
      const then = (answer: Uint8Array) => {
        const told = decodeBody(ClientCommands.listTokens.reply, answer.subarray(256)).map(token => token.name)
        if (!isDeepStrictEqual(told, [...this.tokens].sort()))
          throw new Error(`tokens ${told}, not ${[...this.tokens]}`)
      }
      return this.request(line, ClientCommands.listTokens, {}, OK, then)
    }
    if (way === 1) {
      const then = () => {
        this.ops++
        this.tokens.add(name)
      }
      return this.request(line, ClientCommands.createToken, { name, expiry: 0n }, there ? status(51) : OK, then)
    }
    const then = () => {
      this.ops++
      this.tokens.delete(name)
    }
    return this.request(line, ClientCommands.deleteToken, { name }, there ? OK : status(20), then)
  }

  private createStream(line: Line): Shot {
    const known = [...this.streams.values()].map(({ name }) => name)
    const twice = known.length > 0 && this.dice.chance(0.2)
    const name = twice ? this.dice.pick(known) : this.newName()
    const then = () => {
      this.ops++
      if (!twice) this.streams.set(lowestFree(this.streams), { name, topics: new Map() })
    }
    return this.request(line, ClientCommands.createStream, { name, options: [] }, twice ? status(1012) : OK, then)
  }

  private deleteStream(line: Line): Shot {
    const missing = this.dice.chance(0.3)
    const id = missing ? 77 : this.dice.pick([...this.streams.keys()])
    const stream = missing ? Ident.id(id) : this.identOf(id, this.streams.get(id)!.name)
    const then = () => {
      this.ops++
      this.streams.delete(id)
    }
    return this.request(line, ClientCommands.deleteStream, { stream }, missing ? status(1009) : OK, then)
  }

  private renameStream(line: Line): Shot {
    const [id, stream] = this.dice.pick([...this.streams])
    const name = this.newName()
    const then = () => {
      this.ops++
      stream.name = name
    }
    return this.request(
      line,
      ClientCommands.updateStream,
      { stream: this.identOf(id, stream.name), name, options: [] },
      OK,
      then,
    )
  }

  private createTopic(line: Line): Shot {
    const [id, { name: streamName, topics }] = this.dice.pick([...this.streams])
    const stream = this.identOf(id, streamName)
    const known = [...topics.values()].map(({ name }) => name)
    const twice = known.length >= TOPICS_MAX || (known.length > 0 && this.dice.chance(0.2))
    const name = twice ? this.dice.pick(known) : this.newName()
    const partitionsCount = this.dice.below(4)
    const then = () => {
      this.ops++
      if (twice) return
      const partitions = Array.from({ length: partitionsCount }, () => ({ messages: 0, offset: undefined }))
      topics.set(lowestFree(topics), { name, partitions })
    }
    const request = { stream, partitionsCount, name, options: [] }
    return this.request(line, ClientCommands.createTopic, request, twice ? status(2013) : OK, then)
  }

  private deleteTopic(line: Line, { stream, topic, topicId, topics }: Place): Shot {
    const then = () => {
      this.ops++
      topics.delete(topicId)
    }
    return this.request(line, ClientCommands.deleteTopic, { stream, topic }, OK, then)
  }

  private changePartitions(line: Line, { stream, topic, model }: Place): Shot {
    const more = this.dice.chance(0.5)
    const count = this.dice.between(1, 3)
    const { partitions } = model
    if (more) {
      const then = () => {
        this.ops++
        for (let index = 0; index < count; index++) partitions.push({ messages: 0, offset: undefined })
      }
      return this.request(line, ClientCommands.createPartitions, { stream, topic, count }, OK, then)
    }
    const tooMany = count > partitions.length
    const then = () => {
      this.ops++
      if (!tooMany) partitions.splice(partitions.length - count)
    }
    return this.request(
      line,
      ClientCommands.deletePartitions,
      { stream, topic, count },
      tooMany ? status(2019) : OK,
      then,
    )
  }

  private sendMessages(line: Line, place: Place): Shot {
    const { partition, model } = place
    const count = this.dice.between(1, 5)
    const known = model.partitions[partition]
    const then = (answer: Uint8Array) => {
      if (!known) return
      const [confirmed] = decodeBody(ClientCommands.send.reply, answer.subarray(256))
      if (confirmed?.baseOffset !== BigInt(known.messages)) {
        throw new Error(`confirmed at ${confirmed?.baseOffset}, where the model says ${known.messages}`)
      }
      known.messages += count
    }
    return this.request(line, ClientCommands.send, this.batchTo(place, count), known ? OK : status(20), then)
  }

  private storeOffset(line: Line, { stream, topic, partition, model }: Place): Shot {
    const known = model.partitions[partition]
    const offset = this.dice.below((known?.messages ?? 0) + 3)
    const legal = known !== undefined && offset < known.messages
    const request = { consumer: CONSUMER, stream, topic, partition, offset: Offset(BigInt(offset)), ack: 1 }
    const expected = legal ? OK : status(known ? 4100 : 20)
    return this.request(line, ClientCommands.storeOffset, request, expected, () => {
      if (legal) known.offset = offset
    })
  }

  private deleteOffset(line: Line, { stream, topic, partition, model }: Place): Shot {
    const known = model.partitions[partition]
    const expected = known?.offset !== undefined ? OK : status(known ? 3021 : 20)
    return this.request(
      line,
      ClientCommands.deleteOffset,
      { consumer: CONSUMER, stream, topic, partition, ack: 1 },
      expected,
      () => {
        if (known) known.offset = undefined
      },
    )
  }

  private poll(line: Line, { stream, topic, partition, model }: Place): Shot {
    const known = model.partitions[partition]
    const strategy = this.dice.between(0, 6)
    const count = this.dice.below(6)
    const autoCommit = this.dice.chance(0.3)
    const request = { consumer: CONSUMER, stream, topic, partition, strategy, value: 0n, count, autoCommit }
    const then = (answer: Uint8Array) => {
      if (!known) return
      const { messages } = known
      const next = known.offset === undefined ? 0 : known.offset + 1
      const starts = [undefined, 0, 0, 0, Math.max(0, messages - count), next, undefined]
      const from = starts[strategy]
      const served = from === undefined ? 0 : Math.max(0, Math.min(count, messages - from))
      const reply = decodeBody(ClientCommands.poll.reply, answer.subarray(256))
      if (reply.count !== served)
        throw new Error(`strategy ${strategy} served ${reply.count}, the model says ${served}`)
      if (autoCommit && served > 0) known.offset = Math.max(known.offset ?? -1, from! + served - 1)
    }
    return this.request(line, ClientCommands.poll, request, known ? OK : status(3007), then)
  }

  private read(line: Line): Shot {
    const command = this.dice.pick([
      ClientCommands.ping,
      ClientCommands.stats,
      ClientCommands.roster,
      ClientCommands.me,
      ClientCommands.listClients,
      ClientCommands.listStreams,
    ])
    return { name: command.name, bytes: line.frame(command.operation, new Uint8Array(0), command.code), expected: OK }
  }

  private badShot(line: Line): Shot {
    const place = this.place()
    const body = encodeBody(ClientCommands.createStream.request, { name: this.newName(), options: [] })
    const fields = line.fields(Operation.CreateStream)
    const header = (name: string, change: object): Shot => ({
      name: `bad ${name}`,
      bytes: requestFrame({ ...fields, ...change }, body),
      expected: status(3),
    })
    const sized = (size: number): Shot => {
      const bytes = requestFrame(fields, body)
      new DataView(bytes.buffer).setUint32(48, size, true)
      return { name: 'bad size', bytes, expected: { kind: 'closed' } }
    }
    switch (this.dice.below(14)) {
      case 0:
        return header('client', { client: ClientId(0n) })
      case 1:
        return header('operation', { operation: this.dice.pick([0, 4, 50, 69, 100, 127, 150, 163, 255]) })
      case 2:
        return header('internal operation', { operation: this.dice.between(64, 68) })
      case 3:
        return header('session', { session: 0n })
      case 4:
        return header('request number', { request: 0n })
      case 5:
        return sized(this.dice.pick([0, 1, 255, 0x0400_0001, 0x8000_0000, 0xffff_ffff]))
      case 6: {
        const bytes = requestFrame(fields, body)
        bytes[60] = this.dice.between(40, 255)
        return { name: 'bad command', bytes, expected: { kind: 'closed' } }
      }
      case 7: {
        // Known, but no request: dropped.
        const bytes = requestFrame(fields, body)
        bytes[60] = this.dice.pick([0, 1, 6, 8, 13, 30])
        return { name: 'no request', bytes, expected: { kind: 'silent' } }
      }
      case 8:
        return this.unserved(line)
      case 9:
        return place ? this.spoiltBatch(line, place) : this.unknownCode(line)
      case 10:
        return this.cutBody(line)
      case 11:
        return this.optioned(line)
      case 12: {
        const bytes = requestFrame({ ...fields, requestChecksum: 1n as never }, body)
        return { name: 'bad checksum', bytes, expected: status(4) }
      }
      default:
        return this.unknownCode(line)
    }
  }

  private unknownCode(line: Line): Shot {
    const code = this.dice.pick([0, 2, 9, 99, 500, 60_000, 0xffff_ffff])
    const bytes = line.frame(Operation.NonReplicated, this.dice.bytes(this.dice.below(40)), code)
    return { name: 'bad code', bytes, expected: status(3) }
  }

  /** Known to the protocol, not served by this build, or sent under the wrong operation. */
  private unserved(line: Line): Shot {
    if (this.dice.chance(0.5)) {
      const command = this.dice.pick([ClientCommands.listUsers, ClientCommands.createTopic, ClientCommands.send])
      return {
        name: 'not served',
        bytes: line.frame(Operation.NonReplicated, this.dice.bytes(9), command.code),
        expected: status(5),
      }
    }
    const operation = this.dice.pick([Operation.CreateUser, Operation.ChangePassword, Operation.JoinConsumerGroup])
    return { name: 'not served', bytes: line.frame(operation, this.dice.bytes(20)), expected: status(5) }
  }

  private spoiltBatch(line: Line, place: Place): Shot {
    const { metadata, batch } = this.batchTo(place, 2)
    const spoilt = new Uint8Array(batch)
    const way = this.dice.below(4)
    if (way === 0) spoilt[spoilt.length - 1]! ^= 1
    else if (way === 1) spoilt[24]! ^= 1
    else if (way === 2) spoilt[52 + this.dice.below(200)] = 1
    const messagesCount = way === 3 ? 3 : 2
    const body = encodeBody(ClientCommands.send.request, { metadata: { ...metadata, messagesCount }, batch: spoilt })
    const expected = status([4027, 4039, 3, 3][way]!)
    return { name: 'bad batch', bytes: line.frame(Operation.SendMessages, body), expected }
  }

  /** A body that ends before its last field does. */
  private cutBody(line: Line): Shot {
    const stream = Ident.id(0)
    const topic = Ident.id(0)
    const partition = 0
    const [operation, body, code] = this.dice.pick<readonly [number, Uint8Array, number]>([
      [Operation.CreateStream, encodeBody(ClientCommands.createStream.request, { name: 'cut short', options: [] }), 0],
      [Operation.DeleteStream, encodeBody(ClientCommands.deleteStream.request, { stream }), 0],
      [Operation.PurgeTopic, encodeBody(ClientCommands.purgeTopic.request, { stream, topic }), 0],
      [Operation.CreatePartitions, encodeBody(ClientCommands.createPartitions.request, { stream, topic, count: 1 }), 0],
      [
        Operation.DeleteSegments,
        encodeBody(ClientCommands.deleteSegments.request, { stream, topic, partitionId: 0, segmentsCount: 1 }),
        0,
      ],
      [
        Operation.StoreConsumerOffset,
        encodeBody(ClientCommands.storeOffset.request, {
          consumer: CONSUMER,
          stream,
          topic,
          partition,
          offset: Offset(0n),
          ack: 1,
        }),
        0,
      ],
      [
        Operation.NonReplicated,
        encodeBody(ClientCommands.getOffset.request, { consumer: CONSUMER, stream, topic, partition }),
        ClientCommands.getOffset.code,
      ],
      [
        Operation.NonReplicated,
        encodeBody(ClientCommands.getTopic.request, { stream, topic }),
        ClientCommands.getTopic.code,
      ],
    ])
    const cut = body.subarray(0, this.dice.below(body.length))
    return { name: 'cut body', bytes: line.frame(operation, cut, code), expected: status(3) }
  }

  private optioned(line: Line): Shot {
    const options = [{ key: 'colour', kind: 2, value: new Uint8Array([1]) }]
    const body = encodeBody(ClientCommands.createStream.request, { name: this.newName(), options })
    return { name: 'bad option', bytes: line.frame(Operation.CreateStream, body), expected: status(4041) }
  }

  private batchTo({ stream, topic, partition }: Place, count: number) {
    const message = () => ({
      id: this.dice.u64(),
      payload: this.dice.bytes(this.dice.between(1, 40)),
      originTimestamp: Micros(1_700_000_000_000_000n),
    })
    const batch = produceBatch(this.hash, Array.from({ length: count }, message))
    const partitioning = { kind: 'partition', partition } as const
    return { metadata: { stream, topic, partitioning, messagesCount: count }, batch }
  }

  private request<Q>(
    line: Line,
    command: { name: string; operation: number; code: number; request: Codec<Q> },
    value: Q,
    expected: Expected,
    then: (answer: Uint8Array) => void,
  ): Shot {
    const code = command.operation === Operation.NonReplicated ? command.code : 0
    const bytes = line.frame(command.operation, encodeBody(command.request, value), code)
    return { name: command.name, bytes, expected, then }
  }

  private identOf(id: number, name: string): Ident {
    return this.dice.chance(0.5) ? Ident.id(id) : Ident.name(name)
  }

  private newName(): string {
    this.names++
    return `n${this.names}`
  }

  /** A topic that exists, and a partition number that mostly does. */
  private place(): Place | undefined {
    const withTopics = [...this.streams].filter(([, { topics }]) => topics.size > 0)
    if (withTopics.length === 0) return undefined
    const [streamId, { name, topics }] = this.dice.pick(withTopics)
    const [topicId, model] = this.dice.pick([...topics])
    return {
      stream: this.identOf(streamId, name),
      topic: this.identOf(topicId, model.name),
      topicId,
      partition: this.dice.below(model.partitions.length + 1),
      model,
      topics,
    }
  }
}

interface Place {
  readonly stream: Ident
  readonly topic: Ident
  readonly topicId: number
  readonly partition: number
  readonly model: ModelTopic
  readonly topics: Map<number, ModelTopic>
}

const CONSUMER = { kind: 'consumer', id: Ident.id(5) } as const

/** One connection, logged in. */
class Line {
  private readonly client: ClientId
  private readonly transport: Transport
  private readonly frames: Uint8Array[]
  private session = 0n
  private request = 0n
  private wake: () => void = () => {}
  private gone = false

  private constructor(client: ClientId, transport: Transport, frames: Uint8Array[]) {
    this.client = client
    this.transport = transport
    this.frames = frames
  }

  static async open(port: number, client: ClientId): Promise<Line> {
    const frames: Uint8Array[] = []
    const splitter = new FrameSplitter()
    let line: Line | undefined
    const transport = await tcpNetwork.connect(
      { host: '127.0.0.1', port },
      {
        data: chunk => {
          splitter.push(chunk, frame => frames.push(frame))
          line?.wake()
        },
        close: () => {
          if (!line) return
          line.gone = true
          line.wake()
        },
      },
    )
    line = new Line(client, transport, frames)
    return line
  }

  async login(): Promise<void> {
    const fields = { protocol: PROTOCOL_VERSION, sdkName: 'fuzz', sdkVersion: '1', context: '' }
    const body = encodeBody(passwordLogin, { ...fields, username: 'iggy', password: 'iggy' })
    this.transport.send(
      requestFrame({ client: this.client, session: 0n, request: 0n, operation: Operation.Register }, body),
    )
    const answer = readServerFrame((await this.answer('login'))!)
    if (answer.kind !== 'reply' || answer.code !== 0) throw new Error('the login was refused')
    this.session = loginReply.read(new ByteReader(answer.payload)).session
  }

  fields(operation: number, code = 0) {
    const counted = operation !== Operation.NonReplicated && !isPartition(operation)
    if (counted) this.request++
    return { client: this.client, session: this.session, request: this.request || 1n, operation, code }
  }

  frame(operation: number, body: Uint8Array, code = 0): Uint8Array {
    return requestFrame(this.fields(operation, code), body)
  }

  /** In one write, or in pieces that end anywhere. */
  send(dice: Dice, bytes: Uint8Array): void {
    if (dice.chance(0.8)) {
      this.transport.send(bytes)
      return
    }
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + dice.between(1, 200))
      this.transport.send(bytes.subarray(at, end))
      at = end
    }
  }

  /** Undefined when the connection was closed instead. @throws when neither comes in time. */
  async answer(where: string): Promise<Uint8Array | undefined> {
    const deadline = performance.now() + ANSWER_MS
    while (this.frames.length === 0 && !this.gone) {
      const left = deadline - performance.now()
      if (left <= 0) throw new Error(`${where}: neither an answer nor a close within ${ANSWER_MS} ms`)
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, left)
        this.wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return this.frames.shift()
  }

  close(): void {
    this.transport.close()
  }
}
