/** One request of a client, from its frame to its one answer (spec wire.md §1.5–1.7). */
import { ErrorCode } from '../protocol/error-codes.ts'
import type { RequestHeader } from '../protocol/headers.ts'
import {
  type EvictionFields,
  type EvictionReason,
  evictionFrame,
  localReply,
  rejectionBody,
} from '../protocol/replies.ts'
import type { Connection } from './client-door.ts'
import type { Parts } from './parts.ts'

export interface Exchange {
  readonly connection: Connection
  readonly header: RequestHeader
  readonly body: Uint8Array
  /** Answers and lets the next request of the connection begin. Further calls do nothing. */
  answer(frame: Uint8Array): void
  /** Ends the request without an answer: the connection is gone, or is being closed. */
  abandon(): void
}

/** A denial before anything entered a log: status, empty body. Hides the commit from who is not logged in. */
export function deny(parts: Parts, exchange: Exchange, status: number): void {
  const bound = exchange.connection.session !== undefined
  const read = exchange.header.code !== 0
  const op = bound && read ? exchange.header.session : 0n
  exchange.answer(localReply(exchange.header, { op, commit: bound ? parts.metadata.group.commitMax : 0n, status }))
}

/**
 * The target of a partition write does not exist, as far as this node knows. A backup that is behind cannot say that for
 * sure: 58 then, so that a write right behind the creation of its topic lands at every door.
 */
export function denyUnresolved(parts: Parts, exchange: Exchange): void {
  deny(parts, exchange, parts.metadata.isBehind ? ErrorCode.TransientNotAccepted : ErrorCode.ResourceNotFound)
}

/** 57, 58 and 59 of the metadata plane and of Register: in the result section, at the commit position. */
export function reject(parts: Parts, exchange: Exchange, code: number): void {
  const commit = parts.metadata.group.commitMax
  exchange.answer(localReply(exchange.header, { op: commit, commit }, rejectionBody(code)))
}

/** A denial by a partition's group: its own cluster, view and replica, op 0, and the commit of that group. */
export function denyWrite(
  parts: Parts,
  exchange: Exchange,
  status: number,
  at: { view: number; commit: bigint },
): void {
  const { identity, self } = parts.core
  const echoed = {
    ...exchange.header,
    cluster: identity.cluster,
    view: at.view as RequestHeader['view'],
    replica: self,
  }
  exchange.answer(localReply(echoed, { op: 0n, commit: at.commit, status }))
}

/** Answers with an eviction: the session is over, the connection stays. */
export function evict(
  parts: Parts,
  exchange: Exchange,
  reason: EvictionReason,
  protocol?: EvictionFields['protocol'],
): void {
  const { identity, self, events } = parts.core
  delete exchange.connection.session
  events.node('client_evicted', { connection: exchange.connection.id, reason })
  exchange.answer(
    evictionFrame({
      cluster: identity.cluster,
      view: parts.metadata.group.view,
      replica: self,
      client: exchange.header.client,
      reason,
      ...(protocol && { protocol }),
    }),
  )
}

/** False after answering: a checksum that was stamped must match the body (§1.2). */
export function checksumHolds(parts: Parts, exchange: Exchange): boolean {
  const { requestChecksum } = exchange.header
  if (requestChecksum === 0n || requestChecksum === parts.core.ports.hash.xxh3(exchange.body)) return true
  deny(parts, exchange, ErrorCode.InvalidFormat)
  return false
}
