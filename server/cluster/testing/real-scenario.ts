/** One scenario of the language on real processes, whose disks lose with SIGKILL what was not synced. */
import { expect } from 'vitest'
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { Scenario } from '../../../shared/scenario/language.ts'
import { runScenario } from '../../../shared/scenario/run.ts'
import type { LaunchEntry } from '../launcher.ts'
import { RealRunner } from '../scenario-runner.ts'

export async function expectPass(scenario: Scenario, hash: Hash, entry: LaunchEntry): Promise<void> {
  const runner = await RealRunner.open(scenario.cluster, { hash, entry, volatileDisk: true })
  try {
    const result = await runScenario(scenario, runner, { hash })
    expect(result.findings.filter(({ verdict }) => verdict !== 'pass')).toEqual([])
    expect(result).toMatchObject({ world: 'real', verdict: 'pass' })
  } finally {
    await runner.close()
  }
}
