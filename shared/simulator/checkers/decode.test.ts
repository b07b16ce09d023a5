import { expect, it } from 'vitest'
import { createHash } from '../../bytes/hash.ts'
import { concat, makeChain } from '../../storage/testing/prepares.ts'
import { decodeLog } from './decode.ts'

const hash = await createHash()

it('an entry whose seal a torn write lost is no entry: what is written over it later is read', () => {
  const [first, second, third] = makeChain(hash, 1, 3).map(({ frame }) => frame) as [Uint8Array, Uint8Array, Uint8Array]
  const torn = second.slice()
  torn.fill(0, 0, 9)
  const before = concat([first, torn])
  const { entries, end } = decodeLog(hash, before, before.length)
  expect(entries.map(({ op }) => op)).toEqual([1n])
  expect(end).toBe(first.length)
  const after = concat([first, second, third])
  expect(decodeLog(hash, after, after.length, end).entries.map(({ op }) => op)).toEqual([2n, 3n])
})
