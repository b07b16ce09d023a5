import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Slab } from './slab.ts'

test('the next key is the smallest unoccupied one, whatever the history', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constant('insert' as const), fc.nat(12))), steps => {
      const slab = new Slab<{ key: number }>()
      const model = new Set<number>()
      for (const step of steps) {
        if (step === 'insert') {
          let lowest = 0
          while (model.has(lowest)) lowest++
          expect(slab.nextKey()).toBe(lowest)
          expect(slab.insert(key => ({ key })).key).toBe(lowest)
          model.add(lowest)
        } else {
          expect(slab.remove(step) !== undefined).toBe(model.delete(step))
        }
        expect(slab.size).toBe(model.size)
      }
      expect([...slab].map(value => value.key)).toEqual([...model].sort((a, b) => a - b))
    }),
  )
})
