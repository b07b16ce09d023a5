/** A script of the scenario language from a file, run in the simulator. */
import { readFileSync } from 'node:fs'
import { createHash } from '../../shared/bytes/hash.ts'
import type { Scenario, ScenarioResult } from '../../shared/scenario/language.ts'
import { runScenario } from '../../shared/scenario/run.ts'
import { drillWorlds } from '../drills/worlds.ts'

/** @returns exit status: 0 when every seed passed, 1 when one did not, 2 when the file is no script */
export async function runScripts(file: string, seeds: readonly (string | undefined)[], json: boolean): Promise<number> {
  let script: Scenario
  try {
    script = scriptOf(readFileSync(file, 'utf8'))
  } catch (error) {
    process.stderr.write(`${file}: ${(error as Error).message}\n`)
    return 2
  }
  const hash = await createHash()
  const open = drillWorlds(hash)
  const runs: (ScenarioResult & { readonly seed: string })[] = []
  for (const seed of seeds.map(each => each ?? '1')) {
    const { runner, close } = await open('sim', { scenario: script, seed, volatileDisk: false })
    try {
      const result = await runScenario(script, runner, { hash })
      runs.push({ ...result, seed })
      if (!json) process.stdout.write(textOf(script, result, seed))
    } finally {
      await close()
    }
  }
  const ok = runs.every(({ verdict }) => verdict === 'pass')
  if (json) process.stdout.write(`${JSON.stringify({ ok, runs })}\n`)
  return ok ? 0 : 1
}

function textOf({ id, title }: Scenario, { verdict, findings }: ScenarioResult, seed: string): string {
  const lines = findings.map(({ step, verdict: is, seen, atMs }) => `     ${is} at ${atMs} ms: ${step}: ${seen}\n`)
  return `${id}  ${title}: ${verdict}, seed ${seed}\n${lines.join('')}`
}

/** The interpreter judges what a step says; here only the frame is looked at. @throws Error in words */
function scriptOf(text: string): Scenario {
  const script = JSON.parse(text) as Partial<Scenario> | null
  const whole =
    typeof script?.id === 'string' &&
    typeof script.title === 'string' &&
    Number.isInteger(script.cluster?.nodes) &&
    Array.isArray(script.steps) &&
    Array.isArray(script.verdict)
  if (!whole) throw new Error('not a script: it needs id, title, cluster.nodes, steps and verdict')
  return script as Scenario
}
