/** FlushUnsavedBuffer: what is committed of a partition goes to its files on the node that was asked (spec wire.md §3.8). */
import { DecodeError } from '../bytes/errors.ts'
import { decodeRequest } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { packGroup } from '../protocol/groups.ts'
import { type FlushBuffer, flushBuffer } from '../protocol/messages.ts'
import { localReply } from '../protocol/replies.ts'
import { deny, type Exchange } from './exchange.ts'
import { isGranted, SEND } from './grants.ts'
import type { Parts } from './parts.ts'

export function flushRequest(parts: Parts, exchange: Exchange) {
  const { core, metadata } = parts
  const { state } = core.machine
  let request: FlushBuffer
  try {
    request = decodeRequest(flushBuffer, exchange.body)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return deny(parts, exchange, ErrorCode.InvalidCommand)
  }
  const stream = state.stream(request.stream)
  if (!stream) return deny(parts, exchange, ErrorCode.StreamIdNotFound)
  const topic = state.topic(stream, request.topic)
  if (!topic) return deny(parts, exchange, ErrorCode.TopicIdNotFound)
  const key = { stream: stream.id, topic: topic.id, partition: request.partition }
  const userId = exchange.connection.session?.userId
  if (userId === undefined || !isGranted(state, userId, SEND, key)) {
    return deny(parts, exchange, ErrorCode.Unauthorized)
  }
  if (!topic.partitions.some(({ id }) => id === request.partition)) {
    return deny(parts, exchange, ErrorCode.PartitionNotFound)
  }
  // A topic without `enforce_fsync` never syncs by itself, and a promise that is not kept is worse than none.
  if (request.fsync && !topic.settings.enforceFsync) return deny(parts, exchange, ErrorCode.FeatureUnavailable)
  const partition = parts.partitions.get(packGroup(key))
  if (!partition) return deny(parts, exchange, ErrorCode.TransientNotAccepted)
  core.pump.settle(
    partition.partition.flush(),
    () => exchange.answer(localReply(exchange.header, { commit: metadata.group.commitMax })),
    () => deny(parts, exchange, ErrorCode.TransientNotAccepted),
  )
}
