/**
 * Login, logout and what a lost connection leads to (spec wire.md §2, consensus.md §3.5, §8.1). Credentials are checked on
 * the node that the client dialled and never leave it; Register and Logout are ops of the metadata group, and a node that is
 * not its primary hands them over.
 */
import { Checksum, type ClientId, U64_MAX } from '../bytes/units.ts'
import { isExpired, tokenByHash, tokenHash } from '../metadata/tokens.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { NO_BODY } from '../protocol/frames.ts'
import { Operation } from '../protocol/operations.ts'
import { EvictionReason, localReply, successBody } from '../protocol/replies.ts'
import {
  decodeLogin,
  isCompatible,
  type LoginAttempt,
  loginReply,
  PROTOCOL_VERSION,
  PROTOCOL_VERSION_MIN,
  SERVER_VERSION,
} from '../protocol/session.ts'
import type { Session } from './client-door.ts'
import { checksumHolds, deny, type Exchange, evict, reject } from './exchange.ts'
import type { Parts } from './parts.ts'

/** What became of a Register. `busy`: an op of this client is under way (57). */
export type RegisterResult =
  | { readonly kind: 'bound'; readonly session: bigint; readonly watermark: bigint }
  | { readonly kind: 'other_user' | 'not_primary' | 'not_caught_up' | 'full' | 'busy' | 'unknown' }

export type LogoutResult =
  | { readonly kind: 'done'; readonly commit: bigint }
  | { readonly kind: 'not_primary' | 'full' | 'busy' | 'unknown' }

export function login(parts: Parts, exchange: Exchange) {
  const { session } = exchange.connection
  if (session) {
    answerLogin(parts, exchange, session)
    return
  }
  if (!checksumHolds(parts, exchange)) return
  const attempt = readAttempt(exchange.body)
  if (!attempt) {
    evict(parts, exchange, EvictionReason.MalformedLogin)
    return
  }
  if (!isCompatible(attempt.version.protocol)) {
    evict(parts, exchange, EvictionReason.IncompatibleProtocol, {
      version: PROTOCOL_VERSION,
      min: PROTOCOL_VERSION_MIN,
    })
    return
  }
  const { core } = parts
  const verified = exchange.connection.local?.userId
  if (verified !== undefined) {
    if (core.machine.state.users.get(verified)?.status === 'active') register(parts, exchange, verified)
    else evict(parts, exchange, EvictionReason.UserInactive)
    return
  }
  const { password, token } = attempt
  const user = password && core.machine.state.userByName(password.username)
  // A password that is wrong may still be a token that is right: the two shapes have no tag (§2.2).
  const rejected = () =>
    token ? tokenLogin(parts, exchange, token.token) : refused(parts, exchange, password !== undefined)
  if (!password || user?.status !== 'active' || !withinLimits(password.username, password.password)) {
    rejected()
    return
  }
  core.pump.settle(
    core.ports.passwords.verify(user.passwordHash, password.password),
    right => (right ? register(parts, exchange, user.id) : rejected()),
    rejected,
  )
}

const refused = (parts: Parts, exchange: Exchange, wrongPassword: boolean) =>
  evict(parts, exchange, wrongPassword ? EvictionReason.InvalidCredentials : EvictionReason.MalformedLogin)

function tokenLogin(parts: Parts, exchange: Exchange, secret: string) {
  const { machine, ports } = parts.core
  const token = tokenByHash(machine.state, tokenHash(secret))
  const user = token && machine.state.users.get(token.userId)
  if (!user || isExpired(token, ports.clock.nowMicros())) return evict(parts, exchange, EvictionReason.InvalidToken)
  if (user.status !== 'active') return evict(parts, exchange, EvictionReason.UserInactive)
  register(parts, exchange, user.id)
}

function readAttempt(body: Uint8Array): LoginAttempt | undefined {
  try {
    const attempt = decodeLogin(body)
    // Neither shape fits, but a client of another version is told about that first.
    return attempt.password || attempt.token || !isCompatible(attempt.version.protocol) ? attempt : undefined
  } catch {
    return undefined
  }
}

/** Bytes of a username and a password that can be right at all (§2.2). */
function withinLimits(username: string, password: string): boolean {
  const bytes = (text: string) => new TextEncoder().encode(text).length
  const [name, secret] = [bytes(username), bytes(password)]
  return name >= 3 && name <= 50 && secret >= 3 && secret <= 100
}

function register(parts: Parts, exchange: Exchange, userId: number) {
  const { client } = exchange.header
  const settle = (result: RegisterResult) => {
    parts.core.events.node('client_registered', { client: client.toString(16), user: userId, result: result.kind })
    if (result.kind === 'bound') {
      const session = { userId, client, session: result.session }
      if (parts.door.connections.has(exchange.connection.id)) parts.door.bind(exchange.connection, session)
      else parts.door.abandoned(session)
      answerLogin(parts, exchange, session)
    } else if (result.kind === 'other_user') evict(parts, exchange, EvictionReason.SessionError)
    else if (result.kind === 'busy' || result.kind === 'unknown')
      reject(parts, exchange, ErrorCode.TransientNotCommitted)
    else reject(parts, exchange, ErrorCode.TransientNotAccepted)
  }
  if (parts.metadata.group.isPrimary()) registerHere(parts, client, userId, settle)
  else parts.forwards.register(client, userId, settle)
}

/** Proposes a Register on the primary; every bind proposes, also of a client that is known. */
export function registerHere(parts: Parts, client: ClientId, userId: number, settle: (result: RegisterResult) => void) {
  const { core, metadata } = parts
  if (!core.accepting || !metadata.group.isPrimary()) return settle({ kind: 'not_primary' })
  if (!metadata.group.isCaughtUpPrimary()) return settle({ kind: 'not_caught_up' })
  const entry = core.machine.clients.get(client)
  if (entry && entry.userId !== userId) return settle({ kind: 'other_user' })
  if (metadata.isBusy(client)) return settle({ kind: 'busy' })
  if (!metadata.hasRoom() || (!entry && !metadata.mayTakeNewClient())) return settle({ kind: 'full' })
  const fields = {
    client,
    session: 0n,
    request: 0n,
    requestChecksum: Checksum(0n),
    operation: Operation.Register,
    userId,
  }
  metadata.submit(fields, NO_BODY, outcome => {
    if (outcome.kind === 'applied') {
      const watermark = core.machine.clients.get(client)?.watermark ?? 0n
      settle({ kind: 'bound', session: outcome.header.op, watermark })
    } else settle({ kind: outcome.kind === 'refused' ? 'full' : 'unknown' })
  })
}

function answerLogin(parts: Parts, exchange: Exchange, session: Session): void {
  const body = successBody(loginReply, {
    userId: session.userId,
    session: session.session,
    serverProtocol: PROTOCOL_VERSION,
    serverVersion: SERVER_VERSION,
  })
  exchange.answer(localReply(exchange.header, { op: session.session, commit: parts.metadata.group.commitMax }, body))
}

export function logout(parts: Parts, exchange: Exchange) {
  const { session } = exchange.connection
  const done = () => exchange.answer(localReply(exchange.header, { commit: parts.metadata.group.commitMax }))
  if (!session) {
    done()
    return
  }
  propose(parts, session, exchange.header.request, result => {
    if (result.kind === 'done') {
      delete exchange.connection.session
      done()
    } else {
      const unknown = result.kind === 'busy' || result.kind === 'unknown'
      deny(parts, exchange, unknown ? ErrorCode.TransientNotCommitted : ErrorCode.TransientNotAccepted)
    }
  })
}

/** A bound connection went away: its home node logs it out, best effort (§1.8). */
export function logoutLost(parts: Parts, session: Session) {
  if (parts.core.accepting) propose(parts, session, U64_MAX, () => {})
}

function propose(parts: Parts, session: Session, request: bigint, settle: (result: LogoutResult) => void) {
  if (parts.metadata.group.isPrimary()) logoutHere(parts, session.client, session.session, request, settle)
  else parts.forwards.logout(session.client, session.session, request, settle)
}

/** Proposes a Logout on the primary, unless the table holds another session of this client by now. */
export function logoutHere(
  parts: Parts,
  client: ClientId,
  session: bigint,
  request: bigint,
  settle: (result: LogoutResult) => void,
) {
  const { core, metadata } = parts
  if (!metadata.group.isCaughtUpPrimary()) return settle({ kind: 'not_primary' })
  const entry = core.machine.clients.get(client)
  if (entry?.epoch !== session) return settle({ kind: 'done', commit: metadata.group.commitMin })
  if (metadata.isBusy(client)) return settle({ kind: 'busy' })
  if (!metadata.hasRoom()) return settle({ kind: 'full' })
  const fields = {
    client,
    session,
    request,
    requestChecksum: Checksum(0n),
    operation: Operation.Logout,
    userId: entry.userId,
  }
  metadata.submit(fields, NO_BODY, outcome => {
    if (outcome.kind === 'applied') settle({ kind: 'done', commit: outcome.header.op })
    else settle({ kind: outcome.kind === 'refused' ? 'full' : 'unknown' })
  })
}
