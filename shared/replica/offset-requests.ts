/**
 * Consumer offsets (spec wire.md §3.7; partition.md §5.5, §9.2). Reading one is served by whichever node was asked; storing
 * and deleting are writes of the partition's group, checked by its primary against what that has committed.
 *
 * `ack` 0 asks for less than a quorum; it gets a quorum, as does everybody.
 */
import { DecodeError } from '../bytes/errors.ts'
import { Offset } from '../bytes/units.ts'
import { decodeRequest, encodeBody } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { packGroup } from '../protocol/groups.ts'
import { type GetOffset, getOffset, getOffsetReply } from '../protocol/messages.ts'
import { localReply } from '../protocol/replies.ts'
import type { Session } from './client-door.ts'
import { checksumHolds, deny, denyUnresolved, type Exchange } from './exchange.ts'
import { isGranted, POLL } from './grants.ts'
import { consumerKey, offsetCodec } from './offset-faults.ts'
import { clientWrite } from './partition-writes.ts'
import type { Parts } from './parts.ts'
import { isPurging } from './topic-stats.ts'

/** A StoreConsumerOffset or DeleteConsumerOffset of a client of this node. */
export function offsetWriteRequest(parts: Parts, exchange: Exchange, session: Session) {
  const { operation } = exchange.header
  if (!checksumHolds(parts, exchange)) return
  let body: GetOffset
  try {
    body = decodeRequest(offsetCodec(operation), exchange.body)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return deny(parts, exchange, ErrorCode.InvalidCommand)
  }
  const { state } = parts.core.machine
  const stream = state.stream(body.stream)
  const topic = stream && state.topic(stream, body.topic)
  const partition = topic?.partitions.find(({ id }) => id === body.partition)
  if (!stream || !topic || !partition) return denyUnresolved(parts, exchange)
  const key = { stream: stream.id, topic: topic.id, partition: partition.id }
  if (!isGranted(state, session.userId, POLL, key)) return deny(parts, exchange, ErrorCode.Unauthorized)
  if (body.consumer.kind === 'group') return deny(parts, exchange, ErrorCode.FeatureUnavailable)
  clientWrite(parts, exchange, session, key, exchange.body)
}

/** Reads a stored offset. What does not exist has none, but a partition missing in a topic is an error. */
export function offsetReadRequest(parts: Parts, exchange: Exchange, session: Session) {
  const { core } = parts
  const { state } = core.machine
  const answer = (body: Uint8Array) =>
    exchange.answer(localReply(exchange.header, { commit: parts.metadata.group.commitMax }, body))
  const none = () => answer(encodeBody(getOffsetReply, undefined))
  let request: GetOffset
  try {
    request = decodeRequest(getOffset, exchange.body)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return deny(parts, exchange, ErrorCode.InvalidCommand)
  }
  const stream = state.stream(request.stream)
  const topic = stream && state.topic(stream, request.topic)
  if (!stream || !topic) return none()
  const partitionId = request.partition ?? 0
  const key = { stream: stream.id, topic: topic.id, partition: partitionId }
  if (!isGranted(state, session.userId, POLL, key)) return deny(parts, exchange, ErrorCode.Unauthorized)
  if (!topic.partitions.some(({ id }) => id === partitionId)) {
    return deny(parts, exchange, ErrorCode.PartitionNotFound)
  }
  const here = parts.partitions.get(packGroup(key))
  const partition = here && !isPurging(state, parts.partitions, here) ? here.partition : undefined
  const consumer = consumerKey(core.ports.hash, request.consumer)
  const stored = consumer && partition?.storedOffset(consumer)
  if (!partition || stored === undefined) return none()
  const { visibleEnd } = partition.info()
  const currentOffset = Offset(visibleEnd > 0n ? visibleEnd - 1n : 0n)
  answer(encodeBody(getOffsetReply, { partitionId, currentOffset, storedOffset: stored }))
}
