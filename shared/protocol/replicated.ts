/**
 * Bodies as the log holds them (spec metadata-storage.md §4.1–4.3). The primary fills in what is not deterministic (ids,
 * resolved options, password hashes, the member's client id) before it replicates a command; what is missing here is
 * replicated as the client sent it.
 *
 *   CreateTopicWithAssignments:      create-topic request in a u32 block | derived options in a u32 block
 *                                    | count u32 | assignments
 *   CreatePartitionsWithAssignments: create-partitions request in a u32 block | count u32 | assignments
 *   assignment, 12 bytes:            partitionId u32 | consensusGroupId u64
 *   CompleteConsumerGroupRevocation: Ident | Ident | groupId u64 | source client u128 | partition u32
 *   TruncatePartition:               Ident | Ident | partition u32 | upToOffset u64
 *   CreateUser, ChangePassword:      the client's form, the password replaced by its hash
 *   CreatePersonalAccessToken:       userId u32 | name text8 | expiry u64 | 64 characters of hash
 *   DeletePersonalAccessToken:       userId u32 | name text8 | onlyIfExpired u8
 *   JoinConsumerGroup:               Ident × 3 | client u128 | count u32 | partition u32 × count (in flight)
 *   LeaveConsumerGroup:              Ident × 3 | client u128
 */
import type { ClientId, GroupId, Offset } from '../bytes/units.ts'
import {
  asciiOf,
  block32,
  bool,
  type Codec,
  type CodecValue,
  empty,
  list32,
  name,
  struct,
  u32,
  u64,
  u128,
} from './codec.ts'
import { createGroup, groupRef } from './consumer-groups.ts'
import { ident } from './ident.ts'
import { Operation } from './operations.ts'
import { createStream, streamRef, updateStream } from './streams.ts'
import { options } from './tlv.ts'
import { createTopic, partitionsChange, topicRef, updateTopic } from './topics.ts'
import { changePassword, createUser, updatePermissions, updateUser, userRef } from './users.ts'

/** `consensusGroupId` is a number of its own, stored and snapshotted; routing uses the packed group id instead (§4.3). */
export const assignment = struct({ partitionId: u32, consensusGroupId: u64<GroupId>() })
export type Assignment = CodecValue<typeof assignment>

export const createTopicWithAssignments = struct({
  request: block32(createTopic),
  derivedOptions: block32(options),
  assignments: list32(assignment),
})
export type CreateTopicWithAssignments = CodecValue<typeof createTopicWithAssignments>

/** Partition ids count from 0, relative to a base that apply resolves. */
export const createPartitionsWithAssignments = struct({
  request: block32(partitionsChange),
  assignments: list32(assignment),
})
export type CreatePartitionsWithAssignments = CodecValue<typeof createPartitionsWithAssignments>

export const removeGroupMember = struct({ client: u128<ClientId>() })
export type RemoveGroupMember = CodecValue<typeof removeGroupMember>
export const completeRevocation = struct({
  stream: ident,
  topic: ident,
  groupId: u64(),
  source: u128<ClientId>(),
  partition: u32,
})
export type CompleteRevocation = CodecValue<typeof completeRevocation>
export const truncatePartition = struct({ stream: ident, topic: ident, partition: u32, upToOffset: u64<Offset>() })
export type TruncatePartition = CodecValue<typeof truncatePartition>

export const createTokenReplicated = struct({ userId: u32, name, expiry: u64(), hash: asciiOf(64) })
export type CreateTokenReplicated = CodecValue<typeof createTokenReplicated>
export const deleteTokenReplicated = struct({ userId: u32, name, onlyIfExpired: bool })
export type DeleteTokenReplicated = CodecValue<typeof deleteTokenReplicated>

const groupRefMembers = { stream: ident, topic: ident, group: ident, client: u128<ClientId>() } as const
export const joinGroupReplicated = struct({ ...groupRefMembers, inFlight: list32(u32) })
export type JoinGroupReplicated = CodecValue<typeof joinGroupReplicated>
export const leaveGroupReplicated = struct(groupRefMembers)
export type LeaveGroupReplicated = CodecValue<typeof leaveGroupReplicated>

/** Codec of a metadata op's body in the log, by operation. */
// biome-ignore lint/suspicious/noExplicitAny: each entry has its own value type; readers narrow by operation
export const replicatedBodies: ReadonlyMap<number, Codec<any>> = new Map<number, Codec<any>>([
  [Operation.Register, empty],
  [Operation.Logout, empty],
  [Operation.CreateTopicWithAssignments, createTopicWithAssignments],
  [Operation.CreatePartitionsWithAssignments, createPartitionsWithAssignments],
  [Operation.RemoveConsumerGroupMember, removeGroupMember],
  [Operation.CompleteConsumerGroupRevocation, completeRevocation],
  [Operation.TruncatePartition, truncatePartition],
  [Operation.CreateStream, createStream],
  [Operation.UpdateStream, updateStream],
  [Operation.DeleteStream, streamRef],
  [Operation.PurgeStream, streamRef],
  [Operation.UpdateTopic, updateTopic],
  [Operation.DeleteTopic, topicRef],
  [Operation.PurgeTopic, topicRef],
  [Operation.DeletePartitions, partitionsChange],
  [Operation.CreateConsumerGroup, createGroup],
  [Operation.DeleteConsumerGroup, groupRef],
  [Operation.CreateUser, createUser],
  [Operation.UpdateUser, updateUser],
  [Operation.DeleteUser, userRef],
  [Operation.ChangePassword, changePassword],
  [Operation.UpdatePermissions, updatePermissions],
  [Operation.CreatePersonalAccessToken, createTokenReplicated],
  [Operation.DeletePersonalAccessToken, deleteTokenReplicated],
  [Operation.JoinConsumerGroup, joinGroupReplicated],
  [Operation.LeaveConsumerGroup, leaveGroupReplicated],
])
