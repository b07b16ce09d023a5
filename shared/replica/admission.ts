/**
 * What the primary makes of a metadata request before it enters the log (spec metadata-storage.md §4.3, wire.md §3.4–3.5):
 * bounds and options are checked, and what is not deterministic is filled in.
 */
import { DecodeError } from '../bytes/errors.ts'
import { GroupId } from '../bytes/units.ts'
import type { MetadataState } from '../metadata/state.ts'
import { admitCreateOptions, admitUpdateOptions, patchOptions, settingsOf } from '../metadata/topic-options.ts'
import { decodeRequest, encodeBody } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { Operation } from '../protocol/operations.ts'
import { type Assignment, createPartitionsWithAssignments, createTopicWithAssignments } from '../protocol/replicated.ts'
import { createStream, streamRef, updateStream } from '../protocol/streams.ts'
import { createTopic, partitionsChange, topicRef, updateTopic } from '../protocol/topics.ts'

/** Partitions that one request may ask for (wire.md §4.9). */
export const PARTITIONS_PER_REQUEST_MAX = 1000

export type Admitted =
  | { readonly ok: true; readonly operation: number; readonly body: Uint8Array }
  | { readonly ok: false; readonly status: number }

const refuse = (status: number): Admitted => ({ ok: false, status })

/** Operations that this node takes from a client. */
const SERVED: ReadonlySet<number> = new Set([
  Operation.CreateStream,
  Operation.UpdateStream,
  Operation.DeleteStream,
  Operation.PurgeStream,
  Operation.CreateTopic,
  Operation.UpdateTopic,
  Operation.DeleteTopic,
  Operation.PurgeTopic,
  Operation.CreatePartitions,
  Operation.DeletePartitions,
])

/** @param allocate hands out consensus group numbers, one above the highest that this node has seen. */
export function admit(state: MetadataState, operation: number, body: Uint8Array, allocate: () => bigint): Admitted {
  if (!SERVED.has(operation)) return refuse(ErrorCode.FeatureUnavailable)
  try {
    return admitBody(state, operation, body, allocate)
  } catch (error) {
    if (error instanceof DecodeError) return refuse(ErrorCode.InvalidCommand)
    throw error
  }
}

function admitBody(state: MetadataState, operation: number, body: Uint8Array, allocate: () => bigint): Admitted {
  const asSent: Admitted = { ok: true, operation, body }
  switch (operation) {
    case Operation.CreateStream:
      return decodeRequest(createStream, body).options.length > 0 ? refuse(ErrorCode.UnsupportedOptionKey) : asSent
    case Operation.UpdateStream:
      return decodeRequest(updateStream, body).options.length > 0 ? refuse(ErrorCode.UnsupportedOptionKey) : asSent
    case Operation.DeleteStream:
    case Operation.PurgeStream:
      decodeRequest(streamRef, body)
      return asSent
    case Operation.CreateTopic:
      return admitTopic(body, allocate)
    case Operation.UpdateTopic: {
      const request = decodeRequest(updateTopic, body)
      const options = admitUpdateOptions(request.options)
      if (!options.ok) return options
      const stream = state.stream(request.stream)
      const topic = stream && state.topic(stream, request.topic)
      // A topic that is not there is refused by apply, with its own code.
      if (topic && settingsOf(patchOptions(topic.options, options.value)).maxTopicSize < topic.settings.segmentSize) {
        return refuse(ErrorCode.InvalidTopicSize)
      }
      return { ok: true, operation, body: encodeBody(updateTopic, { ...request, options: options.value }) }
    }
    case Operation.DeleteTopic:
    case Operation.PurgeTopic:
      decodeRequest(topicRef, body)
      return asSent
    case Operation.CreatePartitions: {
      const request = decodeRequest(partitionsChange, body)
      if (!countHolds(request.count)) return refuse(ErrorCode.TooManyPartitions)
      const value = { request, assignments: assignments(request.count, allocate) }
      const enriched = encodeBody(createPartitionsWithAssignments, value)
      return { ok: true, operation: Operation.CreatePartitionsWithAssignments, body: enriched }
    }
    default:
      return countHolds(decodeRequest(partitionsChange, body).count) ? asSent : refuse(ErrorCode.TooManyPartitions)
  }
}

function admitTopic(body: Uint8Array, allocate: () => bigint): Admitted {
  const request = decodeRequest(createTopic, body)
  if (request.partitionsCount > PARTITIONS_PER_REQUEST_MAX) return refuse(ErrorCode.TooManyPartitions)
  const options = admitCreateOptions(request.options, request.partitionsCount)
  if (!options.ok) return options
  const enriched = encodeBody(createTopicWithAssignments, {
    request: { ...request, options: options.value.explicit },
    derivedOptions: options.value.derived,
    assignments: assignments(request.partitionsCount, allocate),
  })
  return { ok: true, operation: Operation.CreateTopicWithAssignments, body: enriched }
}

const countHolds = (count: number): boolean => count >= 1 && count <= PARTITIONS_PER_REQUEST_MAX

const assignments = (count: number, allocate: () => bigint): Assignment[] =>
  Array.from({ length: count }, (_, partitionId) => ({ partitionId, consensusGroupId: GroupId(allocate()) }))
