/**
 * Runs a drill in a world that somebody else provides. The verdict is the scenario's, computed from evidence; of a drill
 * with its rule broken it is asked besides whether the checker that was named has noticed.
 */
import type { Hash } from '../bytes/hash.ts'
import type { RuleName } from '../protocol/rules.ts'
import { CHECKERS_KEY, type EvidenceItem, verdictOf } from '../scenario/evidence.ts'
import type { Action, Finding, Scenario, Verdict } from '../scenario/language.ts'
import { runScenario } from '../scenario/run.ts'
import type { Runner } from '../scenario/runner.ts'
import type { SurgeryRecord } from '../scenario/surgeon.ts'
import type { Drill, World } from './contract.ts'
import { Recorder, type Recording } from './recording.ts'

export interface DrillChoice {
  readonly world: World
  /** With the drill's rule switched off. In the simulator only. */
  readonly broken?: boolean
  /** Of the simulated world; default: the drill's own. */
  readonly seed?: string
}

/** How a world for one run is to be. */
export interface WorldOrder {
  readonly scenario: Scenario
  readonly seed: string
  readonly volatileDisk: boolean
  readonly ruleOff?: RuleName
}

export interface OpenWorld {
  readonly runner: Runner
  /** Ends all that belongs to it: processes, files. */
  close(): Promise<void>
}

export type OpenWorlds = (world: World, order: WorldOrder) => Promise<OpenWorld>

export interface DrillRun {
  readonly id: string
  readonly world: World
  readonly broken: boolean
  readonly seed: string
  readonly verdict: Verdict
  /** Whether it went as it must: a drill passes, and with its rule broken the named checker objects. */
  readonly asExpected: boolean
  readonly findings: readonly Finding[]
  readonly evidence: readonly EvidenceItem[]
  /** Of the world's own time. */
  readonly tookMs: number
  readonly recording: Recording
  readonly surgery: readonly SurgeryRecord[]
}

export interface DrillOptions {
  readonly hash: Hash
  readonly onFinding?: (finding: Finding) => void
  readonly beforeStep?: (key: string, step: Action) => Promise<void> | void
  readonly cancelled?: () => boolean
}

const SEED = '1'

/** The scenario that this choice runs. */
export function scenarioOf(drill: Drill, { world, broken = false }: DrillChoice): Scenario {
  if (broken) return drill.broken.scenario ?? drill.scenario
  return (world === 'real' ? drill.realScenario : undefined) ?? drill.scenario
}

/** @throws RangeError when the drill does not run in that world */
export async function runDrill(
  drill: Drill,
  choice: DrillChoice,
  open: OpenWorlds,
  options: DrillOptions,
): Promise<DrillRun> {
  const { world, broken = false } = choice
  if (!drill.worlds.includes(world) || (broken && world !== 'sim'))
    throw new RangeError(`${drill.id}${broken ? ' with its rule broken' : ''} does not run in the ${world} world`)
  const seed = choice.seed ?? (broken ? drill.broken.seed : undefined) ?? SEED
  const scenario = scenarioOf(drill, choice)
  const opened = await open(world, {
    scenario,
    seed,
    volatileDisk: drill.volatileDisk ?? false,
    ...(broken && { ruleOff: drill.broken.rule }),
  })
  try {
    const recorder = new Recorder(opened.runner)
    const result = await runScenario(scenario, opened.runner, {
      ...options,
      beforeStep: async (key, step) => {
        await options.beforeStep?.(key, step)
        // Requests are many, and what they leave is seen behind the last one.
        if (step.do !== 'request') await recorder.survey()
        recorder.step(key)
      },
      onLook: () => recorder.look(),
      onAnswer: (call, outcome) => recorder.answer(call, outcome),
      onFinding: finding => {
        recorder.finding(finding.key)
        options.onFinding?.(finding)
      },
    })
    recorder.look()
    await recorder.survey()
    const tookMs = Math.round(opened.runner.nowMs())
    const { verdict, findings, evidence } = result
    return {
      id: drill.id,
      world,
      broken,
      seed,
      ...judgedRun(drill, { world, broken }, evidence),
      verdict,
      findings,
      evidence,
      tookMs,
      recording: recorder.recording(),
      surgery: result.surgery,
    }
  } finally {
    await opened.close()
  }
}

/** Computes again what a run came to, from its evidence alone. */
export function judgedRun(
  drill: Drill,
  choice: DrillChoice,
  evidence: readonly EvidenceItem[],
): Pick<DrillRun, 'verdict' | 'findings' | 'asExpected'> {
  const { verdict, findings } = verdictOf(scenarioOf(drill, choice), evidence, choice.world === 'sim')
  const asExpected = choice.broken ? verdict === 'fail' && noticed(drill, evidence) : verdict === 'pass'
  return { verdict, findings, asExpected }
}

function noticed({ broken }: Drill, evidence: readonly EvidenceItem[]): boolean {
  const found = evidence.find(({ key }) => key === CHECKERS_KEY)?.found
  return found?.is === 'checkers' && found.violations.some(({ checker }) => checker === broken.noticedBy)
}
