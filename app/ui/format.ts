/** How values are written. Digits are never rounded on the way: 64-bit values come in as decimal text or bigint. */

/** `51430` to `51,430`. Accepts decimal text, bigint or a whole number. */
export function grouped(value: string | bigint | number): string {
  const text = typeof value === 'number' ? String(Math.round(value)) : value.toString()
  return text.replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}

/** The whole numbers in a sentence, grouped. */
export const groupedDigits = (words: string): string => words.replace(/\d{4,}/g, grouped)

/** Exact bytes, `4,852,672 B`. */
export const bytes = (value: number | bigint | string): string => `${grouped(value)} B`

/** Rounded bytes for places without room: `16.0 MiB`, `812 B`. */
export function bytesShort(value: number): string {
  if (value < 1024) return `${value} B`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let scaled = value / 1024
  let unit = 0
  while (scaled >= 1024 && unit < units.length - 1) {
    scaled /= 1024
    unit++
  }
  return `${scaled >= 100 || Number.isInteger(scaled) ? Math.round(scaled) : scaled.toFixed(1)} ${units[unit]}`
}

/** A length of time: `12 ms`, `6.7 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  const value = Math.max(0, ms)
  if (value < 1000) return `${Math.round(value)} ms`
  if (value < 60_000) return `${(value / 1000).toFixed(1)} s`
  const seconds = Math.floor(value / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}

/** The age of a live value: coarse below two seconds, where a running number would only flicker. */
export function ageText(ms: number): string {
  if (ms < 1000) return '< 1 s'
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s`
  return duration(ms)
}

/** The same where there is no room for two units: `3 min`. */
export function ageShort(ms: number): string {
  if (ms < 60_000) return ageText(ms)
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`
  return `${Math.floor(ms / 3_600_000)} h`
}

const two = (value: number): string => String(value).padStart(2, '0')

/** Local time of day with milliseconds, `14:02:11.430`. */
export function clock(ms: number): string {
  const date = new Date(ms)
  return `${clockShort(ms)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
/** Local time of day, `14:02:11`. */
export function clockShort(ms: number): string {
  const date = new Date(ms)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}
/** Beyond this a date of the browser knows no day; a node may have been told any number of 64 bits. */
const DATE_MS_MAX = 8_640_000_000_000_000n
/** Local date and time from microseconds as decimal text, all six digits kept; the number itself where no calendar has a day. */
export function timestamp(us: string | bigint): string {
  const value = BigInt(us)
  if (value / 1000n > DATE_MS_MAX) return `${grouped(value)} µs`
  const date = new Date(Number(value / 1000n))
  const fraction = String(value % 1_000_000n).padStart(6, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clockShort(date.getTime())}.${fraction}`
}
/** Milliseconds from microseconds as decimal text. */
export const wallMs = (us: string): number => Number(us) / 1000

/** `1 node`, `3 nodes`. */
export const count = (value: number | string, noun: string, plural = `${noun}s`): string =>
  `${grouped(value)} ${String(value) === '1' ? noun : plural}`

/** Characters of a name from outside that draw nothing, or turn the direction of what follows. */
const isInvisible = (code: number): boolean =>
  code < 0x20 ||
  (code >= 0x7f && code <= 0x9f) ||
  code === 0x200e ||
  code === 0x200f ||
  (code >= 0x202a && code <= 0x202e) ||
  (code >= 0x2066 && code <= 0x2069)

/** A name from outside, safe to show in a line: control characters and direction marks become visible escapes. */
export function visible(text: string): string {
  let out = ''
  for (const char of text) {
    const code = char.codePointAt(0)!
    out += isInvisible(code) ? `\\u${code.toString(16).padStart(4, '0')}` : char
  }
  return out
}
