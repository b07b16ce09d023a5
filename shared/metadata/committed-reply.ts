/**
 * The reply of a committed op (spec wire.md §1.5, metadata-storage.md §4): built from the prepare alone, so that every
 * replica that applies it holds the same bytes.
 */
import { Checksum } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { encodeFrame } from '../protocol/frames.ts'
import { type PrepareHeader, replyLayout } from '../protocol/headers.ts'

/** `op` and `commit` are both the op; `operation` is the journaled one. */
export function committedReply(prepare: PrepareHeader, body: Uint8Array): Uint8Array {
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

/** Success without a payload: a result section of no entries. */
export const RESULT_OK = new Uint8Array(4)

/** A result section of no entries in front of `payload`. */
export function resultPayload(payload: Uint8Array): Uint8Array {
  const body = new Uint8Array(4 + payload.length)
  body.set(payload, 4)
  return body
}

/** A rejection: one entry, index 0. */
export function resultRejection(code: number): Uint8Array {
  const body = new Uint8Array(12)
  const view = new DataView(body.buffer)
  view.setUint32(0, 1, true)
  view.setUint32(8, code, true)
  return body
}
