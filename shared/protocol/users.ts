/**
 * Users and their access tokens (spec wire.md §3.2, §3.3).
 *
 *   create user: username text8 | password u8 length + text | status u8 | hasPermissions u8 [ length u32 | Permissions ]
 *                | options
 *   update user: Ident | hasName u8 [ text8 ] | hasStatus u8 [ u8 ] | options
 *   permissions: Ident | hasPermissions u8 [ length u32 | Permissions ]
 *   password:    Ident | current u8 length + text | new u8 length + text
 *   User:        id u32 | createdAt u64 | status u8 (1 active, 2 inactive) | username text8 | options in a u32 block
 *   UserDetails: User | 1 · length u32 · Permissions, or four zero bytes
 *   create token: name text8 | expiry u64 µs from now (0 and 2^64-1 = never)      reply: token text8
 *   token list:   name text8 | expiryAt u64 (0 = never), to the end
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Micros } from '../bytes/units.ts'
import {
  block32,
  type Codec,
  type CodecValue,
  flagged,
  listToEnd,
  name,
  orEmpty,
  struct,
  text8,
  u8,
  u32,
  u64,
} from './codec.ts'
import { ident } from './ident.ts'
import { type Permissions, permissions } from './permissions.ts'
import { options } from './tlv.ts'

export const UserStatus = { active: 1, inactive: 2 } as const

const permissionBlock = flagged(block32(permissions))

/** `status`: an unknown code creates an active user. */
export const createUser = struct({
  username: name,
  password: text8(),
  status: u8,
  permissions: permissionBlock,
  options,
})
export type CreateUser = CodecValue<typeof createUser>
export const updateUser = struct({ user: ident, username: flagged(name), status: flagged(u8), options })
export type UpdateUser = CodecValue<typeof updateUser>
export const updatePermissions = struct({ user: ident, permissions: permissionBlock })
export type UpdatePermissions = CodecValue<typeof updatePermissions>
export const changePassword = struct({ user: ident, currentPassword: text8(), newPassword: text8() })
export type ChangePassword = CodecValue<typeof changePassword>
/** Request of get and delete. */
export const userRef = struct({ user: ident })
export type UserRef = CodecValue<typeof userRef>

/** Without permissions a reply ends in four zero bytes: the flag and what would be the start of a length. */
const permissionTail: Codec<Permissions | undefined> = {
  read(reader) {
    const at = reader.at
    if (reader.u8() === 1) return block32(permissions).read(reader)
    reader.take(3)
    if (reader.bytes.subarray(at, at + 4).some(byte => byte !== 0)) {
      throw new DecodeError('BadValue', at, 'absent permissions are four zero bytes')
    }
    return undefined
  },
  write(writer, value) {
    if (value === undefined) writer.u32(0)
    else permissionBlock.write(writer, value)
  },
  toJson: permissionBlock.toJson,
  fromJson: permissionBlock.fromJson,
}

const userMembers = {
  id: u32,
  createdAt: u64<Micros>(),
  status: u8,
  username: name,
  options: block32(options),
} as const
export const user = struct(userMembers)
export type User = CodecValue<typeof user>
/** Also the reply of create. */
export const userDetails = struct({ ...userMembers, permissions: permissionTail })
export type UserDetails = CodecValue<typeof userDetails>
export const getUserReply = orEmpty(userDetails)
export const listUsersReply = listToEnd(user)

export const createToken = struct({ name, expiry: u64() })
export type CreateToken = CodecValue<typeof createToken>
export const createTokenReply = struct({ token: text8(1) })
export const deleteToken = struct({ name })
export type DeleteToken = CodecValue<typeof deleteToken>
export const tokenInfo = struct({ name, expiryAt: u64<Micros>() })
export type TokenInfo = CodecValue<typeof tokenInfo>
export const listTokensReply = listToEnd(tokenInfo)
