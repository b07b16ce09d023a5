/** What the console says of the runs of drills: the state of each, its steps, and what was asked and found. */
import type { Hash } from '../../shared/bytes/hash.ts'
import type { Drill, World } from '../../shared/drills/contract.ts'
import type { DrillRun, OpenWorlds } from '../../shared/drills/run.ts'
import { askedText, type StepLine } from '../../shared/drills/words.ts'
import type { DrillFinding, DrillRunAnswer, DrillRunSummary } from '../../shared/inspection/drills.ts'
import type { requirements } from '../../shared/scenario/evidence.ts'
import type { Finding } from '../../shared/scenario/language.ts'
import type { Runner } from '../../shared/scenario/runner.ts'
import type { HandRun } from './hand-run.ts'

export interface DrillOrder {
  readonly drill: string
  readonly world: World
  readonly broken: boolean
  readonly seed: string | undefined
  readonly stepwise: boolean
  readonly predicted: readonly number[]
  /** In the simulator: this many seeds, one after the other. */
  readonly seeds?: number | undefined
  /** By hand: the cluster is started, and waits for acts. */
  readonly free?: boolean
  /** Ends when nobody watches it. */
  readonly watched?: boolean
}

/** What a run needs of the console. */
export interface Means {
  readonly hash: Hash
  readonly open: OpenWorlds
}

export type RedSeed = NonNullable<DrillRunSummary['sweep']>['red'][number]

export interface Run {
  readonly id: number
  readonly drill: Drill
  readonly order: DrillOrder
  readonly startedWallUs: string
  readonly lines: StepLine[]
  readonly requirements: ReturnType<typeof requirements>
  /** When each line was begun, of the world's time. */
  readonly begunMs: number[]
  /** Of a run by hand, and what it does now. */
  hand?: HandRun
  acting?: Promise<void>
  readonly findings: Finding[]
  seed: string
  state: DrillRunAnswer['state']
  runner?: Runner
  endedMs?: number
  /** Of many seeds: the first that went wrong, else the last. */
  result?: DrillRun
  error?: string
  /** Why it ended before its end, when nobody asked for that. */
  why?: string
  sweep?: { readonly total: number; done: number; readonly red: RedSeed[] }
  /** Lets a waiting run take its next step. */
  go?: () => void
  ended: Promise<void>
}

export const isCancelled = ({ state }: Run): boolean => state === 'cancelling'

export const isActive = ({ state }: Run): boolean =>
  state === 'running' || state === 'waiting' || state === 'cancelling'

export const nowOf = (run: Run): number => Math.round(run.endedMs ?? run.runner?.nowMs() ?? run.begunMs.at(-1) ?? 0)

export const headOf = ({ id, title, teaches, lesson, worlds, broken }: Drill) => ({
  id,
  title,
  teaches,
  lesson,
  worlds: [...worlds],
  rule: broken.rule,
})

export function summaryOf(run: Run): DrillRunSummary {
  const result = run.state === 'done' ? run.result : undefined
  return {
    run: run.id,
    drill: run.drill.id,
    world: run.order.world,
    broken: run.order.broken,
    free: run.order.free ?? false,
    seed: run.seed,
    state: run.state,
    verdict: result?.verdict ?? (run.state === 'failed' ? 'unknown' : null),
    asExpected: result ? (run.sweep?.red.length ?? 0) === 0 && result.asExpected : null,
    tookMs: nowOf(run),
    sweep: run.sweep ? { ...run.sweep, red: [...run.sweep.red] } : null,
  }
}

export function answerOf(run: Run): DrillRunAnswer {
  const findings = findingsOf(run)
  return {
    ...summaryOf(run),
    stepwise: run.order.stepwise,
    nodes: run.hand?.nodes.map(each => ({ ...each, files: [...each.files] })) ?? [],
    surgery: [...(run.hand?.surgery ?? run.result?.surgery ?? [])],
    startedWallUs: run.startedWallUs,
    steps: stepsOf(run, findings),
    findings,
    predictions: run.drill.predictions.map(({ text, rightIf }, index) => {
      const about = findings.filter(({ what, verdict }) => what === rightIf.finding && verdict !== 'unknown')
      const judged = run.state === 'done' && about.length > 0
      return {
        text,
        chosen: run.order.predicted.includes(index),
        cameTrue: judged ? about.every(({ verdict }) => verdict === 'pass') === rightIf.passes : null,
      }
    }),
    error: run.error ?? run.why ?? null,
  }
}

function findingsOf(run: Run): DrillFinding[] {
  const asked = new Map(run.requirements.map(item => [item.key, item.asked]))
  const found = new Map(run.result?.evidence.map(item => [item.key, item.found]))
  const findings = run.state === 'done' && run.result ? run.result.findings : run.findings
  return findings.map(({ key, step: what, verdict, seen, atMs }) => {
    const wanted = asked.get(key)
    const evidence = found.get(key)
    return {
      key,
      what,
      verdict,
      seen,
      atMs: Math.round(atMs),
      step: lineOf(run, key),
      asked: wanted ? { text: askedText(wanted), exact: JSON.stringify(wanted, null, 1) } : null,
      found: evidence ? JSON.stringify(evidence, null, 1) : null,
    }
  })
}

function lineOf(run: Run, key: string): number | null {
  if (!/^\d/.test(key)) return null
  const step = Number.parseInt(key, 10)
  const line = run.lines.findIndex(({ first, count }) => step >= first && step < first + count)
  return line < 0 ? null : line
}

function stepsOf(run: Run, findings: readonly DrillFinding[]): DrillRunAnswer['steps'] {
  const active = isActive(run)
  const now = run.begunMs.length - 1
  return run.lines.map(({ text, count }, index) => {
    const stopped = findings.some(({ step, verdict }) => step === index && verdict !== 'pass')
    const begun = run.begunMs[index]
    const until = run.begunMs[index + 1] ?? nowOf(run)
    const state = stopped
      ? 'stopped'
      : begun === undefined
        ? !active
          ? 'not_reached'
          : run.state === 'waiting' && index === now + 1
            ? 'waiting'
            : 'ahead'
        : active && index === now && run.state !== 'waiting'
          ? 'now'
          : 'done'
    return { text, count, state, tookMs: begun === undefined ? null : until - begun }
  })
}
