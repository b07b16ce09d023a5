import { expect, it } from 'vitest'
import { changeOf, ruleOf, SLOT_STATES } from './verdicts.ts'

it('never lets a valid slot win beside a corrupt one', () => {
  for (const other of SLOT_STATES) {
    expect(ruleOf('corrupt', other).verdict).toBe('unreadable')
    expect(ruleOf(other, 'corrupt').verdict).toBe('unreadable')
  }
})

it('calls two absent slots empty, and one valid slot beside an absent one present', () => {
  expect(ruleOf('absent', 'absent')).toEqual({ verdict: 'empty', winner: 'none' })
  expect(ruleOf('valid', 'absent')).toEqual({ verdict: 'present', winner: 'A' })
  expect(ruleOf('absent', 'valid')).toEqual({ verdict: 'present', winner: 'B' })
  expect(ruleOf('valid', 'valid').verdict).toBe('present')
})

it('counts a change exactly beyond 2^53 and tells equal from different', () => {
  expect(changeOf('9007199254740993', '9007199254740992')).toBe('-1')
  expect(changeOf(6, '7')).toBe('+1')
  expect(changeOf('ab', 'ab')).toBe('equal')
  expect(changeOf('ab', 'ac')).toBe('differs')
  expect(changeOf(undefined, 1)).toBeUndefined()
})
