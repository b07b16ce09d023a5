/** Streams and topics, made through the client protocol like anybody else would. */
import type { Hash } from '../../shared/bytes/hash.ts'
import { Client, type Credentials } from '../../shared/client/client.ts'
import { ClientError } from '../../shared/client/errors.ts'
import type { TopicPolicy } from '../../shared/inspection/api.ts'
import { ClientCommands } from '../../shared/protocol/command-codes.ts'
import { ErrorCode } from '../../shared/protocol/error-codes.ts'
import type { PartitionKey } from '../../shared/protocol/groups.ts'
import { consumerId, Ident } from '../../shared/protocol/ident.ts'
import { type OptionEntry, tlvOf } from '../../shared/protocol/tlv.ts'
import { nodeClientPorts } from './client-ports.ts'
import { consumerOf } from './consumer-name.ts'
import { ConsoleError } from './errors.ts'
import type { Hub } from './hub.ts'

/** A person waits for it; an election takes up to seven seconds. */
const BUDGET_MS = 10_000

export interface TopicRequest {
  readonly stream: string
  readonly topic: string
  readonly partitions: number
  readonly policy: TopicPolicy
  readonly segmentSizeBytes: number | undefined
}

export interface TopicIds {
  readonly stream: number
  readonly topic: number
  readonly partitions: number
}

const option = (key: string, { kind, bytes }: ReturnType<typeof tlvOf>): OptionEntry => ({ key, kind, value: bytes })

export function topicOptions(policy: TopicPolicy, segmentSizeBytes: number | undefined): OptionEntry[] {
  const entries: OptionEntry[] = []
  if (segmentSizeBytes !== undefined) entries.push(option('segment_size', tlvOf('u64', segmentSizeBytes)))
  if (policy === 'eager') {
    entries.push(option('enforce_fsync', tlvOf('bool', true)), option('messages_required_to_save', tlvOf('u32', 1)))
  }
  return entries
}

export class Topics {
  readonly #hub: Hub
  readonly #hash: Hash
  readonly #credentials: Credentials

  constructor(hub: Hub, hash: Hash, credentials: Credentials) {
    this.#hub = hub
    this.#hash = hash
    this.#credentials = credentials
  }

  async createStream(name: string): Promise<{ id: number; name: string }> {
    return this.#with(async client => {
      const stream = await client.call(ClientCommands.createStream, { name, options: [] })
      return { id: stream.id, name: stream.name }
    })
  }

  async createTopic(request: TopicRequest): Promise<TopicIds & { name: string }> {
    return this.#with(async client => {
      const stream = await client.call(ClientCommands.getStream, { stream: Ident.name(request.stream) })
      if (!stream) throw new ConsoleError('CON_NO_SUCH_THING', `There is no stream ${JSON.stringify(request.stream)}.`)
      const topic = await create(client, request)
      return { stream: stream.id, topic: topic.id, name: topic.name, partitions: topic.partitionsCount }
    })
  }

  /** Writes text to one partition and waits until it is acknowledged. Returns the offset of the first message. */
  async write(
    { stream, topic, partition }: PartitionKey,
    messages: readonly string[],
  ): Promise<{ messages: number; baseOffset: string | null }> {
    return this.#with(async client => {
      const sent = await client.sendMessages(
        stream,
        topic,
        { kind: 'partition', partition },
        messages.map(payload => ({ payload })),
      )
      return { messages: messages.length, baseOffset: sent?.baseOffset.toString() ?? null }
    })
  }

  /**
   * Stores up to where a consumer has read, by a quorum. Returns the number that its name stands for.
   * @throws ConsoleError CON_REQUEST_REFUSED when nothing has this offset yet (4100).
   */
  async storeOffset({ stream, topic, partition }: PartitionKey, consumer: string, offset: bigint): Promise<number> {
    const who = consumerOf(consumer)
    await this.#with(client => client.storeOffset(stream, topic, partition, offset, who))
    return consumerId(this.#hash, who.id)
  }

  /** Makes what is absent; a topic that is there keeps its settings and its number of partitions. */
  async ensure(request: TopicRequest): Promise<TopicIds> {
    return this.#with(async client => {
      const ref = { stream: Ident.name(request.stream), topic: Ident.name(request.topic) }
      const stream =
        (await client.call(ClientCommands.getStream, { stream: ref.stream })) ??
        (await orExisting(
          () => client.call(ClientCommands.createStream, { name: request.stream, options: [] }),
          ErrorCode.StreamNameAlreadyExists,
          () => client.call(ClientCommands.getStream, { stream: ref.stream }),
        ))
      const topic =
        (await client.call(ClientCommands.getTopic, ref)) ??
        (await orExisting(
          () => create(client, request),
          ErrorCode.TopicNameAlreadyExists,
          () => client.call(ClientCommands.getTopic, ref),
        ))
      return { stream: stream.id, topic: topic.id, partitions: topic.partitionsCount }
    })
  }

  async #with<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const { nodes } = this.#hub.supervisor.status()
    const endpoints = this.#hub.answering().map(id => {
      const node = nodes.find(candidate => candidate.replica === id)!
      return { host: node.host, port: node.ports.client }
    })
    if (endpoints.length === 0) throw new ConsoleError('CON_NO_NODE_SERVES', 'No node is running.')
    const client = new Client(nodeClientPorts, {
      endpoints,
      hash: this.#hash,
      credentials: this.#credentials,
      budgetMs: BUDGET_MS,
    })
    try {
      return await work(client)
    } catch (error) {
      throw understand(error)
    } finally {
      client.close()
    }
  }
}

const create = (client: Client, request: TopicRequest) =>
  client.call(ClientCommands.createTopic, {
    stream: Ident.name(request.stream),
    name: request.topic,
    partitionsCount: request.partitions,
    options: topicOptions(request.policy, request.segmentSizeBytes),
  })

/** Somebody else may have made it in the meantime, or a first attempt whose answer was lost. */
async function orExisting<T>(make: () => Promise<T>, exists: number, find: () => Promise<T | undefined>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    const found = error instanceof ClientError && error.status === exists ? await find() : undefined
    if (found === undefined) throw error
    return found
  }
}

/** A failure of the client in the console's terms. */
export function understand(error: unknown): Error {
  if (!(error instanceof ClientError)) return error as Error
  const origin = { code: error.code, message: error.message }
  if (error.outcome === 'unknown') return new ConsoleError('CON_OUTCOME_UNKNOWN', `No answer: ${error.message}`, origin)
  // The client marks it so: no doubt about the call, which was never sent.
  if (error.status === ErrorCode.TaskTimeout)
    return new ConsoleError('CON_SIGN_IN_TIMED_OUT', `No node signed the console in: ${error.message}.`, origin)
  const noPrimary =
    error.status === ErrorCode.TransientNotAccepted ||
    error.status === ErrorCode.TransientNotCommitted ||
    error.status === ErrorCode.CannotEstablishConnection ||
    error.status === ErrorCode.Disconnected ||
    error.status === ErrorCode.NotConnected
  if (noPrimary) return new ConsoleError('CON_NO_NODE_SERVES', `No node took the request: ${error.message}`, origin)
  return new ConsoleError('CON_REQUEST_REFUSED', error.message, origin)
}
