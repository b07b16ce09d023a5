/**
 * Every frame of a replica link, parsed and validated (spec consensus.md §2.1, §2.5). The order of the checks is the
 * specification's: length, command byte, enum bytes, seal, fields, size. What fails is a DecodeError with the byte it
 * concerns; the receiver drops the frame.
 *
 * The hash work of a prepare is not done here but by `verifyPrepare`, because a repair must know which check failed, and a
 * chain forward must not pay twice.
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import type { Fields, Layout, LayoutRecord } from '../bytes/layout.ts'
import { Command, commandName } from './commands.ts'
import {
  commitLayout,
  doViewChangeLayout,
  forwardLogoutLayout,
  forwardLogoutResultLayout,
  forwardRegisterLayout,
  forwardRegisterResultLayout,
  forwardRequestResultLayout,
  HEADER_BYTES,
  type PrepareHeader,
  prepareLayout,
  prepareOkLayout,
  type RoutedRequestHeader,
  repairRangeLayout,
  requestPreparesLayout,
  requestStartViewLayout,
  requestStateChunkLayout,
  requestStateTransferLayout,
  routedRequestLayout,
  startViewChangeLayout,
  startViewLayout,
  stateChunkLayout,
  stateTransferTargetLayout,
} from './headers.ts'
import { Operation, operationName } from './operations.ts'
import { checkFrameLength, frameBody, openControlFrame, sealBody, sealControlFrame, viewBodyMatches } from './seal.ts'

/** One bit of a u128 bitset per header of a view-change suffix (§1.1). */
export const SUFFIX_HEADERS_MAX = 128

const COMMAND_AT = 60

/** Layouts by the name of their command: the map that the inspector, the tests and the codecs share. */
export const replicaLayouts = {
  Request: routedRequestLayout,
  Prepare: prepareLayout,
  RepairPrepare: prepareLayout,
  PrepareOk: prepareOkLayout,
  Commit: commitLayout,
  StartViewChange: startViewChangeLayout,
  DoViewChange: doViewChangeLayout,
  StartView: startViewLayout,
  RequestStartView: requestStartViewLayout,
  RequestPrepares: requestPreparesLayout,
  RepairDone: repairRangeLayout,
  RangeEvicted: repairRangeLayout,
  RequestStateTransfer: requestStateTransferLayout,
  StateTransferTarget: stateTransferTargetLayout,
  RequestStateChunk: requestStateChunkLayout,
  StateChunk: stateChunkLayout,
  ForwardRegister: forwardRegisterLayout,
  ForwardRegisterResult: forwardRegisterResultLayout,
  ForwardLogout: forwardLogoutLayout,
  ForwardLogoutResult: forwardLogoutResultLayout,
  ForwardRequestResult: forwardRequestResultLayout,
} as const
type ReplicaLayouts = typeof replicaLayouts
export type ReplicaFrameKind = keyof ReplicaLayouts

/** A parsed frame: `bytes` is the whole frame, `body` a view of it behind the header. */
export type ReplicaFrame = {
  readonly [K in ReplicaFrameKind]: {
    readonly kind: K
    readonly header: LayoutRecord<ReplicaLayouts[K]>
    readonly body: Uint8Array
    readonly bytes: Uint8Array
  }
}[ReplicaFrameKind]
export type FrameOf<K extends ReplicaFrameKind> = Extract<ReplicaFrame, { kind: K }>

/** Frames without a seal: a request is never sealed, a prepare has its identity instead. */
const UNSEALED: ReadonlySet<ReplicaFrameKind> = new Set(['Request', 'Prepare', 'RepairPrepare'])

/** Outcomes of a forwarded register (§2.5). */
export const RegisterOutcome = {
  Ok: 0,
  NotPrimary: 1,
  NotCaughtUp: 2,
  PipelineFull: 3,
  InProgress: 4,
  Canceled: 5,
  ClientIdOwnedByAnotherUser: 6,
} as const
/** Outcomes of a forwarded logout (§2.5). */
export const LogoutOutcome = { Ok: 0, NotPrimary: 1, PipelineFull: 2, InProgress: 3, Canceled: 4 } as const
/** Outcomes of a forwarded partition write (§8.3). */
export const ForwardOutcome = { Reply: 0, NotPrimary: 1, Transient: 2, Rejected: 3 } as const

/** Kinds whose frame is the header alone. */
const HEADER_ONLY: ReadonlySet<ReplicaFrameKind> = new Set([
  'PrepareOk',
  'Commit',
  'StartViewChange',
  'RequestStartView',
  'RequestPrepares',
  'RepairDone',
  'RangeEvicted',
  'RequestStateTransfer',
  'RequestStateChunk',
  'ForwardRegister',
  'ForwardRegisterResult',
  'ForwardLogout',
  'ForwardLogoutResult',
])

/**
 * Parses one frame of a replica link. `bytes` must be one whole frame, as the splitter gives it; it is not copied.
 * @throws DecodeError; BadCommand also for Reply, Eviction, Ping and handshake frames, which have no place there.
 */
export function parseReplicaFrame(hash: Hash, bytes: Uint8Array): ReplicaFrame {
  if (bytes.length < HEADER_BYTES) {
    throw new DecodeError('TooShort', 0, `a frame needs ${HEADER_BYTES} bytes, ${bytes.length} are there`)
  }
  const command = bytes[COMMAND_AT]!
  const name = commandName(command)
  if (name === undefined || !(name in replicaLayouts)) {
    throw new DecodeError('BadCommand', COMMAND_AT, `command ${name ?? command} is not for a replica link`)
  }
  const kind = name as ReplicaFrameKind
  checkEnums(kind, bytes)
  if (UNSEALED.has(kind)) checkFrameLength(bytes)
  else openControlFrame(hash, bytes)
  const frame = { kind, header: replicaLayouts[kind].decode(bytes), body: frameBody(bytes), bytes } as ReplicaFrame
  validate(hash, frame)
  if (HEADER_ONLY.has(kind) && frame.body.length > 0) {
    throw new DecodeError('BadSize', 48, `${kind} has no body, but ${frame.body.length} bytes follow`)
  }
  return frame
}

/** Bytes that must name a member of an enumeration, before the seal is looked at (§2.1). */
function checkEnums(kind: ReplicaFrameKind, bytes: Uint8Array): void {
  const operationAt = {
    Request: 176,
    Prepare: 208,
    RepairPrepare: 208,
    PrepareOk: 192,
    ForwardRequestResult: 164,
  } as const
  if (kind in operationAt) {
    const at = operationAt[kind as keyof typeof operationAt]
    if (operationName(bytes[at]!) === undefined)
      throw new DecodeError('BadOperation', at, `operation ${bytes[at]} is unknown`)
  }
  const outcomeMax = { ForwardRegisterResult: 6, ForwardLogoutResult: 4, ForwardRequestResult: 3 } as const
  if (kind in outcomeMax && bytes[255]! > outcomeMax[kind as keyof typeof outcomeMax]) {
    throw new DecodeError('BadValue', 255, `outcome ${bytes[255]} is unknown`)
  }
}

const need = (condition: boolean, position: number, message: string): void => {
  if (!condition) throw new DecodeError('BadValue', position, message)
}

function validate(hash: Hash, frame: ReplicaFrame): void {
  switch (frame.kind) {
    case 'Request':
      validateRequest(frame.header)
      break
    case 'DoViewChange':
      need(frame.header.release === 0, 56, 'release must be 0')
      need(
        frame.header.logView <= frame.header.view,
        152,
        `log view ${frame.header.logView} is above view ${frame.header.view}`,
      )
      need(frame.header.commit <= frame.header.op, 136, `commit ${frame.header.commit} is above op ${frame.header.op}`)
      checkSuffixShape(hash, frame.bytes)
      checkBitset(frame.header.nackBitset, 224, frame.body.length / HEADER_BYTES)
      checkBitset(frame.header.presentBitset, 240, frame.body.length / HEADER_BYTES)
      break
    case 'StartView':
      need(frame.header.release === 0, 56, 'release must be 0')
      need(frame.header.commit <= frame.header.op, 136, `commit ${frame.header.commit} is above op ${frame.header.op}`)
      checkSuffixShape(hash, frame.bytes)
      break
    case 'StartViewChange':
    case 'RequestStartView':
      need(frame.header.release === 0, 56, 'release must be 0')
      break
    case 'RequestPrepares':
      need(frame.header.fromOp >= 1n, 144, 'from op 0 does not exist')
      need(frame.header.fromOp <= frame.header.toOp, 152, `range ${frame.header.fromOp}..${frame.header.toOp} is empty`)
      break
    case 'StateTransferTarget':
      need(frame.header.available <= 1, 160, `available is ${frame.header.available}`)
      need(frame.header.unavailableTransient <= 1, 161, `unavailable_transient is ${frame.header.unavailableTransient}`)
      need(
        frame.header.available === 0 || frame.header.unavailableTransient === 0,
        161,
        'available and transient exclude each other',
      )
      if (frame.header.available === 0 && frame.body.length > 0) {
        throw new DecodeError('BadSize', 48, 'an unavailable target has no manifest')
      }
      break
    case 'RequestStateChunk':
      need(frame.header.length > 0, 160, 'a chunk of length 0 was asked for')
      break
    case 'ForwardRegister':
      need(frame.header.client !== 0n, 128, 'client is 0')
      need(frame.header.nonce !== 0n, 144, 'nonce is 0')
      break
    case 'ForwardRegisterResult':
      need(frame.header.nonce !== 0n, 128, 'nonce is 0')
      need(frame.header.client !== 0n, 144, 'client is 0')
      need(
        frame.header.outcome === RegisterOutcome.Ok || frame.header.epoch === 0n,
        160,
        'only outcome Ok has an epoch',
      )
      need(
        frame.header.outcome === RegisterOutcome.Ok || frame.header.watermark === 0n,
        168,
        'only outcome Ok has a watermark',
      )
      break
    case 'ForwardLogout':
      need(frame.header.client !== 0n, 128, 'client is 0')
      need(frame.header.nonce !== 0n, 144, 'nonce is 0')
      need(frame.header.session !== 0n, 160, 'session is 0')
      need(frame.header.request !== 0n, 168, 'request is 0')
      break
    case 'ForwardLogoutResult':
      need(frame.header.nonce !== 0n, 128, 'nonce is 0')
      need(frame.header.client !== 0n, 144, 'client is 0')
      need(frame.header.outcome === LogoutOutcome.Ok || frame.header.commit === 0n, 160, 'only outcome Ok has a commit')
      break
    case 'ForwardRequestResult':
      need(frame.header.nonce !== 0n, 128, 'nonce is 0')
      need(frame.header.client !== 0n, 144, 'client is 0')
      if (!viewBodyMatches(hash, frame.bytes))
        throw new DecodeError('BadBodyChecksum', 16, 'the body does not match its checksum')
      break
  }
}

/**
 * Field rules of a request (§2.5), the same in the client and in the routed form: client and operation are not 0; Register
 * has session 0 and request 0; NonReplicated is free; every other operation has both above 0.
 */
export function validateRequest(
  header: Pick<RoutedRequestHeader, 'client' | 'operation' | 'session' | 'request'>,
): void {
  need(header.client !== 0n, 128, 'client is 0')
  if (header.operation === Operation.Reserved || operationName(header.operation) === undefined) {
    throw new DecodeError('BadOperation', 176, `operation ${header.operation} is not legal on a request`)
  }
  if (header.operation === Operation.NonReplicated) return
  if (header.operation === Operation.Register) {
    need(header.session === 0n, 184, 'Register carries a session')
    need(header.request === 0n, 168, 'Register carries a request number')
    return
  }
  need(header.session > 0n, 184, 'session is 0')
  need(header.request > 0n, 168, 'request is 0')
}

function checkSuffixShape(hash: Hash, bytes: Uint8Array): void {
  const length = bytes.length - HEADER_BYTES
  if (length % HEADER_BYTES !== 0)
    throw new DecodeError('BadSize', 48, `a body of ${length} bytes is no run of headers`)
  if (length / HEADER_BYTES > SUFFIX_HEADERS_MAX) {
    throw new DecodeError('BadCount', 48, `${length / HEADER_BYTES} headers are more than ${SUFFIX_HEADERS_MAX}`)
  }
  if (!viewBodyMatches(hash, bytes))
    throw new DecodeError('BadBodyChecksum', 16, 'the body does not match its checksum')
}

function checkBitset(bits: bigint, at: number, count: number): void {
  need(bits >> BigInt(count) === 0n, at, `bit set beyond the ${count} headers of the body`)
}

/**
 * The prepare headers in the body of a DoViewChange or StartView, head first. A blank slot decodes to operation Reserved.
 * The relations between them (§5.3: ops, identities, parents) are the consensus group's to check.
 * @throws DecodeError BadCommand, BadOperation, ReservedNotZero; positions count from the start of `body`.
 */
export function decodeSuffix(body: Uint8Array): PrepareHeader[] {
  const headers: PrepareHeader[] = []
  for (let at = 0; at < body.length; at += HEADER_BYTES) {
    const header = prepareLayout.decode(body, at)
    if (header.command !== Command.Prepare)
      throw new DecodeError('BadCommand', at + COMMAND_AT, 'suffix entry is no prepare')
    if (operationName(header.operation) === undefined) {
      throw new DecodeError('BadOperation', at + 208, `operation ${header.operation} is unknown`)
    }
    headers.push(header)
  }
  return headers
}

/** Body of a DoViewChange or StartView: the headers one behind the other, head first. */
export function encodeSuffix(headers: readonly PrepareHeader[]): Uint8Array {
  const body = new Uint8Array(headers.length * HEADER_BYTES)
  headers.forEach((header, index) => {
    prepareLayout.encode(header, body, index * HEADER_BYTES)
  })
  return body
}

/** A frame that is its header alone. */
export const NO_BODY: Uint8Array = new Uint8Array(0)

/** Header and body in one buffer, with `size` set; checksums as the header says. */
export function encodeFrame<F extends Fields>(
  layout: Layout<F>,
  header: LayoutRecord<Layout<F>>,
  body: Uint8Array = NO_BODY,
): Uint8Array {
  const frame = new Uint8Array(HEADER_BYTES + body.length)
  layout.encode(header, frame)
  new DataView(frame.buffer).setUint32(48, frame.length, true)
  frame.set(body, HEADER_BYTES)
  return frame
}

/** Header fields that `sealFrame` fills itself. */
type Computed = 'checksum' | 'checksumBody' | 'size' | 'release' | 'command'

/** Kinds whose body, when there is one, is covered by `checksumBody`. */
const SEALED_BODY: ReadonlySet<ReplicaFrameKind> = new Set(['DoViewChange', 'StartView', 'ForwardRequestResult'])

/**
 * Builds a complete control frame of `kind`: command, size, release 0, body checksum where the kind has one, seal.
 * Not for Request (unsealed) and the two prepares (see `sealPrepare`).
 */
export function sealFrame<K extends Exclude<ReplicaFrameKind, 'Request' | 'Prepare' | 'RepairPrepare'>>(
  hash: Hash,
  kind: K,
  fields: Omit<LayoutRecord<ReplicaLayouts[K]>, Computed>,
  body: Uint8Array = NO_BODY,
): Uint8Array {
  const header = { ...fields, checksum: 0n, checksumBody: 0n, size: 0, release: 0, command: Command[kind] }
  const frame = encodeFrame(replicaLayouts[kind] as unknown as Layout<Fields>, header, body)
  if (SEALED_BODY.has(kind) && body.length > 0) sealBody(hash, frame)
  return sealControlFrame(hash, frame)
}
