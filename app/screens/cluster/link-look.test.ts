import { expect, it } from 'vitest'
import { linkLook } from './link-look.ts'

it('calls a link dead only when an end says so and none contradicts it', () => {
  const word = (one: boolean | undefined, other: boolean | undefined) => linkLook(one, other)?.word
  expect(word(true, true)).toBeUndefined()
  expect([word(false, false), word(false, undefined), word(undefined, false)]).toEqual(Array(3).fill('no link'))
  expect([word(true, undefined), word(undefined, true)]).toEqual(Array(2).fill('one end says so'))
  expect([word(true, false), word(false, true)]).toEqual(Array(2).fill('ends differ'))
  expect(word(undefined, undefined)).toBe('not reported')
  expect(linkLook(undefined, undefined)!.colour).toBe('none')
})
