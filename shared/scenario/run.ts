/**
 * Runs a scenario in a world. Steps are taken in order; a step that fails ends the scenario, since what follows would judge
 * another story, and then the verdict's checks are left out. Whatever the world cannot do, or an action that its state does
 * not allow, makes the verdict `unknown` and never `fail`.
 */
import type { Hash } from '../bytes/hash.ts'
import { ClientId } from '../bytes/units.ts'
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/errors.ts'
import { ask } from './ask.ts'
import { type Asked, CHECKERS_KEY, type EvidenceItem, type Found, judged, verdictOf } from './evidence.ts'
import { judge } from './judge.ts'
import type { Action, ClientRequest, Finding, Predicate, Scenario, ScenarioResult } from './language.ts'
import { Load } from './load.ts'
import { hashes, type Knowledge, read, resolveNode, resolveNodes } from './read.ts'
import type { OutcomeReading, Reading } from './reading.ts'
import { CannotAct, type Runner } from './runner.ts'
import { Surgeon } from './surgeon.ts'

/** Budget of one request of a client without one of its own. */
const REQUEST_BUDGET_MS = 30_000

export interface RunOptions {
  readonly hash: Hash
  /** Called as each step is judged. */
  readonly onFinding?: (finding: Finding) => void
  /** Called before each step is taken, with its key and, in a repeat, that of the turn. Waits for the answer: a step-wise run. */
  readonly beforeStep?: (key: string, step: Action) => Promise<void> | void
  /** Called whenever the world has been looked at or let go on: before each step, behind each finding, and while it is waited. */
  readonly onLook?: () => void
  /** Called with each answer that a client was given. */
  readonly onAnswer?: (call: ClientRequest, outcome: OutcomeReading) => void
  /** Once true, the run ends before its next step or look; what was not done is missing from the evidence. */
  readonly cancelled?: () => boolean
}

/**
 * @returns verdict, findings and the evidence they were computed from
 * @throws nothing that the world does: what cannot be done is evidence too
 */
export async function runScenario(scenario: Scenario, runner: Runner, options: RunOptions): Promise<ScenarioResult> {
  const missing = (scenario.needs ?? []).filter(need => !runner.supports(need))
  const run = new ScenarioRun(runner, options)
  if (missing.length > 0) run.keep('needs', { is: 'cannot', why: `this world has no ${missing.join(', ')}` })
  else if (await run.steps(scenario.steps, '')) {
    for (const [index, { what, that }] of scenario.verdict.entries()) await run.check(`v${index}`, what, that)
  }
  await run.end()
  const checkers = runner.checkers?.()
  if (checkers) run.keep(CHECKERS_KEY, { is: 'checkers', ...checkers })
  const { evidence } = run
  return {
    id: scenario.id,
    world: runner.world,
    ...verdictOf(scenario, evidence, checkers !== undefined),
    evidence,
    surgery: run.surgeon.records,
  }
}

/** A run, step by step: of a whole scenario, or of what somebody does by hand. */
export class ScenarioRun {
  readonly evidence: EvidenceItem[] = []
  readonly surgeon: Surgeon
  private readonly runner: Runner
  private readonly options: RunOptions
  private readonly clients = new Map<string, Client>()
  private readonly outcomes = new Map<string, OutcomeReading>()
  private readonly loads = new Map<string, Load>()
  private readonly baselines = new Map<string, number>()
  private readonly named = new Map<string, number>()
  private readonly records = new Map<string, { node: number; under: string; files: Map<string, string> }>()
  private readonly know: Knowledge

  constructor(runner: Runner, options: RunOptions) {
    this.runner = runner
    this.options = options
    this.surgeon = new Surgeon(runner, options.hash)
    const { loads } = this
    this.know = {
      runner,
      outcomes: this.outcomes,
      get loads() {
        return new Map([...loads].map(([name, load]) => [name, load.ledger.counts]))
      },
      baselines: this.baselines,
      named: this.named,
      records: this.records,
      hashOf: bytes => options.hash.xxh3(bytes).toString(16),
    }
  }

  keep(key: string, found: Found): void {
    this.evidence.push({ key, atMs: Math.round(this.runner.nowMs()), found })
  }

  /** Keeps what was found; true: it is what was asked for. */
  private found(key: string, step: string, asked: Asked, found: Found): boolean {
    this.keep(key, found)
    const { atMs } = this.evidence.at(-1)!
    const finding = { key, step, atMs, ...judged(asked, found) }
    this.options.onLook?.()
    this.options.onFinding?.(finding)
    return finding.verdict === 'pass'
  }

  async end(): Promise<void> {
    for (const load of this.loads.values()) load.abandon()
    for (const client of this.clients.values()) client.close()
  }

  /** False when a step has ended the scenario. */
  async steps(steps: readonly Action[], prefix: string): Promise<boolean> {
    for (const [index, step] of steps.entries()) if (!(await this.act(`${prefix}${index}`, step))) return false
    return true
  }

  /** One step, whose evidence is kept under the key. False when it has not come to what was wanted of it. */
  async act(key: string, step: Action): Promise<boolean> {
    if (this.options.cancelled?.()) return false
    await this.options.beforeStep?.(key, step)
    this.options.onLook?.()
    if (this.options.cancelled?.()) return false
    try {
      return await this.take(key, step)
    } catch (error) {
      if (!(error instanceof CannotAct)) throw error
      this.keep(key, { is: 'cannot', why: error.message })
      return false
    }
  }

  async check(key: string, what: string, that: Predicate): Promise<boolean> {
    const asked = { ask: 'predicate', predicate: that } as const
    try {
      await this.runner.caughtUp?.()
      const reading = await read(that, this.know)
      return this.found(key, what, asked, { is: 'reading', reading, tookMs: 0 })
    } catch (error) {
      if (!(error instanceof CannotAct)) throw error
      return this.found(key, what, asked, { is: 'cannot', why: error.message })
    }
  }

  private async take(key: string, step: Action): Promise<boolean> {
    const { runner, know } = this
    switch (step.do) {
      case 'start':
      case 'kill':
      case 'terminate':
      case 'pause':
      case 'resume':
      case 'wipe': {
        const nodes = await resolveNodes(step.nodes, know)
        // All at once: none is asked to wait for another.
        await Promise.all(
          nodes.map(node => (step.do === 'kill' ? runner.kill(node, step.loss) : runner[step.do](node))),
        )
        return true
      }
      case 'cut':
      case 'heal':
        await runner[step.do](await resolveNode(step.from, know), await resolveNode(step.to, know), step.command)
        return true
      case 'hold': {
        const [from, to] = [await resolveNode(step.from, know), await resolveNode(step.to, know)]
        await runner.hold(step.name, from, to, step.command, step.count ?? Number.MAX_SAFE_INTEGER)
        return true
      }
      case 'release':
        await runner.release(step.name)
        return true
      case 'arm':
        await runner.arm(await resolveNode(step.node, know), step.point, step.effect, step.after ?? 0, step.times ?? 1)
        return true
      case 'disarm':
        await runner.disarm(await resolveNode(step.node, know), step.point)
        return true
      case 'measure':
        await runner.measure(await resolveNode(step.node, know), step.halves)
        return true
      case 'edit':
        for (const edit of step.edits) await this.surgeon.edit(await resolveNode(step.node, know), edit)
        return true
      case 'undo':
        await this.surgeon.undo(await resolveNode(step.node, know))
        return true
      case 'skewClock':
        await runner.skewClock(await resolveNode(step.node, know), step.byMs)
        return true
      case 'client': {
        const { followLeader, retry, identity, budgetMs = REQUEST_BUDGET_MS } = step
        const nodes = await resolveNodes(step.nodes, know)
        const client = runner.client(nodes, {
          budgetMs,
          ...(followLeader !== undefined && { followLeader }),
          ...(retry !== undefined && { retry }),
          ...(identity !== undefined && { clientId: ClientId(BigInt(identity)) }),
        })
        this.clients.get(step.client)?.close()
        this.clients.set(step.client, client)
        return true
      }
      case 'closeClient':
        this.clients.get(step.client)?.close()
        this.clients.delete(step.client)
        return true
      case 'request':
        return this.request(key, step)
      case 'startLoad': {
        const load = new Load(runner, step.load, step.spec)
        this.loads.set(step.load, load)
        load.start()
        return true
      }
      case 'stopLoad':
        return this.stopLoad(key, step.load, step.withinMs)
      case 'baseline':
        await runner.caughtUp?.()
        this.baselines.set(step.name, runner.events().length)
        return true
      case 'remember':
        this.named.set(step.name, await resolveNode(step.node, know))
        return true
      case 'recordFiles': {
        const node = await resolveNode(step.node, know)
        this.records.set(step.name, { node, under: step.under, files: await hashes(node, step.under, know) })
        return true
      }
      case 'check':
        return this.check(key, step.what, step.that)
      case 'waitFor':
        return this.waitFor(key, step.what, step.until, step.withinMs)
      case 'always':
        return this.always(key, step.what, step.that, step.forMs)
      case 'repeat':
        for (let turn = 0; turn < step.times; turn++)
          if (!(await this.steps(step.steps, `${key}.${turn}.`))) return false
        return true
    }
  }

  private async waitFor(key: string, what: string, until: Predicate, withinMs: number): Promise<boolean> {
    const asked = { ask: 'predicate', predicate: until, withinMs } as const
    const begun = this.runner.nowMs()
    let last: Found = { is: 'cannot', why: 'nothing was seen' }
    for (;;) {
      const tookMs = Math.round(this.runner.nowMs() - begun)
      if (tookMs > withinMs || this.options.cancelled?.()) return this.found(key, what, asked, last)
      try {
        const reading = await read(until, this.know)
        last = { is: 'reading', reading, tookMs }
        if (judge(until, reading).holds) return this.found(key, what, asked, last)
      } catch (error) {
        // What a predicate is about may come to be: a primary, a backup.
        if (!(error instanceof CannotAct)) throw error
        last = { is: 'cannot', why: error.message }
      }
      await this.progress()
    }
  }

  private async always(key: string, what: string, that: Predicate, forMs: number): Promise<boolean> {
    const asked = { ask: 'predicate', predicate: that, forMs } as const
    const begun = this.runner.nowMs()
    for (;;) {
      const tookMs = Math.round(this.runner.nowMs() - begun)
      if (tookMs >= forMs) await this.runner.caughtUp?.()
      const reading: Reading = await read(that, this.know)
      if (tookMs >= forMs || !judge(that, reading).holds || this.options.cancelled?.())
        return this.found(key, what, asked, { is: 'reading', reading, tookMs })
      await this.progress()
    }
  }

  private async stopLoad(key: string, name: string, withinMs: number): Promise<boolean> {
    const load = this.loads.get(name)
    if (!load) throw new CannotAct(`there is no load ${name}`)
    const ended = await this.within(load.stop(), withinMs)
    if (ended.kind === 'failed' && !(ended.error instanceof ClientError)) throw ended.error
    const how = ended.kind === 'failed' ? (ended.error as ClientError).code : ended.kind
    return this.found(key, `load ${name} ends`, { ask: 'ended', withinMs }, { is: 'ended', how })
  }

  private async request(key: string, step: Extract<Action, { do: 'request' }>): Promise<boolean> {
    const { runner } = this
    let client = this.clients.get(step.client)
    if (!client) {
      client = runner.client(await resolveNodes('all', this.know), { budgetMs: REQUEST_BUDGET_MS })
      this.clients.set(step.client, client)
    }
    const name = step.as
    const keep = (outcome: OutcomeReading) => {
      if (outcome.state !== 'pending') this.options.onAnswer?.(step.call, outcome)
      if (name !== undefined) this.outcomes.set(name, outcome)
      return outcome
    }
    keep({ state: 'pending' })
    const begun = runner.nowMs()
    const answered = (outcome: OutcomeReading) =>
      keep(outcome.state === 'ok' ? { ...outcome, tookMs: Math.round(runner.nowMs() - begun) } : outcome)
    const work = ask(client, step.call, runner.witness, this.know.hashOf).then(answered, (error: unknown) => {
      if (!(error instanceof ClientError)) throw error
      return keep({ state: 'error', error: error.code })
    })
    if (step.background) {
      work.catch(() => {})
      return true
    }
    // The client ends every call within its own budget; this is for a client that does not.
    const ended = await this.within(work, 2 * REQUEST_BUDGET_MS)
    if (ended.kind === 'failed') throw ended.error
    const answer =
      ended.kind === 'late' ? 'none' : ended.value.state === 'error' ? ended.value.error : ended.value.state
    const asked = { ask: 'answer', expect: step.expect ?? 'ok' } as const
    if (asked.expect === 'ok' && answer !== 'ok')
      runner.witness?.unanswered(`${step.call.request} by ${step.client}`, answer)
    return this.found(key, `${step.call.request} by ${step.client}`, asked, { is: 'answer', answer })
  }

  private async progress(): Promise<void> {
    await this.runner.progress()
    this.options.onLook?.()
  }

  private async within<T>(
    work: Promise<T>,
    limitMs: number,
  ): Promise<{ kind: 'done'; value: T } | { kind: 'failed'; error: unknown } | { kind: 'late' }> {
    let ended: { kind: 'done'; value: T } | { kind: 'failed'; error: unknown } | undefined
    work.then(
      value => {
        ended = { kind: 'done', value }
      },
      (error: unknown) => {
        ended = { kind: 'failed', error }
      },
    )
    const limit = this.runner.nowMs() + limitMs
    while (ended === undefined && this.runner.nowMs() < limit && !this.options.cancelled?.()) await this.progress()
    return ended ?? { kind: 'late' }
  }
}
