/**
 * Consumer groups (spec wire.md §3.6).
 *
 *   create: Ident stream | Ident topic | name text8     list: Ident | Ident     all others: Ident | Ident | Ident group
 *   Group:  id u32 | partitionsCount u32 | membersCount u32 | name text8
 *   Member: id u32 | count u32 | partition u32 × count
 *   sync reply: generation u64 | count u32 | partition u32 × count; an empty body = not a member
 */
import { type CodecValue, list32, listToEnd, name, orEmpty, struct, u32, u64 } from './codec.ts'
import { ident } from './ident.ts'

export const createGroup = struct({ stream: ident, topic: ident, name })
export type CreateGroup = CodecValue<typeof createGroup>
/** Request of get, delete, join, leave and sync. */
export const groupRef = struct({ stream: ident, topic: ident, group: ident })
export type GroupRef = CodecValue<typeof groupRef>

const groupMembers = { id: u32, partitionsCount: u32, membersCount: u32, name } as const
export const group = struct(groupMembers)
export type Group = CodecValue<typeof group>
export const groupMember = struct({ id: u32, partitions: list32(u32) })
export type GroupMember = CodecValue<typeof groupMember>

/** Also the reply of create, with no members. */
export const groupDetails = struct({ ...groupMembers, members: listToEnd(groupMember) })
export type GroupDetails = CodecValue<typeof groupDetails>
export const getGroupReply = orEmpty(groupDetails)
export const listGroupsReply = listToEnd(group)

export const groupAssignment = struct({ generation: u64(), partitions: list32(u32) })
export type GroupAssignment = CodecValue<typeof groupAssignment>
export const syncGroupReply = orEmpty(groupAssignment)
