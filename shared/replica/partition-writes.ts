/**
 * Writes on their way to the primary of their partition (spec consensus.md §3.5, §8.3; partition.md §3.5, §9; design.md §3,
 * Forwarded writes). The same path serves a local client, a forward from a peer and a poll that commits its offset; only
 * who is answered differs.
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { type Checksum, type GroupId, U128_MAX, type View } from '../bytes/units.ts'
import { checkBatch } from '../protocol/batch.ts'
import { decodeRequest } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { type PartitionKey, packGroup } from '../protocol/groups.ts'
import { type SendMessages, sendMessages } from '../protocol/messages.ts'
import { Operation } from '../protocol/operations.ts'
import type { Session } from './client-door.ts'
import { checksumHolds, deny, denyUnresolved, denyWrite, type Exchange } from './exchange.ts'
import { isGranted, SEND } from './grants.ts'
import { offsetFault } from './offset-faults.ts'
import type { ReplicatedPartition } from './partition-host.ts'
import type { Parts } from './parts.ts'
import { isPurging } from './topic-stats.ts'

/** Where a denial stands: the group's own numbers, zeros where there is no group. */
export interface DeniedAt {
  readonly view: View
  readonly commit: bigint
}

export interface WriteAnswer {
  /** The committed reply, as the client gets it. */
  committed(frame: Uint8Array): void
  denied(status: number, reason: string, at: DeniedAt): void
}

export interface PartitionWrite {
  readonly key: PartitionKey
  readonly group: GroupId
  /** created_revision of the partition that is meant; another one of the same ids does not take it. */
  readonly incarnation: bigint
  /** Client number of the connection on the node that it dialled; `AUTO_COMMIT` for a poll's own commit. */
  readonly transport: bigint
  readonly session: bigint
  readonly request: bigint
  readonly requestChecksum: Checksum
  readonly userId: number
  /** SendMessages, StoreConsumerOffset or DeleteConsumerOffset. */
  readonly operation: number
  /** The batch as the producer hashed it, or the request of an offset; verified. */
  readonly body: Uint8Array
  /** Set when a peer forwarded it: it goes no further. */
  readonly forwarded: boolean
  readonly answer: WriteAnswer
}

/** The client id under which polls commit offsets (partition.md §5.5). */
export const AUTO_COMMIT = U128_MAX

const NOWHERE: DeniedAt = { view: 0 as View, commit: 0n }

/** A SendMessages of a client of this node. */
export function sendRequest(parts: Parts, exchange: Exchange, session: Session) {
  const { core, placement } = parts
  if (!checksumHolds(parts, exchange)) return
  let body: SendMessages
  try {
    body = decodeRequest(sendMessages, exchange.body)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return deny(parts, exchange, ErrorCode.InvalidCommand)
  }
  const { stream, topic, partitioning, messagesCount } = body.metadata
  const fault = batchFault(core.ports.hash, body.batch, messagesCount)
  if (fault !== undefined) return deny(parts, exchange, fault)
  const key = placement.choose(core.machine.state, stream, topic, partitioning)
  if (!key) return denyUnresolved(parts, exchange)
  if (!isGranted(core.machine.state, session.userId, SEND, key)) return deny(parts, exchange, ErrorCode.Unauthorized)
  clientWrite(parts, exchange, session, key, body.batch)
}

/** Hands a checked write of a client of this node on. */
export function clientWrite(parts: Parts, exchange: Exchange, session: Session, key: PartitionKey, body: Uint8Array) {
  const { header } = exchange
  write(parts, {
    key,
    group: packGroup(key),
    incarnation: parts.core.machine.state.partition(key)?.createdRevision ?? 0n,
    transport: exchange.connection.transport,
    session: session.session,
    request: header.request > 0n ? header.request : 1n,
    requestChecksum: header.requestChecksum,
    userId: session.userId,
    operation: header.operation,
    body,
    forwarded: false,
    answer: {
      committed: frame => exchange.answer(frame),
      denied: (status, _reason, at) => denyWrite(parts, exchange, status, at),
    },
  })
}

/** The status of a batch that may not enter a log; undefined when all is well (wire.md §3.8.1, Validate at admission). */
export function batchFault(hash: Hash, batch: Uint8Array, messagesCount?: number): number | undefined {
  const verdict = checkBatch(batch, 0, hash)
  if (!verdict.ok) {
    if (verdict.check === 'message_checksum') return ErrorCode.InvalidMessageChecksum
    if (verdict.check === 'batch_checksum') return ErrorCode.InvalidBatchChecksum
    return ErrorCode.InvalidCommand
  }
  const whole = verdict.end === batch.length && verdict.messageCount > 0
  const agreed = messagesCount === undefined || verdict.messageCount === messagesCount
  return whole && agreed ? undefined : ErrorCode.InvalidCommand
}

/** Takes a verified write to its partition: parked, proposed, forwarded, or refused with a reason. */
export function write(parts: Parts, request: PartitionWrite) {
  const { core, partitions } = parts
  const { group, key, incarnation, answer } = request
  if (!core.accepting) return answer.denied(ErrorCode.TransientNotAccepted, 'stopping', NOWHERE)
  const committed = core.machine.state.partition(key)?.createdRevision
  if (committed !== undefined && committed > incarnation) {
    // The one that was meant is gone. One that is not committed here yet may still come: this node is behind.
    return answer.denied(ErrorCode.TransientNotAccepted, 'the partition was made anew', NOWHERE)
  }
  const partition = partitions.get(group)
  if (partition?.createdRevision === incarnation) {
    if (!isPurging(core.machine.state, partitions, partition)) return offer(parts, partition, request)
    const at = { view: partition.group.view, commit: partition.group.commitMax }
    return answer.denied(ErrorCode.TransientNotAccepted, 'the partition is being purged', at)
  }
  const tombstone = partitions.tombstones.get(group)
  if (tombstone?.createdRevision === incarnation) {
    return answer.denied(ErrorCode.TransientNotAccepted, `refused at boot: ${tombstone.code}`, NOWHERE)
  }
  const parked = partitions.parking.park(
    group,
    {
      bytes: request.body.length,
      deliver: () => write(parts, request),
      discard: reason => answer.denied(ErrorCode.TransientNotAccepted, reason, NOWHERE),
    },
    core.tick,
  )
  if (!parked) answer.denied(ErrorCode.TransientNotAccepted, 'too much waits for this partition', NOWHERE)
}

function offer(parts: Parts, partition: ReplicatedPartition, request: PartitionWrite) {
  const { group } = partition
  const at = (): DeniedAt => ({ view: group.view, commit: group.commitMax })
  if (!group.isPrimary()) {
    const normal = group.snapshot().status === 'normal'
    const forwardable =
      normal &&
      !request.forwarded &&
      group.primary() !== parts.core.self &&
      parts.core.config.rules.misroutedIsForwarded
    if (forwardable && parts.forwards.write(request, group.primary(), at())) return
    const reason = request.forwarded ? 'not the primary of the partition' : 'the partition has no primary to be reached'
    return request.answer.denied(ErrorCode.TransientNotAccepted, reason, at())
  }
  const fault = offsetFault(parts.core.ports.hash, partition, request.operation, request.body)
  if (fault !== undefined) return request.answer.denied(fault, 'the offset is not there', at())
  const { transport, session, requestChecksum, operation, userId } = request
  partition.submit(
    { transport, session, request: request.request, requestChecksum, operation, userId },
    // A copy of its own: the primary stamps a batch, and the frame of the client may go to a peer as it is.
    operation === Operation.SendMessages ? new Uint8Array(request.body) : request.body,
    outcome => {
      if (outcome.kind === 'applied') request.answer.committed(outcome.reply)
      else if (outcome.kind === 'refused') request.answer.denied(ErrorCode.TransientNotAccepted, outcome.reason, at())
      else request.answer.denied(ErrorCode.TransientNotCommitted, outcome.reason, at())
    },
  )
}
