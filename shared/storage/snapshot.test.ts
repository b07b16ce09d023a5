/** The snapshot format against recorded snapshots of the peer (spec metadata-storage.md §3.1–3.3). */
import { describe, expect, test } from 'vitest'
import { EngineError } from '../bytes/errors.ts'
import { MsgpackReader, MsgpackWriter } from './msgpack.ts'
import { decodeSnapshot } from './snapshot-decode.ts'
import { encodeSnapshot } from './snapshot-encode.ts'
import { SNAPSHOT_TRAILER_BYTES } from './snapshot-file.ts'
import { goldenAbsent, goldenBytes } from './testing/golden-directories.ts'

const NODES = ['three-checkpoint/node-0', 'three-checkpoint/node-1', 'three-checkpoint/node-2']
const payloadOf = (file: Uint8Array) => file.subarray(0, file.length - SNAPSHOT_TRAILER_BYTES)

describe.skipIf(goldenAbsent)('recorded snapshots', () => {
  test.each(NODES)('%s: every byte comes back out of plain JSON', node => {
    const payload = payloadOf(goldenBytes(node, 'metadata/snapshot.bin'))
    const record = decodeSnapshot(payload)
    const json = JSON.stringify(record, (_, value) =>
      typeof value === 'bigint' ? { $big: `${value}` } : value instanceof Uint8Array ? { $hex: [...value] } : value,
    )
    const back = JSON.parse(json, (_, value) =>
      value?.$big !== undefined ? BigInt(value.$big) : value?.$hex !== undefined ? Uint8Array.from(value.$hex) : value,
    )
    expect(encodeSnapshot(back)).toEqual(payload)
  })

  test('what the recording holds', () => {
    const record = decodeSnapshot(payloadOf(goldenBytes(NODES[0]!, 'metadata/snapshot.bin')))
    expect(record).toMatchObject({ op: 192n, revision: 51n, writerRelease: 11_264 })
    expect(record.users.map(user => user.username)).toContain('user19')
    expect(record.streams).toHaveLength(93)
    expect(record.tokens.find(owner => owner.userId === 0)!.tokens).toHaveLength(5)
    expect(record.clients).toHaveLength(1)
  })

  test('damaged bytes are refused with a typed error or read as something else, never anything worse', () => {
    const payload = payloadOf(goldenBytes(NODES[0]!, 'metadata/snapshot.bin'))
    for (let at = 0; at < payload.length; at += 61) {
      const damaged = payload.slice()
      damaged[at]! ^= 0x91
      try {
        decodeSnapshot(damaged)
      } catch (error) {
        expect(error).toBeInstanceOf(EngineError)
      }
    }
    for (let length = 0; length < payload.length; length += 997)
      expect(() => decodeSnapshot(payload.slice(0, length))).toThrow(EngineError)
  })
})

describe('the MessagePack forms', () => {
  const written = (write: (w: MsgpackWriter) => void): number[] => {
    const writer = new MsgpackWriter()
    write(writer)
    return [...writer.finish()]
  }

  test('integers take the smallest form, and come back from it', () => {
    const cases: [bigint, number[]][] = [
      [0n, [0]],
      [0x7fn, [0x7f]],
      [0x80n, [0xcc, 0x80]],
      [0xffn, [0xcc, 0xff]],
      [0x100n, [0xcd, 1, 0]],
      [0xffffn, [0xcd, 0xff, 0xff]],
      [0x1_0000n, [0xce, 0, 1, 0, 0]],
      [0xffff_ffffn, [0xce, 0xff, 0xff, 0xff, 0xff]],
      [0x1_0000_0000n, [0xcf, 0, 0, 0, 1, 0, 0, 0, 0]],
      [0xffff_ffff_ffff_ffffn, [0xcf, ...new Array(8).fill(0xff)]],
    ]
    for (const [value, bytes] of cases) {
      expect(written(w => w.uint(value))).toEqual(bytes)
      expect(new MsgpackReader(Uint8Array.from(bytes)).u64()).toBe(value)
    }
    expect(() => written(w => w.uint(-1))).toThrow(RangeError)
    expect(() => written(w => w.uint(1n << 64n))).toThrow(RangeError)
  })

  test('texts, bytes, arrays and maps change their form at its bound', () => {
    const text = (length: number) => written(w => w.text('x'.repeat(length))).slice(0, 3)
    expect(text(31)[0]).toBe(0xbf)
    expect(text(32).slice(0, 2)).toEqual([0xd9, 32])
    expect(text(256)).toEqual([0xda, 1, 0])
    expect(written(w => w.bin(new Uint8Array(3)))).toEqual([0xc4, 3, 0, 0, 0])
    expect(written(w => w.bin(new Uint8Array(256))).slice(0, 3)).toEqual([0xc5, 1, 0])
    expect(written(w => w.array(15))).toEqual([0x9f])
    expect(written(w => w.array(16))).toEqual([0xdc, 0, 16])
    expect(written(w => w.map(16))).toEqual([0xde, 0, 16])
    expect(written(w => w.u128(0x0102n))).toEqual([0xc4, 16, ...new Array(14).fill(0), 1, 2])
  })

  test('a count that the bytes cannot hold is refused before anything is made for it', () => {
    for (const bytes of [
      [0xdd, 0xff, 0xff, 0xff, 0xff],
      [0xdf, 0xff, 0xff, 0xff, 0xff],
      [0xc6, 0xff, 0xff, 0xff, 0xff],
      [0xdb, 0xff, 0xff, 0xff, 0xff],
    ]) {
      const reader = () => new MsgpackReader(Uint8Array.from(bytes))
      expect(() => reader().array()).toThrow(EngineError)
      expect(() => reader().map()).toThrow(EngineError)
      expect(() => reader().bin()).toThrow(EngineError)
      expect(() => reader().text()).toThrow(EngineError)
    }
  })
})
