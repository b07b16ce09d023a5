/** Writes values one behind the other into a buffer that grows. Throws RangeError on a value that its type cannot hold. */
import { U64_MAX, U128_MAX } from './units.ts'

const utf8 = new TextEncoder()

export class ByteWriter {
  private buffer: Uint8Array
  private view: DataView
  private used = 0

  constructor(capacity = 64) {
    this.buffer = new Uint8Array(capacity)
    this.view = new DataView(this.buffer.buffer)
  }

  /** Bytes written so far. */
  get length(): number {
    return this.used
  }

  /** Everything written, as a buffer of exactly that length. */
  finish(): Uint8Array {
    return this.buffer.length === this.used ? this.buffer : this.buffer.slice(0, this.used)
  }

  private claim(count: number): number {
    const at = this.used
    const needed = at + count
    if (needed > this.buffer.length) {
      const grown = new Uint8Array(Math.max(needed, this.buffer.length * 2))
      grown.set(this.buffer.subarray(0, at))
      this.buffer = grown
      this.view = new DataView(grown.buffer)
    }
    this.used = needed
    return at
  }

  u8(value: number): void {
    whole(value, 0xff, 'u8')
    const at = this.claim(1)
    this.view.setUint8(at, value)
  }
  u16(value: number): void {
    whole(value, 0xffff, 'u16')
    const at = this.claim(2)
    this.view.setUint16(at, value, true)
  }
  u32(value: number): void {
    whole(value, 0xffff_ffff, 'u32')
    const at = this.claim(4)
    this.view.setUint32(at, value, true)
  }
  u64(value: bigint): void {
    if (value < 0n || value > U64_MAX) throw new RangeError(`${value} is not a u64`)
    const at = this.claim(8)
    this.view.setBigUint64(at, value, true)
  }
  u128(value: bigint): void {
    if (value < 0n || value > U128_MAX) throw new RangeError(`${value} is not a u128`)
    const at = this.claim(16)
    this.view.setBigUint64(at, value & U64_MAX, true)
    this.view.setBigUint64(at + 8, value >> 64n, true)
  }
  f32(value: number): void {
    const at = this.claim(4)
    this.view.setFloat32(at, value, true)
  }
  raw(bytes: Uint8Array): void {
    const at = this.claim(bytes.length)
    this.buffer.set(bytes, at)
  }

  /** Sets a u32 that was written before, e.g. a length known only afterwards. */
  patchU32(at: number, value: number): void {
    whole(value, 0xffff_ffff, 'u32')
    this.view.setUint32(at, value, true)
  }
}

/** UTF-8 bytes of a text. */
export const textBytes = (text: string): Uint8Array => utf8.encode(text)

function whole(value: number, max: number, type: string): void {
  if (!Number.isInteger(value) || value < 0 || value > max) throw new RangeError(`${value} is not a ${type}`)
}
