import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Checksum, type Micros, type Offset } from '../../shared/bytes/units.ts'
import {
  BATCH_HEADER_BYTES,
  batchHeaderLayout,
  MESSAGE_HEADER_BYTES,
  messageHeaderLayout,
} from '../../shared/protocol/batch.ts'
import { encodeBody } from '../../shared/protocol/codec.ts'
import { tlvOf, userHeaders } from '../../shared/protocol/tlv.ts'
import { encodeVsrState, superblockHeaderLayout } from '../../shared/storage/superblock-record.ts'
import { asText, batchFields, fieldAt, superblockFields, userHeaderFields } from './fields.ts'

function batch(payloads: readonly { payload: Uint8Array; headers: Uint8Array }[]): Uint8Array {
  const length = payloads.reduce(
    (sum, item) => sum + MESSAGE_HEADER_BYTES + item.payload.length + item.headers.length,
    BATCH_HEADER_BYTES,
  )
  const bytes = new Uint8Array(length)
  batchHeaderLayout.encode(
    {
      partitionId: 3n,
      baseOffset: 18446744073709551615n as Offset,
      baseTimestamp: 0n as Micros,
      originTimestamp: 0n as Micros,
      batchLength: BigInt(length),
      checksum: Checksum(0x0bn),
      messageCount: payloads.length,
    },
    bytes,
    0,
  )
  let at = BATCH_HEADER_BYTES
  payloads.forEach((item, index) => {
    messageHeaderLayout.encode(
      {
        checksum: Checksum(0n),
        id: 1n,
        offsetDelta: index,
        timestampDelta: 0,
        userHeadersLength: item.headers.length,
        payloadLength: item.payload.length,
      },
      bytes,
      at,
    )
    bytes.set(item.payload, at + MESSAGE_HEADER_BYTES)
    bytes.set(item.headers, at + MESSAGE_HEADER_BYTES + item.payload.length)
    at += MESSAGE_HEADER_BYTES + item.payload.length + item.headers.length
  })
  return bytes
}
const message = fc.record({ payload: fc.uint8Array({ maxLength: 40 }), headers: fc.uint8Array({ maxLength: 20 }) })

describe('batchFields', () => {
  it('gives every byte of a whole batch to exactly one field', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), payloads => {
        const bytes = batch(payloads)
        const fields = batchFields(bytes)
        let end = 0
        for (const field of fields) {
          expect(field.at).toBe(end)
          end = field.at + field.size
        }
        expect(end).toBe(bytes.length)
        expect(new Set(fields.map(field => field.id)).size).toBe(fields.length)
      }),
    )
  })

  it('never reads past what it was given, whatever the lengths in the bytes say', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 700 }), bytes => {
        for (const field of batchFields(bytes)) {
          expect(field.at + field.size).toBeLessThanOrEqual(bytes.length)
          expect(field.size).toBeGreaterThan(0)
        }
      }),
    )
  })

  it('keeps 64-bit values to the digit and finds the field of a byte', () => {
    const bytes = batch([{ payload: new Uint8Array([1]), headers: new Uint8Array() }])
    const fields = batchFields(bytes)
    expect(fields.find(field => field.id === 'baseOffset')?.value).toBe('18,446,744,073,709,551,615')
    expect(fieldAt(fields, 40)?.id).toBe('checksum')
    expect(fieldAt(fields, 255)?.name).toBe('reserved')
    expect(fieldAt(fields, 304)?.id).toBe('m0.payload')
    expect(fieldAt(fields, bytes.length)).toBeUndefined()
  })
})

describe('superblockFields', () => {
  it('maps a 110-byte record from magic to checksum without a hole', () => {
    const bytes = new Uint8Array(110)
    superblockHeaderLayout.encode(
      { magic: 0x53424c4b, version: 1, reserved: 0, sequence: 41n, parentChecksum: Checksum(0n), payloadBytes: 74 },
      bytes,
      0,
    )
    bytes.set(
      encodeVsrState({
        cluster: 1n,
        replicaId: 2 as never,
        replicaCount: 3,
        view: 6 as never,
        logView: 6 as never,
        commitMax: 1024n as never,
        checkpointOp: 960n as never,
        checkpointChecksum: 7n as never,
        offsetFrontier: 5n as never,
        offsetReserved: 9n as never,
      }),
      28,
    )
    const fields = superblockFields(bytes)
    let end = 0
    for (const field of fields) {
      expect(field.at).toBe(end)
      end = field.at + field.size
    }
    expect(end).toBe(110)
    expect(fields.find(field => field.id === 'view')).toMatchObject({ at: 46, size: 4, value: '6' })
  })

  it('shows bytes of an unknown length as bytes, and an empty slot as nothing', () => {
    expect(superblockFields(new Uint8Array(0))).toEqual([])
    expect(superblockFields(new Uint8Array(50)).map(field => field.id)).toContain('payload')
  })
})

describe('asText', () => {
  it('tells empty, text and binary apart', () => {
    expect(asText(new Uint8Array())).toBe('empty')
    expect(asText(new TextEncoder().encode('{"id":73314510714175488}'))).toBe('{"id":73314510714175488}')
    expect(asText(new Uint8Array([0xff, 0xfe]))).toBe('2 bytes, binary')
    expect(asText(new Uint8Array([0, 1]))).toBe('2 bytes, binary')
    expect(asText(new TextEncoder().encode('null'))).toBe('null')
  })
})

describe('user headers', () => {
  it('are mapped half by half, with the digits of each value and nothing hidden in a key', () => {
    const bytes = encodeBody(userHeaders, [
      { key: tlvOf('string', '<b>\u202e'), value: tlvOf('u64', 18446744073709551615n) },
      { key: tlvOf('raw', 'ff00'), value: { kind: 99, bytes: new Uint8Array([1]) } },
    ])
    expect(userHeaderFields(bytes).map(({ id, value }) => [id, value])).toEqual([
      ['h0.keyKind', '2 string'],
      ['h0.keyLength', '6'],
      ['h0.key', '<b>\\u202e'],
      ['h0.valueKind', '12 u64'],
      ['h0.valueLength', '8'],
      ['h0.value', '18446744073709551615'],
      ['h1.keyKind', '1 raw'],
      ['h1.keyLength', '2'],
      ['h1.key', 'ff00'],
      ['h1.valueKind', '99 unknown'],
      ['h1.valueLength', '1'],
      ['h1.value', '01'],
    ])
  })
  it('give every byte to exactly one field, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), bytes => {
        const fields = userHeaderFields(bytes)
        for (let at = 0; at < bytes.length; at++)
          expect(fields.filter(field => at >= field.at && at < field.at + field.size)).toHaveLength(1)
        expect(fields.reduce((sum, { size }) => sum + size, 0)).toBe(bytes.length)
        expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length)
      }),
    )
  })
})
