/**
 * How a stream, topic, group or user is named in a command (spec wire.md §4.1), and a consumer (§4.2, §3.7).
 *
 *   Ident:    kind u8 | length u8 | value     kind 1 = numeric, u32, length 4; kind 2 = name, 1..255 bytes of UTF-8
 *   Consumer: kind u8 (1 consumer, 2 group) | Ident
 *
 * Id 0 is valid, and a name of digits is still a name.
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { textBytes } from '../bytes/writer.ts'
import { type Codec, type CodecValue, enum8, struct } from './codec.ts'

export type Ident = { readonly kind: 'id'; readonly id: number } | { readonly kind: 'name'; readonly name: string }

export const Ident = {
  id: (id: number): Ident => ({ kind: 'id', id }),
  name: (name: string): Ident => ({ kind: 'name', name }),
  /** A number is an id, a text is a name. */
  of: (value: number | string | Ident): Ident =>
    typeof value === 'number' ? Ident.id(value) : typeof value === 'string' ? Ident.name(value) : value,
}

export const ident: Codec<Ident> = {
  read(reader) {
    const at = reader.at
    const kind = reader.u8()
    const length = reader.u8()
    if (kind === 1) {
      if (length !== 4) throw new DecodeError('BadSize', at + 1, `a numeric identifier has 4 bytes, not ${length}`)
      return { kind: 'id', id: reader.u32() }
    }
    if (kind !== 2) throw new DecodeError('BadValue', at, `identifier kind ${kind} is neither numeric nor a name`)
    if (length === 0) throw new DecodeError('BadSize', at + 1, 'a name is empty')
    return { kind: 'name', name: reader.text(length) }
  },
  write(writer, value) {
    if (value.kind === 'id') {
      writer.u8(1)
      writer.u8(4)
      writer.u32(value.id)
      return
    }
    const bytes = textBytes(value.name)
    if (bytes.length === 0 || bytes.length > 255) throw new RangeError(`a name has 1..255 bytes, not ${bytes.length}`)
    writer.u8(2)
    writer.u8(bytes.length)
    writer.raw(bytes)
  },
  toJson: value => (value.kind === 'id' ? value.id : value.name),
  fromJson: json => {
    if (typeof json !== 'number' && typeof json !== 'string') throw new TypeError('expected an id or a name')
    return Ident.of(json)
  },
}

export const consumer = struct({ kind: enum8({ consumer: 1, group: 2 }), id: ident })
export type Consumer = CodecValue<typeof consumer>

/**
 * Numeric id under which the offset of a single consumer is kept: a number as it is, a name as its XXH32 (§3.7). For a
 * group it is the group's numeric id, which only the metadata knows.
 */
export const consumerId = (hash: Hash, id: Ident): number => (id.kind === 'id' ? id.id : hash.xxh32(textBytes(id.name)))
