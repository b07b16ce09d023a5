/** Frames that a node answers a client with, other than the reply of a committed op (spec wire.md §1.5, §1.6). */
import { Checksum, type ReplicaId, type View } from '../bytes/units.ts'
import { resultRejection } from '../metadata/committed-reply.ts'
import { Command } from '../protocol/commands.ts'
import { encodeFrame } from '../protocol/frames.ts'
import { evictionLayout, type ReplyHeader, type RequestHeader, replyLayout } from '../protocol/headers.ts'

/** Status codes that the node itself gives (wire.md §5.1). */
export const Status = {
  Ok: 0,
  InvalidCommand: 3,
  InvalidFormat: 4,
  FeatureUnavailable: 5,
  ResourceNotFound: 20,
  Unauthenticated: 40,
  Unauthorized: 41,
  TransientNotCommitted: 57,
  TransientNotAccepted: 58,
  RequestAlreadyApplied: 59,
  StreamIdNotFound: 1009,
  TopicIdNotFound: 2010,
  TooManyPartitions: 2015,
  PartitionNotFound: 3007,
  ConsumerOffsetNotFound: 3021,
  InvalidMessageChecksum: 4027,
  InvalidBatchChecksum: 4039,
  UnsupportedOptionKey: 4041,
  InvalidOffset: 4100,
} as const

/** Reasons of an eviction (wire.md §1.6). */
export const EvictionReason = {
  NoSession: 1,
  SessionTooLow: 7,
  InvalidCredentials: 9,
  InvalidToken: 10,
  SessionError: 12,
  IncompatibleProtocol: 14,
  MalformedLogin: 15,
} as const

const NO_BODY = new Uint8Array(0)

export interface ReplyFields {
  readonly op: bigint
  readonly commit: bigint
  readonly status?: number
  readonly body?: Uint8Array
}

/** Answer of this node alone: everything that no client reads echoes the request. */
export function localReply(
  request: RequestHeader,
  { op, commit, status = Status.Ok, body = NO_BODY }: ReplyFields,
): Uint8Array {
  return encodeFrame(replyLayout, { ...echo(request), op, commit, status }, body)
}

/** 57, 58 and 59 of the metadata plane, and of Register: in the result section, at the commit position. */
export function resultReply(request: RequestHeader, code: number, commit: bigint): Uint8Array {
  return localReply(request, { op: commit, commit, body: resultRejection(code) })
}

/** A denial by a partition's group: own cluster, view and replica, op 0, the group's commit. */
export function planeDenial(
  request: RequestHeader,
  status: number,
  by: { readonly cluster: bigint; readonly view: View; readonly replica: ReplicaId; readonly commit: bigint },
): Uint8Array {
  return encodeFrame(replyLayout, { ...echo(request), ...by, op: 0n, status })
}

function echo(request: RequestHeader): Omit<ReplyHeader, 'op' | 'commit' | 'status'> {
  return {
    checksum: Checksum(0n),
    checksumBody: Checksum(0n),
    cluster: request.cluster,
    size: 0,
    view: request.view,
    release: request.release,
    command: Command.Reply,
    replica: request.replica,
    requestChecksum: request.requestChecksum,
    context: 0n,
    client: request.client,
    timestamp: request.timestamp,
    request: request.request,
    operation: request.operation,
  }
}

export function evictionFrame(
  request: RequestHeader,
  reason: number,
  by: { readonly cluster: bigint; readonly view: View; readonly replica: ReplicaId },
  versions: { readonly serverVersion: number; readonly serverVersionMin: number } = {
    serverVersion: 0,
    serverVersionMin: 0,
  },
): Uint8Array {
  return encodeFrame(evictionLayout, {
    checksum: Checksum(0n),
    checksumBody: Checksum(0n),
    cluster: by.cluster,
    size: 0,
    view: by.view,
    release: 0,
    command: Command.Eviction,
    replica: by.replica,
    client: request.client,
    reason,
    ...versions,
  })
}
