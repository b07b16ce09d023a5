/**
 * The drills that a console runs: one at a time, straight through or step by step, and the history of those that ended.
 * What a run comes to is computed by shared/drills/run.ts; here it is only started, held, ended and told.
 */
import type { Hash } from '../../shared/bytes/hash.ts'
import type { Drill, World } from '../../shared/drills/contract.ts'
import { type FreeAct, freeStart } from '../../shared/drills/free.ts'
import { DRILLS, drillOf } from '../../shared/drills/library.ts'
import { type Replay, replayOf } from '../../shared/drills/recording.ts'
import { type OpenWorlds, runDrill, scenarioOf } from '../../shared/drills/run.ts'
import { actionText, stepLines } from '../../shared/drills/words.ts'
import type {
  DrillDetail,
  DrillReplay,
  DrillRunAnswer,
  DrillRunSummary,
  DrillsAnswer,
} from '../../shared/inspection/drills.ts'
import { requirements } from '../../shared/scenario/evidence.ts'
import type { Located } from '../../shared/scenario/surgeon.ts'
import { answerOf, type DrillOrder, headOf, isActive, nowOf, type Run, summaryOf } from './drill-answers.ts'
import { runSweep } from './drill-sweep.ts'
import { ConsoleError } from './errors.ts'
import { runByHand } from './hand-run.ts'
import { RunWatchers } from './run-watchers.ts'
import { wallUs } from './wall.ts'

/** Runs that are kept, and evidence with them. */
const RUNS_MAX = 50

export class DrillRuns {
  readonly #hash: Hash
  readonly #open: OpenWorlds
  readonly #cleaned: string | undefined
  readonly #runs: Run[] = []
  readonly #watchers: RunWatchers<Run>
  #next = 1
  #closed = false

  /**
   * @param cleaned what an earlier console had left of a run, in words
   * @param graceMs how long nobody may watch a run that is to be watched
   */
  constructor(hash: Hash, open: OpenWorlds, cleaned?: string, graceMs?: number) {
    this.#hash = hash
    this.#open = open
    this.#cleaned = cleaned
    this.#watchers = new RunWatchers(run => {
      if (!isActive(run)) return
      run.why = 'Nobody watched it any more, so it was ended, and all that it made is gone.'
      cancelled(run)
    }, graceMs)
  }

  list(): DrillsAnswer {
    return {
      drills: DRILLS.map(drill => {
        const last = this.#runs.findLast(
          run => run.drill === drill && run.result !== undefined && run.state === 'done' && !run.hand,
        )
        return { ...headOf(drill), last: last ? summaryOf(last) : null }
      }),
      active: this.#active?.id ?? null,
      cleaned: this.#cleaned ?? null,
    }
  }

  /** @throws ConsoleError CON_NO_SUCH_THING */
  detail(id: string): DrillDetail {
    const drill = this.#drill(id)
    const steps = (world: World, broken: boolean) =>
      stepLines(scenarioOf(drill, { world, broken }).steps).map(({ text, count }) => ({ text, count }))
    return {
      ...headOf(drill),
      goal: drill.goal,
      look: drill.look,
      whySafe: drill.whySafe,
      predictions: drill.predictions.map(({ text }) => text),
      noticedBy: drill.broken.noticedBy,
      brokenStory: drill.broken.story,
      decisive: drill.decisive,
      steps: {
        sim: steps('sim', false),
        real: drill.worlds.includes('real') ? steps('real', false) : [],
        broken: steps('sim', true),
      },
    }
  }

  /** Newest first. */
  history(drill?: string): DrillRunSummary[] {
    return this.#runs
      .filter(run => drill === undefined || run.drill.id === drill)
      .map(summaryOf)
      .reverse()
  }

  /** @throws ConsoleError CON_NO_SUCH_THING */
  run(id: number): DrillRunAnswer {
    return answerOf(this.#run(id))
  }

  /** How a run that has ended went. @throws ConsoleError CON_NO_SUCH_THING */
  replay(id: number): DrillReplay {
    const run = this.#run(id)
    if (!run.result)
      throw new ConsoleError('CON_NO_SUCH_THING', `Run ${id} has not ended yet, or nothing was recorded.`)
    const { recording, findings, world, broken } = run.result
    const scenario = scenarioOf(run.drill, { world, broken })
    const replay = replayOf(
      run.hand ? { ...scenario, steps: run.hand.steps, verdict: [] } : scenario,
      recording,
      findings,
      run.drill.decisive,
    )
    const moments = replay.moments.map(moment => ({ ...moment, states: [...moment.states] }))
    return {
      run: id,
      ...replay,
      moments,
      files: [...replay.files],
      standings: standingsOf(replay),
      told: toldOf(replay),
    }
  }

  /** @throws ConsoleError CON_NO_SUCH_THING, CON_BAD_REQUEST, CON_DRILL_RUNNING, CON_STOPPING */
  start(order: DrillOrder): DrillRunAnswer {
    const drill = this.#drill(order.drill)
    if (!drill.worlds.includes(order.world) || (order.broken && order.world !== 'sim')) {
      const words = order.broken ? 'A drill with its rule off' : `Drill ${drill.id}`
      throw new ConsoleError('CON_BAD_REQUEST', `${words} runs in the simulator only.`)
    }
    const { seeds } = order
    if (order.free && (seeds !== undefined || order.stepwise))
      throw new ConsoleError('CON_BAD_REQUEST', 'A run by hand has neither steps nor seeds.')
    if (seeds !== undefined && (order.world !== 'sim' || order.stepwise))
      throw new ConsoleError('CON_BAD_REQUEST', 'Many seeds are run in the simulator, straight through.')
    if (this.#closed) throw new ConsoleError('CON_STOPPING', 'The console is stopping.')
    const active = this.#active
    if (active) throw new ConsoleError('CON_DRILL_RUNNING', `Run ${active.id} of drill ${active.drill.id} is going on.`)
    const scenario = scenarioOf(drill, { world: order.world, broken: order.broken })
    const run: Run = {
      id: this.#next++,
      drill,
      order,
      startedWallUs: wallUs(),
      lines: order.free
        ? [{ text: 'Start the cluster of the drill', first: 0, count: freeStart().length }]
        : stepLines(scenario.steps),
      requirements: order.free ? [] : requirements(scenario, order.world === 'sim'),
      begunMs: [],
      findings: [],
      seed: order.seed ?? '',
      state: 'running',
      ...(seeds !== undefined && { sweep: { total: seeds, done: 0, red: [] } }),
      ended: Promise.resolve(),
    }
    this.#runs.push(run)
    if (this.#runs.length > RUNS_MAX) this.#runs.shift()
    run.ended = this.#ended(run)
    if (order.watched) this.#watchers.expect(run)
    return answerOf(run)
  }

  /** @throws ConsoleError CON_NO_SUCH_THING, CON_DRILL_NOT_RUNNING when it does not wait */
  next(id: number): DrillRunAnswer {
    const run = this.#run(id)
    if (!run.go || run.hand)
      throw new ConsoleError('CON_DRILL_NOT_RUNNING', `Run ${id} does not wait for its next step.`)
    run.go()
    return answerOf(run)
  }

  /**
   * One act in a run by hand; answers when it has been taken.
   * @throws ConsoleError CON_NO_SUCH_THING, CON_BAD_REQUEST, CON_DRILL_NOT_RUNNING when it does not wait for one
   */
  async act(id: number, act: FreeAct): Promise<DrillRunAnswer> {
    const run = this.#run(id)
    const { hand } = run
    if (!hand || run.state !== 'waiting')
      throw new ConsoleError('CON_DRILL_NOT_RUNNING', `Run ${id} does not wait for an act.`)
    const action = hand.actionOf(act)
    run.state = 'running'
    run.lines.push({
      text: capital(actionText(action)),
      first: run.lines.at(-1)!.first + run.lines.at(-1)!.count,
      count: 1,
    })
    run.begunMs.push(nowOf(run))
    try {
      run.acting = hand.act(action)
      await run.acting
    } catch (error) {
      run.error = (error as Error).message
      cancelled(run)
    }
    if (run.state === 'running') run.state = 'waiting'
    return answerOf(run)
  }

  /** Where an edit by hand would be made. @throws ConsoleError CON_NO_SUCH_THING, CON_BAD_REQUEST, CON_DRILL_NOT_RUNNING */
  async locate(id: number, act: FreeAct): Promise<Located> {
    const { hand, state } = this.#run(id)
    if (!hand || state !== 'waiting')
      throw new ConsoleError('CON_DRILL_NOT_RUNNING', `Run ${id} does not wait for an act.`)
    if (act.act !== 'edit') throw new ConsoleError('CON_BAD_REQUEST', 'Only an edit has a place.')
    return hand.locate(act)
  }

  /** Ends it after what it does now; its processes and files go. @throws ConsoleError CON_NO_SUCH_THING, CON_DRILL_NOT_RUNNING */
  cancel(id: number): DrillRunAnswer {
    const run = this.#run(id)
    if (!isActive(run)) throw new ConsoleError('CON_DRILL_NOT_RUNNING', `Run ${id} has ended.`)
    cancelled(run)
    return answerOf(run)
  }

  /**
   * Watches a run for as long as somebody follows it; a run that is to be watched ends when nobody does.
   * @param over called once the run has ended
   * @returns to be called when the watcher has gone
   * @throws ConsoleError CON_NO_SUCH_THING
   */
  watch(id: number, over: () => void): () => void {
    const run = this.#run(id)
    void run.ended.then(over)
    return this.#watchers.add(run)
  }

  /** Ends what runs, and resolves when nothing of it is left. */
  async close(): Promise<void> {
    this.#closed = true
    const active = this.#active
    if (active) {
      cancelled(active)
      await active.ended
    }
    this.#watchers.close()
  }

  get #active(): Run | undefined {
    return this.#runs.find(isActive)
  }

  #drill(id: string): Drill {
    const drill = drillOf(id)
    if (!drill) throw new ConsoleError('CON_NO_SUCH_THING', `There is no drill ${id}.`)
    return drill
  }

  #run(id: number): Run {
    const run = this.#runs.find(one => one.id === id)
    if (!run) throw new ConsoleError('CON_NO_SUCH_THING', `There is no run ${id} in this life of the console.`)
    return run
  }

  #ended(run: Run): Promise<void> {
    const means = { hash: this.#hash, open: this.#open }
    if (run.sweep) return runSweep(run, run.sweep, means)
    return run.order.free ? runByHand(run, means) : this.#carryOut(run)
  }

  async #carryOut(run: Run): Promise<void> {
    const { drill, order } = run
    const open: OpenWorlds = async (world, worldOrder) => {
      run.seed = worldOrder.seed
      const opened = await this.#open(world, worldOrder)
      run.runner = opened.runner
      return opened
    }
    const choice = {
      world: order.world,
      broken: order.broken,
      ...(order.seed !== undefined && { seed: order.seed }),
    }
    try {
      const result = await runDrill(drill, choice, open, {
        hash: this.#hash,
        onFinding: finding => {
          if (run.state !== 'cancelling') run.findings.push(finding)
        },
        beforeStep: key => this.#beforeStep(run, key),
        cancelled: () => run.state === 'cancelling',
      })
      run.endedMs = result.tookMs
      run.result = result
      // A story that was broken off says nothing: what it did not come to was not refuted.
      run.state = run.state === 'cancelling' ? 'cancelled' : 'done'
    } catch (error) {
      const wanted = run.state === 'cancelling'
      run.state = wanted ? 'cancelled' : 'failed'
      if (!wanted) run.error = (error as Error).message
    }
    delete run.runner
  }

  async #beforeStep(run: Run, key: string): Promise<void> {
    const step = Number.parseInt(key, 10)
    const line = run.lines.findIndex(({ first, count }) => step >= first && step < first + count)
    if (line < run.begunMs.length) return
    if (run.order.stepwise) {
      run.state = 'waiting'
      await new Promise<void>(resolve => {
        run.go = resolve
      })
      delete run.go
      if (run.state === 'waiting') run.state = 'running'
    }
    run.begunMs[line] = nowOf(run)
  }
}

const standingsOf = ({ standings }: Replay): DrillReplay['standings'] =>
  standings.map(({ groups, ...change }) => ({ ...change, groups: groups && [...groups] }))

const toldOf = ({ told }: Replay): DrillReplay['told'] =>
  told.map(({ offsets, ...each }) => ({ ...each, offsets: [...offsets] }))

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function cancelled(run: Run): void {
  run.state = 'cancelling'
  run.go?.()
}
