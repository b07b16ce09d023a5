/**
 * A partition write that a peer forwarded, on the primary (spec consensus.md §8.3; design.md §3, Forwarded writes): checked
 * again as if its client stood here, taken, and answered to the origin in every case, refusals at once.
 */
import type { Hash } from '../bytes/hash.ts'
import type { ReplicaId } from '../bytes/units.ts'
import { ErrorCode, isTransient } from '../protocol/error-codes.ts'
import { ForwardOutcome, type FrameOf, sealFrame } from '../protocol/frames.ts'
import { unpackGroup } from '../protocol/groups.ts'
import { replyLayout } from '../protocol/headers.ts'
import { isPartition, Operation } from '../protocol/operations.ts'
import { frameBody } from '../protocol/seal.ts'
import { isGranted, POLL, SEND } from './grants.ts'
import { offsetBodyFault } from './offset-faults.ts'
import { AUTO_COMMIT, batchFault, write } from './partition-writes.ts'
import type { Parts } from './parts.ts'
import type { LinkMark } from './ports.ts'

const NO_REPLY = new Uint8Array(0)

export function takeWrite(parts: Parts, from: ReplicaId, { header, body }: FrameOf<'Request'>, mark: LinkMark) {
  const { core, forwards, metadata } = parts
  const { hash, replicaLinks } = core.ports
  const { nonce, client, operation, request, group } = header
  if (nonce === 0n || header.origin !== from + 1) return
  const key = unpackGroup(group)
  const trace = forwards.log.begin({
    nonce: nonce.toString(16),
    side: 'primary',
    origin: from,
    primary: core.self,
    group: group.toString(),
    ...(key && { key }),
    operation,
    client: client === AUTO_COMMIT ? 'auto' : client.toString(),
    request: request.toString(),
  })
  const about = { nonce: nonce.toString(16) }
  const cause = core.events.node(
    'forward_taken',
    { ...about, from, group: group.toString(), operation },
    undefined,
    mark,
  )
  trace.step('taken', cause, mark)

  const result = (
    outcome: number,
    status: number,
    reason: string,
    op: bigint,
    commit: bigint,
    reply: Uint8Array = NO_REPLY,
  ) => {
    const sender = { cluster: core.identity.cluster, view: metadata.group.view, replica: core.self }
    const fields = { ...sender, nonce, client, status, operation, op, commit, request, group, outcome }
    const sent = replicaLinks.send(from, sealFrame(hash, 'ForwardRequestResult', fields, reply))
    const link = sent ? replicaLinks.lastSent?.(from) : undefined
    const accepted = outcome === ForwardOutcome.Reply
    const data = { ...about, outcome, status, ...(accepted ? {} : { reason }) }
    const event = core.events.node(accepted ? 'forward_accepted' : 'forward_refused', data, cause, link)
    trace.step(accepted ? 'accepted' : 'refused', event, link)
    trace.end(
      accepted ? 'accepted' : status === ErrorCode.TransientNotCommitted ? 'unknown' : 'refused',
      status,
      reason,
    )
  }
  const rejected = (status: number, reason: string) => result(ForwardOutcome.Rejected, status, reason, 0n, 0n)

  if (!key || !isPartition(operation)) return rejected(ErrorCode.InvalidCommand, 'not a partition write')
  // This node encrypts nothing: a payload that is encrypted already would lie beside plain ones (terminal, not transient).
  if (header.encrypted !== 0) return rejected(ErrorCode.FeatureUnavailable, 'the origin encrypts, this node does not')
  if (!isGranted(core.machine.state, header.userId, operation === Operation.SendMessages ? SEND : POLL, key)) {
    return rejected(ErrorCode.Unauthorized, `user ${header.userId} has no right to it`)
  }
  const fault = bodyFault(hash, operation, body)
  if (fault !== undefined) return rejected(fault, 'the body does not verify')
  write(parts, {
    key,
    group,
    incarnation: header.incarnation,
    transport: client,
    session: header.session,
    request,
    requestChecksum: header.requestChecksum,
    userId: header.userId,
    operation,
    body,
    forwarded: true,
    answer: {
      committed: frame => {
        const reply = replyLayout.decode(frame)
        const confirmed = frameBody(frame)
        result(ForwardOutcome.Reply, 0, 'committed', reply.op, reply.commit, confirmed)
        trace.place(reply.op, confirmed, reply.view)
      },
      denied: (status, reason, at) =>
        result(isTransient(status) ? ForwardOutcome.Transient : ForwardOutcome.Rejected, status, reason, 0n, at.commit),
    },
  })
}

const bodyFault = (hash: Hash, operation: number, body: Uint8Array): number | undefined =>
  operation === Operation.SendMessages ? batchFault(hash, body) : offsetBodyFault(operation, body)
