import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type InvalidSearch, parseSearch, readSearch, type ScreenName, searchSchemas, writeSearch } from './search.ts'

describe('parseSearch', () => {
  it('keeps a 64-bit group to the digit through the address', () => {
    const text = writeSearch({ group: '9223372036854775808', plane: 'metadata' })
    expect(parseSearch('cluster', readSearch(text))).toEqual({ group: '9223372036854775808', plane: 'metadata' })
  })

  it('drops what does not parse, says which, and keeps the rest', () => {
    const notes: InvalidSearch[] = []
    const search = parseSearch('partition', { node: '99', seg: '00', batch: '128', nonsense: 'x' }, note =>
      notes.push(note),
    )
    expect(search).toEqual({ batch: '128' })
    // Laid over the raw search, the invalid values must vanish.
    expect({ node: '99', ...search }).toMatchObject({ node: undefined })
    expect(notes.map(note => note.key)).toEqual(['node', 'seg', 'nonsense'])
  })

  it('never throws and never passes an unchecked value, whatever the address says', () => {
    const screens = Object.keys(searchSchemas) as ScreenName[]
    fc.assert(
      fc.property(fc.constantFrom(...screens), fc.dictionary(fc.string(), fc.string()), (screen, raw) => {
        const notes: InvalidSearch[] = []
        const search = parseSearch(screen, raw, note => notes.push(note))
        const kept = Object.entries(search).flatMap(([key, value]) => (value === undefined ? [] : [key]))
        expect(kept.length + notes.length).toBe(Object.keys(raw).filter(key => key !== 'theme').length)
        for (const key of kept) expect(Object.hasOwn(searchSchemas[screen], key)).toBe(true)
      }),
    )
  })

  it('does not take inherited names for parameters', () => {
    const notes: InvalidSearch[] = []
    expect(parseSearch('cluster', { constructor: 'x', toString: 'y' }, note => notes.push(note))).toEqual({})
    expect(notes.length).toBe(2)
  })
})

describe('readSearch and writeSearch', () => {
  it('are inverse for any text', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string({ unit: 'grapheme' })),
        record => {
          expect(readSearch(writeSearch(record))).toEqual(record)
        },
      ),
    )
  })
})
