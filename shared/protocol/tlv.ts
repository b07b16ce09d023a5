/**
 * Tagged pairs: user headers of messages, and options of streams, topics and users (spec wire.md §4.5, metadata-storage.md
 * §4.2). Repeated, each half
 *
 *   kind u8 (not 0) | length u32 (1..255) | bytes          key first, then value
 *
 * In requests the pairs run to the end of the body, in responses they stand in a block with a u32 length. A kind that
 * nobody knows is carried through.
 */
import { DecodeError } from '../bytes/errors.ts'
import { fromHex, toHex } from '../bytes/hex.ts'
import { ByteReader } from '../bytes/reader.ts'
import { ByteWriter, textBytes } from '../bytes/writer.ts'
import { type Codec, listToEnd } from './codec.ts'

export const TlvKind = {
  raw: 1,
  string: 2,
  bool: 3,
  i8: 4,
  i16: 5,
  i32: 6,
  i64: 7,
  i128: 8,
  u8: 9,
  u16: 10,
  u32: 11,
  u64: 12,
  u128: 13,
  f32: 14,
  f64: 15,
} as const
export type TlvKindName = keyof typeof TlvKind
const kindNames = new Map<number, TlvKindName>(Object.entries(TlvKind).map(([key, kind]) => [kind, key as TlvKindName]))
export const tlvKindName = (kind: number): TlvKindName | undefined => kindNames.get(kind)

export interface TlvValue {
  readonly kind: number
  /** 1..255 bytes. */
  readonly bytes: Uint8Array
}
export interface TlvPair {
  readonly key: TlvValue
  readonly value: TlvValue
}

const LENGTH_MAX = 255

const tlvValue: Codec<TlvValue> = {
  read(reader) {
    const at = reader.at
    const kind = reader.u8()
    if (kind === 0) throw new DecodeError('BadValue', at, 'a tagged value has kind 0')
    const length = reader.u32()
    if (length === 0 || length > LENGTH_MAX) {
      throw new DecodeError('BadSize', at + 1, `a tagged value has 1..${LENGTH_MAX} bytes, not ${length}`)
    }
    return { kind, bytes: reader.raw(length) }
  },
  write(writer, { kind, bytes }) {
    if (kind === 0) throw new RangeError('a tagged value cannot have kind 0')
    if (bytes.length === 0 || bytes.length > LENGTH_MAX)
      throw new RangeError(`a tagged value has 1..${LENGTH_MAX} bytes`)
    writer.u8(kind)
    writer.u32(bytes.length)
    writer.raw(bytes)
  },
  // A value reads best as what it means; where that form would not give the same bytes back, it stays hex.
  toJson({ kind, bytes }) {
    const meaning = tlvMeaning({ kind, bytes })
    return meaning === undefined
      ? { kind, hex: toHex(bytes) }
      : { kind: tlvKindName(kind), value: typeof meaning === 'bigint' ? meaning.toString() : meaning }
  },
  fromJson(json) {
    const { kind, hex, value } = json as { kind: number | TlvKindName; hex?: string; value?: unknown }
    if (typeof kind === 'number') return { kind, bytes: fromHex(hex ?? '') }
    if (!Object.hasOwn(TlvKind, kind)) throw new TypeError(`${kind} is no kind of tagged value`)
    return tlvOf(kind, value as string | number | boolean)
  },
}

const tlvPair: Codec<TlvPair> = {
  read: reader => ({ key: tlvValue.read(reader), value: tlvValue.read(reader) }),
  write(writer, pair) {
    tlvValue.write(writer, pair.key)
    tlvValue.write(writer, pair.value)
  },
  toJson: pair => ({ key: tlvValue.toJson(pair.key), value: tlvValue.toJson(pair.value) }),
  fromJson: json => {
    const { key, value } = json as { key: unknown; value: unknown }
    return { key: tlvValue.fromJson(key), value: tlvValue.fromJson(value) }
  },
}

/** User headers of a message: pairs to the end of their bytes. */
export const userHeaders: Codec<readonly TlvPair[]> = listToEnd(tlvPair)

export const OPTIONS_MAX = 1024
export const OPTIONS_BYTES_MAX = 100_000

/** One option; its key is always text. */
export interface OptionEntry {
  readonly key: string
  /** Kind of the value, as in TlvValue. */
  readonly kind: number
  readonly value: Uint8Array
}

/** Options to the end of the body: as user headers, with unique keys of kind string, and bounded. */
export const options: Codec<readonly OptionEntry[]> = {
  read(reader) {
    const from = reader.at
    if (reader.remaining > OPTIONS_BYTES_MAX) {
      throw new DecodeError('TooLong', from, `options of ${reader.remaining} bytes are above ${OPTIONS_BYTES_MAX}`)
    }
    const entries: OptionEntry[] = []
    const keys = new Set<string>()
    while (reader.remaining > 0) {
      const at = reader.at
      if (entries.length === OPTIONS_MAX) throw new DecodeError('BadCount', at, `more than ${OPTIONS_MAX} options`)
      const { key, value } = tlvPair.read(reader)
      if (key.kind !== TlvKind.string)
        throw new DecodeError('BadValue', at, `an option key has kind ${key.kind}, not text`)
      const text = new ByteReader(reader.bytes, at + 5, at + 5 + key.bytes.length).text(key.bytes.length)
      if (keys.has(text)) throw new DecodeError('BadValue', at, `option ${text} stands there twice`)
      keys.add(text)
      entries.push({ key: text, kind: value.kind, value: value.bytes })
    }
    return entries
  },
  write(writer, entries) {
    for (const { key, kind, value } of entries) {
      tlvPair.write(writer, { key: { kind: TlvKind.string, bytes: textBytes(key) }, value: { kind, bytes: value } })
    }
  },
  toJson: entries =>
    entries.map(({ key, kind, value }) => ({ key, ...(tlvValue.toJson({ kind, bytes: value }) as object) })),
  fromJson: json =>
    (json as readonly { key: string }[]).map(entry => {
      const { kind, bytes } = tlvValue.fromJson(entry)
      return { key: entry.key, kind, value: bytes }
    }),
}

const SIGNED_BITS = new Map<number, number>([
  [TlvKind.i8, 8],
  [TlvKind.i16, 16],
  [TlvKind.i32, 32],
  [TlvKind.i64, 64],
  [TlvKind.i128, 128],
])
const UNSIGNED_BITS = new Map<number, number>([
  [TlvKind.u8, 8],
  [TlvKind.u16, 16],
  [TlvKind.u32, 32],
  [TlvKind.u64, 64],
  [TlvKind.u128, 128],
])

/** Builds a tagged value. Integers may be numbers, bigints or decimal text; raw is hex. Throws RangeError or TypeError. */
export function tlvOf(kind: TlvKindName, value: string | number | bigint | boolean): TlvValue {
  const code = TlvKind[kind]
  return { kind: code, bytes: tlvBytes(code, value) }
}

function tlvBytes(kind: number, value: string | number | bigint | boolean): Uint8Array {
  if (kind === TlvKind.string) return textBytes(String(value))
  if (kind === TlvKind.raw) return fromHex(String(value))
  if (kind === TlvKind.bool) return Uint8Array.of(value === true ? 1 : 0)
  if (kind === TlvKind.f32 || kind === TlvKind.f64) {
    const bytes = new Uint8Array(kind === TlvKind.f32 ? 4 : 8)
    const view = new DataView(bytes.buffer)
    if (kind === TlvKind.f32) view.setFloat32(0, Number(value), true)
    else view.setFloat64(0, Number(value), true)
    return bytes
  }
  const bits = SIGNED_BITS.get(kind) ?? UNSIGNED_BITS.get(kind)!
  const integer = BigInt(value)
  const fits = SIGNED_BITS.has(kind)
    ? BigInt.asIntN(bits, integer) === integer
    : BigInt.asUintN(bits, integer) === integer
  if (!fits) throw new RangeError(`${value} is not a ${tlvKindName(kind)}`)
  const writer = new ByteWriter(16)
  writer.u128(BigInt.asUintN(128, integer))
  return writer.finish().slice(0, bits / 8)
}

/**
 * What a tagged value means: text, number, bigint (64 bits and wider), boolean, or hex for raw. Undefined for an unknown
 * kind, and wherever writing the meaning would not give the same bytes back.
 */
export function tlvMeaning({ kind, bytes }: TlvValue): string | number | bigint | boolean | undefined {
  const meaning = readMeaning(kind, bytes)
  if (meaning === undefined) return undefined
  if (typeof meaning === 'number' && (!Number.isFinite(meaning) || Object.is(meaning, -0))) return undefined
  const again = tlvBytes(kind, meaning)
  return again.length === bytes.length && again.every((byte, index) => byte === bytes[index]) ? meaning : undefined
}

function readMeaning(kind: number, bytes: Uint8Array): string | number | bigint | boolean | undefined {
  if (kind === TlvKind.raw) return toHex(bytes)
  if (kind === TlvKind.string) {
    try {
      return new ByteReader(bytes).text(bytes.length)
    } catch {
      return undefined
    }
  }
  if (kind === TlvKind.bool) return bytes.length === 1 && bytes[0]! <= 1 ? bytes[0] === 1 : undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (kind === TlvKind.f32) return bytes.length === 4 ? view.getFloat32(0, true) : undefined
  if (kind === TlvKind.f64) return bytes.length === 8 ? view.getFloat64(0, true) : undefined
  const bits = SIGNED_BITS.get(kind) ?? UNSIGNED_BITS.get(kind)
  if (bits === undefined || bytes.length * 8 !== bits) return undefined
  let integer = 0n
  for (let index = bytes.length - 1; index >= 0; index--) integer = (integer << 8n) | BigInt(bytes[index]!)
  if (SIGNED_BITS.has(kind)) integer = BigInt.asIntN(bits, integer)
  return bits >= 64 ? integer : Number(integer)
}
