/**
 * What a server answers (spec wire.md §1.5, §1.6, consensus.md §2.5).
 *
 * There are two error channels with one number space. `status` in the header, with an empty body, is a denial before
 * anything entered the log. The result section at the start of a result-framed body is the outcome of an op:
 *
 *   success:   count u32 = 0 | payload
 *   rejection: count u32 = 1 | index u32 = 0 | code u32, twelve bytes in all
 */
import { DecodeError } from '../bytes/errors.ts'
import { Checksum, type ClientId, type Micros, type ReplicaId, type View } from '../bytes/units.ts'
import { type Codec, encodeBody } from './codec.ts'
import { Command } from './commands.ts'
import { ErrorCode } from './error-codes.ts'
import { encodeFrame, NO_BODY } from './frames.ts'
import { evictionLayout, HEADER_BYTES, type ReplyHeader, type RequestHeader, replyLayout } from './headers.ts'
import { isResultFramed, Operation } from './operations.ts'
import { checkFrameLength, frameBody } from './seal.ts'

/** The body of a void success on a result-framed operation. */
export const VOID_RESULT = new Uint8Array(4)

/** Result section of a success, and the payload behind it. */
export function successBody<T>(codec: Codec<T>, value: T): Uint8Array {
  const payload = encodeBody(codec, value)
  const body = new Uint8Array(4 + payload.length)
  body.set(payload, 4)
  return body
}

/** Result section of a committed rejection. */
export function rejectionBody(code: number): Uint8Array {
  const body = new Uint8Array(12)
  const view = new DataView(body.buffer)
  view.setUint32(0, 1, true)
  view.setUint32(8, code, true)
  return body
}

export type ResultSection =
  | { readonly ok: true; readonly payload: Uint8Array }
  | { readonly ok: false; readonly code: number; readonly index: number }

/** Whether a reply body of this operation starts with a result section; a Register reply does unless it is empty. */
export const hasResultSection = (operation: number, body: Uint8Array): boolean =>
  isResultFramed(operation) || (operation === Operation.Register && body.length > 0)

/**
 * Splits a reply body. Without a result section the whole body is the payload. Of several rejections the first counts.
 * @throws DecodeError TooShort when the section is cut: never read as a success.
 */
export function readResult(operation: number, body: Uint8Array): ResultSection {
  if (!hasResultSection(operation, body)) return { ok: true, payload: body }
  if (body.length < 4) throw new DecodeError('TooShort', 0, 'a result section needs four bytes')
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  const count = view.getUint32(0, true)
  if (count === 0) return { ok: true, payload: body.subarray(4) }
  if (count > (body.length - 4) / 8)
    throw new DecodeError('TooShort', 4, `${count} results do not fit ${body.length} bytes`)
  return { ok: false, index: view.getUint32(4, true), code: view.getUint32(8, true) }
}

/** What of a request a local reply echoes (§1.5). */
export type EchoedRequest = Pick<
  RequestHeader,
  | 'cluster'
  | 'view'
  | 'release'
  | 'replica'
  | 'client'
  | 'requestChecksum'
  | 'timestamp'
  | 'request'
  | 'operation'
  | 'session'
>

/** Fields in which a reply differs from an echo. */
export interface ReplyFields {
  readonly status?: number
  readonly op?: bigint
  readonly commit?: bigint
  readonly operation?: number
}

/**
 * A reply built from the request: reads, Ping, Register, Logout and denials (§1.5, "Local reply"). `op` defaults to the
 * request's session, `commit` to 0.
 */
export function localReply(request: EchoedRequest, fields: ReplyFields, body: Uint8Array = NO_BODY): Uint8Array {
  return encodeFrame(
    replyLayout,
    {
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
      op: fields.op ?? request.session,
      commit: fields.commit ?? 0n,
      timestamp: request.timestamp,
      request: request.request,
      operation: fields.operation ?? request.operation,
      status: fields.status ?? 0,
    },
    body,
  )
}

/** What of a prepare its reply copies. */
export interface RepliedPrepare {
  readonly cluster: bigint
  readonly view: View
  readonly release: number
  readonly replica: ReplicaId
  readonly client: ClientId
  readonly requestChecksum: Checksum
  readonly timestamp: Micros
  readonly request: bigint
  readonly operation: number
  readonly op: bigint
}

/** A committed reply, built from the prepare header alone: every replica makes the same bytes (consensus.md §3.3). */
export function committedReply(prepare: RepliedPrepare, body: Uint8Array): Uint8Array {
  return encodeFrame(
    replyLayout,
    {
      checksum: Checksum(0n),
      checksumBody: Checksum(0n),
      cluster: prepare.cluster,
      size: 0,
      view: prepare.view,
      release: prepare.release,
      command: Command.Reply,
      replica: prepare.replica,
      requestChecksum: prepare.requestChecksum,
      context: 0n,
      client: prepare.client,
      op: prepare.op,
      commit: prepare.op,
      timestamp: prepare.timestamp,
      request: prepare.request,
      operation: prepare.operation,
      status: 0,
    },
    body,
  )
}

export const EvictionReason = {
  Reserved: 0,
  NoSession: 1,
  ClientReleaseTooLow: 2,
  ClientReleaseTooHigh: 3,
  InvalidRequestOperation: 4,
  InvalidRequestBody: 5,
  InvalidRequestBodySize: 6,
  SessionTooLow: 7,
  SessionReleaseMismatch: 8,
  InvalidCredentials: 9,
  InvalidToken: 10,
  UserInactive: 11,
  SessionError: 12,
  StaleClient: 13,
  IncompatibleProtocol: 14,
  MalformedLogin: 15,
} as const
export type EvictionReason = (typeof EvictionReason)[keyof typeof EvictionReason]

export interface EvictionFields {
  readonly cluster: bigint
  readonly view: View
  readonly replica: ReplicaId
  readonly client: ClientId
  readonly reason: EvictionReason
  /** Only with reason IncompatibleProtocol: what the server speaks, and the oldest it serves. */
  readonly protocol?: { readonly version: number; readonly min: number }
}

/** An eviction frame: the answer to the pending request, and the end of the session. */
export function evictionFrame({ cluster, view, replica, client, reason, protocol }: EvictionFields): Uint8Array {
  return encodeFrame(evictionLayout, {
    checksum: Checksum(0n),
    checksumBody: Checksum(0n),
    cluster,
    size: 0,
    view,
    release: 0,
    command: Command.Eviction,
    replica,
    client,
    serverVersion: protocol?.version ?? 0,
    serverVersionMin: protocol?.min ?? 0,
    reason,
  })
}

/** The error that an eviction means to a client (§1.6). */
export function evictionError(reason: number, version: number, versionMin: number): number {
  switch (reason) {
    case EvictionReason.Reserved:
    case EvictionReason.ClientReleaseTooLow:
    case EvictionReason.ClientReleaseTooHigh:
    case EvictionReason.InvalidRequestOperation:
    case EvictionReason.InvalidRequestBody:
    case EvictionReason.InvalidRequestBodySize:
      return ErrorCode.InvalidCommand
    case EvictionReason.InvalidCredentials:
      return ErrorCode.InvalidCredentials
    case EvictionReason.InvalidToken:
      return ErrorCode.InvalidPersonalAccessToken
    case EvictionReason.StaleClient:
      return ErrorCode.StaleClient
    case EvictionReason.IncompatibleProtocol:
      return versionMin === 0 || version < versionMin
        ? ErrorCode.Unauthenticated
        : ErrorCode.IncompatibleProtocolVersion
    case EvictionReason.MalformedLogin:
      return ErrorCode.InvalidFormat
    default:
      return ErrorCode.Unauthenticated
  }
}

/** A frame from the server, as a client reads it (§1.5, decode order). */
export type ServerFrame =
  | {
      readonly kind: 'reply'
      readonly header: ReplyHeader
      /** The status, or the code of the result section; 0 = success. */
      readonly code: number
      /** Behind the result section; empty unless `code` is 0. */
      readonly payload: Uint8Array
    }
  | {
      readonly kind: 'eviction'
      readonly code: number
      readonly reason: number
      readonly version: number
      readonly versionMin: number
    }

/** @throws DecodeError on a frame that is neither a reply nor an eviction, or whose result section is cut. */
export function readServerFrame(bytes: Uint8Array): ServerFrame {
  checkFrameLength(bytes)
  const command = bytes[60]
  if (command === Command.Eviction) {
    const header = evictionLayout.decode(bytes)
    if (bytes.length !== HEADER_BYTES) throw new DecodeError('BadSize', 48, 'an eviction has no body')
    const code = evictionError(header.reason, header.serverVersion, header.serverVersionMin)
    return {
      kind: 'eviction',
      code,
      reason: header.reason,
      version: header.serverVersion,
      versionMin: header.serverVersionMin,
    }
  }
  if (command !== Command.Reply) throw new DecodeError('BadCommand', 60, `command ${command} is not for a client`)
  const header = replyLayout.decode(bytes)
  if (header.status !== 0) return { kind: 'reply', header, code: header.status, payload: NO_BODY }
  const result = readResult(header.operation, frameBody(bytes))
  if (result.ok) return { kind: 'reply', header, code: 0, payload: result.payload }
  return { kind: 'reply', header, code: result.code, payload: NO_BODY }
}
