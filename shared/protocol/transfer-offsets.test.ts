import { expect, test } from 'vitest'
import { createHash } from '../bytes/hash.ts'
import { Offset } from '../bytes/units.ts'
import { decodeTransferredOffsets, encodeTransferredOffsets, STORED_OFFSETS_MAX } from './transfer-offsets.ts'

const hash = await createHash()
const one = { purgeGeneration: 0n, nextOffset: Offset(6n), consumers: [{ id: 42, offset: Offset(5n) }], groups: [] }

/** `bytes` with a trailer that fits. */
function sealed(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  view.setBigUint64(bytes.length - 8, hash.xxh3(bytes.subarray(0, -8)), true)
  return bytes
}
function changed(at: number, value: number, of = encodeTransferredOffsets(one, hash)): Uint8Array {
  const bytes = of.slice()
  new DataView(bytes.buffer).setUint32(at, value, true)
  return sealed(bytes)
}

test('the worked example of the specification, byte for byte', () => {
  const hex = `49434f31 01 0000000000000000 0600000000000000 01000000 00000000 2a000000 0500000000000000 40fd2f6b83d11b88`
  const bytes = encodeTransferredOffsets(one, hash)
  expect(Buffer.from(bytes).toString('hex')).toBe(hex.replaceAll(' ', ''))
  expect(decodeTransferredOffsets(bytes, hash)).toEqual(one)
})

test('offsets above 2^53 and both sections survive the round trip, in ascending order', () => {
  const big = Offset(2n ** 63n + 1n)
  const value = {
    purgeGeneration: 2n ** 60n + 1n,
    nextOffset: big,
    consumers: [
      { id: 0xffff_ffff, offset: big },
      { id: 1, offset: Offset(2n) },
    ],
    groups: [{ id: 0, offset: Offset(0n) }],
  }
  const decoded = decodeTransferredOffsets(encodeTransferredOffsets(value, hash), hash)
  expect(decoded).toEqual({ ...value, consumers: [...value.consumers].reverse() })
})

test('ST-14 bad magic, version, counts, trailing bytes and unordered ids are refused before anything is allocated', () => {
  const code = (bytes: Uint8Array): string => {
    try {
      decodeTransferredOffsets(bytes, hash)
      return 'accepted'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const bytes = encodeTransferredOffsets(one, hash)
  expect(code(changed(0, 0x31534349))).toBe('BadMagic')
  expect(code(changed(4, 2))).toBe('BadVersion')
  expect(code(changed(21, STORED_OFFSETS_MAX + 1))).toBe('BadCount')
  expect(code(changed(25, STORED_OFFSETS_MAX + 1))).toBe('BadCount')
  expect(code(changed(21, 2))).toBe('BadCount')
  const longer = new Uint8Array(bytes.length + 1)
  longer.set(bytes)
  expect(code(sealed(longer))).toBe('BadCount')
  expect(code(bytes.subarray(0, 20))).toBe('TooShort')
  expect(code(Uint8Array.from(bytes, (byte, at) => (at === 33 ? byte ^ 1 : byte)))).toBe('BadChecksum')
  const two = encodeTransferredOffsets({ ...one, consumers: [...one.consumers, { id: 43, offset: Offset(1n) }] }, hash)
  expect(code(changed(41, 42, two))).toBe('BadValue')
  expect(code(changed(41, 41, two))).toBe('BadValue')
})
