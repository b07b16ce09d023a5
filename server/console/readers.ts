/**
 * Messages as a client of one node gets them (spec wire.md §3.8.3). A poll is served by the node that the client is
 * connected to, from what that node knows to be committed; so the client stays where it was sent and never follows the
 * leader. Every sign-in is an op of the metadata group: a client is kept for the next question, and closed when none comes.
 */
import { EngineError } from '../../shared/bytes/errors.ts'
import type { Hash } from '../../shared/bytes/hash.ts'
import { toHex } from '../../shared/bytes/hex.ts'
import { Client, type Credentials, type PollStrategy } from '../../shared/client/client.ts'
import { ClientError } from '../../shared/client/errors.ts'
import type { ClientPorts } from '../../shared/client/ports.ts'
import {
  HEADERS_SHOWN_BYTES,
  PAYLOAD_SHOWN_BYTES,
  type PolledAnswer,
  type PollStrategyName,
} from '../../shared/inspection/polls.ts'
import { ErrorCode } from '../../shared/protocol/error-codes.ts'
import type { PartitionKey } from '../../shared/protocol/groups.ts'
import type { PolledMessage } from '../../shared/protocol/messages.ts'
import { nodeClientPorts } from './client-ports.ts'
import { consumerOf } from './consumer-name.ts'
import { ConsoleError } from './errors.ts'
import type { Hub } from './hub.ts'
import { understand } from './topics.ts'
import { wallUs } from './wall.ts'

/** Of each of the two questions of a poll; both together stay below what the page waits. */
const BUDGET_MS = 4_000
const IDLE_MS = 60_000

export interface PollAsk {
  readonly strategy: PollStrategyName
  /** Offset, or microseconds; other strategies have none. */
  readonly value: bigint
  readonly count: number
  /** A number, or a name. */
  readonly consumer: string
}

interface Kept {
  readonly client: Client
  readonly port: number
  timer: NodeJS.Timeout | undefined
}

export class Readers {
  readonly #hub: Pick<Hub, 'endpoint' | 'status'>
  readonly #hash: Hash
  readonly #credentials: Credentials
  readonly #ports: ClientPorts
  readonly #kept = new Map<number, Kept>()

  constructor(
    hub: Pick<Hub, 'endpoint' | 'status'>,
    hash: Hash,
    credentials: Credentials,
    ports: ClientPorts = nodeClientPorts,
  ) {
    this.#hub = hub
    this.#ports = ports
    this.#hash = hash
    this.#credentials = credentials
  }

  /**
   * Polls without committing anything: what is stored of the consumer stays as it is.
   * @throws ConsoleError CON_NODE_DOWN, CON_NODE_SILENT, CON_NO_SUCH_THING, CON_NODE_ERROR, CON_SIGN_IN_TIMED_OUT …
   */
  async poll(node: number, { stream, topic, partition }: PartitionKey, ask: PollAsk): Promise<PolledAnswer> {
    const consumer = consumerOf(ask.consumer)
    return this.#read(node, async client => {
      const polled = await client.poll({
        stream,
        topic,
        partition,
        consumer,
        strategy: strategyOf(ask),
        count: ask.count,
      })
      const stored = await client.storedOffset(stream, topic, partition, consumer)
      return {
        servedBy: node,
        takenWallUs: wallUs(),
        currentOffset: polled.currentOffset.toString(),
        storedOffset: stored?.storedOffset.toString() ?? null,
        messages: polled.messages.map(shown),
      }
    })
  }

  /** The whole payload of one message. @throws ConsoleError as `poll`; CON_NO_SUCH_THING when nothing has this offset. */
  async payload(node: number, { stream, topic, partition }: PartitionKey, offset: bigint): Promise<Uint8Array> {
    return this.#read(node, async client => {
      const { messages } = await client.poll({
        stream,
        topic,
        partition,
        strategy: { kind: 'offset', offset },
        count: 1,
      })
      const [message] = messages
      // Inside a gap a poll goes on behind it: that is another message.
      if (message?.offset !== offset)
        throw new ConsoleError('CON_NO_SUCH_THING', `node-${node} has no message at offset ${offset}.`)
      return message.payload
    })
  }

  close(): void {
    for (const node of [...this.#kept.keys()]) this.#drop(node)
  }

  async #read<T>(node: number, work: (client: Client) => Promise<T>): Promise<T> {
    // Says what is wrong with the node before anybody waits for it.
    const { host } = this.#hub.endpoint(node)
    const kept = this.#clientOf(node, host, this.#hub.status(node).ports.client)
    clearTimeout(kept.timer)
    try {
      return await work(kept.client)
    } catch (error) {
      throw readFailure(error, node)
    } finally {
      kept.timer = setTimeout(() => this.#drop(node), IDLE_MS)
      kept.timer.unref()
    }
  }

  #clientOf(node: number, host: string, port: number): Kept {
    const known = this.#kept.get(node)
    if (known?.port === port) return known
    this.#drop(node)
    const client = new Client(this.#ports, {
      endpoints: [{ host, port }],
      hash: this.#hash,
      credentials: this.#credentials,
      followLeader: false,
      budgetMs: BUDGET_MS,
    })
    const kept = { client, port, timer: undefined }
    this.#kept.set(node, kept)
    return kept
  }

  #drop(node: number): void {
    const kept = this.#kept.get(node)
    if (!kept) return
    clearTimeout(kept.timer)
    kept.client.close()
    this.#kept.delete(node)
  }
}

const strategyOf = ({ strategy, value }: PollAsk): PollStrategy =>
  strategy === 'offset'
    ? { kind: 'offset', offset: value }
    : strategy === 'timestamp'
      ? { kind: 'timestamp', timestamp: value }
      : { kind: strategy }

const shown = (message: PolledMessage): PolledAnswer['messages'][number] => ({
  offset: message.offset.toString(),
  timestampUs: message.timestamp.toString(),
  originTimestampUs: message.originTimestamp.toString(),
  id: message.id.toString(16).padStart(32, '0'),
  checksum: message.checksum.toString(16).padStart(16, '0'),
  payloadBytes: message.payload.length,
  payloadHex: toHex(message.payload.subarray(0, PAYLOAD_SHOWN_BYTES)),
  headersBytes: message.userHeaders.length,
  headersHex: toHex(message.userHeaders.subarray(0, HEADERS_SHOWN_BYTES)),
})

const ABSENT: ReadonlySet<number> = new Set([
  ErrorCode.ResourceNotFound,
  ErrorCode.StreamIdNotFound,
  ErrorCode.TopicIdNotFound,
  ErrorCode.PartitionNotFound,
])

/** A read changes nothing: it has no outcome to doubt, only an answer that is there or not. */
export function readFailure(error: unknown, node: number): Error {
  if (error instanceof ConsoleError) return error
  if (error instanceof ClientError) {
    const origin = { code: error.code, message: error.message }
    if (ABSENT.has(error.status))
      return new ConsoleError('CON_NO_SUCH_THING', `node-${node}: ${error.message}.`, origin)
    if (error.status === ErrorCode.InvalidBytesResponse)
      return new ConsoleError('CON_NODE_ERROR', `node-${node} answered with bytes that are no poll.`, origin)
    if (error.outcome === 'unknown')
      return new ConsoleError('CON_NODE_SILENT', `node-${node} took the poll and did not answer it.`, origin)
    return understand(error)
  }
  if (error instanceof EngineError)
    return new ConsoleError('CON_NODE_ERROR', `node-${node} answered with records that do not hold together.`, {
      code: error.code,
      message: error.message,
    })
  return error as Error
}
