/**
 * State and client table as a snapshot record, and back (spec metadata-storage.md §3.2, §3.3, §5). Every collection leaves
 * here in its one order, so that two replicas with the same state write the same bytes whatever their history was.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Micros, Op } from '../bytes/units.ts'
import { RULES_ON, type Rules } from '../protocol/rules.ts'
import {
  type ClientEntryRecord,
  type OptionRecord,
  type PermissionsRecord,
  type SnapshotRecord,
  type StatsRecord,
  type StreamRecord,
  type TopicRecord,
  WRITER_RELEASE,
} from '../storage/snapshot-record.ts'
import type { ClientTable } from './client-table.ts'
import { ValueKind } from './option-values.ts'
import { Slab } from './slab.ts'
import type { MetadataState, StreamMeta, TopicMeta } from './state.ts'
import { Compression, type OptionMap, type StoredOption, settingsOf } from './topic-options.ts'

/** Counted by each node from its own disk, so not part of what replicas agree on. */
const NO_STATS: StatsRecord = { sizeBytes: 0n, messages: 0n, segments: 0n }

/** The whole replicated state as of `op`. `createdAt` is the time in the prepare of that op: alike on every replica. */
export function snapshotOf(
  state: MetadataState,
  clients: ClientTable,
  op: Op,
  createdAt: Micros,
  rules: Rules = RULES_ON,
): SnapshotRecord {
  const users = [...state.users]
  const kept = rules.snapshotHoldsClients ? [...clients.entries()] : []
  return {
    createdAt,
    op,
    users: users.map(user => ({ ...user, permissions: user.permissions && sortPermissions(user.permissions) })),
    tokens: users.map(({ id }) => ({
      userId: id,
      tokens: [...(state.tokens.get(id) ?? [])].sort((a, b) => byText(a.name, b.name)),
    })),
    streams: [...state.streams].map(streamRecord),
    revision: state.revision,
    clients: kept.map(([slot, entry]): ClientEntryRecord => {
      const { client, epoch, userId, watermark, watermarkChecksum, replies } = entry
      return { slot, client, epoch, userId, watermark, watermarkChecksum, reply: replies[replies.length - 1]!.frame }
    }),
    writerRelease: WRITER_RELEASE,
  }
}

const streamRecord = (stream: StreamMeta): StreamRecord => ({
  id: stream.id,
  name: stream.name,
  createdAt: stream.createdAt,
  stats: NO_STATS,
  topics: [...stream.topics].map(topicRecord),
  options: sortOptions(stream.options),
})

const topicRecord = (topic: TopicMeta): TopicRecord => ({
  id: topic.id,
  name: topic.name,
  createdAt: topic.createdAt,
  messageExpiry: topic.settings.messageExpiry,
  compression: topic.settings.compression === Compression.Gzip ? 'gzip' : 'none',
  maxTopicSize: topic.settings.maxTopicSize,
  stats: NO_STATS,
  partitions: topic.partitions.map(partition => ({ ...partition })),
  consumerGroups: [...topic.consumerGroups]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(group => ({ ...group, members: [...group.members].sort((a, b) => a.id - b.id) })),
  nextConsumerGroupId: topic.nextConsumerGroupId,
  options: topic.options.map(optionRecord),
})

const optionRecord = ({ key, kind, value, explicit }: StoredOption): OptionRecord => ({
  keyKind: ValueKind.String,
  key: new TextEncoder().encode(key),
  kind,
  value,
  explicit,
})

/**
 * Replaces `state` by what the record says. The client table is restored by its own owner.
 * @throws EngineError SnapshotInvalid when the record contradicts itself; the state is half replaced then.
 */
export function restoreState(state: MetadataState, record: SnapshotRecord): void {
  state.streams.clear()
  state.users.clear()
  state.tokens.clear()
  state.revision = record.revision
  state.highestConsensusGroup = 0n
  for (const user of record.users) keep('user', user.id, () => state.users.restore(user.id, user))
  for (const { userId, tokens } of record.tokens) {
    if (tokens.length > 0) state.tokens.set(userId, tokens)
  }
  for (const stream of record.streams) {
    const topics = new Slab<TopicMeta>()
    for (const topic of stream.topics) {
      keep('topic', topic.id, () => topics.restore(topic.id, topicOf(topic)))
      for (const { consensusGroup } of topic.partitions)
        if (consensusGroup > state.highestConsensusGroup) state.highestConsensusGroup = consensusGroup
    }
    const { id, name, createdAt, options } = stream
    keep('stream', id, () => state.streams.restore(id, { id, name, createdAt, topics, options }))
  }
}

function topicOf(topic: TopicRecord): TopicMeta {
  const options = optionMap(topic.options)
  return {
    id: topic.id,
    name: topic.name,
    createdAt: topic.createdAt,
    options,
    settings: settingsOf(options),
    partitions: topic.partitions.map(partition => ({ ...partition })).sort((a, b) => a.id - b.id),
    consumerGroups: topic.consumerGroups,
    nextConsumerGroupId: topic.nextConsumerGroupId,
  }
}

function optionMap(options: readonly OptionRecord[]): OptionMap {
  return options
    .map(({ key, kind, value, explicit }) => ({ key: new TextDecoder().decode(key), kind, value, explicit }))
    .sort((a, b) => byText(a.key, b.key))
}

function keep(what: string, id: number, restore: () => void): void {
  try {
    restore()
  } catch (cause) {
    throw new EngineError('SnapshotInvalid', `the snapshot names ${what} ${id} twice`, {}, { cause })
  }
}

function sortPermissions({ global, streams }: PermissionsRecord): PermissionsRecord {
  const byId = (a: { readonly id: number }, b: { readonly id: number }) => a.id - b.id
  return {
    global,
    streams: streams?.map(stream => ({ ...stream, topics: stream.topics && [...stream.topics].sort(byId) })).sort(byId),
  }
}

const sortOptions = (options: readonly OptionRecord[]): OptionRecord[] =>
  [...options].sort((a, b) => a.keyKind - b.keyKind || byBytes(a.key, b.key))

/** By UTF-8 bytes, which is not how JavaScript compares texts. */
const byText = (a: string, b: string): number => {
  const encoder = new TextEncoder()
  return byBytes(encoder.encode(a), encoder.encode(b))
}

function byBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length)
  for (let at = 0; at < shared; at++) if (a[at] !== b[at]) return a[at]! - b[at]!
  return a.length - b.length
}
