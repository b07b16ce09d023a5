/**
 * The state that every replica holds alike: streams > topics > partitions, and users (spec metadata-storage.md §4). It is
 * changed by `apply` alone, from committed ops; nothing in here knows a clock, chance or configuration.
 */
import type { Micros } from '../bytes/units.ts'
import { type PartitionKey, packGroup } from '../protocol/groups.ts'
import type { Ident } from '../protocol/ident.ts'
import {
  type ConsumerGroupRecord,
  GLOBAL_GRANTS,
  type OptionRecord,
  type PermissionsRecord,
  type TokenRecord,
  type UserStatusRecord,
} from '../storage/snapshot-record.ts'
import { Slab } from './slab.ts'
import type { OptionMap, TopicSettings } from './topic-options.ts'

export interface PartitionMeta {
  readonly id: number
  /** Allocated by the primary; stored, but not what routes (§4.3). */
  readonly consensusGroup: bigint
  readonly createdAt: Micros
  /** Revision of the op that made it: tells two lives of the same key apart (§4.4). */
  readonly createdRevision: bigint
  purgeGeneration: bigint
  deletedUpToOffset: bigint
}

export interface TopicMeta {
  readonly id: number
  name: string
  readonly createdAt: Micros
  options: OptionMap
  settings: TopicSettings
  /** In ascending id order. */
  readonly partitions: PartitionMeta[]
  /** Ascending by id. Nothing in this build changes them: they are carried from snapshot to snapshot. */
  readonly consumerGroups: readonly ConsumerGroupRecord[]
  readonly nextConsumerGroupId: bigint
}

export interface StreamMeta {
  readonly id: number
  name: string
  readonly createdAt: Micros
  readonly topics: Slab<TopicMeta>
  /** Carried along. */
  readonly options: readonly OptionRecord[]
}

export interface UserMeta {
  readonly id: number
  readonly createdAt: Micros
  readonly username: string
  /** Result of the slow password hash. */
  readonly passwordHash: string
  readonly status: UserStatusRecord
  readonly permissions: PermissionsRecord | undefined
  /** Carried along. */
  readonly options: readonly OptionRecord[]
}

/** A partition as the reconciler wants it. */
export interface CommittedPartition {
  readonly key: PartitionKey
  readonly createdRevision: bigint
  /** Purges so far: what a partition has applied less of, it must still do. */
  readonly purgeGeneration: bigint
  /** Delete watermark: sealed segments that end at or below it are to go; 0 when there is none. */
  readonly deletedUpToOffset: bigint
  readonly settings: TopicSettings
}

const REVISION_MASK = 0xffff_ffff_ffff_ffffn

export class MetadataState {
  readonly streams = new Slab<StreamMeta>()
  readonly users = new Slab<UserMeta>()
  /** Access tokens by user id; a user without any has no entry. */
  readonly tokens = new Map<number, readonly TokenRecord[]>()
  /** Bumped by what changes the topology; wraps (§4.4). */
  revision = 0n
  /** Highest consensus group number seen in a committed op. */
  highestConsensusGroup = 0n

  bumpRevision(): bigint {
    this.revision = (this.revision + 1n) & REVISION_MASK
    return this.revision
  }

  stream(ident: Ident): StreamMeta | undefined {
    return find(this.streams, ident)
  }

  topic(stream: StreamMeta, ident: Ident): TopicMeta | undefined {
    return find(stream.topics, ident)
  }

  partition(key: PartitionKey): PartitionMeta | undefined {
    return this.streams
      .get(key.stream)
      ?.topics.get(key.topic)
      ?.partitions.find(partition => partition.id === key.partition)
  }

  userByName(username: string): UserMeta | undefined {
    for (const user of this.users) if (user.username === username) return user
    return undefined
  }

  /** Every committed partition by its group id. */
  partitions(): Map<bigint, CommittedPartition> {
    const committed = new Map<bigint, CommittedPartition>()
    for (const stream of this.streams) {
      for (const topic of stream.topics) {
        for (const partition of topic.partitions) {
          const key = { stream: stream.id, topic: topic.id, partition: partition.id }
          const { createdRevision, purgeGeneration, deletedUpToOffset } = partition
          const { settings } = topic
          committed.set(packGroup(key), { key, createdRevision, purgeGeneration, deletedUpToOffset, settings })
        }
      }
    }
    return committed
  }
}

function find<T extends { readonly id: number; readonly name: string }>(slab: Slab<T>, ident: Ident): T | undefined {
  if (ident.kind === 'id') return slab.get(ident.id)
  for (const value of slab) if (value.name === ident.name) return value
  return undefined
}

/** The root user: key 0, not in the log, seeded into the empty state before replay (§4.7). */
export function seedRoot(state: MetadataState, username: string, passwordHash: string): void {
  if (state.users.size > 0) return
  state.users.insert(id => ({
    id,
    createdAt: 1n as Micros,
    username,
    passwordHash,
    status: 'active',
    permissions: { global: new Array<boolean>(GLOBAL_GRANTS).fill(true), streams: undefined },
    options: [],
  }))
}
