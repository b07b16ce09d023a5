import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { DecodeError } from '../bytes/errors.ts'
import { createHash, type Hash } from '../bytes/hash.ts'
import type { Field, Fields, Layout } from '../bytes/layout.ts'
import { Checksum, ClientId, GroupId, Op, ReplicaId, View } from '../bytes/units.ts'
import { Command } from './commands.ts'
import { encodeFrame, parseReplicaFrame, type ReplicaFrameKind, replicaLayouts, sealFrame } from './frames.ts'
import { genericLayout, HEADER_BYTES } from './headers.ts'
import { Operation } from './operations.ts'
import { sealControlFrame } from './seal.ts'
import { throughJson } from './testing/golden.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const from = { cluster: 7n, view: View(5), replica: ReplicaId(1) }
const group = GroupId(0n)
const doViewChange = (fields: object, body = new Uint8Array(0)) =>
  sealFrame(
    hash,
    'DoViewChange',
    {
      ...from,
      op: Op(9n),
      commit: Op(8n),
      group,
      logView: View(4),
      heldFrontier: 0n,
      reservedFrontier: 0n,
      committedFrontier: 0n,
      forgetful: 0,
      originKnown: 0,
      logStart: 0n,
      firstBase: 0n,
      jumpBase: 0n,
      nackBitset: 0n,
      presentBitset: 0n,
      ...fields,
    },
    body,
  )
const startView = (fields: object, body = new Uint8Array(0)) =>
  sealFrame(
    hash,
    'StartView',
    {
      ...from,
      op: Op(9n),
      commit: Op(8n),
      group,
      jumpBase: 0n,
      logStart: 0n,
      originKnown: 0,
      firstBase: 0n,
      incarnation: 3n,
      ...fields,
    },
    body,
  )
const requestPrepares = (fromOp: bigint, toOp: bigint) =>
  sealFrame(hash, 'RequestPrepares', { ...from, nonce: 1n, fromOp: Op(fromOp), toOp: Op(toOp), group })
const target = (fields: object, body = new Uint8Array(0)) =>
  sealFrame(
    hash,
    'StateTransferTarget',
    {
      ...from,
      nonce: 1n,
      commitOp: Op(1n),
      group,
      available: 0,
      unavailableTransient: 0,
      commitMax: Op(1n),
      ...fields,
    },
    body,
  )
const ids = { client: ClientId(1n), nonce: 1n }
const request = (fields: object) =>
  encodeFrame(replicaLayouts.Request, {
    ...from,
    checksum: Checksum(0n),
    checksumBody: Checksum(0n),
    size: 0,
    release: 0,
    command: Command.Request,
    client: ClientId(1n),
    requestChecksum: Checksum(0n),
    timestamp: 0n as never,
    request: 1n,
    operation: Operation.SendMessages,
    session: 1n,
    userId: 0,
    code: 0,
    nonce: 0n,
    origin: 0,
    encrypted: 0,
    incarnation: 0n,
    group,
    ...fields,
  })
const released = (frame: Uint8Array) => {
  new DataView(frame.buffer).setUint32(56, 1, true)
  return sealControlFrame(hash, frame)
}
const blank = new Uint8Array(HEADER_BYTES)

/** What each rule of consensus.md §2.5 refuses, with the byte it points at; the first of a pair is legal. */
const RULES: readonly (readonly [string, () => Uint8Array, () => Uint8Array, number])[] = [
  ['log view above view', () => doViewChange({ logView: 5 }), () => doViewChange({ logView: 6 }), 152],
  ['commit above op', () => doViewChange({ commit: 9n }), () => doViewChange({ commit: 10n }), 136],
  [
    'a nack beyond the headers',
    () => doViewChange({ nackBitset: 1n }, blank),
    () => doViewChange({ nackBitset: 2n }, blank),
    224,
  ],
  [
    'a present bit beyond the headers',
    () => doViewChange({ presentBitset: 1n }, blank),
    () => doViewChange({ presentBitset: 1n }),
    240,
  ],
  [
    'half a header in the body',
    () => doViewChange({}, new Uint8Array(512)),
    () => doViewChange({}, new Uint8Array(300)),
    48,
  ],
  [
    '129 headers',
    () => doViewChange({}, new Uint8Array(128 * 256)),
    () => doViewChange({}, new Uint8Array(129 * 256)),
    48,
  ],
  ['release on a vote', () => doViewChange({}), () => released(doViewChange({})), 56],
  ['StartView: commit above op', () => startView({ commit: 9n }), () => startView({ commit: 10n }), 136],
  ['StartView: half a header', () => startView({}, new Uint8Array(256)), () => startView({}, new Uint8Array(255)), 48],
  ['a repair from op 0', () => requestPrepares(1n, 1n), () => requestPrepares(0n, 1n), 144],
  ['a repair of an empty range', () => requestPrepares(5n, 5n), () => requestPrepares(5n, 4n), 152],
  ['available is no boolean', () => target({ available: 1 }, blank), () => target({ available: 2 }), 160],
  [
    'available and transient',
    () => target({ unavailableTransient: 1 }),
    () => target({ available: 1, unavailableTransient: 1 }),
    161,
  ],
  ['a manifest that is not there', () => target({}), () => target({}, blank), 48],
  [
    'a chunk of no length',
    () => sealFrame(hash, 'RequestStateChunk', { ...from, nonce: 1n, offset: 0n, group, length: 1, artifact: 0 }),
    () => sealFrame(hash, 'RequestStateChunk', { ...from, nonce: 1n, offset: 0n, group, length: 0, artifact: 0 }),
    160,
  ],
  [
    'an epoch without success',
    () => sealFrame(hash, 'ForwardRegisterResult', { ...from, ...ids, epoch: 5n, watermark: 0n, outcome: 0 }),
    () => sealFrame(hash, 'ForwardRegisterResult', { ...from, ...ids, epoch: 5n, watermark: 0n, outcome: 1 }),
    160,
  ],
  [
    'an unknown outcome of a register',
    () => sealFrame(hash, 'ForwardRegisterResult', { ...from, ...ids, epoch: 0n, watermark: 0n, outcome: 6 }),
    () => sealFrame(hash, 'ForwardRegisterResult', { ...from, ...ids, epoch: 0n, watermark: 0n, outcome: 7 }),
    255,
  ],
  [
    'an unknown outcome of a logout',
    () => sealFrame(hash, 'ForwardLogoutResult', { ...from, ...ids, commit: Op(0n), outcome: 4 }),
    () => sealFrame(hash, 'ForwardLogoutResult', { ...from, ...ids, commit: Op(0n), outcome: 5 }),
    255,
  ],
  [
    'a commit without success',
    () => sealFrame(hash, 'ForwardLogoutResult', { ...from, ...ids, commit: Op(3n), outcome: 0 }),
    () => sealFrame(hash, 'ForwardLogoutResult', { ...from, ...ids, commit: Op(3n), outcome: 2 }),
    160,
  ],
  [
    'a logout without a session',
    () => sealFrame(hash, 'ForwardLogout', { ...from, ...ids, session: 1n, request: 1n }),
    () => sealFrame(hash, 'ForwardLogout', { ...from, ...ids, session: 0n, request: 1n }),
    160,
  ],
  [
    'a forward without a nonce',
    () => sealFrame(hash, 'ForwardRegister', { ...from, ...ids, userId: 0 }),
    () => sealFrame(hash, 'ForwardRegister', { ...from, ...ids, nonce: 0n, userId: 0 }),
    144,
  ],
  ['client 0', () => request({}), () => request({ client: 0n }), 128],
  ['operation 0', () => request({}), () => request({ operation: 0 }), 176],
  ['a write without a session', () => request({}), () => request({ session: 0n }), 184],
  ['a write without a number', () => request({}), () => request({ request: 0n }), 168],
  [
    'a register with a session',
    () => request({ operation: 1, session: 0n, request: 0n }),
    () => request({ operation: 1, request: 0n }),
    184,
  ],
]

describe('typed parse of replica frames', () => {
  it.each(RULES)('refuses %s', (_, legal, illegal, position) => {
    expect(() => parseReplicaFrame(hash, legal())).not.toThrow()
    expect(() => parseReplicaFrame(hash, illegal())).toThrow(expect.objectContaining({ position }))
    expect(() => parseReplicaFrame(hash, illegal())).toThrow(DecodeError)
  })

  it('reads NonReplicated whatever its numbers are', () => {
    expect(parseReplicaFrame(hash, request({ operation: 2, session: 0n, request: 0n, code: 12 })).kind).toBe('Request')
  })

  it('refuses commands that have no place on a replica link', () => {
    for (const command of [0, 1, 2, 3, 4, Command.Reply, Command.Eviction, Command.ReplicaHello, 31, 255]) {
      const frame = genericLayout.encode({ ...genericLayout.decode(new Uint8Array(256)), size: 256, command })
      expect(() => parseReplicaFrame(hash, sealControlFrame(hash, frame))).toThrow(
        expect.objectContaining({ code: 'BadCommand', position: 60 }),
      )
    }
  })

  it('looks at the seal before any field', () => {
    const frame = doViewChange({ logView: 6 })
    frame[0]! ^= 1
    expect(() => parseReplicaFrame(hash, frame)).toThrow(expect.objectContaining({ code: 'BadChecksum' }))
  })

  it('refuses a body on a frame that has none, and a body that does not match', () => {
    const vote = sealFrame(hash, 'StartViewChange', { ...from, group }, blank)
    expect(() => parseReplicaFrame(hash, vote)).toThrow(expect.objectContaining({ code: 'BadSize' }))
    const change = doViewChange({}, blank)
    change[300] = 1
    expect(() => parseReplicaFrame(hash, change)).toThrow(expect.objectContaining({ code: 'BadBodyChecksum' }))
  })
})

const KINDS = Object.keys(replicaLayouts) as ReplicaFrameKind[]
const LIMITS = { u8: 8n, u16: 16n, u32: 32n, u64: 64n, u128: 128n } as const

/** Any record of a layout. */
function recordOf(layout: Layout<Fields>): fc.Arbitrary<Record<string, unknown>> {
  const member = (field: Field<unknown>): fc.Arbitrary<unknown> => {
    if (field.type === 'bytes') return fc.uint8Array({ minLength: field.size, maxLength: field.size })
    const max = (1n << LIMITS[field.type]) - 1n
    return fc.bigInt({ min: 0n, max }).map(value => (field.size <= 4 ? Number(value) : value))
  }
  return fc.record(Object.fromEntries(Object.entries(layout.fields).map(([key, field]) => [key, member(field)])))
}

describe.each(KINDS)('header of %s', kind => {
  const layout = replicaLayouts[kind] as unknown as Layout<Fields>

  it('any record survives bytes and JSON', () => {
    fc.assert(
      fc.property(recordOf(layout), record => {
        const bytes = layout.encode(record)
        expect(bytes).toHaveLength(HEADER_BYTES)
        expect(layout.decode(bytes)).toEqual(record)
        expect(layout.encode(layout.fromJson(throughJson(layout.toJson(record))))).toEqual(bytes)
      }),
      { numRuns: 30 },
    )
  })

  it('any bytes parse or give a DecodeError', () => {
    const parse = (bytes: Uint8Array) => {
      try {
        parseReplicaFrame(hash, bytes)
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error
        expect(error.position).toBeLessThanOrEqual(bytes.length)
      }
    }
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 600 }), fc.boolean(), (noise, sealed) => {
        const frame = noise.slice()
        if (frame.length > 60) {
          frame[60] = Command[kind]
          new DataView(frame.buffer).setUint32(48, frame.length, true)
        }
        if (sealed && frame.length >= HEADER_BYTES) sealControlFrame(hash, frame)
        parse(frame)
      }),
      { numRuns: 60 },
    )
    const whole = layout.encode({ ...layout.decode(new Uint8Array(256)), size: 256, command: Command[kind] })
    for (let end = 0; end < 256; end++) parse(whole.slice(0, end))
  })
})
