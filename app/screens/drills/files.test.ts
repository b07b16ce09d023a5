import { expect, it } from 'vitest'
import { filesAt } from './files.ts'

const changes = [
  { at: 2, node: 0, path: 'b.log', bytes: 100 },
  { at: 2, node: 1, path: 'b.log', bytes: 7 },
  { at: 2, node: 0, path: 'a.index', bytes: 48 },
  { at: 5, node: 0, path: 'b.log', bytes: 60 },
  { at: 9, node: 0, path: 'a.index', bytes: null },
  { at: 12, node: 0, path: 'c.log', bytes: 0 },
]

it('says of each file how long it is by now, how long it was, and what the last look has brought', () => {
  expect(filesAt(changes, 0, 1)).toEqual([])
  expect(filesAt(changes, 0, 4)).toEqual([
    { path: 'a.index', bytes: 48, longest: 48, change: 'new' },
    { path: 'b.log', bytes: 100, longest: 100, change: 'new' },
  ])
  expect(filesAt(changes, 0, 5)).toEqual([
    { path: 'a.index', bytes: 48, longest: 48 },
    { path: 'b.log', bytes: 60, longest: 100, change: -40 },
  ])
  expect(filesAt(changes, 1, 20)).toEqual([{ path: 'b.log', bytes: 7, longest: 7, change: 'new' }])
})

it('a file that is gone is shown once, and then no more', () => {
  expect(filesAt(changes, 0, 9)).toEqual([
    { path: 'a.index', bytes: null, longest: 48, change: 'gone' },
    { path: 'b.log', bytes: 60, longest: 100 },
  ])
  expect(filesAt(changes, 0, 12)).toEqual([
    { path: 'b.log', bytes: 60, longest: 100 },
    { path: 'c.log', bytes: 0, longest: 0, change: 'new' },
  ])
})
