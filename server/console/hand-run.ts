/** A drill's cluster in the hands of a person: acts one at a time, and what they left. */
import type { Hash } from '../../shared/bytes/hash.ts'
import { actionOf, BadAct, type FreeAct, freeStart, placeOfAct } from '../../shared/drills/free.ts'
import { Recorder, type Recording } from '../../shared/drills/recording.ts'
import { scenarioOf } from '../../shared/drills/run.ts'
import { actionText } from '../../shared/drills/words.ts'
import { BadAddress } from '../../shared/scenario/address.ts'
import type { EvidenceItem } from '../../shared/scenario/evidence.ts'
import type { Action, Finding } from '../../shared/scenario/language.ts'
import { ScenarioRun } from '../../shared/scenario/run.ts'
import { CannotAct, type Runner } from '../../shared/scenario/runner.ts'
import type { Located, SurgeryRecord } from '../../shared/scenario/surgeon.ts'
import { isCancelled, type Means, type Run } from './drill-answers.ts'
import { ConsoleError } from './errors.ts'

export interface HandOptions {
  readonly hash: Hash
  readonly onFinding: (finding: Finding) => void
  readonly cancelled: () => boolean
}

interface NodeNow {
  readonly node: number
  readonly state: ReturnType<Runner['process']>['state']
  readonly files: readonly { readonly path: string; readonly bytes: number }[]
}

export class HandRun {
  readonly #runner: Runner
  readonly #recorder: Recorder
  readonly #run: ScenarioRun
  readonly #onFinding: (finding: Finding) => void
  /** All that was done. */
  readonly steps: Action[] = []
  nodes: readonly NodeNow[] = []

  constructor(runner: Runner, { hash, onFinding, cancelled }: HandOptions) {
    const recorder = new Recorder(runner)
    this.#runner = runner
    this.#recorder = recorder
    this.#onFinding = onFinding
    this.#run = new ScenarioRun(runner, {
      hash,
      cancelled,
      beforeStep: key => recorder.step(key),
      onLook: () => recorder.look(),
      onAnswer: (call, outcome) => recorder.answer(call, outcome),
      onFinding: finding => {
        recorder.finding(finding.key)
        onFinding(finding)
      },
    })
  }

  get surgery(): readonly SurgeryRecord[] {
    return this.#run.surgeon.records
  }

  /** Starts the cluster. */
  async begin(): Promise<void> {
    this.steps.push(...freeStart())
    await this.#take(() => this.#run.steps([...this.steps], ''))
  }

  /** @throws ConsoleError CON_BAD_REQUEST when it cannot be understood */
  actionOf(act: FreeAct): Action {
    return understood(() => actionOf(act))
  }

  /** Takes one act; what could not be done is a finding. */
  async act(action: Action): Promise<void> {
    const key = String(this.steps.push(action) - 1)
    await this.#take(() => this.#run.act(key, action))
    const found = this.#run.evidence.findLast(item => item.key === key)
    if (found?.found.is === 'cannot')
      this.#onFinding({ key, step: actionText(action), verdict: 'unknown', seen: found.found.why, atMs: found.atMs })
  }

  /** Where an edit would be made. @throws ConsoleError CON_BAD_REQUEST */
  async locate(act: Extract<FreeAct, { act: 'edit' }>): Promise<Located> {
    const { path, at } = understood(() => placeOfAct(act))
    try {
      return await this.#run.surgeon.locate(act.node, path, at)
    } catch (error) {
      if (error instanceof CannotAct) throw new ConsoleError('CON_BAD_REQUEST', `${capital(error.message)}.`)
      throw error
    }
  }

  async end(): Promise<{ evidence: readonly EvidenceItem[]; recording: Recording }> {
    await this.#run.end()
    this.#recorder.look()
    return { evidence: this.#run.evidence, recording: this.#recorder.recording() }
  }

  async #take(work: () => Promise<unknown>): Promise<void> {
    await work()
    this.#recorder.look()
    await this.#recorder.survey()
    const runner = this.#runner
    this.nodes = await Promise.all(
      Array.from({ length: runner.nodes }, async (_, node): Promise<NodeNow> => {
        const { state } = runner.process(node)
        const sizes = state === 'running' || state === 'paused' ? [] : await runner.sizes(node)
        return { node, state, files: [...sizes].map(([path, bytes]) => ({ path, bytes })) }
      }),
    )
  }
}

/** Starts the cluster, then waits for acts until it is ended. Nothing is asked, so the verdict is the checkers' alone. */
export async function runByHand(run: Run, { hash, open }: Means): Promise<void> {
  const { drill, order } = run
  const { world, broken } = order
  const seed = order.seed ?? '1'
  run.seed = seed
  try {
    const scenario = { ...scenarioOf(drill, { world, broken }), steps: freeStart(), verdict: [] }
    const rule = broken && { ruleOff: drill.broken.rule }
    const { runner, close } = await open(world, { scenario, seed, volatileDisk: false, ...rule })
    try {
      run.runner = runner
      const hand = new HandRun(runner, {
        hash,
        onFinding: finding => run.findings.push(finding),
        cancelled: () => isCancelled(run),
      })
      run.hand = hand
      run.begunMs.push(0)
      await hand.begin()
      await acts(run)
      const { evidence, recording } = await hand.end()
      const tookMs = Math.round(runner.nowMs())
      const objections = runner.checkers?.().violations ?? []
      for (const [index, { checker, message }] of objections.entries())
        run.findings.push({
          key: `checker-${index}`,
          step: `the checker ${checker} objects`,
          verdict: 'fail',
          seen: message,
          atMs: tookMs,
        })
      const verdict = objections.length > 0 ? 'fail' : 'unknown'
      const { findings } = run
      const told = { findings, evidence, recording, surgery: hand.surgery }
      run.endedMs = tookMs
      run.result = { id: drill.id, world, broken, seed, verdict, asExpected: true, tookMs, ...told }
    } finally {
      await close()
    }
    run.state = run.error === undefined ? 'done' : 'failed'
  } catch (error) {
    run.state = 'failed'
    run.error = (error as Error).message
  }
  delete run.runner
}

/** Resolves once the run is to end and its last act is over. */
async function acts(run: Run): Promise<void> {
  if (isCancelled(run)) return
  run.state = 'waiting'
  await new Promise<void>(resolve => {
    run.go = resolve
  })
  delete run.go
  await run.acting?.catch(() => {})
}

function understood<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof BadAct || error instanceof BadAddress)
      throw new ConsoleError('CON_BAD_REQUEST', `${capital(error.message)}.`)
    throw error
  }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
