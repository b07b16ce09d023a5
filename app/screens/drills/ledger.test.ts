import { expect, it } from 'vitest'
import { ledgersAt } from './ledger.ts'

const told = [
  { at: 1, told: 'acked', partition: 's/t/0', offsets: ['0', '1'] },
  { at: 2, told: 'acked', partition: 's/t/1', offsets: ['0'] },
  { at: 3, told: 'read', partition: 's/t/0', offsets: ['0', '7'] },
  { at: 4, told: 'acked', partition: 's/t/0', offsets: ['9007199254740993'] },
  { at: 6, told: 'purged', partition: 's/t', offsets: [] },
  { at: 7, told: 'acked', partition: 's/t/0', offsets: ['0'] },
] as const
const mutable = told.map(each => ({ ...each, offsets: [...each.offsets] }))
const at = (moment: number) =>
  ledgersAt(mutable, moment).map(({ partition, acked }) => [
    partition,
    ...acked.map(({ offset, readBack }) => `${offset}${readBack ? ' read' : ''}`),
  ])

it('keeps what was confirmed by partition, to the last digit, and whether it was read since', () => {
  expect(at(0)).toEqual([])
  expect(at(2)).toEqual([
    ['s/t/0', '0', '1'],
    ['s/t/1', '0'],
  ])
  expect(at(4)).toEqual([
    ['s/t/0', '0 read', '1', '9007199254740993'],
    ['s/t/1', '0'],
  ])
})

it('begins anew with a purge: what has an old number is another message', () => {
  expect(at(6)).toEqual([])
  expect(at(7)).toEqual([['s/t/0', '0']])
})
