/**
 * Bodies of variable length, declared once and used in both directions and for JSON. A declaration reads like the table of
 * the specification: `struct({ name: str8, partitions: u32 })`. All integers are little-endian; 64-bit and wider values are
 * `bigint`, in JSON decimal text; raw bytes are hex in JSON.
 */
import { DecodeError } from '../bytes/errors.ts'
import { fromHex, toHex } from '../bytes/hex.ts'
import { ByteReader } from '../bytes/reader.ts'
import { ByteWriter, textBytes } from '../bytes/writer.ts'

export interface Codec<T> {
  /** @throws DecodeError */
  read(reader: ByteReader): T
  /** @throws RangeError on a value that the format cannot hold. */
  write(writer: ByteWriter, value: T): void
  toJson(value: T): unknown
  /** Inverse of toJson. @throws TypeError on a value of the wrong shape. */
  fromJson(json: unknown): T
}
/** The value type of a codec: `type Roster = CodecValue<typeof rosterCodec>`. */
export type CodecValue<C> = C extends Codec<infer T> ? T : never

/** Decodes a whole body; bytes left over are an error. */
export function decodeBody<T>(codec: Codec<T>, bytes: Uint8Array): T {
  const reader = new ByteReader(bytes)
  const value = codec.read(reader)
  reader.done()
  return value
}

/**
 * Reads a request body; bytes behind the value are ignored, as the reference server does: clients in the wild send some
 * (the official Node client puts a count behind the names of DeleteTopic).
 */
export const decodeRequest = <T>(codec: Codec<T>, bytes: Uint8Array): T => codec.read(new ByteReader(bytes))

export function encodeBody<T>(codec: Codec<T>, value: T): Uint8Array {
  const writer = new ByteWriter()
  codec.write(writer, value)
  return writer.finish()
}

const asNumber = (json: unknown): number => {
  if (typeof json !== 'number') throw new TypeError('expected a number')
  return json
}
const asText = (json: unknown): string => {
  if (typeof json !== 'string') throw new TypeError('expected text')
  return json
}
const asList = (json: unknown): readonly unknown[] => {
  if (!Array.isArray(json)) throw new TypeError('expected a list')
  return json
}
const asObject = (json: unknown): Record<string, unknown> => {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new TypeError('expected an object')
  return json as Record<string, unknown>
}

const numberCodec = (read: (r: ByteReader) => number, write: (w: ByteWriter, v: number) => void): Codec<number> => ({
  read,
  write,
  toJson: value => value,
  fromJson: asNumber,
})
const bigCodec = <T extends bigint>(read: (r: ByteReader) => bigint, write: (w: ByteWriter, v: bigint) => void) =>
  ({
    read: read as (r: ByteReader) => T,
    write,
    toJson: value => value.toString(),
    fromJson: json => BigInt(asText(json)) as T,
  }) satisfies Codec<T>

export const u8: Codec<number> = numberCodec(
  r => r.u8(),
  (w, v) => w.u8(v),
)
export const u16: Codec<number> = numberCodec(
  r => r.u16(),
  (w, v) => w.u16(v),
)
export const u32: Codec<number> = numberCodec(
  r => r.u32(),
  (w, v) => w.u32(v),
)
/** IEEE 754 single. NaN and the infinities are refused: JSON has no form for them, and nothing measured has these values. */
export const f32: Codec<number> = numberCodec(
  r => {
    const at = r.at
    const value = r.f32()
    if (!Number.isFinite(value)) throw new DecodeError('BadValue', at, 'a float is not finite')
    return value
  },
  (w, v) => w.f32(v),
)
export const u64 = <T extends bigint = bigint>(): Codec<T> =>
  bigCodec<T>(
    r => r.u64(),
    (w, v) => w.u64(v),
  )
export const u128 = <T extends bigint = bigint>(): Codec<T> =>
  bigCodec<T>(
    r => r.u128(),
    (w, v) => w.u128(v),
  )

/** One byte, strictly 0 or 1. */
export const bool: Codec<boolean> = {
  read(reader) {
    const at = reader.at
    const byte = reader.u8()
    if (byte > 1) throw new DecodeError('BadValue', at, `${byte} is no boolean`)
    return byte === 1
  },
  write: (writer, value) => writer.u8(value ? 1 : 0),
  toJson: value => value,
  fromJson: json => {
    if (typeof json !== 'boolean') throw new TypeError('expected a boolean')
    return json
  },
}

/** Raw bytes to the end of the body; decoding gives a view. */
export const rest: Codec<Uint8Array> = {
  read: reader => reader.raw(reader.remaining),
  write: (writer, value) => writer.raw(value),
  toJson: toHex,
  fromJson: json => fromHex(asText(json)),
}

/** A length of one byte, then raw bytes: at least `min` of them. */
export const bytes8 = (min = 0): Codec<Uint8Array> => ({
  read(reader) {
    const at = reader.at
    const length = reader.u8()
    if (length < min) throw new DecodeError('BadSize', at, `length ${length} is below ${min}`)
    return reader.raw(length)
  },
  write(writer, value) {
    if (value.length < min) throw new RangeError(`${value.length} bytes are fewer than ${min}`)
    writer.u8(value.length)
    writer.raw(value)
  },
  toJson: toHex,
  fromJson: json => fromHex(asText(json)),
})

/** u8 length, then UTF-8 (wire.md §4.3): at least `min` bytes. */
export const text8 = (min = 0): Codec<string> => ({
  read(reader) {
    const at = reader.at
    const length = reader.u8()
    if (length < min) throw new DecodeError('BadSize', at, `length ${length} is below ${min}`)
    return reader.text(length)
  },
  write(writer, value) {
    const bytes = textBytes(value)
    if (bytes.length < min) throw new RangeError(`a text of ${bytes.length} bytes is shorter than ${min}`)
    writer.u8(bytes.length)
    writer.raw(bytes)
  },
  toJson: value => value,
  fromJson: asText,
})
/** A name: 1..255 bytes. */
export const name: Codec<string> = text8(1)

/** u32 length, then UTF-8. */
export const text32: Codec<string> = {
  read: reader => reader.text(reader.u32()),
  write(writer, value) {
    const bytes = textBytes(value)
    writer.u32(bytes.length)
    writer.raw(bytes)
  },
  toJson: value => value,
  fromJson: asText,
}

/** ASCII text of a fixed length. */
export const asciiOf = (length: number): Codec<string> => ({
  read(reader) {
    const at = reader.at
    const bytes = reader.raw(length)
    const odd = bytes.findIndex(byte => byte > 0x7f)
    if (odd >= 0) throw new DecodeError('BadUtf8', at + odd, 'text is not ASCII')
    return String.fromCharCode(...bytes)
  },
  write(writer, value) {
    const bytes = textBytes(value)
    if (bytes.length !== length || value.length !== length) throw new RangeError(`expected ${length} ASCII characters`)
    writer.raw(bytes)
  },
  toJson: value => value,
  fromJson: asText,
})

// biome-ignore lint/suspicious/noExplicitAny: the value type of a member is recovered by StructOf
type Members = Readonly<Record<string, Codec<any>>>
type StructOf<M extends Members> = { readonly [K in keyof M]: CodecValue<M[K]> }

/** Members one behind the other, in the order of their declaration. */
export function struct<const M extends Members>(members: M): Codec<StructOf<M>> {
  const entries = Object.entries(members)
  return {
    read(reader) {
      const value: Record<string, unknown> = {}
      for (const [key, codec] of entries) value[key] = codec.read(reader)
      return value as StructOf<M>
    },
    write(writer, value) {
      for (const [key, codec] of entries) codec.write(writer, value[key])
    },
    toJson(value) {
      const json: Record<string, unknown> = {}
      for (const [key, codec] of entries) json[key] = codec.toJson(value[key])
      return json
    },
    fromJson(json) {
      const object = asObject(json)
      const value: Record<string, unknown> = {}
      for (const [key, codec] of entries) value[key] = codec.fromJson(object[key])
      return value as StructOf<M>
    },
  }
}

const listJson = <T>(item: Codec<T>) => ({
  toJson: (value: readonly T[]) => value.map(entry => item.toJson(entry)),
  fromJson: (json: unknown): readonly T[] => asList(json).map(entry => item.fromJson(entry)),
})

/** u32 count, then so many items. Every item takes at least a byte, so a false count ends in TooShort, not in memory. */
export const list32 = <T>(item: Codec<T>): Codec<readonly T[]> => ({
  read(reader) {
    const count = reader.u32()
    const value: T[] = []
    for (let index = 0; index < count; index++) value.push(item.read(reader))
    return value
  },
  write(writer, value) {
    writer.u32(value.length)
    for (const entry of value) item.write(writer, entry)
  },
  ...listJson(item),
})

/** Items to the end of the body. */
export const listToEnd = <T>(item: Codec<T>): Codec<readonly T[]> => ({
  read(reader) {
    const value: T[] = []
    while (reader.remaining > 0) value.push(item.read(reader))
    return value
  },
  write(writer, value) {
    for (const entry of value) item.write(writer, entry)
  },
  ...listJson(item),
})

/** u32 byte length, then exactly so many bytes of `inner`. */
export const block32 = <T>(inner: Codec<T>): Codec<T> => ({
  read(reader) {
    const length = reader.u32()
    const from = reader.take(length)
    const block = new ByteReader(reader.bytes, from, from + length)
    const value = inner.read(block)
    block.done()
    return value
  },
  write(writer, value) {
    const at = writer.length
    writer.u32(0)
    inner.write(writer, value)
    writer.patchU32(at, writer.length - at - 4)
  },
  toJson: value => inner.toJson(value),
  fromJson: json => inner.fromJson(json),
})

/** A flag byte, 1 = present; any other value reads as absent (wire.md §3.2). */
export const flagged = <T>(inner: Codec<T>): Codec<T | undefined> => ({
  read: reader => (reader.u8() === 1 ? inner.read(reader) : undefined),
  write(writer, value) {
    writer.u8(value === undefined ? 0 : 1)
    if (value !== undefined) inner.write(writer, value)
  },
  toJson: value => (value === undefined ? null : inner.toJson(value)),
  fromJson: json => (json === null ? undefined : inner.fromJson(json)),
})

/** Nothing at all when `value` is undefined: an empty body that means "not found". */
export const orEmpty = <T>(inner: Codec<T>): Codec<T | undefined> => ({
  read: reader => (reader.remaining === 0 ? undefined : inner.read(reader)),
  write(writer, value) {
    if (value !== undefined) inner.write(writer, value)
  },
  toJson: value => (value === undefined ? null : inner.toJson(value)),
  fromJson: json => (json === null ? undefined : inner.fromJson(json)),
})

/** One byte that names a member of `names`; the value and its JSON are the name. Any other byte is an error. */
export function enum8<const N extends Readonly<Record<string, number>>>(names: N): Codec<keyof N & string> {
  const byValue = new Map(Object.entries(names).map(([key, value]) => [value, key as keyof N & string]))
  const fromJson = (json: unknown): keyof N & string => {
    const key = asText(json)
    if (!Object.hasOwn(names, key)) throw new TypeError(`${key} is not one of ${Object.keys(names).join(', ')}`)
    return key as keyof N & string
  }
  return {
    read(reader) {
      const at = reader.at
      const byte = reader.u8()
      const key = byValue.get(byte)
      if (key === undefined)
        throw new DecodeError('BadValue', at, `${byte} is not one of ${[...byValue.keys()].join(', ')}`)
      return key
    },
    write: (writer, value) => writer.u8(names[value]!),
    toJson: value => value,
    fromJson,
  }
}

/** No bytes at all. */
export const empty: Codec<Readonly<Record<string, never>>> = {
  read: () => ({}),
  write: () => {},
  toJson: () => ({}),
  fromJson: () => ({}),
}

/** A codec whose values have a better form in the program than on the wire. */
export const mapped = <W, T>(inner: Codec<W>, from: (wire: W, at: number) => T, to: (value: T) => W): Codec<T> => ({
  read: reader => {
    const at = reader.at
    return from(inner.read(reader), at)
  },
  write: (writer, value) => inner.write(writer, to(value)),
  toJson: value => inner.toJson(to(value)),
  fromJson: json => from(inner.fromJson(json), 0),
})
