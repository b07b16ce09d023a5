/** What a client sends (spec wire.md §1.1–1.3): building a request frame, and reading one on the server's side. */
import { DecodeError } from '../bytes/errors.ts'
import { Checksum, type ClientId, Micros, ReplicaId, View } from '../bytes/units.ts'
import { Command, commandName } from './commands.ts'
import { encodeFrame, NO_BODY, validateRequest } from './frames.ts'
import { type RequestHeader, requestLayout } from './headers.ts'
import { checkFrameLength, frameBody } from './seal.ts'

export interface RequestFields {
  readonly client: ClientId
  readonly session: bigint
  readonly request: bigint
  readonly operation: number
  /** Legacy command code, for operation NonReplicated. */
  readonly code?: number
  /** XXH3-64 of the body; 0 = not stamped. */
  readonly requestChecksum?: Checksum
}

export function requestFrame(fields: RequestFields, body: Uint8Array = NO_BODY): Uint8Array {
  return encodeFrame(
    requestLayout,
    {
      checksum: Checksum(0n),
      checksumBody: Checksum(0n),
      cluster: 0n,
      size: 0,
      view: View(0),
      release: 0,
      command: Command.Request,
      replica: ReplicaId(0),
      client: fields.client,
      requestChecksum: fields.requestChecksum ?? Checksum(0n),
      timestamp: Micros(0n),
      request: fields.request,
      operation: fields.operation,
      session: fields.session,
      userId: 0,
      code: fields.code ?? 0,
    },
    body,
  )
}

export type ClientFrame =
  /** A known command that is no request: dropped in silence (§1.1). */
  | { readonly kind: 'other'; readonly command: number }
  | {
      readonly kind: 'request'
      readonly header: RequestHeader
      readonly body: Uint8Array
      /**
       * Why the header is not legal (§1.2), when it is not; such a request is denied with status 3, so that the client does
       * not wait for an answer.
       */
      readonly invalid?: DecodeError
    }

/**
 * Reads a whole frame from a client's connection. Client frames are not sealed, and their reserved bytes are not read.
 * @throws DecodeError BadCommand for an unknown command byte, and WrongLength or TooShort: the connection is closed then.
 */
export function readClientFrame(bytes: Uint8Array): ClientFrame {
  checkFrameLength(bytes)
  const command = bytes[60]!
  if (commandName(command) === undefined) throw new DecodeError('BadCommand', 60, `command ${command} is unknown`)
  if (command !== Command.Request) return { kind: 'other', command }
  const header = requestLayout.decode(bytes)
  const body = frameBody(bytes)
  try {
    validateRequest(header)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return { kind: 'request', header, body, invalid: error }
  }
  return { kind: 'request', header, body }
}
