import { expect, test } from 'vitest'
import { scenarioLines } from './lib/scenarios.mjs'

test('a scenario counts where a test that begins with its ID was executed and passed, once for each world', () => {
  expect(
    scenarioLines([
      { titles: ['CT-14 CT-01 a request whose primary dies'], world: 'sim', passed: true },
      { titles: ['CT-01 a request'], world: 'real', passed: true },
      { titles: ['CT-03 sessions', 'CT-02 did not pass'], world: 'real', passed: false },
      { titles: ['G52 OR-23: go on from below the earliest'], world: 'sim', passed: true },
      { titles: ['AU-01 a login', 'of an unknown user'], world: 'sim', passed: true },
      { titles: ['speaks of VC-01 further on'], world: 'sim', passed: true },
    ]),
  ).toEqual(['AU: 1 (sim 1, real 0)', 'CT: 2 (sim 2, real 1)', 'OR: 1 (sim 1, real 0)'])
})
