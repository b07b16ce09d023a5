/**
 * Reads values one behind the other, bounds-checked: damaged input is a DecodeError with its position, never an exception
 * of a DataView. Nothing is allocated by a length that has not been checked against the bytes that are there.
 */
import { DecodeError } from './errors.ts'

// A byte order mark is a character like any other here: it must survive the round trip.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class ByteReader {
  readonly bytes: Uint8Array
  /** Position of the next byte. */
  at: number
  /** Position one past the last readable byte. */
  end: number
  private readonly view: DataView

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes
    this.at = at
    this.end = end
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  get remaining(): number {
    return this.end - this.at
  }

  /** Claims `count` bytes and returns their position. Throws DecodeError TooShort. */
  take(count: number): number {
    const at = this.at
    if (count > this.end - at) {
      throw new DecodeError('TooShort', at, `${count} bytes are needed, ${this.end - at} are left`)
    }
    this.at = at + count
    return at
  }

  u8(): number {
    return this.bytes[this.take(1)]!
  }
  u16(): number {
    return this.view.getUint16(this.take(2), true)
  }
  u32(): number {
    return this.view.getUint32(this.take(4), true)
  }
  u64(): bigint {
    return this.view.getBigUint64(this.take(8), true)
  }
  u128(): bigint {
    const at = this.take(16)
    return this.view.getBigUint64(at, true) | (this.view.getBigUint64(at + 8, true) << 64n)
  }
  f32(): number {
    return this.view.getFloat32(this.take(4), true)
  }

  /** The next `count` bytes as a view, not a copy. */
  raw(count: number): Uint8Array {
    const at = this.take(count)
    return this.bytes.subarray(at, at + count)
  }

  /** The next `count` bytes as UTF-8. Throws DecodeError BadUtf8. */
  text(count: number): string {
    const at = this.at
    const bytes = this.raw(count)
    try {
      return utf8.decode(bytes)
    } catch {
      throw new DecodeError('BadUtf8', at, 'text is not UTF-8')
    }
  }

  /** Fails unless everything was read. Throws DecodeError TrailingBytes. */
  done(): void {
    if (this.at !== this.end)
      throw new DecodeError('TrailingBytes', this.at, `${this.end - this.at} bytes are left over`)
  }
}
