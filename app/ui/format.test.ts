import { expect, it } from 'vitest'
import { bytesShort, duration, grouped, timestamp, visible } from './format.ts'

it('groups digits of 64-bit values without rounding them', () => {
  expect(grouped('18446744073709551615')).toBe('18,446,744,073,709,551,615')
  expect(grouped(9007199254740993n)).toBe('9,007,199,254,740,993')
  expect(grouped(0)).toBe('0')
  expect(grouped(100)).toBe('100')
  expect(grouped(1000)).toBe('1,000')
})

it('keeps all six digits of a microsecond timestamp', () => {
  expect(timestamp('1764424011430007')).toMatch(/:51\.430007$/)
  expect(timestamp('0')).toMatch(/\.000000$/)
  // Any 64 bits may stand there (G40): no day of a calendar, and no NaN.
  expect(timestamp(2n ** 64n - 1n)).toBe('18,446,744,073,709,551,615 µs')
  expect(timestamp('8640000000000000999')).toMatch(/^2757\d\d-\d\d-\d\d /)
})

it('chooses the unit a reader can compare', () => {
  expect([0, 999, 1000, 59_940, 60_000, 3_600_000].map(duration)).toEqual([
    '0 ms',
    '999 ms',
    '1.0 s',
    '59.9 s',
    '1 min 0 s',
    '1 h 0 min',
  ])
  expect([812, 1024, 16 * 2 ** 20, 2 ** 30, 1536].map(bytesShort)).toEqual([
    '812 B',
    '1 KiB',
    '16 MiB',
    '1 GiB',
    '1.5 KiB',
  ])
})

it('shows control and direction characters of a hostile name as text', () => {
  expect(visible('a\u0000b\u202ec')).toBe('a\\u0000b\\u202ec')
  expect(visible('<img src=x onerror=alert(1)>')).toBe('<img src=x onerror=alert(1)>')
})
