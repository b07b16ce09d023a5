/**
 * What the metadata log means, written a second time and from the specification alone (metadata-storage.md §4.4, §4.5, §4.7;
 * spec drills.md §2.5, checker 11): streams, topics, partitions and access tokens. It shares the codecs of bodies with the
 * engine and nothing else. A state never changes: an op makes the next one, so that every prefix of the log stays at hand.
 * Users and consumer groups are no part of it, because no op of theirs does anything in this build; what a partition holds,
 * the offsets stored in it included, is its own group's affair and other checkers'.
 */
import { toHex } from '../../bytes/hex.ts'
import { type Codec, decodeRequest } from '../../protocol/codec.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import type { Ident } from '../../protocol/ident.ts'
import { Operation } from '../../protocol/operations.ts'
import {
  createPartitionsWithAssignments,
  createTokenReplicated,
  createTopicWithAssignments,
  deleteTokenReplicated,
  truncatePartition,
} from '../../protocol/replicated.ts'
import { createStream, streamRef, updateStream } from '../../protocol/streams.ts'
import type { OptionEntry } from '../../protocol/tlv.ts'
import { partitionsChange, topicRef, updateTopic } from '../../protocol/topics.ts'

export interface ModelOption {
  readonly key: string
  readonly explicit: boolean
  /** Kind and bytes. */
  readonly value: string
}

export interface ModelPartition {
  readonly id: number
  readonly createdAt: bigint
}

export interface ModelTopic {
  readonly id: number
  readonly name: string
  readonly createdAt: bigint
  readonly options: readonly ModelOption[]
  readonly partitions: readonly ModelPartition[]
}

export interface ModelStream {
  readonly id: number
  readonly name: string
  readonly createdAt: bigint
  readonly topics: readonly ModelTopic[]
}

export interface ModelToken {
  readonly userId: number
  readonly name: string
  /** 0: never. */
  readonly expiryAt: bigint
}

/** Lists are in ascending id order. */
export interface ModelState {
  readonly streams: readonly ModelStream[]
  readonly tokens: readonly ModelToken[]
}

/** One committed op. */
export interface ModelOp {
  readonly operation: number
  readonly timestamp: bigint
  readonly body: Uint8Array
}

export interface ModelResult {
  readonly state: ModelState
  /** 0, or the code of the rejection that is committed. */
  readonly code: number
  /** What the op created. */
  readonly stream?: ModelStream
  readonly topic?: ModelTopic
}

export const EMPTY: ModelState = { streams: [], tokens: [] }

const PARTITION_IDS = 1_000_000
const U64 = 0xffff_ffff_ffff_ffffn

/** The state behind an op, and what its client is told. */
export function execute(state: ModelState, op: ModelOp): ModelResult {
  const { operation, body, timestamp } = op
  const read = <T>(codec: Codec<T>): T => decodeRequest(codec, body)
  const refuse = (code: number): ModelResult => ({ state, code })
  const done = (next: ModelState, created: Pick<ModelResult, 'stream' | 'topic'> = {}): ModelResult => ({
    state: next,
    code: 0,
    ...created,
  })
  /** Resolves level by level. */
  const within = (
    at: { readonly stream: Ident; readonly topic: Ident },
    then: (stream: ModelStream, topic: ModelTopic) => ModelResult,
  ): ModelResult => {
    const stream = named(state.streams, at.stream)
    if (!stream) return refuse(ErrorCode.StreamIdNotFound)
    const topic = named(stream.topics, at.topic)
    return topic ? then(stream, topic) : refuse(ErrorCode.TopicIdNotFound)
  }
  const setTopics = (stream: ModelStream, topics: readonly ModelTopic[]): ModelState => ({
    ...state,
    streams: replaced(state.streams, { ...stream, topics }),
  })
  switch (operation) {
    case Operation.CreateStream: {
      const { name } = read(createStream)
      if (state.streams.some(stream => stream.name === name)) return refuse(ErrorCode.StreamNameAlreadyExists)
      const stream: ModelStream = { id: lowestFree(state.streams), name, createdAt: timestamp, topics: [] }
      return done({ ...state, streams: placed(state.streams, stream) }, { stream })
    }
    case Operation.UpdateStream: {
      const request = read(updateStream)
      const stream = named(state.streams, request.stream)
      if (!stream) return refuse(ErrorCode.StreamIdNotFound)
      if (state.streams.some(({ id, name }) => name === request.name && id !== stream.id))
        return refuse(ErrorCode.StreamNameAlreadyExists)
      return done({ ...state, streams: replaced(state.streams, { ...stream, name: request.name }) })
    }
    case Operation.DeleteStream: {
      const stream = named(state.streams, read(streamRef).stream)
      if (!stream) return refuse(ErrorCode.StreamIdNotFound)
      return done({ ...state, streams: state.streams.filter(({ id }) => id !== stream.id) })
    }
    case Operation.PurgeStream:
      return named(state.streams, read(streamRef).stream) ? done(state) : refuse(ErrorCode.StreamIdNotFound)
    case Operation.CreateTopicWithAssignments: {
      const { request, derivedOptions, assignments } = read(createTopicWithAssignments)
      const stream = named(state.streams, request.stream)
      if (!stream) return refuse(ErrorCode.StreamIdNotFound)
      if (stream.topics.some(({ name }) => name === request.name)) return refuse(ErrorCode.TopicNameAlreadyExists)
      const ids = assignments.map(({ partitionId }) => partitionId).sort((a, b) => a - b)
      if (ids.some(id => id >= PARTITION_IDS)) return refuse(ErrorCode.PartitionIdSpaceExhausted)
      if (new Set(ids).size < ids.length) return refuse(ErrorCode.InvalidPartitionsCount)
      const topic: ModelTopic = {
        id: lowestFree(stream.topics),
        name: request.name,
        createdAt: timestamp,
        options: overlaid(overlaid([], derivedOptions, false), request.options, true),
        partitions: ids.map(id => ({ id, createdAt: timestamp })),
      }
      return done(setTopics(stream, placed(stream.topics, topic)), { topic })
    }
    case Operation.UpdateTopic: {
      const request = read(updateTopic)
      return within(request, (stream, topic) => {
        if (stream.topics.some(({ id, name }) => name === request.name && id !== topic.id))
          return refuse(ErrorCode.TopicNameAlreadyExists)
        const options = overlaid(topic.options, request.options, true)
        return done(setTopics(stream, replaced(stream.topics, { ...topic, name: request.name, options })))
      })
    }
    case Operation.DeleteTopic:
      return within(read(topicRef), (stream, topic) =>
        done(
          setTopics(
            stream,
            stream.topics.filter(({ id }) => id !== topic.id),
          ),
        ),
      )
    case Operation.PurgeTopic:
      return within(read(topicRef), () => done(state))
    case Operation.CreatePartitionsWithAssignments: {
      const { request, assignments } = read(createPartitionsWithAssignments)
      return within(request, (stream, topic) => {
        const base = (topic.partitions.at(-1)?.id ?? -1) + 1
        const ids = assignments.map(({ partitionId }) => base + partitionId).sort((a, b) => a - b)
        if (new Set(ids).size < ids.length || ids.some(id => id > 0xffff_ffff))
          return refuse(ErrorCode.InvalidPartitionsCount)
        if (ids.some(id => id >= PARTITION_IDS)) return refuse(ErrorCode.PartitionIdSpaceExhausted)
        const partitions = [...topic.partitions, ...ids.map(id => ({ id, createdAt: timestamp }))]
        return done(setTopics(stream, replaced(stream.topics, { ...topic, partitions })))
      })
    }
    case Operation.DeletePartitions: {
      const request = read(partitionsChange)
      return within(request, (stream, topic) => {
        const left = topic.partitions.length - request.count
        if (left < 0) return refuse(ErrorCode.InvalidPartitionsCount)
        const partitions = topic.partitions.slice(0, left)
        return done(setTopics(stream, replaced(stream.topics, { ...topic, partitions })))
      })
    }
    case Operation.TruncatePartition: {
      const request = read(truncatePartition)
      return within(request, (_, { partitions }) =>
        partitions.some(({ id }) => id === request.partition) ? done(state) : refuse(ErrorCode.PartitionNotFound),
      )
    }
    case Operation.CreatePersonalAccessToken: {
      const { userId, name, expiry } = read(createTokenReplicated)
      if (state.tokens.some(token => token.userId === userId && token.name === name))
        return refuse(ErrorCode.PersonalAccessTokenAlreadyExists)
      const never = expiry === 0n || expiry === U64
      const expiryAt = never ? 0n : (timestamp + expiry) & U64
      if (!never && expiryAt <= timestamp) return refuse(ErrorCode.InvalidPersonalAccessTokenExpiry)
      return done({ ...state, tokens: [...state.tokens, { userId, name, expiryAt }] })
    }
    case Operation.DeletePersonalAccessToken: {
      const { userId, name, onlyIfExpired } = read(deleteTokenReplicated)
      if (!state.tokens.some(token => token.userId === userId)) return refuse(ErrorCode.ResourceNotFound)
      const token = state.tokens.find(each => each.userId === userId && each.name === name)
      const expired = token !== undefined && token.expiryAt !== 0n && token.expiryAt <= timestamp
      if (onlyIfExpired && !expired) return done(state)
      if (!token) return refuse(ErrorCode.ResourceNotFound)
      return done({ ...state, tokens: state.tokens.filter(each => each !== token) })
    }
    default:
      // Sessions, and what no machine of this build knows: it passes, and changes nothing.
      return done(state)
  }
}

/** The one that a request names, by its id or by its name. */
export function named<T extends { readonly id: number; readonly name: string }>(
  list: readonly T[],
  ident: Ident,
): T | undefined {
  return list.find(({ id, name }) => (ident.kind === 'id' ? id === ident.id : name === ident.name))
}

function lowestFree(list: readonly { readonly id: number }[]): number {
  const taken = new Set(list.map(({ id }) => id))
  let id = 0
  while (taken.has(id)) id++
  return id
}

const placed = <T extends { readonly id: number }>(list: readonly T[], item: T): readonly T[] =>
  [...list, item].sort((a, b) => a.id - b.id)

const replaced = <T extends { readonly id: number }>(list: readonly T[], item: T): readonly T[] =>
  list.map(each => (each.id === item.id ? item : each))

const overlaid = (
  options: readonly ModelOption[],
  entries: readonly OptionEntry[],
  explicit: boolean,
): readonly ModelOption[] => {
  const merged = new Map(options.map(option => [option.key, option]))
  for (const entry of entries) merged.set(entry.key, { key: entry.key, explicit, value: valueText(entry) })
  return [...merged.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
}

export const valueText = ({ kind, value }: OptionEntry): string => `${kind}:${toHex(value)}`
