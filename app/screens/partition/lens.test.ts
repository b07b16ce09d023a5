import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SPAN_DEFAULT, SPAN_MAX, SPAN_MIN, spanFor, windowStart } from './lens.ts'

const LONG = 64 * 2 ** 20

describe('the span of a lens that nobody asked for', () => {
  it('fits the batches of the log: small ones by the default, large ones by a wider lens', () => {
    expect(spanFor(LONG, undefined)).toBe(SPAN_DEFAULT)
    expect(spanFor(LONG, 3_300)).toBe(SPAN_DEFAULT)
    expect(spanFor(LONG, 155_056)).toBe(2 ** 20)
    expect(spanFor(LONG, 2_000_000)).toBe(4 * 2 ** 20)
  })

  it('is no wider than a short segment needs, so that five small batches are not a smear at its edge', () => {
    expect(spanFor(1_550, 310)).toBe(2_048)
    expect(spanFor(0, undefined)).toBe(SPAN_MIN)
  })

  it('shows all that an index entry answers for, unless that is more than one look', () => {
    expect(spanFor(LONG, 3_300, { from: 775_280, end: 930_336 })).toBe(2 ** 18)
    expect(spanFor(LONG, 3_300, { from: 0, end: 50 * 2 ** 20 })).toBe(SPAN_DEFAULT)
  })
})

it('a window holds the place that is looked for, from the first byte to the last, and leaves no half of it empty', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: LONG }), fc.double({ min: 0, max: 0.999, noNaN: true }), (longest, share) => {
      const about = Math.floor(share * longest)
      const span = spanFor(longest, undefined)
      const from = windowStart(undefined, about, { disk: longest, longest }, span)
      expect(from).toBeGreaterThanOrEqual(0)
      expect(from).toBeLessThanOrEqual(about)
      expect(about).toBeLessThan(from + span)
      expect(from === 0 || from + span <= longest).toBe(true)
    }),
  )
})

it('a window of the address stands, as far as there are bytes', () => {
  expect(windowStart('5000', 1, { disk: 100, longest: 100 }, 64)).toBe(99)
  expect(windowStart('18446744073709551615', undefined, { disk: 0, longest: 0 }, SPAN_MAX)).toBe(0)
})
