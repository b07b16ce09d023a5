import { expect, it } from 'vitest'
import { quorumsOf } from './quorums.ts'

it("CN-04 quorums intersect for every size, and the table is the specification's", () => {
  for (let n = 1; n <= 32; n++) {
    const { replication, viewChange, nack, faults } = quorumsOf(n)
    expect(replication + viewChange, `n=${n}`).toBeGreaterThan(n)
    expect(nack + replication, `n=${n}`).toBeGreaterThan(n)
    expect(Math.max(replication, viewChange, nack), `n=${n}`).toBeLessThanOrEqual(n)
    expect(faults).toBe(Math.floor((n - 1) / 2))
  }
  const table = [1, 2, 3, 4, 5, 6, 7, 8].map(n => {
    const { replication, viewChange, nack } = quorumsOf(n)
    return [replication, viewChange, nack].join('/')
  })
  expect(table).toEqual(['1/1/1', '2/2/1', '2/2/2', '2/3/3', '3/3/3', '3/4/4', '3/5/5', '3/6/6'])
  expect(() => quorumsOf(0)).toThrow(RangeError)
  expect(() => quorumsOf(33)).toThrow(RangeError)
})
