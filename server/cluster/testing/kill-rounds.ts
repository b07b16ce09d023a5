/**
 * SIGKILL under load on real processes, round after round: what clients were told against what the cluster holds in the
 * end. Metadata is written by one client that knows each of its ops by name, messages by the load of the scenarios.
 */
import { join } from 'node:path'
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { Client } from '../../../shared/client/client.ts'
import { ClientError } from '../../../shared/client/errors.ts'
import { METADATA_GROUP } from '../../../shared/protocol/groups.ts'
import { Load } from '../../../shared/scenario/load.ts'
import { scanWal } from '../../../shared/storage/wal-scan.ts'
import { DirectoryDisk } from '../../node/directory-disk.ts'
import type { LaunchEntry } from '../launcher.ts'
import { RealRunner } from '../scenario-runner.ts'

export const HEARTBEAT_MS = 2_000
const NODES = [0, 1, 2]
const METADATA = METADATA_GROUP.toString()
/** Far beyond what any step takes; a hang ends here. */
const STEP_MS = 90_000
const METADATA_PAUSE_MS = 40
/** A life that ends before this has just begun. */
const YOUNG_MS = 1_000
/** Acknowledged ops: more than a second at the pace above. */
const LOAD_FLOWS = 30

interface Write {
  readonly name: string
  readonly sentMs: number
  readonly ackedMs: number
}

class MetadataLoad {
  readonly acked: Write[] = []
  readonly unknown: string[] = []
  /** Names that were there although nobody else writes them and no earlier try was told of. */
  readonly doubled: string[] = []
  private readonly runner: RealRunner
  private readonly client: Client
  private stopping = false
  private done: Promise<void> | undefined

  constructor(runner: RealRunner) {
    this.runner = runner
    this.client = runner.client(NODES, { budgetMs: 20_000, requestTimeoutMs: 5_000 })
  }

  start(): void {
    this.done = this.run()
  }

  async stop(): Promise<void> {
    this.stopping = true
    await this.done
    this.client.close()
  }

  abandon(): void {
    this.stopping = true
    this.client.close()
  }

  private async run(): Promise<void> {
    for (let number = 0; !this.stopping; number++) {
      const name = `op-${number}`
      const sentMs = this.runner.nowMs()
      try {
        await this.client.createStream(name)
        this.acked.push({ name, sentMs, ackedMs: this.runner.nowMs() })
      } catch (error) {
        if (!(error instanceof ClientError)) throw error
        if (error.code === 'StreamNameAlreadyExists') this.doubled.push(name)
        else if (error.outcome === 'unknown') this.unknown.push(name)
      }
      await this.runner.sleep(METADATA_PAUSE_MS)
    }
  }
}

export interface Killed {
  readonly victim: number
  readonly wasPrimary: boolean
  /** From the kill until a node said that it leads the metadata; absent when nobody had to. */
  readonly electedMs?: number
  /** From the kill to the first acknowledgement of a metadata op. */
  readonly metadataMs: number
  readonly rejoinMs: number
}

export class KillRounds {
  readonly runner: RealRunner
  readonly metadata: MetadataLoad
  private readonly load: Load
  private readonly hash: Hash

  private constructor(runner: RealRunner, hash: Hash) {
    this.runner = runner
    this.hash = hash
    this.metadata = new MetadataLoad(runner)
    this.load = new Load(runner, 'kills', {
      stream: 's',
      topic: 't',
      partitions: 3,
      lanes: 3,
      batchMessages: 5,
      messageBytes: 100,
      pauseMs: 20,
    })
  }

  static async open(hash: Hash, entry: LaunchEntry): Promise<KillRounds> {
    const settings = { 'cluster.heartbeat_timeout': `${HEARTBEAT_MS / 1000} s` }
    const runner = await RealRunner.open({ nodes: NODES.length, settings }, { hash, entry })
    const rounds = new KillRounds(runner, hash)
    try {
      await rounds.begin()
      return rounds
    } catch (error) {
      await rounds.close()
      throw error
    }
  }

  private async begin(): Promise<void> {
    const { runner } = this
    await Promise.all(NODES.map(node => runner.start(node)))
    const client = runner.client(NODES, { budgetMs: 30_000 })
    await client.createStream('s')
    await client.createTopic('s', 't', 3, { enforceFsync: true, messagesRequiredToSave: 1 })
    client.close()
    this.metadata.start()
    this.load.start()
    // A load that flows, on backups that have heard their primary: before its first heartbeat they wait for it longer.
    await this.until('the load flows', () => this.metadata.acked.length >= LOAD_FLOWS)
  }

  /** However it went: no process, no file and no load is left. */
  async close(): Promise<void> {
    this.metadata.abandon()
    this.load.abandon()
    await this.runner.close()
  }

  /** Kills one node under load and waits until it has caught up on every group. */
  async kill(victimOf: (primary: number) => number): Promise<Killed> {
    const { runner } = this
    const primary = await this.primary()
    const victim = victimOf(primary)
    const killedMs = runner.nowMs()
    const eventsBefore = runner.events().length
    await runner.kill(victim)
    let electedMs: number | undefined
    const first = await this.firstAckAfter(killedMs, () => {
      electedMs ??= this.ledSince(eventsBefore) ? Math.round(runner.nowMs() - killedMs) : undefined
    })
    const startedMs = runner.nowMs()
    await runner.start(victim)
    await this.caughtUp(victim)
    return {
      victim,
      wasPrimary: victim === primary,
      ...(electedMs !== undefined && { electedMs }),
      metadataMs: Math.round(first - killedMs),
      rejoinMs: Math.round(runner.nowMs() - startedMs),
    }
  }

  /**
   * Kills one node, and `times` times more within the first second of its next life: while it boots, asks for the view, or
   * repairs. Then waits until it has caught up on every group; resolves with the time that took.
   */
  async killYoung(victim: number, times: number): Promise<{ victim: number; agesMs: number[]; rejoinMs: number }> {
    const { runner } = this
    const agesMs: number[] = []
    await runner.kill(victim)
    for (let life = 0; life < times; life++) {
      await runner.start(victim)
      const ageMs = Math.round(Math.random() * YOUNG_MS)
      await runner.sleep(ageMs)
      await runner.kill(victim)
      agesMs.push(ageMs)
    }
    const startedMs = runner.nowMs()
    await runner.start(victim)
    await this.caughtUp(victim)
    return { victim, agesMs, rejoinMs: Math.round(runner.nowMs() - startedMs) }
  }

  /** Kills all nodes at once and starts them in this order; resolves with the time to the first acknowledgement. */
  async killAll(order: readonly number[]): Promise<number> {
    const { runner } = this
    await Promise.all(NODES.map(node => runner.kill(node)))
    const killedMs = runner.nowMs()
    for (const node of order) {
      await runner.start(node)
      await runner.sleep(200)
    }
    const first = await this.firstAckAfter(killedMs)
    for (const node of NODES) await this.caughtUp(node)
    return Math.round(first - killedMs)
  }

  /** Stops the load and says all that is wrong: nothing, when all is well. */
  async judge(): Promise<{ wrong: string[]; words: string }> {
    const { runner, metadata, load } = this
    await metadata.stop()
    await load.stop()
    const wrong: string[] = []
    const client = runner.client(NODES, { budgetMs: 30_000 })
    const names = (await client.streams()).map(({ name }) => name)
    client.close()
    const held = new Set(names)
    for (const { name } of metadata.acked) if (!held.has(name)) wrong.push(`acknowledged op ${name} is lost`)
    if (held.size !== names.length) wrong.push('a stream is there twice')
    for (const name of metadata.doubled) wrong.push(`op ${name} was applied twice`)
    const { counts } = load.ledger
    for (const kind of ['lost', 'duplicate', 'corrupt', 'refusedFound'] as const) {
      if (counts[kind] > 0) wrong.push(`${counts[kind]} messages ${kind}`)
    }
    if (counts.readBack !== counts.acked) wrong.push(`${counts.acked} acknowledged, ${counts.readBack} read back`)
    await this.until('all are level', async () => {
      const commits = await Promise.all(NODES.map(async node => (await runner.groups(node))?.[0]?.commitMin))
      return commits[0] !== undefined && new Set(commits).size === 1
    })
    for (const node of NODES) await runner.terminate(node)
    const compared = await this.compareLogs(wrong)
    const words = `${metadata.acked.length} metadata ops and ${counts.acked} messages acknowledged, ${metadata.unknown.length} ops unknown; ${compared} log entries equal`
    if (metadata.acked.length === 0 || counts.acked === 0 || compared === 0) wrong.push(`nothing was proven: ${words}`)
    return { wrong, words }
  }

  /** Metadata logs as (op, identity) over the range that all have; no request stands in one twice. */
  private async compareLogs(wrong: string[]): Promise<number> {
    const logs = await Promise.all(NODES.map(node => this.readLog(node, wrong)))
    // Ops stand in a log in their order, so the first and the last are its range.
    const ranges = logs.map(log => [...log.keys()]).map(ops => [Number(ops[0]), Number(ops.at(-1))] as const)
    const first = Math.max(...ranges.map(([low]) => low))
    const last = Math.min(...ranges.map(([, high]) => high))
    let compared = 0
    for (let op = first; op <= last; op++) {
      const found = logs.map(log => log.get(BigInt(op)))
      if (new Set(found).size !== 1) wrong.push(`op ${op} is ${found.join(', ')}`)
      compared += 1
    }
    return compared
  }

  private async readLog(node: number, wrong: string[]): Promise<Map<bigint, string>> {
    const { dataDirectory } = this.runner.supervisor.status().nodes[node]!
    const disk = new DirectoryDisk(join(dataDirectory, 'metadata'), { readOnly: true })
    const file = await disk.open('journal.wal', 'read')
    const entries = new Map<bigint, string>()
    const requests = new Set<string>()
    try {
      await scanWal(file, await file.sizeBytes(), this.hash, ({ header }) => {
        entries.set(header.op, header.checksum.toString(16))
        if (header.client === 0n || header.request === 0n) return
        const request = `${header.client} ${header.request}`
        if (requests.has(request)) wrong.push(`node ${node}: request ${request} stands in the log twice`)
        requests.add(request)
      })
    } finally {
      await file.close()
    }
    return entries
  }

  private async primary(): Promise<number> {
    let best: { node: number; view: number } | undefined
    await this.until('somebody leads', async () => {
      for (const node of NODES) {
        const group = (await this.runner.groups(node))?.[0]
        if (group?.role === 'primary' && group.status === 'normal' && group.view >= (best?.view ?? 0))
          best = { node, view: group.view }
      }
      return best !== undefined
    })
    return best!.node
  }

  private ledSince(events: number): boolean {
    const { runner } = this
    return runner
      .events()
      .some(({ kind, group }, index) => index >= events && kind === 'view_started' && group === METADATA)
  }

  private async firstAckAfter(killedMs: number, look: () => void = () => {}): Promise<number> {
    let first: Write | undefined
    await this.until('a write is acknowledged again', () => {
      look()
      first = this.firstSince(killedMs)
      return first !== undefined
    })
    return first!.ackedMs
  }

  /** A request that was under way at the kill counts too: its client has been waiting ever since. */
  private firstSince(killedMs: number): Write | undefined {
    return this.metadata.acked.find(
      ({ ackedMs, sentMs }) => ackedMs > killedMs && (sentMs > killedMs || ackedMs - killedMs > 100),
    )
  }

  /** The node has applied, on every group, what any node had committed when it was looked at. */
  private async caughtUp(node: number): Promise<void> {
    const { runner } = this
    let goals: Map<string, bigint> | undefined
    await this.until(`node ${node} has caught up`, async () => {
      const { state } = runner.process(node)
      if (state === 'crashed' || state === 'refused') {
        throw new Error(`node ${node} ${state}: ${runner.supervisor.logTail(node, 3).join(' | ')}`)
      }
      const mine = await runner.groups(node)
      if (!mine) return false
      if (!goals) {
        const all = await Promise.all(NODES.map(each => runner.groups(each)))
        if (all.some(groups => groups === undefined || groups.some(({ status }) => status !== 'normal'))) return false
        goals = new Map()
        for (const { group, commitMax } of all.flatMap(groups => groups!)) {
          const commit = BigInt(commitMax)
          if (commit > (goals.get(group) ?? -1n)) goals.set(group, commit)
        }
      }
      const at = new Map(mine.map(group => [group.group, group]))
      return [...goals].every(([group, goal]) => {
        const own = at.get(group)
        return own?.status === 'normal' && BigInt(own.commitMin) >= goal
      })
    })
  }

  private async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const { runner } = this
    const limit = runner.nowMs() + STEP_MS
    while (!(await condition())) {
      if (runner.nowMs() > limit) throw new Error(`not within ${STEP_MS} ms: ${what}; ${await this.standing()}`)
      await runner.progress()
    }
  }

  private async standing(): Promise<string> {
    const lines = await Promise.all(
      NODES.map(async node => {
        const groups = await this.runner.groups(node)
        const shown = groups?.map(
          ({ group, status, role, view, commitMin, commitMax }) =>
            `${group === METADATA ? 'metadata' : group} ${status} ${role} view ${view} ${commitMin}/${commitMax}`,
        )
        return `node ${node} ${this.runner.process(node).state}: ${shown?.join(', ') ?? 'no answer'}`
      }),
    )
    return lines.join('; ')
  }
}
