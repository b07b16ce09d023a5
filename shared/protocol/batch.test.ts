import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { DecodeError } from '../bytes/errors.ts'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Micros, Offset } from '../bytes/units.ts'
import {
  BATCH_HEADER_BYTES,
  type BatchCheck,
  batchHeaderLayout,
  batchLengthAt,
  checkBatch,
  decodeBatch,
  encodeBatch,
  openBatch,
  produceBatch,
  sliceBatch,
  stampBatch,
} from './batch.ts'
import { messages } from './testing/bodies.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const ORIGIN = Micros(1_700_000_000_000_000n)
const letter = (text: string, id: bigint, originTimestamp = ORIGIN) => ({
  id,
  payload: new TextEncoder().encode(text),
  originTimestamp,
})
const bigAt = (bytes: Uint8Array, at: number) => new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at, true)

describe('worked examples of partition.md §11', () => {
  it('11.1 and 11.2: a batch of one message', () => {
    const batch = produceBatch(hash, [letter('a', 1n)])
    expect(batch).toHaveLength(305)
    expect(bigAt(batch, 256)).toBe(0x383a_2161_5ae3_6f6fn)
    expect(bigAt(batch, 40)).toBe(0xfa21961dc426d7b5n)
    expect([...batch.subarray(24, 32)]).toEqual([0x00, 0x40, 0x1e, 0x18, 0x24, 0x0a, 0x06, 0x00])
    expect([...batch.subarray(32, 40)]).toEqual([0x31, 1, 0, 0, 0, 0, 0, 0])
    expect(batch[304]).toBe(0x61)
  })

  it('11.3: the same batch as it is stored', () => {
    const batch = produceBatch(hash, [letter('a', 1n)])
    const frame = batch.slice(256)
    const stamp = { partitionId: 3, baseOffset: Offset(5n), baseTimestamp: Micros(ORIGIN + 250n) }
    expect(stampBatch(hash, batch, 0, stamp)).toBe(0x499bd8c2400ecf7en)
    expect(bigAt(batch, 40)).toBe(0x499bd8c2400ecf7en)
    expect(batch.subarray(256)).toEqual(frame)
    expect(batchHeaderLayout.decode(batch)).toMatchObject({
      partitionId: 3n,
      baseOffset: 5n,
      baseTimestamp: ORIGIN + 250n,
    })
  })

  it('11.4: two messages, and the slice that a poll of the second gets', () => {
    const batch = produceBatch(hash, [letter('a', 1n, Micros(ORIGIN + 400n)), letter('b', 2n, Micros(ORIGIN + 407n))])
    expect(batch).toHaveLength(354)
    const stamp = { partitionId: 3, baseOffset: Offset(6n), baseTimestamp: Micros(ORIGIN + 500n) }
    expect(stampBatch(hash, batch, 0, stamp)).toBe(0x4d0522c99dec7036n)
    const slice = sliceBatch(hash, batch, 0, 1, 1)
    expect(slice).toHaveLength(305)
    expect(slice.subarray(256)).toEqual(batch.subarray(305))
    const decoded = decodeBatch(slice, 0, hash)
    expect(decoded.header).toMatchObject({ baseOffset: 6n, batchLength: 305n, messageCount: 1 })
    expect(decoded.messages[0]!.header).toMatchObject({ offsetDelta: 1, timestampDelta: 7 })
  })

  it('wire.md 10.7: one message, restamped', () => {
    const batch = produceBatch(hash, [letter('hi', 1n)])
    expect(Buffer.from(batch.subarray(256, 264)).toString('hex')).toBe('dc8e00ca420b92a9')
    // The specification prints these eight bytes shifted by one.
    expect(Buffer.from(batch.subarray(40, 48)).toString('hex')).toBe('0573739fcebbb4f0')
    const stamp = { partitionId: 0, baseOffset: Offset(6n), baseTimestamp: Micros(1_700_000_000_001_000n) }
    expect(stampBatch(hash, batch, 0, stamp)).toBe(0x415eb60db5fe8752n)
  })
})

describe('any batch', () => {
  it('verifies as built, as stamped and as stored behind other bytes, and decodes to what was sent', () => {
    fc.assert(
      fc.property(messages, fc.nat(70), (sent, before) => {
        const batch = produceBatch(hash, sent)
        const bytes = new Uint8Array(before + batch.length + 9)
        bytes.set(batch, before)
        expect(checkBatch(bytes, before, hash)).toEqual({
          ok: true,
          end: before + batch.length,
          messageCount: sent.length,
        })
        stampBatch(hash, bytes, before, { partitionId: 7, baseOffset: Offset(100n), baseTimestamp: Micros(5n) })
        expect(checkBatch(bytes, before, hash)).toMatchObject({ ok: true })
        expect(batchLengthAt(bytes, before)).toBe(batch.length)
        const decoded = decodeBatch(bytes, before, hash)
        expect(encodeBatch(decoded)).toEqual(bytes.slice(before, before + batch.length))
        expect(
          decoded.messages.map(({ header, payload, userHeaders }) => ({
            id: header.id,
            payload,
            userHeaders,
            originTimestamp: decoded.header.originTimestamp + BigInt(header.timestampDelta),
          })),
        ).toEqual(sent)
        expect(decoded.messages.map(message => message.header.offsetDelta)).toEqual(sent.map((_, index) => index))
      }),
    )
  })

  it('slices to any run of its messages, which verifies and keeps what it had', () => {
    fc.assert(
      fc.property(messages, fc.nat(), fc.nat(), (sent, a, b) => {
        const batch = produceBatch(hash, sent)
        const first = a % sent.length
        const count = 1 + (b % (sent.length - first))
        const slice = sliceBatch(hash, batch, 0, first, count)
        const whole = decodeBatch(batch)
        const part = decodeBatch(slice, 0, hash)
        expect(part.messages).toEqual(whole.messages.slice(first, first + count))
        expect({ ...part.header, batchLength: 0n, checksum: 0n, messageCount: 0 }).toEqual({
          ...whole.header,
          batchLength: 0n,
          checksum: 0n,
          messageCount: 0,
        })
      }),
    )
    const batch = produceBatch(hash, [letter('a', 1n)])
    expect(sliceBatch(hash, batch, 0, 0, 1).buffer).toBe(batch.buffer)
    expect(() => sliceBatch(hash, batch, 0, 0, 2)).toThrow(RangeError)
    expect(() => sliceBatch(hash, batch, 0, 0, 0)).toThrow(RangeError)
  })

  it('a cut at any byte is found where it is, and a flip of any bit is found by the verifying walk', () => {
    fc.assert(
      fc.property(messages, fc.nat(), fc.nat(7), (sent, at, bit) => {
        const batch = produceBatch(hash, sent)
        for (let end = 0; end < batch.length; end += 1 + (end % 7)) {
          const verdict = checkBatch(batch.subarray(0, end), 0, hash)
          expect(verdict).toMatchObject({ ok: false, check: end < BATCH_HEADER_BYTES ? 'header_cut' : 'batch_cut' })
        }
        const flipped = batch.slice()
        flipped[at % batch.length]! ^= 1 << bit
        const verdict = checkBatch(flipped, 0, hash)
        expect(verdict.ok).toBe(false)
        expect(() => openBatch(flipped, 0, hash)).toThrow(DecodeError)
        checkBatch(flipped)
      }),
      { numRuns: 60 },
    )
  })
})

describe('each check names itself and its byte', () => {
  const two = () => produceBatch(hash, [letter('a', 1n), letter('b', 2n)])
  const damage = (change: (bytes: Uint8Array, view: DataView) => void, verify = true) => {
    const bytes = two()
    change(bytes, new DataView(bytes.buffer))
    return checkBatch(bytes, 0, verify ? hash : undefined)
  }
  const is = (check: BatchCheck, position: number) => expect.objectContaining({ ok: false, check, position })

  it('from the header down to the last checksum', () => {
    expect(damage((_, view) => view.setBigUint64(32, 255n, true))).toEqual(is('batch_length', 32))
    expect(damage((_, view) => view.setBigUint64(32, 2n ** 60n, true))).toEqual(is('batch_cut', 354))
    expect(damage(bytes => bytes.fill(1, 100, 101))).toEqual(is('batch_reserved', 100))
    expect(damage(bytes => bytes.fill(1, 255, 256))).toEqual(is('batch_reserved', 255))
    expect(damage((_, view) => view.setUint32(256 + 36, 0xffff_ffff, true))).toEqual(is('frame_length', 256 + 32))
    expect(damage((_, view) => view.setUint32(305 + 36, 0, true))).toEqual(is('message_checksum', 305))
    expect(damage((_, view) => view.setUint32(305 + 36, 0, true), false)).toEqual(is('frame_length', 353))
    expect(damage(bytes => bytes.fill(1, 305 + 43, 305 + 44))).toEqual(is('frame_reserved', 305 + 43))
    expect(damage(bytes => bytes.fill(9, 353, 354))).toEqual(is('message_checksum', 305))
    expect(damage(bytes => bytes.fill(9, 353, 354), false)).toMatchObject({ ok: true })
    expect(damage((_, view) => view.setUint32(48, 3, true))).toEqual(is('message_count', 48))
    expect(damage((_, view) => view.setUint32(48, 1, true))).toEqual(is('message_count', 48))
    expect(damage((_, view) => view.setBigUint64(8, 1n, true))).toEqual(is('batch_checksum', 40))
  })

  it('a message checksum that was redone still breaks the batch checksum', () => {
    const bytes = two()
    bytes[353] = 0x63
    new DataView(bytes.buffer).setBigUint64(305, hash.xxh3(bytes.subarray(313)), true)
    expect(checkBatch(bytes, 0, hash)).toEqual(is('batch_checksum', 40))
  })
})

describe('producing', () => {
  it('refuses an empty batch, and messages more than 71 minutes apart', () => {
    expect(() => produceBatch(hash, [])).toThrow(RangeError)
    const late = letter('b', 2n, Micros(ORIGIN + 2n ** 32n))
    expect(() => produceBatch(hash, [letter('a', 1n), late])).toThrow(RangeError)
  })

  it('counts timestamps from the earliest message, wherever it stands', () => {
    const batch = produceBatch(hash, [letter('a', 1n, Micros(ORIGIN + 9n)), letter('b', 2n)])
    const decoded = decodeBatch(batch, 0, hash)
    expect(decoded.header.originTimestamp).toBe(ORIGIN)
    expect(decoded.messages.map(message => message.header.timestampDelta)).toEqual([9, 0])
  })
})
