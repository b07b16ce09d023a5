/**
 * Applies committed ops of the metadata group (spec metadata-storage.md §4, §5). One function serves the live commit, the
 * backup and the replay of the log: state, client table and reply bytes depend on (state, prepare) alone. A rejection
 * commits as an op that changes nothing, and is cached like a success.
 */
import { EngineError } from '../bytes/errors.ts'
import { decodeRequest } from '../protocol/codec.ts'
import { NO_BODY } from '../protocol/frames.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { Operation, operationName } from '../protocol/operations.ts'
import {
  createPartitionsWithAssignments,
  createTokenReplicated,
  createTopicWithAssignments,
  deleteTokenReplicated,
  truncatePartition as truncatePartitionBody,
} from '../protocol/replicated.ts'
import { committedReply, rejectionBody, successBody, VOID_RESULT } from '../protocol/replies.ts'
import {
  createStream as createStreamBody,
  streamDetails,
  streamRef,
  updateStream as updateStreamBody,
} from '../protocol/streams.ts'
import { partitionsChange, topicDetails, topicRef, updateTopic as updateTopicBody } from '../protocol/topics.ts'
import { ClientTable } from './client-table.ts'
import { MetadataState } from './state.ts'
import {
  type ApplyResult,
  createPartitions,
  createStream,
  createTopic,
  deletePartitions,
  deleteStream,
  deleteTopic,
  purgeStream,
  purgeTopic,
  Reject,
  truncatePartition,
  updateStream,
  updateTopic,
} from './streams.ts'
import { createToken, deleteToken } from './tokens.ts'
import { NO_STATS, streamDetailsView, topicDetailsView } from './views.ts'

export interface AppliedOp {
  /** Whole reply frame. */
  readonly reply: Uint8Array
  /** The code of a committed rejection. */
  readonly rejected?: number
  /** Partitions may have come or gone. */
  readonly topologyChanged: boolean
}

export class MetadataMachine {
  readonly state = new MetadataState()
  readonly clients: ClientTable
  /**
   * Ops up to here are in the client table already: it came from a peer that was ahead. They still change the state, and
   * touch the table no more (§3.6).
   */
  tableFrontier = 0n

  constructor(clientsTableMax: number) {
    this.clients = new ClientTable(clientsTableMax)
  }

  /** @throws EngineError StateMachine when the body of a committed op cannot be decoded: the log and this build disagree. */
  apply(header: PrepareHeader, body: Uint8Array): AppliedOp {
    const { client, operation, userId, requestChecksum } = header
    const inTable = header.op <= this.tableFrontier
    const cache = (frame: Uint8Array) => ({ request: header.request, requestChecksum, commit: header.op, frame })
    if (operation === Operation.Register) {
      const reply = committedReply(header, NO_BODY)
      if (!inTable) this.clients.commitRegister(client, userId, cache(reply))
      return { reply, topologyChanged: false }
    }
    if (operation === Operation.Logout) {
      if (!inTable) this.clients.remove(client)
      return { reply: committedReply(header, NO_BODY), topologyChanged: false }
    }
    const before = this.state.revision
    const result = this.execute(header, body)
    const reply = committedReply(header, result.ok ? result.value : rejectionBody(result.code))
    if (!inTable) this.clients.commitReply(client, cache(reply))
    const topologyChanged = this.state.revision !== before
    return result.ok ? { reply, topologyChanged } : { reply, topologyChanged, rejected: result.code }
  }

  private execute(header: PrepareHeader, body: Uint8Array): ApplyResult<Uint8Array> {
    try {
      // The gate of every apply path (§4.8): only the root user exists, and it passes.
      if (header.userId !== ROOT_USER && isGated(header.operation)) return { ok: false, code: Reject.Unauthorized }
      return this.dispatch(header, body)
    } catch (cause) {
      throw new EngineError(
        'StateMachine',
        `op ${header.op} (${operationName(header.operation) ?? header.operation}) is committed, but its body is unreadable`,
        { op: header.op, advice: 'this build cannot replay the log; start the build that wrote it' },
        { cause },
      )
    }
  }

  private dispatch(header: PrepareHeader, body: Uint8Array): ApplyResult<Uint8Array> {
    const { state } = this
    switch (header.operation) {
      case Operation.CreateStream: {
        const created = createStream(state, decodeRequest(createStreamBody, body), header.timestamp)
        return created.ok ? success(successBody(streamDetails, streamDetailsView(created.value, NO_STATS))) : created
      }
      case Operation.UpdateStream:
        return plain(updateStream(state, decodeRequest(updateStreamBody, body)))
      case Operation.DeleteStream:
        return plain(deleteStream(state, decodeRequest(streamRef, body)))
      case Operation.PurgeStream:
        return plain(purgeStream(state, decodeRequest(streamRef, body)))
      case Operation.CreateTopicWithAssignments:
        return this.createTopic(header, body)
      case Operation.UpdateTopic:
        return plain(updateTopic(state, decodeRequest(updateTopicBody, body)))
      case Operation.DeleteTopic:
        return plain(deleteTopic(state, decodeRequest(topicRef, body)))
      case Operation.PurgeTopic:
        return plain(purgeTopic(state, decodeRequest(topicRef, body)))
      case Operation.CreatePartitionsWithAssignments: {
        const { request, assignments } = decodeRequest(createPartitionsWithAssignments, body)
        return plain(createPartitions(state, { ...request, assignments }, header.timestamp))
      }
      case Operation.DeletePartitions:
        return plain(deletePartitions(state, decodeRequest(partitionsChange, body)))
      case Operation.TruncatePartition:
        return plain(truncatePartition(state, decodeRequest(truncatePartitionBody, body)))
      case Operation.CreatePersonalAccessToken:
        return plain(createToken(state, decodeRequest(createTokenReplicated, body), header.timestamp))
      case Operation.DeletePersonalAccessToken:
        return plain(deleteToken(state, decodeRequest(deleteTokenReplicated, body), header.timestamp))
      default:
        // Unknown to every machine of this build: it passes through (§4).
        return { ok: true, value: VOID_RESULT }
    }
  }

  private createTopic(header: PrepareHeader, body: Uint8Array): ApplyResult<Uint8Array> {
    const { request, derivedOptions, assignments } = decodeRequest(createTopicWithAssignments, body)
    const created = createTopic(
      this.state,
      {
        stream: request.stream,
        name: request.name,
        explicit: request.options,
        derived: derivedOptions,
        assignments,
      },
      header.timestamp,
    )
    if (!created.ok) return created
    const stream = this.state.stream(request.stream)!
    return success(successBody(topicDetails, topicDetailsView(stream.id, created.value, NO_STATS)))
  }
}

const ROOT_USER = 0

const GATED: ReadonlySet<number> = new Set([
  Operation.CreateStream,
  Operation.UpdateStream,
  Operation.DeleteStream,
  Operation.PurgeStream,
  Operation.CreateTopicWithAssignments,
  Operation.UpdateTopic,
  Operation.DeleteTopic,
  Operation.PurgeTopic,
  Operation.CreatePartitionsWithAssignments,
  Operation.DeletePartitions,
  Operation.TruncatePartition,
])
const isGated = (operation: number): boolean => GATED.has(operation)

const success = (value: Uint8Array): ApplyResult<Uint8Array> => ({ ok: true, value })
const plain = (result: ApplyResult): ApplyResult<Uint8Array> => (result.ok ? { ok: true, value: VOID_RESULT } : result)
