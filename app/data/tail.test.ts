import { describe, expect, it } from 'vitest'
import type { Fact } from '../../shared/inspection/view.ts'
import { factsSince, linesSince } from './tail.ts'

const facts = (from: number, to: number): Fact[] =>
  Array.from({ length: to - from }, (_, index) => ({ number: from + index }) as Fact)

describe('G45 a tail that a reader has scrolled into', () => {
  it('counts what came since he stopped it, and what of that is gone', () => {
    const held = { facts: facts(0, 500), factsDropped: 0 }
    expect(factsSince(held, held)).toEqual({ newer: 0, dropped: 0 })
    expect(factsSince(held, { facts: facts(7, 507), factsDropped: 7 })).toEqual({ newer: 7, dropped: 0 })
    expect(factsSince(held, { facts: facts(900, 1400), factsDropped: 900 })).toEqual({ newer: 900, dropped: 400 })
    // Traffic between two facts leaves a hole in their numbers, and is none of them.
    expect(factsSince(held, { facts: [...facts(0, 500), ...facts(900, 901)], factsDropped: 0 })).toEqual({
      newer: 1,
      dropped: 0,
    })
  })

  it('knows new lines of a log from those that it had, also where some read alike', () => {
    expect(linesSince(['a', 'b', 'c'], ['a', 'b', 'c'])).toBe(0)
    expect(linesSince(['a', 'b', 'c'], ['b', 'c', 'd'])).toBe(1)
    expect(linesSince(['a', 'b'], ['a', 'b', 'c'])).toBe(1)
    expect(linesSince(['x', 'x', 'x'], ['x', 'x', 'y'])).toBe(1)
    expect(linesSince([], ['a'])).toBe(1)
    expect(linesSince(['a', 'b'], ['y', 'z'])).toBeUndefined()
  })
})
