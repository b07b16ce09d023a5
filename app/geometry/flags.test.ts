import { expect, it } from 'vitest'
import { placeFlags } from './flags.ts'

it('gives every flag the first row where it is alone, and turns it round at the edge', () => {
  const placed = placeFlags(
    [
      { x: 10, width: 50 },
      { x: 20, width: 50 },
      { x: 90, width: 30 },
      { x: 95, width: 30 },
    ],
    0,
    100,
  )
  expect(placed).toEqual([
    { left: 10, row: 0 },
    { left: 20, row: 1 },
    { left: 60, row: 2 },
    { left: 65, row: 0 },
  ])
})
