/** The commands of the protocol as methods (spec wire.md §3); how they get answered is in caller.ts. */
import { type Micros, Offset } from '../bytes/units.ts'
import { textBytes } from '../bytes/writer.ts'
import { produceBatch } from '../protocol/batch.ts'
import { encodeBody } from '../protocol/codec.ts'
import { ClientCommands } from '../protocol/command-codes.ts'
import type { Group, GroupAssignment, GroupDetails } from '../protocol/consumer-groups.ts'
import { type Consumer, Ident } from '../protocol/ident.ts'
import {
  type Confirmation,
  type Partitioning,
  type PolledMessage,
  PollKind,
  polledMessages,
  type StoredOffset,
} from '../protocol/messages.ts'
import type { Stream, StreamDetails } from '../protocol/streams.ts'
import type { ClientDetails, ClientInfo, Stats } from '../protocol/system.ts'
import { type OptionEntry, type TlvPair, userHeaders } from '../protocol/tlv.ts'
import type { TopicDetails, TopicHeader } from '../protocol/topics.ts'
import type { TokenInfo } from '../protocol/users.ts'
import { Caller } from './caller.ts'
import { randomU128 } from './identity.ts'
import { type TopicOptions, topicOptions } from './topic-options.ts'

export type { ClientOptions, Credentials } from './caller.ts'

/** An id, a name, or either as it travels. */
export type IdentLike = number | string | Ident

export interface OutgoingMessage {
  readonly payload: Uint8Array | string
  /** Drawn when absent. */
  readonly id?: bigint
  readonly userHeaders?: readonly TlvPair[]
  /** Now when absent. */
  readonly originTimestamp?: Micros
}

export type PollStrategy =
  | { readonly kind: 'offset'; readonly offset: bigint }
  | { readonly kind: 'timestamp'; readonly timestamp: bigint }
  /** `last`: the newest `count` messages; `next`: what follows the stored offset of the consumer. */
  | { readonly kind: 'first' | 'last' | 'next' }

export interface PollRequest {
  readonly stream: IdentLike
  readonly topic: IdentLike
  /** Absent: partition 0 for a single consumer. */
  readonly partition?: number
  /** Default: the single consumer with id 0. */
  readonly consumer?: Consumer
  readonly strategy: PollStrategy
  readonly count: number
  /** Stores the last served offset before the answer; default false. */
  readonly autoCommit?: boolean
}

export interface Polled {
  readonly partitionId: number
  /** Highest committed offset; 0 also when the partition is empty. */
  readonly currentOffset: Offset
  readonly messages: readonly PolledMessage[]
}

const SINGLE: Consumer = { kind: 'consumer', id: Ident.id(0) }

export class Client extends Caller {
  async ping(): Promise<void> {
    await this.call(ClientCommands.ping, {})
  }

  stats(): Promise<Stats> {
    return this.call(ClientCommands.stats, {})
  }
  me(): Promise<ClientDetails> {
    return this.call(ClientCommands.me, {})
  }
  /** Undefined when there is no such connection on the connected node. */
  getClient(clientId: number): Promise<ClientDetails | undefined> {
    return this.call(ClientCommands.getClient, { clientId })
  }
  clients(): Promise<readonly ClientInfo[]> {
    return this.call(ClientCommands.listClients, {})
  }

  /**
   * The secret of a new token of this user. It is given once: a repeated request is answered 51, and so is a name that is
   * taken. `expiryMicros` counts from now; 0: never.
   * @throws ClientError PersonalAccessTokenAlreadyExists, PersonalAccessTokensLimitReached …
   */
  async createToken(name: string, expiryMicros = 0n): Promise<string> {
    return (await this.call(ClientCommands.createToken, { name, expiry: expiryMicros })).token
  }
  /** The tokens of this user by name, without their secrets. */
  tokens(): Promise<readonly TokenInfo[]> {
    return this.call(ClientCommands.listTokens, {})
  }
  /** @throws ClientError ResourceNotFound. */
  async deleteToken(name: string): Promise<void> {
    await this.call(ClientCommands.deleteToken, { name })
  }

  /** @throws ClientError StreamNameAlreadyExists … */
  createStream(name: string, options: readonly OptionEntry[] = []): Promise<Stream> {
    return this.call(ClientCommands.createStream, { name, options })
  }
  stream(stream: IdentLike): Promise<StreamDetails | undefined> {
    return this.call(ClientCommands.getStream, { stream: Ident.of(stream) })
  }
  streams(): Promise<readonly Stream[]> {
    return this.call(ClientCommands.listStreams, {})
  }
  async updateStream(stream: IdentLike, name: string): Promise<void> {
    await this.call(ClientCommands.updateStream, { stream: Ident.of(stream), name, options: [] })
  }
  async deleteStream(stream: IdentLike): Promise<void> {
    await this.call(ClientCommands.deleteStream, { stream: Ident.of(stream) })
  }
  async purgeStream(stream: IdentLike): Promise<void> {
    await this.call(ClientCommands.purgeStream, { stream: Ident.of(stream) })
  }

  /** @throws ClientError StreamIdNotFound, TopicNameAlreadyExists, InvalidOptionValue … */
  createTopic(
    stream: IdentLike,
    name: string,
    partitionsCount: number,
    options: TopicOptions = {},
  ): Promise<TopicDetails> {
    return this.call(ClientCommands.createTopic, {
      stream: Ident.of(stream),
      name,
      partitionsCount,
      options: topicOptions(options),
    })
  }
  topic(stream: IdentLike, topic: IdentLike): Promise<TopicDetails | undefined> {
    return this.call(ClientCommands.getTopic, { stream: Ident.of(stream), topic: Ident.of(topic) })
  }
  topics(stream: IdentLike): Promise<readonly TopicHeader[]> {
    return this.call(ClientCommands.listTopics, { stream: Ident.of(stream) })
  }
  async deleteTopic(stream: IdentLike, topic: IdentLike): Promise<void> {
    await this.call(ClientCommands.deleteTopic, { stream: Ident.of(stream), topic: Ident.of(topic) })
  }
  async purgeTopic(stream: IdentLike, topic: IdentLike): Promise<void> {
    await this.call(ClientCommands.purgeTopic, { stream: Ident.of(stream), topic: Ident.of(topic) })
  }
  async createPartitions(stream: IdentLike, topic: IdentLike, count: number): Promise<void> {
    await this.call(ClientCommands.createPartitions, { stream: Ident.of(stream), topic: Ident.of(topic), count })
  }
  async deletePartitions(stream: IdentLike, topic: IdentLike, count: number): Promise<void> {
    await this.call(ClientCommands.deletePartitions, { stream: Ident.of(stream), topic: Ident.of(topic), count })
  }

  /** Deletes the oldest `count` sealed segments, as far as every stored consumer offset is past them. */
  async deleteSegments(stream: IdentLike, topic: IdentLike, partitionId: number, count: number): Promise<void> {
    const target = { stream: Ident.of(stream), topic: Ident.of(topic), partitionId }
    await this.call(ClientCommands.deleteSegments, { ...target, segmentsCount: count })
  }
  async updateTopic(stream: IdentLike, topic: IdentLike, name: string, options: TopicOptions = {}): Promise<void> {
    const target = { stream: Ident.of(stream), topic: Ident.of(topic) }
    await this.call(ClientCommands.updateTopic, { ...target, name, options: topicOptions(options) })
  }
  /** Writes what is committed of a partition to the files of the connected node. */
  async flush(stream: IdentLike, topic: IdentLike, partition: number, fsync = false): Promise<void> {
    const target = { stream: Ident.of(stream), topic: Ident.of(topic), partition }
    await this.call(ClientCommands.flushBuffer, { ...target, fsync })
  }

  /**
   * Sends one batch. Undefined: committed, but the server gave no offset.
   * @throws ClientError; its `outcome` says whether the batch may have been committed all the same.
   */
  sendMessages(
    stream: IdentLike,
    topic: IdentLike,
    partitioning: Partitioning,
    messages: readonly OutgoingMessage[],
  ): Promise<Confirmation | undefined> {
    const now = this.ports.clock.nowMicros()
    const batch = produceBatch(
      this.options.hash,
      messages.map(message => ({
        id: message.id ?? randomU128(this.ports.entropy),
        payload: typeof message.payload === 'string' ? textBytes(message.payload) : message.payload,
        originTimestamp: message.originTimestamp ?? now,
        ...(message.userHeaders && { userHeaders: encodeBody(userHeaders, message.userHeaders) }),
      })),
    )
    return this.sendBatch(stream, topic, partitioning, messages.length, batch)
  }

  /** Sends a batch that `produceBatch` has built. */
  async sendBatch(
    stream: IdentLike,
    topic: IdentLike,
    partitioning: Partitioning,
    messagesCount: number,
    batch: Uint8Array,
  ): Promise<Confirmation | undefined> {
    const metadata = { stream: Ident.of(stream), topic: Ident.of(topic), partitioning, messagesCount }
    const confirmations = await this.call(ClientCommands.send, { metadata, batch })
    return confirmations[0]
  }

  /** @throws ClientError PartitionNotFound … */
  async poll(request: PollRequest): Promise<Polled> {
    const { strategy } = request
    const reply = await this.call(ClientCommands.poll, {
      consumer: request.consumer ?? SINGLE,
      stream: Ident.of(request.stream),
      topic: Ident.of(request.topic),
      partition: request.partition,
      strategy: PollKind[strategy.kind],
      value: strategy.kind === 'offset' ? strategy.offset : strategy.kind === 'timestamp' ? strategy.timestamp : 0n,
      count: request.count,
      autoCommit: request.autoCommit ?? false,
    })
    return { partitionId: reply.partitionId, currentOffset: reply.currentOffset, messages: polledMessages(reply) }
  }

  /** Undefined when nothing is stored. */
  storedOffset(
    stream: IdentLike,
    topic: IdentLike,
    partition: number,
    consumer: Consumer = SINGLE,
  ): Promise<StoredOffset | undefined> {
    return this.call(ClientCommands.getOffset, {
      consumer,
      stream: Ident.of(stream),
      topic: Ident.of(topic),
      partition,
    })
  }
  async storeOffset(
    stream: IdentLike,
    topic: IdentLike,
    partition: number,
    offset: bigint,
    consumer: Consumer = SINGLE,
  ): Promise<void> {
    const target = { consumer, stream: Ident.of(stream), topic: Ident.of(topic), partition }
    await this.call(ClientCommands.storeOffset, { ...target, offset: Offset(offset), ack: 1 })
  }
  async deleteOffset(
    stream: IdentLike,
    topic: IdentLike,
    partition: number,
    consumer: Consumer = SINGLE,
  ): Promise<void> {
    const target = { consumer, stream: Ident.of(stream), topic: Ident.of(topic), partition }
    await this.call(ClientCommands.deleteOffset, { ...target, ack: 1 })
  }

  createGroup(stream: IdentLike, topic: IdentLike, name: string): Promise<GroupDetails> {
    return this.call(ClientCommands.createGroup, { stream: Ident.of(stream), topic: Ident.of(topic), name })
  }
  groups(stream: IdentLike, topic: IdentLike): Promise<readonly Group[]> {
    return this.call(ClientCommands.listGroups, { stream: Ident.of(stream), topic: Ident.of(topic) })
  }
  async joinGroup(stream: IdentLike, topic: IdentLike, group: IdentLike): Promise<void> {
    await this.call(ClientCommands.joinGroup, {
      stream: Ident.of(stream),
      topic: Ident.of(topic),
      group: Ident.of(group),
    })
  }
  async leaveGroup(stream: IdentLike, topic: IdentLike, group: IdentLike): Promise<void> {
    await this.call(ClientCommands.leaveGroup, {
      stream: Ident.of(stream),
      topic: Ident.of(topic),
      group: Ident.of(group),
    })
  }
  /** Undefined when this client is no member. */
  syncGroup(stream: IdentLike, topic: IdentLike, group: IdentLike): Promise<GroupAssignment | undefined> {
    return this.call(ClientCommands.syncGroup, {
      stream: Ident.of(stream),
      topic: Ident.of(topic),
      group: Ident.of(group),
    })
  }
}
