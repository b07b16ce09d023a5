/** Polls (spec wire.md §3.8.3). Served by whichever node was asked, from what it has committed. */
import { DecodeError, EngineError } from '../bytes/errors.ts'
import { Micros, Offset } from '../bytes/units.ts'
import type { ConsumerKey, PollStart } from '../partition/contract.ts'
import { decodeRequest, encodeBody } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { packGroup } from '../protocol/groups.ts'
import { HEADER_BYTES } from '../protocol/headers.ts'
import { PollKind, type PollMessages, pollMessages, pollReply } from '../protocol/messages.ts'
import { localReply } from '../protocol/replies.ts'
import { deny, type Exchange } from './exchange.ts'
import { isGranted, POLL } from './grants.ts'
import { consumerKey } from './offset-faults.ts'
import type { Parts } from './parts.ts'
import { isPurging } from './topic-stats.ts'

const POLL_HEADER_BYTES = 16
const NOTHING = { currentOffset: Offset(0n), count: 0, records: new Uint8Array(0) }

export function pollRequest(parts: Parts, exchange: Exchange) {
  const answer = (body: Uint8Array) =>
    exchange.answer(localReply(exchange.header, { commit: parts.metadata.group.commitMax }, body))
  const request = readRequest(exchange.body)
  // An unreadable poll is answered with an empty one, not with an error.
  if (!request) return answer(encodeBody(pollReply, { partitionId: 0, ...NOTHING }))
  const { session } = exchange.connection
  const consumer = consumerKey(parts.core.ports.hash, request.consumer)
  // Groups come with the commands that manage them; until then a poll of one is refused.
  if (!consumer || !session) return deny(parts, exchange, ErrorCode.FeatureUnavailable)
  const { state } = parts.core.machine
  const stream = state.stream(request.stream)
  if (!stream) return deny(parts, exchange, ErrorCode.StreamIdNotFound)
  const topic = state.topic(stream, request.topic)
  if (!topic) return deny(parts, exchange, ErrorCode.TopicIdNotFound)
  if (!isGranted(state, session.userId, POLL, { stream: stream.id, topic: topic.id })) {
    return deny(parts, exchange, ErrorCode.Unauthorized)
  }
  const partitionId = request.partition ?? 0
  if (!topic.partitions.some(partition => partition.id === partitionId)) {
    return deny(parts, exchange, ErrorCode.PartitionNotFound)
  }
  const group = packGroup({ stream: stream.id, topic: topic.id, partition: partitionId })
  if (parts.partitions.tombstones.has(group)) return deny(parts, exchange, ErrorCode.TransientNotAccepted)
  const start = startOf(request, consumer)
  const partition = parts.partitions.get(group)
  // A partition that is still being built has nothing committed here yet.
  if (!partition || !start || isPurging(state, parts.partitions, partition))
    return answer(encodeBody(pollReply, { partitionId, ...NOTHING }))
  const bytesMax = parts.core.config.messageBytesMax - HEADER_BYTES - POLL_HEADER_BYTES
  parts.core.pump.settle(
    partition.partition.poll(start, request.count, bytesMax),
    result => {
      parts.core.events.group(partition.group, 'polled', 'flow', { messages: result.messages })
      if (request.autoCommit && result.lastOffset !== undefined) {
        parts.autoCommits.served(partition, consumer, result.lastOffset, session.userId)
      }
      answer(
        encodeBody(pollReply, {
          partitionId,
          currentOffset: result.currentOffset,
          count: result.messages,
          records: concatenate(result.records),
        }),
      )
    },
    error => {
      parts.core.events.group(partition.group, 'poll_failed', 'fact', { error: String(error) })
      deny(parts, exchange, pollFault(error))
    },
  )
}

/** Damage is said as such: a client that only hears "try again" would try for ever. */
function pollFault(error: unknown): number {
  const code = error instanceof EngineError ? error.code : undefined
  if (code === 'InvalidBatchChecksum') return ErrorCode.InvalidBatchChecksum
  if (code === 'InvalidMessageChecksum') return ErrorCode.InvalidMessageChecksum
  return ErrorCode.TransientNotAccepted
}

function readRequest(body: Uint8Array): PollMessages | undefined {
  try {
    return decodeRequest(pollMessages, body)
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

function startOf({ strategy, value }: PollMessages, consumer: ConsumerKey): PollStart | undefined {
  switch (strategy) {
    case PollKind.offset:
      return { kind: 'offset', offset: Offset(value) }
    case PollKind.timestamp:
      return { kind: 'timestamp', timestamp: Micros(value) }
    case PollKind.first:
      return { kind: 'first' }
    case PollKind.last:
      return { kind: 'last' }
    case PollKind.next:
      return { kind: 'next', consumer }
    default:
      return undefined
  }
}

function concatenate(records: readonly Uint8Array[]): Uint8Array {
  if (records.length === 1) return records[0]!
  const whole = new Uint8Array(records.reduce((total, record) => total + record.length, 0))
  let at = 0
  for (const record of records) {
    whole.set(record, at)
    at += record.length
  }
  return whole
}
