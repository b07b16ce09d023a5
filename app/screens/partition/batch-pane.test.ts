import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fieldsIn, pageOf } from './batch-pane.tsx'

it('pages of a long batch tile it, and every field lies on the pages that hold its bytes', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 }), sizes => {
      let at = 0
      const fields = sizes.map((size, index) => {
        const field = { id: `f${index}`, name: 'f', at, size, value: '', reserved: false }
        at += size
        return field
      })
      const seen = new Map<string, number>()
      let reached = 0
      while (reached < at) {
        const page = pageOf(String(reached), at, 16)
        expect(page.first).toBe(reached)
        const inside = fieldsIn(fields, page.first, page.size)
        expect(inside.reduce((sum, { size }) => sum + size, 0)).toBe(page.size)
        for (const { id, size } of inside) seen.set(id, (seen.get(id) ?? 0) + size)
        reached += page.size
      }
      expect(fields.map(({ id, size }) => [id, size])).toEqual([...seen])
    }),
  )
})

it('an address that names no page of the batch shows the nearest one', () => {
  expect(pageOf('99999999999999999999', 100, 16)).toEqual({ first: 96, size: 4 })
  expect(pageOf('17', 100, 16)).toEqual({ first: 16, size: 16 })
  expect(pageOf(undefined, 0, 16)).toEqual({ first: 0, size: 0 })
})
