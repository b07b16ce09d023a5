/**
 * What a metadata snapshot says, and its bytes (spec metadata-storage.md §3.2). A struct is an array in field order:
 *
 *   MetadataSnapshot[7] = version 3 | created_at | op | users or nil | streams or nil | client table or nil | writer release
 *   Users[3]      = [[key, User]…] | [[user id, [[name, Token]…]]…] | six empty arrays
 *   User[7]       = id | username | password hash | status | created_at | permissions or nil | options
 *   Token[4]      = user id | name | hash | expiry or nil
 *   Streams[2]    = [[key, Stream]…] | revision
 *   Stream[6]     = id | name | created_at | Stats[3] | [[key, Topic]…] | options
 *   Topic[11]     = id | name | created_at | message expiry | compression | max size | Stats[3] | [Partition…] |
 *                   [[group id, Group]…] | next group id | options
 *   Partition[6]  = id | consensus group | created_at | created revision | deleted up to | purge generation
 *   Group[4]      = id | generation | name | [[key, Member]…]
 *   Member[4]     = id | client u128 | [partition…] | [[partition, target member, at]…]
 *   ClientTable[1] = [[slot, [client u128, epoch, user, watermark, watermark checksum u128, reply]]…]
 *   options       = { [kind, base64 key]: [[kind, base64 value], explicit] }
 *
 * `decodeSnapshot` keeps the order that it finds, `encodeSnapshot` writes the order that it is given: collections are put
 * in their one order where the record is made, never here.
 */
import type { ClientId, Micros, Op } from '../bytes/units.ts'

export const SNAPSHOT_VERSION = 3
/** Packed version of the protocol that this build speaks: 0.11.0. Provenance only. */
export const WRITER_RELEASE = 11_264

export interface OptionRecord {
  readonly keyKind: number
  readonly key: Uint8Array
  readonly kind: number
  readonly value: Uint8Array
  readonly explicit: boolean
}

export type UserStatusRecord = 'active' | 'inactive'

/** Booleans in the order of the format (wire.md §4.4). */
export interface PermissionsRecord {
  readonly global: readonly boolean[]
  readonly streams: readonly StreamPermissionsRecord[] | undefined
}
export interface StreamPermissionsRecord {
  readonly id: number
  readonly grants: readonly boolean[]
  readonly topics: readonly { readonly id: number; readonly grants: readonly boolean[] }[] | undefined
}

export interface UserRecord {
  readonly id: number
  readonly username: string
  readonly passwordHash: string
  readonly status: UserStatusRecord
  readonly createdAt: Micros
  readonly permissions: PermissionsRecord | undefined
  readonly options: readonly OptionRecord[]
}

export interface TokenRecord {
  readonly userId: number
  readonly name: string
  readonly hash: string
  readonly expiryAt: Micros | undefined
}

export interface StatsRecord {
  readonly sizeBytes: bigint
  readonly messages: bigint
  readonly segments: bigint
}

export interface PartitionRecord {
  readonly id: number
  readonly consensusGroup: bigint
  readonly createdAt: Micros
  readonly createdRevision: bigint
  readonly deletedUpToOffset: bigint
  readonly purgeGeneration: bigint
}

export interface GroupMemberRecord {
  readonly id: number
  readonly client: ClientId
  readonly partitions: readonly number[]
  readonly pending: readonly { readonly partition: number; readonly target: number; readonly at: Micros }[]
}

export interface ConsumerGroupRecord {
  readonly id: bigint
  readonly generation: bigint
  readonly name: string
  readonly members: readonly GroupMemberRecord[]
}

export interface TopicRecord {
  readonly id: number
  readonly name: string
  readonly createdAt: Micros
  readonly messageExpiry: bigint
  readonly compression: 'none' | 'gzip'
  readonly maxTopicSize: bigint
  readonly stats: StatsRecord
  readonly partitions: readonly PartitionRecord[]
  readonly consumerGroups: readonly ConsumerGroupRecord[]
  readonly nextConsumerGroupId: bigint
  readonly options: readonly OptionRecord[]
}

export interface StreamRecord {
  readonly id: number
  readonly name: string
  readonly createdAt: Micros
  readonly stats: StatsRecord
  readonly topics: readonly TopicRecord[]
  readonly options: readonly OptionRecord[]
}

export interface ClientEntryRecord {
  readonly slot: number
  readonly client: ClientId
  readonly epoch: bigint
  readonly userId: number
  readonly watermark: bigint
  readonly watermarkChecksum: bigint
  /** Newest cached reply, the whole frame. */
  readonly reply: Uint8Array
}

export interface SnapshotRecord {
  readonly createdAt: Micros
  readonly op: Op
  readonly users: readonly UserRecord[]
  /** One entry for every user. */
  readonly tokens: readonly { readonly userId: number; readonly tokens: readonly TokenRecord[] }[]
  readonly streams: readonly StreamRecord[]
  readonly revision: bigint
  /** Undefined when the writer had no client table. */
  readonly clients: readonly ClientEntryRecord[] | undefined
  readonly writerRelease: number
}

/** Arrays of the permission index, which is rebuilt from the users and always empty here. */
export const PERMISSIONER_ARRAYS = 6
export const GLOBAL_GRANTS = 10
export const STREAM_GRANTS = 6
export const TOPIC_GRANTS = 4

/** Names of value kinds in a snapshot, by code (§4.2). */
export const KIND_NAMES = [
  'raw',
  'string',
  'bool',
  'int8',
  'int16',
  'int32',
  'int64',
  'int128',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'uint128',
  'float32',
  'float64',
] as const
