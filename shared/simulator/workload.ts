/**
 * What the clients of a simulated cluster do (spec drills.md §2.4): metadata requests on names of their own, batches to eager
 * and to default topics, polls of any node, and reconnections; each answer goes to the ledgers.
 */
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/errors.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import type { PolledMessage } from '../protocol/messages.ts'
import { ClientLives } from './client-lives.ts'
import type { Dice } from './dice.ts'
import type { NameLedger, OffsetLedger } from './ledgers.ts'
import { METADATA_PREFIX } from './metadata-clients.ts'
import type { World } from './world.ts'

export interface WorkloadShape {
  readonly clients: number
  /** Mean pause of a client between two requests, in milliseconds. */
  readonly pauseMs: number
  /** Weights. */
  readonly metadata: number
  readonly produce: number
  readonly poll: number
  readonly reconnect: number
  /** Of the reconnections of clients that ask for metadata, how many are made: 0 to 1. Default: all. */
  readonly leadersReconnect?: number
  readonly batchMessages: number
  readonly payloadBytes: number
  /** Length that names of streams are filled up to, so that entries of the log are that much longer. Default: short ones. */
  readonly nameBytes?: number
  /** Clients that stay where they dialled, so that their writes are forwarded: 0 to 1. */
  readonly wrongNode: number
  /** Weight of purges and removals of segments, on a topic of their own. */
  readonly remove?: number
  /** Messages that a default topic gathers before it writes them; the engine's own default when missing. */
  readonly saveEach?: number
}

export const TOPICS = ['eager', 'default'] as const
export const PARTITIONS = 2
const SCRATCH = 'scratch'
const STREAM = 'fixed'
const TOPICS_PER_STREAM_MAX = 3
/** Of one client: each topic is a group that beats, and a hundred of them would be all that a run does. */
const STREAMS_MAX = 4
const CALL_BUDGET_MS = 8_000

export class Workload extends ClientLives {
  private readonly world: World
  private readonly shape: WorkloadShape
  private readonly dice: Dice
  private readonly names: NameLedger
  private readonly offsets: OffsetLedger
  /** The fixed topics of this run. */
  readonly topics: readonly string[]
  private payloads = 0

  constructor(world: World, shape: WorkloadShape, dice: Dice, names: NameLedger, offsets: OffsetLedger) {
    super()
    this.world = world
    this.shape = shape
    this.dice = dice
    this.names = names
    this.offsets = offsets
    this.topics = (shape.remove ?? 0) > 0 ? [...TOPICS, SCRATCH] : TOPICS
  }

  /** Makes the fixed topics; then the clients begin. */
  async prepare(): Promise<void> {
    const client = this.connect(0, true)
    const insist = async (work: () => Promise<unknown>, done: number) => {
      for (;;) {
        try {
          return await work()
        } catch (error) {
          if (!(error instanceof ClientError)) throw error
          if (error.status === done) return
          await this.pause(100)
        }
      }
    }
    await insist(() => client.createStream(STREAM), ErrorCode.StreamNameAlreadyExists)
    const { saveEach } = this.shape
    for (const topic of this.topics) {
      const lazy = saveEach === undefined ? {} : { messagesRequiredToSave: saveEach }
      const options = topic === 'eager' ? { enforceFsync: true, messagesRequiredToSave: 1 } : lazy
      await insist(
        () => client.createTopic(STREAM, topic, PARTITIONS, { ...options, segmentSize: 1_048_576n }),
        ErrorCode.TopicNameAlreadyExists,
      )
    }
    client.close()
  }

  begin(): void {
    for (let number = 0; number < this.shape.clients; number++) this.watch(this.life(number))
  }

  /** A client for the final reading: it stays where it is told. */
  reader(node: number): Client {
    return this.world.client([node], { followLeader: false, budgetMs: CALL_BUDGET_MS })
  }

  async readNames(client: Client): Promise<Set<string>> {
    const found = new Set<string>()
    for (const stream of await client.streams()) {
      if (stream.name === STREAM || stream.name.startsWith(METADATA_PREFIX)) continue
      found.add(stream.name)
      for (const topic of await client.topics(stream.name)) found.add(`${stream.name}/${topic.name}`)
    }
    return found
  }

  async readPartition(client: Client, topic: string, partition: number): Promise<Map<bigint, string>> {
    const found = new Map<bigint, string>()
    let offset = 0n
    for (;;) {
      const strategy = { kind: 'offset', offset } as const
      const { messages } = await client.poll({ stream: STREAM, topic, partition, strategy, count: 1_000 })
      if (messages.length === 0) return found
      this.offsets.polled(`${topic}/${partition}`, messages.map(read), offset)
      for (const message of messages.map(read)) found.set(message.offset, message.payload)
      const next = messages.at(-1)!.offset + 1n
      // Of an answer that goes backwards the ledger has said what there is to say.
      if (next <= offset) return found
      offset = next
    }
  }

  private connect(number: number, followLeader: boolean): Client {
    const nodes = this.world.nodes.map(node => node.id as number)
    const first = this.dice.below(nodes.length)
    const ordered = [...nodes.slice(first), ...nodes.slice(0, first)]
    return this.world.client(ordered, {
      followLeader,
      budgetMs: CALL_BUDGET_MS,
      requestTimeoutMs: 4_000,
      sdkName: `client-${number}`,
    })
  }

  private async life(number: number): Promise<void> {
    const { shape, dice } = this
    // Metadata requests are taken by their leader only; whoever stays elsewhere writes messages.
    const leads = number === 0 || !dice.chance(shape.wrongNode)
    let client = this.connect(number, leads)
    const { remove = 0 } = shape
    const total = shape.metadata + shape.produce + shape.poll + shape.reconnect + remove
    while (!this.stopping) {
      await this.pause(Math.max(1, dice.exponential(shape.pauseMs)))
      if (this.stopping) break
      const draw = dice.below(total)
      if (draw < shape.metadata && leads) await this.metadata(client, number)
      else if (draw < shape.metadata + shape.produce) await this.produce(client, number)
      else if (draw < total - shape.reconnect - remove) await this.poll(client)
      else if (draw < total - shape.reconnect) await this.remove(client)
      else if (!leads || shape.leadersReconnect === undefined || dice.chance(shape.leadersReconnect)) {
        client.close()
        client = this.connect(number, leads)
      }
    }
    client.close()
  }

  private pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      this.world.timeline.after(ms * 1_000, resolve)
    })
  }

  private async metadata(client: Client, number: number): Promise<void> {
    const { dice, names } = this
    const streams = names.withPrefix(`c${number}-`).filter(name => !name.includes('/'))
    const alive = streams.filter(name => names.of(name) === 'present')
    const draw = dice.below(10)
    if (alive.length === 0 || (draw < 4 && alive.length < STREAMS_MAX)) {
      // An outcome that stayed unknown is asked for again, now and then.
      const doubtful = streams.filter(name => names.of(name) === 'maybe')
      const again = doubtful.length > 0 && dice.chance(0.5)
      const fresh = `c${number}-${streams.length}`.padEnd(this.shape.nameBytes ?? 0, 'n')
      const name = again ? dice.pick(doubtful) : fresh
      names.created(name, await answer(client.createStream(name), ErrorCode.StreamNameAlreadyExists, 'exists'))
    } else if (draw < 6) {
      const name = dice.pick(alive)
      const how = await answer(client.deleteStream(name), ErrorCode.StreamIdNotFound, 'missing')
      names.deleted(name, how)
      if (how === 'ok' || how === 'missing') names.drop(`${name}/`, 'absent')
      else if (how === 'unknown') names.drop(`${name}/`, 'gone?')
    } else {
      const stream = dice.pick(alive)
      const topics = names.withPrefix(`${stream}/`)
      const there = topics.filter(name => names.of(name) === 'present')
      if (there.length < TOPICS_PER_STREAM_MAX && dice.chance(0.6)) {
        const name = `${stream}/t${topics.length}`
        const work = client.createTopic(stream, name.slice(stream.length + 1), 1)
        names.created(name, await answer(work, ErrorCode.TopicNameAlreadyExists, 'exists', () => names.missing(stream)))
      } else if (there.length > 0) {
        const name = dice.pick(there)
        const work = client.deleteTopic(stream, name.slice(stream.length + 1))
        names.deleted(name, await answer(work, ErrorCode.TopicIdNotFound, 'missing', () => names.missing(stream)))
      }
    }
  }

  /** A purge, or the oldest segments go; what was in them is asked for no more. */
  private async remove(client: Client): Promise<void> {
    const purge = this.dice.chance(0.5)
    const partition = this.dice.below(PARTITIONS)
    const names = purge ? Array.from({ length: PARTITIONS }, (_, each) => each) : [partition]
    for (const each of names)
      purge ? this.offsets.purge(`${SCRATCH}/${each}`) : this.offsets.excuse(`${SCRATCH}/${each}`)
    try {
      if (purge) await client.purgeTopic(STREAM, SCRATCH)
      else await client.deleteSegments(STREAM, SCRATCH, partition, 1)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
    }
  }

  private async produce(client: Client, number: number): Promise<void> {
    const { dice, shape } = this
    const topic = dice.pick(this.topics)
    const partition = dice.below(PARTITIONS)
    const payloads = Array.from(
      { length: dice.between(1, shape.batchMessages) },
      () => `c${number}-m${this.payloads++}-${'x'.repeat(dice.below(shape.payloadBytes))}`,
    )
    const messages = payloads.map(payload => ({ payload }))
    this.offsets.sending(`${topic}/${partition}`, payloads)
    try {
      const confirmed = await client.sendMessages(STREAM, topic, { kind: 'partition', partition }, messages)
      if (!confirmed) return
      this.offsets.confirmedAll(`${topic}/${partition}`, confirmed.baseOffset, payloads, true)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      if (error.outcome === 'not_applied') for (const payload of payloads) this.offsets.notStored(payload)
    }
  }

  private async poll(client: Client): Promise<void> {
    const { dice } = this
    const topic = dice.pick(this.topics)
    const partition = dice.below(PARTITIONS)
    const kind = dice.pick(['first', 'last', 'offset'] as const)
    const strategy = kind === 'offset' ? ({ kind, offset: BigInt(dice.below(500)) } as const) : { kind }
    try {
      const { messages } = await client.poll({ stream: STREAM, topic, partition, strategy, count: dice.between(1, 50) })
      const from = strategy.kind === 'offset' ? strategy.offset : 0n
      this.offsets.polled(`${topic}/${partition}`, messages.map(read), from)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
    }
  }
}

const DECODER = new TextDecoder()
const read = ({ offset, payload }: PolledMessage) => ({ offset, payload: DECODER.decode(payload) })

async function answer<T extends string>(
  work: Promise<unknown>,
  status: number,
  named: T,
  streamMissing: () => void = () => {},
): Promise<'ok' | 'refused' | 'unknown' | T> {
  try {
    await work
    return 'ok'
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    if (error.outcome === 'unknown') return 'unknown'
    if (error.status === ErrorCode.StreamIdNotFound && status !== error.status) streamMissing()
    return error.status === status ? named : 'refused'
  }
}
