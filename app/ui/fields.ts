/**
 * Field maps: bytes to named fields, from the same layouts that encode and decode them. Both ways: a field knows its
 * bytes, and a byte finds its field. Values are text; nothing is trusted, a field of a damaged record is still only bytes.
 */
import { toHex } from '../../shared/bytes/hex.ts'
import type { Fields, Layout } from '../../shared/bytes/layout.ts'
import {
  BATCH_HEADER_BYTES,
  batchHeaderLayout,
  MESSAGE_HEADER_BYTES,
  messageHeaderLayout,
} from '../../shared/protocol/batch.ts'
import { HEADER_BYTES, prepareLayout } from '../../shared/protocol/headers.ts'
import { operationName } from '../../shared/protocol/operations.ts'
import { type TlvValue, tlvKindName, tlvMeaning } from '../../shared/protocol/tlv.ts'
import {
  SUPERBLOCK_CHECKSUM_BYTES,
  SUPERBLOCK_HEADER_BYTES,
  superblockHeaderLayout,
  vsrStateLayouts,
} from '../../shared/storage/superblock-record.ts'
import { grouped, timestamp, visible } from './format.ts'

export interface ByteField {
  /** Unique in its map, usable in an address: `batchLength`, `m3.payloadLength`. */
  readonly id: string
  readonly name: string
  /** First byte, counted from the start of the record. */
  readonly at: number
  readonly size: number
  readonly value: string
  /** Bytes that must be zero and carry nothing. */
  readonly reserved: boolean
}

const snake = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

function fieldsOf(
  layout: Layout<Fields>,
  bytes: Uint8Array,
  base: number,
  prefix: string,
  write: (name: string, value: unknown) => string,
): ByteField[] {
  if (bytes.length < base + layout.size) return []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const fields = Object.entries(layout.fields).map(([name, field]): ByteField => {
    const value: unknown = field.read(view, base)
    return {
      id: `${prefix}${name}`,
      name: snake(name),
      at: base + field.at,
      size: field.size,
      value: write(name, value),
      reserved: false,
    }
  })
  const gaps = layout.gaps.map(
    (gap, index): ByteField => ({
      id: `${prefix}reserved${index}`,
      name: 'reserved',
      at: base + gap.at,
      size: gap.size,
      value: bytes.subarray(base + gap.at, base + gap.at + gap.size).every(byte => byte === 0)
        ? 'all zero'
        : 'not zero',
      reserved: true,
    }),
  )
  return [...fields, ...gaps].sort((a, b) => a.at - b.at)
}

const plain = (value: unknown): string =>
  typeof value === 'bigint' || typeof value === 'number'
    ? grouped(value)
    : value instanceof Uint8Array
      ? toHex(value)
      : String(value)
const hex = (value: unknown, digits: number): string => (value as bigint).toString(16).padStart(digits, '0')

/** Messages whose frames are mapped one by one; the rest of a long batch is one field, said so by name. */
export const MESSAGES_MAPPED_MAX = 200

/** A batch that starts at byte 0 of `bytes`; as far as the bytes reach. */
export function batchFields(bytes: Uint8Array): ByteField[] {
  const list = fieldsOf(batchHeaderLayout, bytes, 0, '', (name, value) => {
    if (name === 'checksum') return hex(value, 16)
    if (name === 'baseTimestamp' || name === 'originTimestamp') return timestamp(value as bigint)
    return plain(value)
  })
  if (list.length === 0) return list
  const header = batchHeaderLayout.fields
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const length = Number(header.batchLength.read(view, 0))
  const end = Math.min(bytes.length, length)
  let at = BATCH_HEADER_BYTES
  for (let index = 0; at + MESSAGE_HEADER_BYTES <= end; index++) {
    if (index === MESSAGES_MAPPED_MAX) {
      list.push({
        id: 'rest',
        name: 'further messages',
        at,
        size: end - at,
        value: `${grouped(end - at)} bytes, not mapped one by one`,
        reserved: false,
      })
      break
    }
    const prefix = `m${index}.`
    list.push(
      ...fieldsOf(messageHeaderLayout, bytes, at, prefix, (name, value) =>
        name === 'checksum' ? hex(value, 16) : name === 'id' ? hex(value, 32) : plain(value),
      ),
    )
    const payload = messageHeaderLayout.fields.payloadLength.read(view, at)
    const headers = messageHeaderLayout.fields.userHeadersLength.read(view, at)
    const body = at + MESSAGE_HEADER_BYTES
    if (payload > 0 && body < end)
      list.push(bytesField(`${prefix}payload`, 'payload', bytes, body, Math.min(payload, end - body)))
    const after = body + payload
    if (headers > 0 && after < end)
      for (const field of userHeaderFields(bytes.subarray(after, Math.min(after + headers, end))))
        list.push({ ...field, id: `${prefix}${field.id}`, at: after + field.at })
    at = after + headers
  }
  return list
}

const TEXT_SHOWN = 48

function bytesField(id: string, name: string, bytes: Uint8Array, at: number, size: number): ByteField {
  return { id, name, at, size, value: asText(bytes.subarray(at, at + size)), reserved: false }
}

/**
 * Payload as text when it is text, else its length: binary is told apart from empty and from words.
 * @param whole length of all of it, when `bytes` are its beginning only
 */
export function asText(bytes: Uint8Array, limit = TEXT_SHOWN, whole = bytes.length): string {
  if (whole === 0) return 'empty'
  const text = textOf(bytes, limit * 4, whole > bytes.length)
  if (text === undefined) return `${grouped(whole)} bytes, binary`
  const line = visible(text.replace(/\s+/g, ' '))
  return line.length > limit || whole > bytes.length ? `${line.slice(0, limit)}…` : line
}

/** Undefined when it is no text: a control character among the first ones, or not UTF-8. `cut`: more of it follows. */
export function textOf(bytes: Uint8Array, controlsIn = bytes.length, cut = false): string | undefined {
  for (const byte of bytes.subarray(0, controlsIn))
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: cut })
  } catch {
    return undefined
  }
}

const TLV_LENGTH_MAX = 255

/** User headers: pairs of tagged values (spec wire.md §4.5), as far as they hold together; the rest is one field. */
export function userHeaderFields(bytes: Uint8Array): ByteField[] {
  const list: ByteField[] = []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = 0
  for (let half = 0; at < bytes.length; half++) {
    const length = at + 5 <= bytes.length ? view.getUint32(at + 1, true) : 0
    const holds = bytes[at] !== 0 && length > 0 && length <= TLV_LENGTH_MAX && at + 5 + length <= bytes.length
    if (!holds) {
      const size = bytes.length - at
      list.push({
        id: 'rest',
        name: 'rest',
        at,
        size,
        value: `${grouped(size)} bytes, no tagged value`,
        reserved: false,
      })
      break
    }
    const [id, part] = [`h${half >> 1}.`, half % 2 === 0 ? 'key' : 'value']
    const kind = bytes[at]!
    const field = (what: string, from: number, size: number, value: string): ByteField => ({
      id: `${id}${part}${what}`,
      name: `header_${half >> 1}_${snake(`${part}${what}`)}`,
      at: from,
      size,
      value,
      reserved: false,
    })
    list.push(
      field('Kind', at, 1, `${kind} ${tlvKindName(kind) ?? 'unknown'}`),
      field('Length', at + 1, 4, grouped(length)),
      field('', at + 5, length, tlvText({ kind, bytes: bytes.subarray(at + 5, at + 5 + length) })),
    )
    at += 5 + length
  }
  return list
}

/** A tagged value in words; one that is not what its kind says stays bytes. */
export function tlvText(value: TlvValue): string {
  const meaning = tlvMeaning(value)
  if (meaning === undefined) return toHex(value.bytes)
  return typeof meaning === 'string' ? visible(meaning) : String(meaning)
}

/** A superblock slot: frame, payload of any known length, trailing checksum. */
export function superblockFields(bytes: Uint8Array): ByteField[] {
  const list = fieldsOf(superblockHeaderLayout, bytes, 0, '', (name, value) =>
    name === 'magic'
      ? `${hex(BigInt(value as number), 8)} SBLK`
      : name === 'parentChecksum'
        ? hex(value, 16)
        : plain(value),
  )
  if (list.length === 0) return list
  const payload = bytes.length - SUPERBLOCK_HEADER_BYTES - SUPERBLOCK_CHECKSUM_BYTES
  const layout = payload === 58 || payload === 66 || payload === 74 ? vsrStateLayouts[payload] : undefined
  if (layout) {
    list.push(
      ...fieldsOf(layout, bytes, SUPERBLOCK_HEADER_BYTES, '', (name, value) =>
        name === 'cluster' || name === 'checkpointChecksum' ? hex(value, 32) : plain(value),
      ),
    )
  } else if (payload > 0) {
    list.push({
      id: 'payload',
      name: 'payload',
      at: SUPERBLOCK_HEADER_BYTES,
      size: payload,
      value: `${payload} bytes of no known layout`,
      reserved: false,
    })
  }
  if (payload >= 0) {
    const at = bytes.length - SUPERBLOCK_CHECKSUM_BYTES
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    list.push({
      id: 'recordChecksum',
      name: 'record_checksum',
      at,
      size: SUPERBLOCK_CHECKSUM_BYTES,
      value: hex(view.getBigUint64(at, true), 16),
      reserved: false,
    })
  }
  return list
}

/** A prepare at byte 0: its header, and its body as one field. */
export function prepareFields(bytes: Uint8Array): ByteField[] {
  const list = fieldsOf(prepareLayout, bytes, 0, '', (name, value) => {
    if (name === 'timestamp') return timestamp(value as bigint)
    if (name === 'checksum' || name === 'checksumBody' || name === 'parent' || name === 'requestChecksum')
      return hex(value, 16)
    if (name === 'cluster' || name === 'client') return hex(value, 32)
    if (name === 'operation') return `${value} ${operationName(value as number) ?? 'unknown'}`
    return plain(value)
  })
  if (list.length === 0 || bytes.length === HEADER_BYTES) return list
  return [...list, bytesField('body', 'body', bytes, HEADER_BYTES, bytes.length - HEADER_BYTES)]
}

/** The field that owns a byte. */
export const fieldAt = (fields: readonly ByteField[], at: number): ByteField | undefined =>
  fields.find(field => at >= field.at && at < field.at + field.size)
