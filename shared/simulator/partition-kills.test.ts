/** Scenarios of partitions with a kill, in the simulated world: a kill loses what was not synced. */
import { describe, expect, test } from 'vitest'
import { CHECKERS_KEY } from '../scenario/evidence.ts'
import type { Scenario } from '../scenario/language.ts'
import { runScenario } from '../scenario/run.ts'
import { PARTITION_KILLS, PERSIST_KILLS, unsynced } from '../scenario/testing/partition-kills.scenario.ts'
import type { CrashLoss } from './disk.ts'
import { SimulatedRunner } from './scenario-runner.ts'
import { breathe, hash } from './testing/worlds.ts'

async function expectPass(scenario: Scenario, killKind: CrashLoss): Promise<void> {
  const runner = new SimulatedRunner(scenario.cluster, { seed: 1n, hash, breathe, killKind })
  const result = await runScenario(scenario, runner, { hash })
  // The world's checkers hold for the life of one log; these stories end logs on purpose, and say themselves what stays.
  const own = result.findings.filter(({ key }) => key !== CHECKERS_KEY)
  expect(own.filter(finding => finding.verdict !== 'pass')).toEqual([])
  expect(own.length).toBeGreaterThan(3)
}

test.each(PARTITION_KILLS.map(scenario => [scenario.id, scenario.title, scenario] as const))(
  '%s %s',
  async (_id, _title, scenario) => expectPass(scenario, 'drop'),
)

/** What the kernel wrote back by itself: any of the two files, in any order, or neither. */
const ONLY = (kept: string) => (path: string) =>
  path.endsWith(kept) ? 'keep' : path.startsWith('streams/') ? 'drop' : 'process'

describe.each([
  ['the index is on the disk and the log is not', ONLY('.index')],
  ['the log is on the disk and the index is not', ONLY('.log')],
  ['both are on the disk', 'keep'],
] as const)('PL-33 %s', (_name, loss) => {
  test.each(PERSIST_KILLS.map(scenario => [scenario.id, scenario.title, scenario] as const))(
    '%s %s',
    async (_id, _title, scenario) => expectPass(scenario, loss),
  )

  test('PL-33 a topic that never syncs boots, serves a prefix, and goes on above what it gave out', async () => {
    await expectPass(unsynced, loss)
  })
})
