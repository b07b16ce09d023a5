import { describe, expect, it } from 'vitest'
import { DecodeError } from '../bytes/errors.ts'
import { Checksum, ClientId, Micros, ReplicaId, View } from '../bytes/units.ts'
import { u32 } from './codec.ts'
import { Command } from './commands.ts'
import { ErrorCode, errorName, errorText, isTransient } from './error-codes.ts'
import { replyLayout } from './headers.ts'
import { Operation } from './operations.ts'
import {
  committedReply,
  EvictionReason,
  evictionFrame,
  localReply,
  readResult,
  readServerFrame,
  rejectionBody,
  successBody,
  VOID_RESULT,
} from './replies.ts'
import { readClientFrame, requestFrame } from './requests.ts'

const client = ClientId(0x0123n)
const request = { client, session: 4n, request: 9n, operation: Operation.CreateStream }
const header = () => {
  const read = readClientFrame(requestFrame(request, Uint8Array.of(1)))
  if (read.kind !== 'request') throw new Error('no request')
  return read.header
}

describe('result section', () => {
  it('success, void success, rejection', () => {
    const operation = Operation.CreateStream
    expect(readResult(operation, successBody(u32, 7))).toEqual({ ok: true, payload: Uint8Array.of(7, 0, 0, 0) })
    expect(readResult(operation, VOID_RESULT)).toEqual({ ok: true, payload: new Uint8Array(0) })
    const rejection = rejectionBody(ErrorCode.StreamNameAlreadyExists)
    expect(Buffer.from(rejection).toString('hex')).toBe('0100000000000000f4030000')
    expect(readResult(operation, rejection)).toEqual({ ok: false, code: 1012, index: 0 })
  })

  it('is no part of reads, sends and logouts; of a register only when there is a body', () => {
    const body = Uint8Array.of(9, 0, 0, 0)
    for (const operation of [
      Operation.NonReplicated,
      Operation.SendMessages,
      Operation.Logout,
      Operation.DeleteSegments,
    ]) {
      expect(readResult(operation, body)).toEqual({ ok: true, payload: body })
    }
    expect(readResult(Operation.Register, new Uint8Array(0))).toEqual({ ok: true, payload: new Uint8Array(0) })
    expect(readResult(Operation.Register, rejectionBody(58))).toMatchObject({ ok: false, code: 58 })
    for (const operation of [64, 65, 68, 139, 149, 161, 162]) {
      expect(readResult(operation, rejectionBody(20))).toMatchObject({ ok: false, code: 20 })
    }
  })

  it('a short one is malformed and never a success', () => {
    for (let length = 0; length < 12; length++) {
      const cut = rejectionBody(5).slice(0, length)
      expect(() => readResult(Operation.CreateStream, cut), `${length} bytes`).toThrow(DecodeError)
    }
    const many = new Uint8Array(12)
    new DataView(many.buffer).setUint32(0, 0xffff_ffff, true)
    expect(() => readResult(Operation.CreateStream, many)).toThrow(DecodeError)
  })
})

describe('replies', () => {
  it('a local reply echoes the request, carries the session as op, and hides the commit unless told', () => {
    const frame = localReply(header(), { status: 41 })
    expect(replyLayout.decode(frame)).toMatchObject({
      command: Command.Reply,
      size: 256,
      client,
      request: 9n,
      op: 4n,
      commit: 0n,
      operation: Operation.CreateStream,
      status: 41,
    })
    expect(readServerFrame(frame)).toMatchObject({ kind: 'reply', code: 41, payload: new Uint8Array(0) })
  })

  it('a committed reply is made of its prepare alone', () => {
    const prepare = {
      cluster: 7n,
      view: View(2),
      release: 0,
      replica: ReplicaId(1),
      client,
      requestChecksum: Checksum(3n),
      timestamp: Micros(99n),
      request: 5n,
      operation: Operation.CreateTopicWithAssignments,
      op: 40n,
    }
    const decoded = replyLayout.decode(committedReply(prepare, VOID_RESULT))
    expect(decoded).toMatchObject({ ...prepare, commit: 40n, context: 0n, status: 0, size: 260 })
  })

  it('evictions mean what the protocol says they mean', () => {
    const evict = (reason: number, protocol?: { version: number; min: number }) => {
      const frame = evictionFrame({
        cluster: 0n,
        view: View(0),
        replica: ReplicaId(0),
        client,
        reason: reason as EvictionReason,
        ...(protocol && { protocol }),
      })
      expect(frame).toHaveLength(256)
      return (readServerFrame(frame) as { code: number }).code
    }
    const codes = Array.from({ length: 16 }, (_, reason) => evict(reason))
    expect(codes).toEqual([3, 40, 3, 3, 3, 3, 3, 40, 40, 42, 53, 40, 40, 30, 40, 4])
    expect(evict(EvictionReason.IncompatibleProtocol, { version: 11_264, min: 11_264 })).toBe(14_003)
    expect(evict(EvictionReason.IncompatibleProtocol, { version: 1, min: 2 })).toBe(40)
    expect(evict(99)).toBe(40)
  })

  it('a client takes nothing else', () => {
    expect(() => readServerFrame(requestFrame(request))).toThrow(expect.objectContaining({ code: 'BadCommand' }))
    const cut = localReply(header(), {}, new Uint8Array(2))
    expect(() => readServerFrame(cut)).toThrow(DecodeError)
    expect(() => readServerFrame(new Uint8Array(100))).toThrow(DecodeError)
  })
})

describe('requests', () => {
  it('an illegal header is told apart from an unreadable frame', () => {
    const bad = readClientFrame(requestFrame({ ...request, session: 0n }))
    expect(bad).toMatchObject({ kind: 'request', invalid: { code: 'BadValue', position: 184 } })
    expect(readClientFrame(requestFrame(request))).not.toHaveProperty('invalid')
    const ping = requestFrame(request)
    ping[60] = Command.Ping
    expect(readClientFrame(ping)).toEqual({ kind: 'other', command: Command.Ping })
    ping[60] = 99
    expect(() => readClientFrame(ping)).toThrow(expect.objectContaining({ code: 'BadCommand' }))
  })
})

describe('error codes', () => {
  it('have a name and a text; unknown ones are errors', () => {
    expect(errorName(1009)).toBe('StreamIdNotFound')
    expect(errorText(1009)).toBe('there is no such stream')
    expect(errorText(ErrorCode.CannotReadMessage)).toBe('cannot read message')
    expect(errorName(77_777)).toBe('Error')
    expect(errorText(77_777)).toBe('error 77777')
    expect(Object.values(ErrorCode).filter(isTransient)).toEqual([57, 58])
    expect(new Set(Object.values(ErrorCode)).size).toBe(238)
  })
})
