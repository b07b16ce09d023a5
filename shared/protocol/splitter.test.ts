import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../bytes/errors.ts'
import { FrameSplitter } from './splitter.ts'

function frame(size: number, fill: number): Uint8Array {
  const bytes = new Uint8Array(size).fill(fill)
  new DataView(bytes.buffer).setUint32(48, size, true)
  return bytes
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function collect(splitter: FrameSplitter, chunk: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = []
  splitter.push(chunk, found => frames.push(found))
  return frames
}

describe('FrameSplitter', () => {
  it('gives back the frames however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 256, max: 2000 }), { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1 }),
        (sizes, cuts) => {
          const sent = sizes.map((size, index) => frame(size, index + 1))
          const stream = join(sent)
          const splitter = new FrameSplitter()
          const got: Uint8Array[] = []
          for (let at = 0, cut = 0; at < stream.length; cut++) {
            const end = at + cuts[cut % cuts.length]!
            got.push(...collect(splitter, stream.subarray(at, end)))
            at = end
          }
          expect(got).toEqual(sent)
          expect(splitter.pendingBytes).toBe(0)
        },
      ),
    )
  })

  it('one byte at a time, and a hundred frames in one chunk', () => {
    const sent = Array.from({ length: 100 }, (_, index) => frame(256 + (index % 3) * 100, index))
    expect(collect(new FrameSplitter(), join(sent))).toEqual(sent)
    const splitter = new FrameSplitter()
    const got = [...join(sent)].flatMap(byte => collect(splitter, Uint8Array.of(byte)))
    expect(got).toEqual(sent)
  })

  it('every frame is a buffer of its own, also when the chunk is a view or is reused', () => {
    const chunk = Buffer.from(join([frame(300, 1), frame(300, 2)]))
    const [first, second] = collect(new FrameSplitter(), chunk)
    chunk.fill(9)
    expect(first).toEqual(frame(300, 1))
    expect(second).toEqual(frame(300, 2))
    expect(first!.byteOffset).toBe(0)
    expect(first!.buffer.byteLength).toBe(300)
  })

  it.each([0, 1, 255, 2 ** 31, 2 ** 32 - 1, 4097])('refuses a frame of size %i, after the frames before it', size => {
    const good = frame(300, 7)
    const bad = new Uint8Array(256)
    new DataView(bad.buffer).setUint32(48, size, true)
    const splitter = new FrameSplitter(4096)
    const got: Uint8Array[] = []
    const push = (chunk: Uint8Array) => splitter.push(chunk, found => got.push(found))
    expect(() => push(join([good, bad]))).toThrow(DecodeError)
    expect(got).toEqual([good])
    expect(() => push(good)).toThrow(expect.objectContaining({ code: 'BadSize', position: 48 }))
    expect(got).toHaveLength(1)
  })

  it('holds no more memory than twice what has arrived, whatever a header claims', () => {
    const header = new Uint8Array(256)
    new DataView(header.buffer).setUint32(48, 64 * 1024 * 1024, true)
    const splitter = new FrameSplitter()
    splitter.push(header, () => {})
    for (let index = 0; index < 10; index++) splitter.push(new Uint8Array(1000), () => {})
    const held = (splitter as unknown as { buffer: Uint8Array }).buffer.length
    expect(held).toBeGreaterThanOrEqual(10_256)
    expect(held).toBeLessThanOrEqual(2 * 10_256)
  })
})
