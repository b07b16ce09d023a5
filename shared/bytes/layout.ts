/**
 * Fixed layouts, declared once and used in four ways: decode, encode, JSON in both directions, and the field map of the
 * byte view. A layout must tile its size exactly: every byte belongs to a field or to a named gap, so a forgotten byte
 * is an error when the module loads and not a surprise on the wire.
 * All integers are little-endian (spec consensus.md §2.1). 64-bit and wider values are `bigint`, in JSON decimal text.
 */
import { DecodeError } from './errors.ts'
import { fromHex, toHex } from './hex.ts'
import { U64_MAX, U128_MAX } from './units.ts'

/** Little-endian. Checksums fill half of it, and every bigint that is made on the way is garbage of each frame. */
export function getBigUint128(view: DataView, at: number): bigint {
  const low = view.getBigUint64(at, true)
  const narrow = view.getUint32(at + 8, true) === 0 && view.getUint32(at + 12, true) === 0
  return narrow ? low : low | (view.getBigUint64(at + 8, true) << 64n)
}

/** Little-endian; `value` must fit. */
export function setBigUint128(view: DataView, at: number, value: bigint): void {
  const wide = value > U64_MAX
  view.setBigUint64(at, wide ? value & U64_MAX : value, true)
  view.setBigUint64(at + 8, wide ? value >> 64n : 0n, true)
}

// Writers that refuse what does not fit. @throws RangeError

export function putU8(view: DataView, at: number, value: number): void {
  if ((value & 0xff) !== value) throw new RangeError(`${value} is not a u8`)
  view.setUint8(at, value)
}
export function putU16(view: DataView, at: number, value: number): void {
  if ((value & 0xffff) !== value) throw new RangeError(`${value} is not a u16`)
  view.setUint16(at, value, true)
}
export function putU32(view: DataView, at: number, value: number): void {
  if (value >>> 0 !== value) throw new RangeError(`${value} is not a u32`)
  view.setUint32(at, value, true)
}
export function putU64(view: DataView, at: number, value: bigint): void {
  if (value < 0n || value > U64_MAX) throw new RangeError(`${value} is not a u64`)
  view.setBigUint64(at, value, true)
}
export function putU128(view: DataView, at: number, value: bigint): void {
  if (value < 0n || value > U128_MAX) throw new RangeError(`${value} is not a u128`)
  setBigUint128(view, at, value)
}

export interface Field<T> {
  readonly type: 'u8' | 'u16' | 'u32' | 'u64' | 'u128' | 'bytes'
  readonly at: number
  readonly size: number
  read(view: DataView, base: number): T
  write(view: DataView, base: number, value: T): void
  toJson(value: T): unknown
  fromJson(json: unknown): T
}

/** Bytes that carry nothing. `checked` gaps must be zero, or decoding fails; `ignored` ones are read as nothing. */
export interface Gap {
  readonly at: number
  readonly size: number
  readonly rule: 'checked' | 'ignored'
}

const numberField = <T extends number>(
  type: 'u8' | 'u16' | 'u32',
  at: number,
  size: number,
  read: (view: DataView, at: number) => number,
  write: (view: DataView, at: number, value: number) => void,
): Field<T> => ({
  type,
  at,
  size,
  read: (view, base) => read(view, base + at) as T,
  write: (view, base, value) => write(view, base + at, value),
  toJson: value => value,
  fromJson: json => {
    if (typeof json !== 'number') throw new TypeError(`expected a number for ${type} at ${at}`)
    return json as T
  },
})

const bigField = <T extends bigint>(type: 'u64' | 'u128', at: number, size: 8 | 16): Field<T> => ({
  type,
  at,
  size,
  read: (view, base) => (size === 8 ? view.getBigUint64(base + at, true) : getBigUint128(view, base + at)) as T,
  write: (view, base, value) => (size === 8 ? putU64 : putU128)(view, base + at, value),
  toJson: value => value.toString(),
  fromJson: json => {
    if (typeof json !== 'string') throw new TypeError(`expected decimal text for ${type} at ${at}`)
    return BigInt(json) as T
  },
})

export const u8 = <T extends number = number>(at: number): Field<T> =>
  numberField('u8', at, 1, (view, p) => view.getUint8(p), putU8)
export const u16 = <T extends number = number>(at: number): Field<T> =>
  numberField('u16', at, 2, (view, p) => view.getUint16(p, true), putU16)
export const u32 = <T extends number = number>(at: number): Field<T> =>
  numberField('u32', at, 4, (view, p) => view.getUint32(p, true), putU32)
export const u64 = <T extends bigint = bigint>(at: number): Field<T> => bigField('u64', at, 8)
export const u128 = <T extends bigint = bigint>(at: number): Field<T> => bigField('u128', at, 16)

/** A run of raw bytes; decoding copies it. */
export const raw = (at: number, size: number): Field<Uint8Array> => ({
  type: 'bytes',
  at,
  size,
  read: (view, base) => new Uint8Array(view.buffer, view.byteOffset + base + at, size).slice(),
  write: (view, base, value) => {
    if (value.length !== size) throw new RangeError(`expected ${size} bytes at ${at}, got ${value.length}`)
    new Uint8Array(view.buffer, view.byteOffset + base + at, size).set(value)
  },
  toJson: toHex,
  fromJson: json => {
    if (typeof json !== 'string') throw new TypeError(`expected hex text at ${at}`)
    return fromHex(json)
  },
})

export const checked = (at: number, size: number): Gap => ({ at, size, rule: 'checked' })
export const ignored = (at: number, size: number): Gap => ({ at, size, rule: 'ignored' })

// biome-ignore lint/suspicious/noExplicitAny: the value type of a field is recovered by RecordOf
export type Fields = Readonly<Record<string, Field<any>>>
export type RecordOf<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never }
/** The record type of a layout: `type PrepareHeader = LayoutRecord<typeof prepareLayout>`. */
export type LayoutRecord<L> = L extends Layout<infer F> ? RecordOf<F> : never

export interface Layout<F extends Fields> {
  readonly name: string
  readonly size: number
  readonly fields: F
  readonly gaps: readonly Gap[]
  /**
   * Reads one record at `base`.
   * @throws DecodeError TooShort, or ReservedNotZero for a nonzero byte in a checked gap.
   */
  decode(bytes: Uint8Array, base?: number): RecordOf<F>
  /** Writes one record into `into` at `base`, or into a new buffer; gaps become zero. Throws RangeError on values out of range. */
  encode(record: RecordOf<F>, into?: Uint8Array, base?: number): Uint8Array
  toJson(record: RecordOf<F>): Record<string, unknown>
  /** Inverse of toJson. Throws TypeError on values of the wrong shape. */
  fromJson(json: Record<string, unknown>): RecordOf<F>
}

/**
 * What the table of a layout says, as straight code: walking the table for each record takes three times as long. Only for
 * records that are made by the thousand; a test holds it against the table.
 */
export interface StraightCode<F extends Fields> {
  read(view: DataView, base: number): RecordOf<F>
  write(view: DataView, base: number, record: RecordOf<F>): void
}

/** Declares a layout of `size` bytes. Throws when fields and gaps do not tile it exactly. */
export function layout<const F extends Fields>(
  name: string,
  size: number,
  fields: F,
  gaps: readonly Gap[] = [],
  straight?: StraightCode<F>,
): Layout<F> {
  const entries = Object.entries(fields)
  const spans = [...entries.map(([, field]) => field), ...gaps].sort((a, b) => a.at - b.at)
  let end = 0
  for (const span of spans) {
    if (span.at !== end)
      throw new Error(
        `layout ${name}: byte ${Math.min(span.at, end)} is ${span.at > end ? 'unclaimed' : 'claimed twice'}`,
      )
    end = span.at + span.size
  }
  if (end !== size) throw new Error(`layout ${name}: ends at ${end}, not at ${size}`)

  const checkedGaps = gaps.filter(gap => gap.rule === 'checked')
  return {
    name,
    size,
    fields,
    gaps,
    decode(bytes, base = 0) {
      if (bytes.length - base < size) {
        throw new DecodeError(
          'TooShort',
          base,
          `${name} needs ${size} bytes, ${Math.max(0, bytes.length - base)} are left`,
        )
      }
      for (const gap of checkedGaps) {
        for (let at = gap.at; at < gap.at + gap.size; at++) {
          if (bytes[base + at] !== 0)
            throw new DecodeError('ReservedNotZero', base + at, `${name} has a nonzero reserved byte`)
        }
      }
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      if (straight) return straight.read(view, base)
      const record: Record<string, unknown> = {}
      for (const [key, field] of entries) record[key] = field.read(view, base)
      return record as RecordOf<F>
    },
    encode(record, into, base = 0) {
      const target = into ?? new Uint8Array(base + size)
      if (target.length - base < size) throw new RangeError(`${name} needs ${size} bytes`)
      target.fill(0, base, base + size)
      const view = new DataView(target.buffer, target.byteOffset, target.length)
      if (straight) straight.write(view, base, record)
      else for (const [key, field] of entries) field.write(view, base, record[key])
      return target
    },
    toJson(record) {
      const json: Record<string, unknown> = {}
      for (const [key, field] of entries) json[key] = field.toJson(record[key])
      return json
    },
    fromJson(json) {
      const record: Record<string, unknown> = {}
      for (const [key, field] of entries) record[key] = field.fromJson(json[key])
      return record as RecordOf<F>
    },
  }
}
