/**
 * Personal access tokens (spec metadata-storage.md §4.7, wire.md §3.3). The log and the state hold the hash alone: the
 * secret is drawn by the primary, travels once in the first reply, and is kept nowhere.
 */
import { blake3 } from '@noble/hashes/blake3.js'
import { toHex } from '../bytes/hex.ts'
import { Micros, U64_MAX } from '../bytes/units.ts'
import { textBytes } from '../bytes/writer.ts'
import type { CreateTokenReplicated, DeleteTokenReplicated } from '../protocol/replicated.ts'
import { toBase64 } from '../storage/base64.ts'
import type { TokenRecord } from '../storage/snapshot-record.ts'
import type { MetadataState } from './state.ts'
import { type ApplyResult, done, Reject, reject } from './streams.ts'

/** Random bytes of a secret; its text is their base64. */
export const TOKEN_BYTES = 50

/** What a client shows to log in, from fresh random bytes. */
export const tokenSecret = (random: Uint8Array): string => toBase64(random)

/** The 64 characters under which a token is stored and found. */
export const tokenHash = (secret: string): string => toHex(blake3(textBytes(secret)))

/** A token that never expires has no `expiryAt`. */
export const isExpired = ({ expiryAt }: Pick<TokenRecord, 'expiryAt'>, now: Micros): boolean =>
  expiryAt !== undefined && expiryAt <= now

export const tokenByHash = (state: MetadataState, hash: string): TokenRecord | undefined => {
  for (const tokens of state.tokens.values()) for (const token of tokens) if (token.hash === hash) return token
  return undefined
}

export function createToken(state: MetadataState, request: CreateTokenReplicated, at: Micros): ApplyResult {
  const { userId, name, expiry, hash } = request
  const own = state.tokens.get(userId) ?? []
  if (own.some(token => token.name === name)) return reject(Reject.TokenAlreadyExists)
  const never = expiry === 0n || expiry === U64_MAX
  // A sum beyond 64 bits wraps, and lies in the past then.
  const expiryAt = never ? undefined : Micros(BigInt.asUintN(64, at + expiry))
  if (expiryAt !== undefined && expiryAt <= at) return reject(Reject.InvalidTokenExpiry)
  state.tokens.set(userId, [...own, { userId, name, hash, expiryAt }])
  return done
}

/** `onlyIfExpired` is how the primary cleans up: it deletes nothing that came to a new life meanwhile. */
export function deleteToken(state: MetadataState, request: DeleteTokenReplicated, at: Micros): ApplyResult {
  const { userId, name, onlyIfExpired } = request
  const own = state.tokens.get(userId)
  if (!own) return reject(Reject.ResourceNotFound)
  const token = own.find(candidate => candidate.name === name)
  if (onlyIfExpired && !(token && isExpired(token, at))) return done
  if (!token) return reject(Reject.ResourceNotFound)
  const left = own.filter(candidate => candidate !== token)
  if (left.length > 0) state.tokens.set(userId, left)
  else state.tokens.delete(userId)
  return done
}
