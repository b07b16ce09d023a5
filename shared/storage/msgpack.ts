/**
 * The few MessagePack forms that a snapshot is made of (spec metadata-storage.md §3.2), written by hand because the bytes
 * must be exactly these: integers in their smallest unsigned form, text in the str family, bytes in the bin family, u128 as
 * 16 bytes of bin in big-endian order, structs and tuples as arrays. The reader accepts any width of an unsigned integer.
 */
import { DecodeError } from '../bytes/errors.ts'
import { ByteReader } from '../bytes/reader.ts'
import { textBytes } from '../bytes/writer.ts'

const U128_BYTES = 16

export class MsgpackWriter {
  private buffer = new Uint8Array(4096)
  private view = new DataView(this.buffer.buffer)
  private used = 0

  finish(): Uint8Array {
    return this.buffer.slice(0, this.used)
  }

  nil(): void {
    this.byte(0xc0)
  }

  bool(value: boolean): void {
    this.byte(value ? 0xc3 : 0xc2)
  }

  /** Any unsigned integer below 2^64. */
  uint(value: number | bigint): void {
    const wide = BigInt(value)
    if (wide < 0n || wide > 0xffff_ffff_ffff_ffffn) throw new RangeError(`${value} is no u64`)
    if (wide < 0x80n) this.byte(Number(wide))
    else if (wide < 0x100n) this.tagged(0xcc, 1, wide)
    else if (wide < 0x1_0000n) this.tagged(0xcd, 2, wide)
    else if (wide < 0x1_0000_0000n) this.tagged(0xce, 4, wide)
    else this.tagged(0xcf, 8, wide)
  }

  text(value: string): void {
    const bytes = textBytes(value)
    if (bytes.length < 32) this.byte(0xa0 | bytes.length)
    else this.sized(bytes.length, 0xd9, 0xda, 0xdb)
    this.raw(bytes)
  }

  bin(bytes: Uint8Array): void {
    this.sized(bytes.length, 0xc4, 0xc5, 0xc6)
    this.raw(bytes)
  }

  u128(value: bigint): void {
    this.tagged(0xc4, 1, BigInt(U128_BYTES))
    const at = this.claim(U128_BYTES)
    this.view.setBigUint64(at, value >> 64n)
    this.view.setBigUint64(at + 8, value & 0xffff_ffff_ffff_ffffn)
  }

  array(length: number): void {
    if (length < 16) this.byte(0x90 | length)
    else this.sized(length, undefined, 0xdc, 0xdd)
  }

  map(length: number): void {
    if (length < 16) this.byte(0x80 | length)
    else this.sized(length, undefined, 0xde, 0xdf)
  }

  private sized(length: number, tag8: number | undefined, tag16: number, tag32: number): void {
    if (tag8 !== undefined && length < 0x100) this.tagged(tag8, 1, BigInt(length))
    else if (length < 0x1_0000) this.tagged(tag16, 2, BigInt(length))
    else this.tagged(tag32, 4, BigInt(length))
  }

  private tagged(tag: number, width: 1 | 2 | 4 | 8, value: bigint): void {
    this.byte(tag)
    const at = this.claim(width)
    if (width === 8) this.view.setBigUint64(at, value)
    else if (width === 4) this.view.setUint32(at, Number(value))
    else if (width === 2) this.view.setUint16(at, Number(value))
    else this.view.setUint8(at, Number(value))
  }

  private byte(value: number): void {
    const at = this.claim(1)
    this.buffer[at] = value
  }

  private raw(bytes: Uint8Array): void {
    const at = this.claim(bytes.length)
    this.buffer.set(bytes, at)
  }

  private claim(count: number): number {
    const at = this.used
    this.used += count
    if (this.used > this.buffer.length) {
      const grown = new Uint8Array(Math.max(this.used, this.buffer.length * 2))
      grown.set(this.buffer.subarray(0, at))
      this.buffer = grown
      this.view = new DataView(grown.buffer)
    }
    return at
  }
}

export class MsgpackReader {
  private readonly reader: ByteReader

  constructor(bytes: Uint8Array) {
    this.reader = new ByteReader(bytes)
  }

  get at(): number {
    return this.reader.at
  }

  /** True, and past it, when the next value is nil. */
  nil(): boolean {
    if (this.reader.bytes[this.reader.at] !== 0xc0 || this.reader.remaining === 0) return false
    this.reader.u8()
    return true
  }

  bool(): boolean {
    const at = this.at
    const tag = this.reader.u8()
    if (tag !== 0xc2 && tag !== 0xc3) throw unexpected(at, 'a boolean', tag)
    return tag === 0xc3
  }

  u64(): bigint {
    const at = this.at
    const tag = this.reader.u8()
    if (tag < 0x80) return BigInt(tag)
    if (tag < 0xcc || tag > 0xcf) throw unexpected(at, 'an unsigned integer', tag)
    return this.bigEndian(1 << (tag - 0xcc))
  }

  /** An unsigned integer up to `max`. */
  uint(max = 0xffff_ffff): number {
    const at = this.at
    const value = this.u64()
    if (value > BigInt(max))
      throw new DecodeError('BadValue', at, 'an integer is out of range', {
        expected: `at most ${max}`,
        actual: `${value}`,
      })
    return Number(value)
  }

  text(): string {
    const at = this.at
    const tag = this.reader.u8()
    if (tag >= 0xa0 && tag < 0xc0) return this.reader.text(tag & 31)
    if (tag < 0xd9 || tag > 0xdb) throw unexpected(at, 'a text', tag)
    return this.reader.text(Number(this.bigEndian(1 << (tag - 0xd9))))
  }

  /** A copy of the bytes. */
  bin(): Uint8Array {
    const at = this.at
    const tag = this.reader.u8()
    if (tag < 0xc4 || tag > 0xc6) throw unexpected(at, 'bytes', tag)
    return this.reader.raw(Number(this.bigEndian(1 << (tag - 0xc4)))).slice()
  }

  u128(): bigint {
    const at = this.at
    const bytes = this.bin()
    if (bytes.length !== U128_BYTES)
      throw new DecodeError('BadSize', at, 'a 128-bit number', {
        expected: '16 bytes',
        actual: `${bytes.length} bytes`,
      })
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    return (view.getBigUint64(0) << 64n) | view.getBigUint64(8)
  }

  array(): number {
    return this.collection('an array', 0x90, 0xdc, 1)
  }

  map(): number {
    return this.collection('a map', 0x80, 0xde, 2)
  }

  /** An array that must have exactly `length` elements: one format version has one shape. */
  struct(name: string, length: number): void {
    const at = this.at
    const actual = this.array()
    if (actual !== length)
      throw new DecodeError('BadCount', at, `${name} has the wrong number of fields`, {
        expected: `${length}`,
        actual: `${actual}`,
      })
  }

  list<T>(item: () => T): T[] {
    const items: T[] = []
    for (let left = this.array(); left > 0; left--) items.push(item())
    return items
  }

  private collection(what: string, fix: number, tag16: number, bytesPerItem: number): number {
    const at = this.at
    const tag = this.reader.u8()
    let length: number
    if ((tag & 0xf0) === fix) length = tag & 15
    else if (tag === tag16 || tag === tag16 + 1) length = Number(this.bigEndian(tag === tag16 ? 2 : 4))
    else throw unexpected(at, what, tag)
    // Each item takes a byte at least, so a count that damage has blown up allocates nothing.
    if (length * bytesPerItem > this.reader.remaining)
      throw new DecodeError('BadCount', at, `${what} of ${length} items does not fit the bytes that are left`)
    return length
  }

  private bigEndian(width: number): bigint {
    const at = this.reader.take(width)
    let value = 0n
    for (let index = 0; index < width; index++) value = (value << 8n) | BigInt(this.reader.bytes[at + index]!)
    return value
  }
}

const unexpected = (at: number, what: string, tag: number): DecodeError =>
  new DecodeError('BadValue', at, `${what} was expected`, { expected: what, actual: `tag 0x${tag.toString(16)}` })
