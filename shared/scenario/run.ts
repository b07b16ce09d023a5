/**
 * Runs a scenario in a world. Steps are taken in order; a step that fails ends the scenario, since what follows would judge
 * another story, and then the verdict's checks are left out. Whatever the world cannot do, or an action that its state does
 * not allow, makes the verdict `unknown` and never `fail`.
 */
import type { Hash } from '../bytes/hash.ts'
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/errors.ts'
import type { Action, ClientRequest, Finding, Predicate, Scenario, ScenarioResult, Verdict } from './language.ts'
import { Load } from './load.ts'
import { evaluate, hashes, type Knowledge, matchPaths, type Outcome, resolveNode, resolveNodes } from './predicates.ts'
import { CannotAct, type Runner } from './runner.ts'
import { edited } from './surgery.ts'

/** Budget of one request of a client without one of its own. */
const REQUEST_BUDGET_MS = 30_000

export interface RunOptions {
  readonly hash: Hash
  /** Called as each step is judged. */
  readonly onFinding?: (finding: Finding) => void
}

export async function runScenario(scenario: Scenario, runner: Runner, options: RunOptions): Promise<ScenarioResult> {
  const missing = (scenario.needs ?? []).filter(need => !runner.supports(need))
  const run = new ScenarioRun(runner, options)
  if (missing.length > 0) run.found(`needs ${missing.join(', ')}`, 'unknown', 'this world cannot do that')
  else if (await run.steps(scenario.steps)) {
    for (const { what, that } of scenario.verdict) await run.check(what, that)
  }
  await run.end()
  const verdicts = run.findings.map(finding => finding.verdict)
  const verdict: Verdict = verdicts.includes('fail') ? 'fail' : verdicts.includes('unknown') ? 'unknown' : 'pass'
  return { id: scenario.id, world: runner.world, verdict, findings: run.findings }
}

class ScenarioRun {
  readonly findings: Finding[] = []
  private readonly runner: Runner
  private readonly options: RunOptions
  private readonly clients = new Map<string, Client>()
  private readonly outcomes = new Map<string, Outcome>()
  private readonly loads = new Map<string, Load>()
  private readonly baselines = new Map<string, number>()
  private readonly named = new Map<string, number>()
  private readonly records = new Map<string, { node: number; under: string; files: Map<string, string> }>()
  private readonly know: Knowledge

  constructor(runner: Runner, options: RunOptions) {
    this.runner = runner
    this.options = options
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

  found(step: string, verdict: Verdict, seen: string): boolean {
    const finding = { step, verdict, seen, atMs: Math.round(this.runner.nowMs()) }
    this.findings.push(finding)
    this.options.onFinding?.(finding)
    return verdict === 'pass'
  }

  async end(): Promise<void> {
    for (const client of this.clients.values()) client.close()
  }

  /** False when a step has ended the scenario. */
  async steps(steps: readonly Action[]): Promise<boolean> {
    for (const step of steps) {
      try {
        if (!(await this.take(step))) return false
      } catch (error) {
        if (!(error instanceof CannotAct)) throw error
        this.found(step.do, 'unknown', error.message)
        return false
      }
    }
    return true
  }

  async check(what: string, that: Predicate): Promise<boolean> {
    try {
      const { holds, seen } = await evaluate(that, this.know)
      return this.found(what, holds ? 'pass' : 'fail', seen)
    } catch (error) {
      if (!(error instanceof CannotAct)) throw error
      return this.found(what, 'unknown', error.message)
    }
  }

  private async take(step: Action): Promise<boolean> {
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
        await Promise.all(nodes.map(node => runner[step.do](node)))
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
      case 'edit':
        await this.edit(await resolveNode(step.node, know), step)
        return true
      case 'skewClock':
        await runner.skewClock(await resolveNode(step.node, know), step.byMs)
        return true
      case 'client': {
        const { followLeader, retry, budgetMs = REQUEST_BUDGET_MS } = step
        const nodes = await resolveNodes(step.nodes, know)
        const client = runner.client(nodes, {
          budgetMs,
          ...(followLeader !== undefined && { followLeader }),
          ...(retry !== undefined && { retry }),
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
        return this.request(step)
      case 'startLoad': {
        const load = new Load(runner, step.load, step.spec)
        this.loads.set(step.load, load)
        load.start()
        return true
      }
      case 'stopLoad':
        return this.stopLoad(step.load, step.withinMs)
      case 'baseline':
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
        return this.check(step.what, step.that)
      case 'waitFor':
        return this.waitFor(step.what, step.until, step.withinMs)
      case 'always':
        return this.always(step.what, step.that, step.forMs)
      case 'repeat':
        for (let turn = 0; turn < step.times; turn++) if (!(await this.steps(step.steps))) return false
        return true
    }
  }

  private async waitFor(what: string, until: Predicate, withinMs: number): Promise<boolean> {
    const limit = this.runner.nowMs() + withinMs
    for (let last = 'nothing'; ; ) {
      try {
        const { holds, seen } = await evaluate(until, this.know)
        if (holds) return this.found(what, 'pass', seen)
        last = seen
      } catch (error) {
        // What a predicate is about may come to be: a primary, a backup.
        if (!(error instanceof CannotAct)) throw error
        last = error.message
      }
      if (this.runner.nowMs() >= limit) return this.found(what, 'fail', `not within ${withinMs} ms; last seen: ${last}`)
      await this.runner.progress()
    }
  }

  private async always(what: string, that: Predicate, forMs: number): Promise<boolean> {
    const limit = this.runner.nowMs() + forMs
    for (;;) {
      const { holds, seen } = await evaluate(that, this.know)
      if (!holds) return this.found(what, 'fail', seen)
      if (this.runner.nowMs() >= limit) return this.found(what, 'pass', `held for ${forMs} ms`)
      await this.runner.progress()
    }
  }

  private async edit(node: number, step: Extract<Action, { do: 'edit' }>): Promise<void> {
    const { runner, options } = this
    const { state } = runner.process(node)
    if (state === 'running' || state === 'paused')
      throw new CannotAct(`node ${node} has a process; its files are its own`)
    for (const edit of step.edits) {
      const path = matchPaths(edit.path, await runner.files(node)).at(-1)
      if (path === undefined) throw new CannotAct(`node ${node} has no file ${edit.path}`)
      const bytes = await runner.readFile(node, path)
      if (!bytes) throw new CannotAct(`node ${node} has no file ${path}`)
      await runner.writeFile(node, edit.edit === 'copy' ? edit.to : path, edited(bytes, edit, options.hash))
    }
  }

  private async stopLoad(name: string, withinMs: number): Promise<boolean> {
    const load = this.loads.get(name)
    if (!load) throw new CannotAct(`there is no load ${name}`)
    const ended = await this.within(load.stop(), withinMs)
    if (ended.kind === 'late') return this.found(`load ${name} ends`, 'fail', `not read back within ${withinMs} ms`)
    if (ended.kind === 'failed') {
      if (!(ended.error instanceof ClientError)) throw ended.error
      return this.found(`load ${name} ends`, 'fail', `reading back failed: ${ended.error.code}`)
    }
    return true
  }

  private async request(step: Extract<Action, { do: 'request' }>): Promise<boolean> {
    const { runner } = this
    let client = this.clients.get(step.client)
    if (!client) {
      client = runner.client(await resolveNodes('all', this.know), { budgetMs: REQUEST_BUDGET_MS })
      this.clients.set(step.client, client)
    }
    const name = step.as
    const keep = (outcome: Outcome) => {
      if (name !== undefined) this.outcomes.set(name, outcome)
      return outcome
    }
    keep({ state: 'pending' })
    const work = ask(client, step.call).then(keep, (error: unknown) => {
      if (!(error instanceof ClientError)) throw error
      return keep({ state: 'error', error: error.code })
    })
    if (step.background) {
      work.catch(() => {})
      return true
    }
    // The client ends every call within its own budget; this is for a client that does not.
    const ended = await this.within(work, 2 * REQUEST_BUDGET_MS)
    const words = `${step.call.request} by ${step.client}`
    if (ended.kind === 'late') return this.found(words, 'fail', 'no answer, and no error either')
    if (ended.kind === 'failed') throw ended.error
    const { expect = 'ok' } = step
    const seen = ended.value.state === 'error' ? ended.value.error : ended.value.state
    const right = expect === 'any' || (expect === 'ok' ? ended.value.state === 'ok' : expect.includes(seen))
    return right || this.found(words, 'fail', `answered with ${seen}`)
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
    while (ended === undefined && this.runner.nowMs() < limit) await this.runner.progress()
    return ended ?? { kind: 'late' }
  }
}

async function ask(client: Client, call: ClientRequest): Promise<Outcome> {
  switch (call.request) {
    case 'createStream':
      await client.createStream(call.stream)
      return { state: 'ok' }
    case 'deleteStream':
      await client.deleteStream(call.stream)
      return { state: 'ok' }
    case 'createTopic':
      await client.createTopic(call.stream, call.topic, call.partitions, call.options)
      return { state: 'ok' }
    case 'deleteTopic':
      await client.deleteTopic(call.stream, call.topic)
      return { state: 'ok' }
    case 'purgeTopic':
      await client.purgeTopic(call.stream, call.topic)
      return { state: 'ok' }
    case 'send': {
      const to = { kind: 'partition', partition: call.partition } as const
      const messages = call.payloads.map(payload => ({ payload }))
      const confirmed = await client.sendMessages(call.stream, call.topic, to, messages)
      return { state: 'ok', ...(confirmed && { baseOffset: confirmed.baseOffset }) }
    }
    case 'poll': {
      const { stream, topic, partition, count, from } = call
      const strategy =
        typeof from === 'string' ? { kind: from } : { kind: 'offset' as const, offset: BigInt(from.offset) }
      const { messages } = await client.poll({ stream, topic, partition, strategy, count })
      return { state: 'ok', payloads: messages.map(({ payload }) => textOf(payload)) }
    }
    case 'listStreams':
      return { state: 'ok', payloads: (await client.streams()).map(stream => stream.name) }
    case 'ping':
      await client.ping()
      return { state: 'ok' }
  }
}

const textOf = (bytes: Uint8Array): string => Array.from(bytes, byte => String.fromCharCode(byte)).join('')
