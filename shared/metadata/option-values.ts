/**
 * Values of topic options (spec wire.md §4.5–4.7, metadata-storage.md §4.3): the canonical kind of each, and the text forms
 * that people write ("7 days", "1 GiB", "never_expire").
 */
import { U64_MAX } from '../bytes/units.ts'

/** Kinds of a TLV value that options use. */
export const ValueKind = { String: 2, Bool: 3, U32: 11, U64: 12 } as const

export type OptionValue = string | boolean | number | bigint

const utf8 = new TextDecoder('utf-8', { fatal: true })

export function encodeValue(kind: number, value: OptionValue): Uint8Array {
  if (kind === ValueKind.String) return new TextEncoder().encode(value as string)
  if (kind === ValueKind.Bool) return new Uint8Array([value === true ? 1 : 0])
  const bytes = new Uint8Array(kind === ValueKind.U32 ? 4 : 8)
  const view = new DataView(bytes.buffer)
  if (kind === ValueKind.U32) view.setUint32(0, value as number, true)
  else view.setBigUint64(0, value as bigint, true)
  return bytes
}

/** The value in its canonical kind, or undefined when `bytes` are not one; text is read by `fromText` instead. */
export function decodeValue(kind: number, bytes: Uint8Array): OptionValue | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  switch (kind) {
    case ValueKind.String:
      return decodeText(bytes)
    case ValueKind.Bool:
      return bytes.length === 1 && bytes[0]! <= 1 ? bytes[0] === 1 : undefined
    case ValueKind.U32:
      return bytes.length === 4 ? view.getUint32(0, true) : undefined
    case ValueKind.U64:
      return bytes.length === 8 ? view.getBigUint64(0, true) : undefined
    default:
      return undefined
  }
}

export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

const SIZE_UNITS: Readonly<Record<string, bigint>> = {
  '': 1n,
  b: 1n,
  kb: 1000n,
  mb: 1000n ** 2n,
  gb: 1000n ** 3n,
  tb: 1000n ** 4n,
  kib: 1024n,
  mib: 1024n ** 2n,
  gib: 1024n ** 3n,
  tib: 1024n ** 4n,
}

const MICROS_PER_SECOND = 1_000_000n
const DURATION_UNITS: Readonly<Record<string, bigint>> = {
  us: 1n,
  ms: 1000n,
  s: MICROS_PER_SECOND,
  m: 60n * MICROS_PER_SECOND,
  h: 3600n * MICROS_PER_SECOND,
  d: 86_400n * MICROS_PER_SECOND,
  w: 604_800n * MICROS_PER_SECOND,
}
const DURATION_NAMES: Readonly<Record<string, string>> = {
  usec: 'us',
  msec: 'ms',
  millis: 'ms',
  sec: 's',
  secs: 's',
  second: 's',
  seconds: 's',
  min: 'm',
  mins: 'm',
  minute: 'm',
  minutes: 'm',
  hr: 'h',
  hrs: 'h',
  hour: 'h',
  hours: 'h',
  day: 'd',
  days: 'd',
  week: 'w',
  weeks: 'w',
}

/** "1 GiB", "512", "unlimited" (2^64-1), "server_default" (0). */
export function sizeFromText(text: string): bigint | undefined {
  const lower = text.trim().toLowerCase()
  if (lower === 'unlimited') return U64_MAX
  if (lower === 'server_default') return 0n
  const match = /^(\d{1,20})\s*([a-z]*)$/.exec(lower)
  const unit = match && SIZE_UNITS[match[2]!]
  return unit ? bounded(BigInt(match[1]!) * unit) : undefined
}

/** "7 days", "1h 30m", "never_expire" (2^64-1), "server_default" (0); a bare number is microseconds. */
export function durationFromText(text: string): bigint | undefined {
  const lower = text.trim().toLowerCase()
  if (lower === 'never' || lower === 'never_expire' || lower === 'unlimited') return U64_MAX
  if (lower === 'server_default') return 0n
  if (/^\d{1,20}$/.test(lower)) return bounded(BigInt(lower))
  if (!/^(\d{1,20}\s*[a-z]+\s*)+$/.test(lower)) return undefined
  let total = 0n
  for (const [, amount, name] of lower.matchAll(/(\d+)\s*([a-z]+)/g)) {
    const unit = DURATION_UNITS[DURATION_NAMES[name!] ?? name!]
    if (unit === undefined) return undefined
    total += BigInt(amount!) * unit
  }
  return bounded(total)
}

const bounded = (value: bigint): bigint | undefined => (value <= U64_MAX ? value : undefined)
