/** Requests that become ops of the metadata group (spec consensus.md §3.5, §3.6; wire.md §2.8). */
import { TOKEN_BYTES, tokenSecret } from '../metadata/tokens.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { replyLayout } from '../protocol/headers.ts'
import { Operation } from '../protocol/operations.ts'
import { EvictionReason, localReply, readResult, rejectionBody, successBody, VOID_RESULT } from '../protocol/replies.ts'
import { frameBody } from '../protocol/seal.ts'
import { createTokenReply } from '../protocol/users.ts'
import { admit } from './admission.ts'
import type { Session } from './client-door.ts'
import { checksumHolds, deny, type Exchange, evict, reject } from './exchange.ts'
import type { Parts } from './parts.ts'
import { admitSegments } from './segment-requests.ts'

/** Default of the limit. */
const TOKENS_PER_USER_MAX = 100

/** Only the metadata primary takes them; the connection's session counts, not what the header claims. */
export function metadataRequest(parts: Parts, exchange: Exchange, session: Session) {
  const { core, metadata } = parts
  const { header } = exchange
  if (!checksumHolds(parts, exchange)) return
  const { group } = metadata
  if (!core.accepting || !group.isPrimary()) return refuse(parts, exchange, ErrorCode.TransientNotAccepted)
  if (!group.isCaughtUpPrimary() || metadata.isBusy(session.client)) {
    return refuse(parts, exchange, ErrorCode.TransientNotCommitted)
  }
  const verdict = core.machine.clients.check(session.client, session.session, header.request, header.requestChecksum)
  switch (verdict.kind) {
    case 'duplicate':
      // The secret was in the first reply and is nowhere else: an empty success would tell the client that it has none.
      if (createsToken(verdict.frame)) return refuse(parts, exchange, ErrorCode.PersonalAccessTokenAlreadyExists)
      return exchange.answer(verdict.frame)
    case 'already_applied':
      return refuse(parts, exchange, ErrorCode.RequestAlreadyApplied)
    case 'no_session':
      return evict(parts, exchange, EvictionReason.NoSession)
    case 'fenced':
      return evict(parts, exchange, EvictionReason.SessionTooLow)
    case 'epoch_ahead':
    case 'checksum_mismatch':
      // An error of the client; silence would only make it wait.
      core.events.node('request_refused', { client: session.client.toString(16), reason: verdict.kind })
      return deny(parts, exchange, ErrorCode.InvalidFormat)
    case 'new':
      break
  }
  const admitted = admission(parts, exchange, session)
  if (!admitted) return
  if (!metadata.hasRoom()) {
    core.events.node('metadata_log_full', { slots: metadata.wal.slots })
    return refuse(parts, exchange, ErrorCode.TransientNotAccepted)
  }
  const fields = {
    client: session.client,
    session: session.session,
    request: header.request,
    requestChecksum: header.requestChecksum,
    operation: admitted.operation,
    userId: session.userId,
  }
  metadata.submit(fields, admitted.body, outcome => {
    if (outcome.kind === 'applied') exchange.answer(withSecret(exchange, outcome.reply, admitted.secret))
    else {
      const unknown = outcome.kind === 'unknown'
      refuse(parts, exchange, unknown ? ErrorCode.TransientNotCommitted : ErrorCode.TransientNotAccepted)
    }
  })
}

/** A committed reply whose op created a token. */
function createsToken(reply: Uint8Array): boolean {
  const { operation } = replyLayout.decode(reply)
  return operation === Operation.CreatePersonalAccessToken && readResult(operation, frameBody(reply)).ok
}

/** The reply as it stands, or, where it created a token, with the secret in it (wire.md §1.5). */
function withSecret(exchange: Exchange, reply: Uint8Array, secret: string | undefined): Uint8Array {
  if (secret === undefined || !createsToken(reply)) return reply
  const { commit } = replyLayout.decode(reply)
  return localReply(exchange.header, { commit }, successBody(createTokenReply, { token: secret }))
}

/** In the result section; a reply to DeleteSegments has none, and says it in its status (wire.md §1.3). */
function refuse(parts: Parts, exchange: Exchange, code: number) {
  if (exchange.header.operation === Operation.DeleteSegments) deny(parts, exchange, code)
  else reject(parts, exchange, code)
}

/** What enters the log for this request; undefined when it has been answered. */
function admission(
  parts: Parts,
  exchange: Exchange,
  session: Session,
): { operation: number; body: Uint8Array; secret?: string } | undefined {
  const { core, metadata } = parts
  const { header, body } = exchange
  if (header.operation !== Operation.DeleteSegments) {
    const context = {
      state: core.machine.state,
      userId: session.userId,
      allocate: () => metadata.allocateConsensusGroup(),
      mint: () => tokenSecret(core.ports.entropy.bytes(TOKEN_BYTES)),
      tokensPerUserMax: core.config.tokensPerUserMax ?? TOKENS_PER_USER_MAX,
    }
    const admitted = admit(context, header.operation, body)
    if (admitted.ok) return admitted
    deny(parts, exchange, admitted.status)
    return undefined
  }
  const admitted = admitSegments(parts, body)
  const operation = Operation.TruncatePartition
  if (admitted.kind === 'truncate') return { operation, body: admitted.body }
  const commit = metadata.group.commitMax
  if (admitted.kind === 'denied') deny(parts, exchange, admitted.status)
  else {
    const result = admitted.kind === 'nothing' ? VOID_RESULT : rejectionBody(admitted.code)
    exchange.answer(localReply(header, { op: commit, commit, operation }, result))
  }
  return undefined
}
