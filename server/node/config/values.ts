/**
 * Kinds of configuration values (spec metadata-storage.md §8.1). A value comes typed from TOML or as text from the
 * environment; both read alike. Durations come out in milliseconds, sizes in bytes.
 */
export interface Kind<T> {
  readonly name: string
  /** The value, or what is wrong with it. */
  parse(raw: unknown): T | Problem
}

export class Problem {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

const shown = (raw: unknown): string => {
  const text = typeof raw === 'string' ? JSON.stringify(raw) : String(raw)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

export const boolean: Kind<boolean> = {
  name: 'true or false',
  parse: raw =>
    raw === true || raw === 'true'
      ? true
      : raw === false || raw === 'false'
        ? false
        : new Problem(`${shown(raw)} is neither true nor false`),
}

export const text: Kind<string> = {
  name: 'text',
  // A password or a name of digits arrives as a number when it was written without quotes.
  parse: raw =>
    typeof raw === 'string'
      ? raw
      : typeof raw === 'number' || typeof raw === 'bigint'
        ? String(raw)
        : new Problem(`${shown(raw)} is not text`),
}

/** A whole number in min..=max. */
export const integer = (min: number, max: number): Kind<number> => ({
  name: `a whole number from ${min} to ${max}`,
  parse: raw => {
    const value =
      typeof raw === 'bigint' || typeof raw === 'number'
        ? Number(raw)
        : typeof raw === 'string' && /^[+-]?\d+$/.test(raw.trim())
          ? Number(raw)
          : Number.NaN
    if (!Number.isSafeInteger(value)) return new Problem(`${shown(raw)} is not a whole number`)
    return value >= min && value <= max ? value : new Problem(`${value} is outside ${min}..=${max}`)
  },
})

export const oneOf = <const T extends string>(...values: readonly T[]): Kind<T> => ({
  name: values.join(', '),
  parse: raw => {
    const found = values.find(value => value === raw)
    return found ?? new Problem(`${shown(raw)} is none of ${values.join(', ')}`)
  },
})

const ZERO_WORDS = new Set(['0', 'disabled', 'none', 'unlimited'])

/** Milliseconds per unit. */
const DURATION_UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  nsec: 1e-6,
  us: 1e-3,
  usec: 1e-3,
  ms: 1,
  msec: 1,
  millis: 1,
  s: 1e3,
  sec: 1e3,
  secs: 1e3,
  second: 1e3,
  seconds: 1e3,
  m: 6e4,
  min: 6e4,
  mins: 6e4,
  minute: 6e4,
  minutes: 6e4,
  h: 3.6e6,
  hr: 3.6e6,
  hrs: 3.6e6,
  hour: 3.6e6,
  hours: 3.6e6,
  d: 8.64e7,
  day: 8.64e7,
  days: 8.64e7,
  w: 6.048e8,
  week: 6.048e8,
  weeks: 6.048e8,
}

/** Text like `5s`, `250ms`, `1 m`, `1h 30m`; `0`, `disabled` and `unlimited` are 0. At most 365 days. */
export function parseDurationMs(raw: unknown): number | Problem {
  if (raw === 0 || raw === 0n) return 0
  if (typeof raw !== 'string') return new Problem(`${shown(raw)} is not a duration like "500ms" or "1 m"`)
  const trimmed = raw.trim().toLowerCase()
  if (ZERO_WORDS.has(trimmed)) return 0
  if (!/^(\d+(\.\d+)?\s*[a-z]+\s*)+$/.test(trimmed)) {
    return new Problem(`${shown(raw)} is not a duration like "500ms" or "1 m"`)
  }
  let total = 0
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/g)) {
    const factor = DURATION_UNITS[unit!]
    if (factor === undefined) return new Problem(`${shown(raw)} has the unknown unit "${unit}"`)
    total += Number(amount) * factor
  }
  return total <= 365 * 8.64e7 ? total : new Problem(`${shown(raw)} is longer than 365 days`)
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
}

/** Text like `64 MiB` or `2 MB`, or a number of bytes. */
export function parseSizeBytes(raw: unknown): number | Problem {
  if (typeof raw === 'number' || typeof raw === 'bigint') return wholeBytes(Number(raw), raw)
  if (typeof raw !== 'string') return new Problem(`${shown(raw)} is not a size like "64 MiB"`)
  const trimmed = raw.trim().toLowerCase()
  if (ZERO_WORDS.has(trimmed)) return 0
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(trimmed)
  const factor = match ? SIZE_UNITS[match[2] === '' ? 'b' : match[2]!] : undefined
  if (!match || factor === undefined) return new Problem(`${shown(raw)} is not a size like "64 MiB"`)
  return wholeBytes(Math.round(Number(match[1]) * factor), raw)
}

const wholeBytes = (value: number, raw: unknown): number | Problem =>
  Number.isSafeInteger(value) && value >= 0 ? value : new Problem(`${shown(raw)} is not a size`)

/** A duration in minMs..=maxMs. */
export const duration = (minMs: number, maxMs = 365 * 8.64e7): Kind<number> => ({
  name: 'a duration like "500ms" or "1 m"',
  parse: raw => {
    const value = parseDurationMs(raw)
    if (value instanceof Problem) return value
    if (value < minMs) return new Problem(`${shown(raw)} is below ${minMs} ms`)
    return value <= maxMs ? value : new Problem(`${shown(raw)} is above ${maxMs} ms`)
  },
})

/** A size in minBytes..=maxBytes. */
export const size = (minBytes: number, maxBytes: number): Kind<number> => ({
  name: 'a size like "64 MiB"',
  parse: raw => {
    const value = parseSizeBytes(raw)
    if (value instanceof Problem) return value
    if (value < minBytes) return new Problem(`${shown(raw)} is below ${minBytes} bytes`)
    return value <= maxBytes ? value : new Problem(`${shown(raw)} is above ${maxBytes} bytes`)
  },
})
