import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RangeSet } from './range-set.ts'

it('behaves as a set of integers and keeps its ranges apart', () => {
  const step = fc.record({ add: fc.boolean(), value: fc.nat({ max: 30 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const ranges = new RangeSet(1000)
      const model = new Set<number>()
      for (const { add, value } of steps) {
        if (add) {
          expect(ranges.add(value)).toBe(0)
          model.add(value)
        } else expect(ranges.delete(value)).toBe(model.delete(value))
        expect(ranges.size).toBe(model.size)
        for (let probe = 0; probe <= 31; probe++) expect(ranges.has(probe)).toBe(model.has(probe))
        ranges.ranges.forEach(([from, to], index) => {
          expect(from).toBeLessThan(to)
          const next = ranges.ranges[index + 1]
          if (next) expect(to).toBeLessThan(next[0])
        })
      }
    }),
  )
})

it('forgets the lowest range past its bound and says how many numbers went with it', () => {
  const ranges = new RangeSet(2)
  for (const value of [1, 2, 3, 10]) ranges.add(value)
  expect(ranges.add(20)).toBe(3)
  expect(ranges.size).toBe(2)
  expect(ranges.has(2)).toBe(false)
  expect(ranges.has(10) && ranges.has(20)).toBe(true)
})
