/** Requests that become ops of the metadata group (spec consensus.md §3.5, §3.6; wire.md §2.8). */
import { ErrorCode } from '../protocol/error-codes.ts'
import { EvictionReason } from '../protocol/replies.ts'
import { admit } from './admission.ts'
import type { Session } from './client-door.ts'
import { checksumHolds, deny, type Exchange, evict, reject } from './exchange.ts'
import type { Parts } from './parts.ts'

/** Only the metadata primary takes them; the connection's session counts, not what the header claims. */
export function metadataRequest(parts: Parts, exchange: Exchange, session: Session) {
  const { core, metadata } = parts
  const { header, body } = exchange
  if (!checksumHolds(parts, exchange)) return
  const { group } = metadata
  if (!core.accepting || !group.isPrimary()) return reject(parts, exchange, ErrorCode.TransientNotAccepted)
  if (!group.isCaughtUpPrimary() || metadata.isBusy(session.client)) {
    return reject(parts, exchange, ErrorCode.TransientNotCommitted)
  }
  const verdict = core.machine.clients.check(session.client, session.session, header.request, header.requestChecksum)
  switch (verdict.kind) {
    case 'duplicate':
      return exchange.answer(verdict.frame)
    case 'already_applied':
      return reject(parts, exchange, ErrorCode.RequestAlreadyApplied)
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
  const admitted = admit(core.machine.state, header.operation, body, () => metadata.allocateConsensusGroup())
  if (!admitted.ok) return deny(parts, exchange, admitted.status)
  if (!metadata.hasRoom()) {
    core.events.node('metadata_log_full', { slots: metadata.wal.slots })
    return reject(parts, exchange, ErrorCode.TransientNotAccepted)
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
    if (outcome.kind === 'applied') exchange.answer(outcome.reply)
    else {
      const unknown = outcome.kind === 'unknown'
      reject(parts, exchange, unknown ? ErrorCode.TransientNotCommitted : ErrorCode.TransientNotAccepted)
    }
  })
}
