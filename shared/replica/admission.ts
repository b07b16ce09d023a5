/**
 * What the primary makes of a metadata request before it enters the log (spec metadata-storage.md §4.3, wire.md §3.4–3.5):
 * bounds and options are checked, and what is not deterministic is filled in.
 */
import { DecodeError } from '../bytes/errors.ts'
import { GroupId } from '../bytes/units.ts'
import type { MetadataState } from '../metadata/state.ts'
import { tokenHash } from '../metadata/tokens.ts'
import { admitCreateOptions, admitUpdateOptions, patchOptions, settingsOf } from '../metadata/topic-options.ts'
import { decodeRequest, encodeBody } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { Operation } from '../protocol/operations.ts'
import {
  type Assignment,
  createPartitionsWithAssignments,
  createTokenReplicated,
  createTopicWithAssignments,
  deleteTokenReplicated,
} from '../protocol/replicated.ts'
import { createStream, streamRef, updateStream } from '../protocol/streams.ts'
import { createTopic, partitionsChange, topicRef, updateTopic } from '../protocol/topics.ts'
import { createToken, deleteToken } from '../protocol/users.ts'

/** Partitions that one request may ask for (wire.md §4.9). */
export const PARTITIONS_PER_REQUEST_MAX = 1000

export type Admitted =
  | {
      readonly ok: true
      readonly operation: number
      readonly body: Uint8Array
      /** Of a token that the op creates: goes into the first reply and nowhere else. */
      readonly secret?: string
    }
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
  Operation.CreatePersonalAccessToken,
  Operation.DeletePersonalAccessToken,
])

export interface Admission {
  readonly state: MetadataState
  /** Who asks, by the session. */
  readonly userId: number
  /** Hands out consensus group numbers, one above the highest that this node has seen. */
  readonly allocate: () => bigint
  /** Draws the secret of a token. */
  readonly mint: () => string
  readonly tokensPerUserMax: number
}

export function admit(context: Admission, operation: number, body: Uint8Array): Admitted {
  if (!SERVED.has(operation)) return refuse(ErrorCode.FeatureUnavailable)
  try {
    return admitBody(context, operation, body)
  } catch (error) {
    if (error instanceof DecodeError) return refuse(ErrorCode.InvalidCommand)
    throw error
  }
}

function admitBody(context: Admission, operation: number, body: Uint8Array): Admitted {
  const { state, allocate } = context
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
    case Operation.CreatePersonalAccessToken:
      return admitToken(context, body)
    case Operation.DeletePersonalAccessToken: {
      const { name } = decodeRequest(deleteToken, body)
      const value = { userId: context.userId, name, onlyIfExpired: false }
      return { ok: true, operation, body: encodeBody(deleteTokenReplicated, value) }
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

/** The limit is of the configuration, so it cannot be part of apply; it comes before the name is looked at (wire.md §3.3). */
function admitToken({ state, userId, mint, tokensPerUserMax }: Admission, body: Uint8Array): Admitted {
  const request = decodeRequest(createToken, body)
  if ((state.tokens.get(userId)?.length ?? 0) >= tokensPerUserMax) {
    return refuse(ErrorCode.PersonalAccessTokensLimitReached)
  }
  const secret = mint()
  const value = { userId, ...request, hash: tokenHash(secret) }
  const operation = Operation.CreatePersonalAccessToken
  return { ok: true, operation, body: encodeBody(createTokenReplicated, value), secret }
}

const countHolds = (count: number): boolean => count >= 1 && count <= PARTITIONS_PER_REQUEST_MAX

const assignments = (count: number, allocate: () => bigint): Assignment[] =>
  Array.from({ length: count }, (_, partitionId) => ({ partitionId, consensusGroupId: GroupId(allocate()) }))
