/** Checkers bite: each rule that is turned off is found by its checker, on a seed that is whole with the rule on. */
import { describe, expect, test } from 'vitest'
import { DRILLS } from '../drills/library.ts'
import { RULE_CODES, RULE_NAMES, ruleOf } from '../protocol/rules.ts'
import { RULE_HUNTS, type RuleRecord, replay } from './rules.ts'
import recorded from './testdata/rules.json' with { type: 'json' }
import { breathe, hash } from './testing/worlds.ts'

const ports = { hash, breathe }

describe.each(recorded as RuleRecord[])('$rule, seed $seed of $profile', record => {
  test(`turned off, is found by ${record.checker}`, async () => {
    const { violations } = await replay(record, 'off', ports)
    expect(violations[0]?.checker).toBe(record.checker)
    expect(RULE_HUNTS[ruleOf(record.rule)!]?.checkers).toContain(record.checker)
  }, 120_000)

  test('turned on, nobody objects', async () => {
    expect((await replay(record, 'on', ports)).violations).toEqual([])
  }, 120_000)
})

test('every rule that is hunted has a find on record, and no other', () => {
  const hunted = RULE_NAMES.filter(name => RULE_HUNTS[name] !== undefined).map(name => RULE_CODES[name])
  expect(recorded.map(({ rule }) => rule)).toEqual(hunted)
})

test('every rule of consensus and partitions is hunted, and a drill breaks every rule of a lesson', () => {
  const broken = new Set(DRILLS.map(({ broken: { rule } }) => rule))
  for (const name of RULE_NAMES)
    if (RULE_CODES[name].startsWith('L')) expect(broken, name).toContain(name)
    else expect(RULE_HUNTS, name).toHaveProperty(name)
})
