/** Scenarios in the simulated world: its nodes, its virtual time, its disks and links. One seed, one story. */
import type { Hash } from '../bytes/hash.ts'
import type { Client, ClientOptions } from '../client/client.ts'
import type { GroupSummary } from '../inspection/snapshots.ts'
import { PERSIST_MODE } from '../partition/contract.ts'
import { METADATA_GROUP } from '../protocol/groups.ts'
import { RULES_ON, type Rules } from '../protocol/rules.ts'
import type { ReplicaConfig } from '../replica/contract.ts'
import type { Capability, ClusterSpec, FailpointEffect, Halves, Loss } from '../scenario/language.ts'
import { CannotAct, type ProcessReport, type Runner, type SeenEvent } from '../scenario/runner.ts'
import type { Violation } from './checkers/checker.ts'
import type { CrashLoss } from './disk.ts'
import { Failpoints } from './failpoint-disk.ts'
import { ScenarioChecks } from './scenario-checks.ts'
import type { ScenarioWitness } from './witness.ts'
import { World } from './world.ts'

export interface SimulatedRunnerOptions {
  readonly seed: bigint
  readonly hash: Hash
  readonly breathe: () => Promise<void>
  /** What a kill leaves on the disk: `process` (default) as SIGKILL does, the others as a loss of power. */
  readonly killKind?: CrashLoss
  readonly config?: Partial<ReplicaConfig>
  /** Rules of the protocol that are off, to see who notices. */
  readonly rules?: Partial<Rules>
}

const SUPPORTED: ReadonlySet<Capability> = new Set<Capability>([
  'holdFrames',
  'cutLinks',
  'failpoints',
  'volatileDisk',
  'clockSkew',
  'events',
  'surgery',
])
const PROGRESS_MS = 10
const MICROS_PER_MS = 1_000n
/** A clean stop that takes longer never ends. */
const STOP_MS = 30_000

export class SimulatedRunner implements Runner {
  readonly world: 'sim' = 'sim'
  readonly nodes: number
  readonly simulated: World
  readonly witness: ScenarioWitness
  private readonly checks: ScenarioChecks
  private readonly killKind: CrashLoss
  private readonly seen: SeenEvent[] = []
  private readonly failpoints: readonly Failpoints[]
  /** By node: how its persists are measured. */
  private readonly halves = new Map<number, Halves>()
  /** Nodes whose last process a failpoint has killed. */
  private readonly crashed = new Set<number>()
  /** Whoever lets time pass; the others wait for it. One turn of the world at a time. */
  private turning: Promise<boolean> | undefined

  constructor(spec: ClusterSpec, options: SimulatedRunnerOptions) {
    this.nodes = spec.nodes
    this.killKind = options.killKind ?? 'process'
    this.failpoints = Array.from({ length: spec.nodes }, () => new Failpoints())
    const config = { ...configOf(spec), ...options.config, rules: { ...RULES_ON, ...options.rules } }
    this.simulated = new World({
      seed: options.seed,
      nodes: spec.nodes,
      hash: options.hash,
      breathe: options.breathe,
      config,
      configOf: node => {
        const halves = this.halves.get(node)
        return halves ? { partition: { ...config.partition, persist: { ...PERSIST_MODE, halves } } } : {}
      },
      factsMax: 1_000,
      // The checks need the world, and the world tells them.
      observer: {
        fact: fact => {
          this.seen.push({ ...fact, atMs: fact.atMicros / 1_000 })
          this.checks.observer.fact?.(fact)
        },
        applied: (...told) => this.checks.observer.applied?.(...told),
        booted: node => this.checks.observer.booted?.(node),
        ended: (...told) => this.checks.observer.ended?.(...told),
        counted: (...told) => this.checks.observer.counted?.(...told),
        diskCall: (...told) => this.checks.observer.diskCall?.(...told),
      },
      wrapDisk: (node, disk, life) =>
        this.failpoints[node]!.wrap(disk, {
          kill: () => this.crash(node),
          delay: ms => life.outside(ms * 1_000, async () => {}),
        }),
      beforeAnswer: node => {
        if (this.failpoints[node]!.passed('ack.before')) this.crash(node)
      },
    })
    this.checks = new ScenarioChecks(this.simulated, options.hash)
    this.witness = this.checks.witness
  }

  checkers(): { looked: number; violations: readonly Violation[] } {
    return this.checks.result()
  }

  supports(capability: Capability): boolean {
    return SUPPORTED.has(capability)
  }

  nowMs(): number {
    return this.simulated.nowMs
  }

  progress(): Promise<void> {
    return this.sleep(PROGRESS_MS)
  }

  /** Several may sleep at once, as the lanes of a load do: each drives the world until its own time has come. */
  async sleep(ms: number): Promise<void> {
    const until = this.nowMs() + ms
    this.simulated.timeline.after(ms * 1_000, () => {})
    while (this.nowMs() < until) {
      this.turning ??= this.simulated.turn().finally(() => {
        this.turning = undefined
      })
      await this.turning
    }
  }

  async start(node: number): Promise<void> {
    if (this.simulated.nodes[node]!.life) throw new CannotAct(`node ${node} has a process`)
    this.crashed.delete(node)
    this.failpoints[node]!.restarted()
    this.checks.starting(node)
    this.simulated.start(node)
  }

  async kill(node: number, loss?: Loss): Promise<void> {
    this.needsProcess(node)
    this.simulated.kill(node, loss === undefined ? this.killKind : crashLoss(loss))
    // A page of its own choice is as good as surgery: whoever refuses such a disk is right.
    if (typeof loss === 'object') this.checks.edit(node)
  }

  async terminate(node: number): Promise<void> {
    this.needsProcess(node)
    if (!this.simulated.isRunning(node)) throw new CannotAct(`node ${node} has not booted yet`)
    let stopped = false
    const over = () => {
      stopped = true
    }
    // It may end by itself on the way, which is seen in its exit.
    this.simulated.stop(node).then(over, over)
    const limit = this.nowMs() + STOP_MS
    while (!stopped && this.nowMs() < limit) await this.progress()
    if (!stopped) throw new CannotAct(`node ${node} did not stop`)
  }

  async pause(node: number): Promise<void> {
    this.needsProcess(node)
    this.simulated.pause(node)
  }

  async resume(node: number): Promise<void> {
    this.needsProcess(node)
    this.simulated.resume(node)
  }

  async wipe(node: number): Promise<void> {
    if (this.simulated.nodes[node]!.life) throw new CannotAct(`node ${node} has a process`)
    this.simulated.wipe(node)
    this.checks.wiped(node)
  }

  async cut(from: number, to: number, command?: number): Promise<void> {
    this.simulated.links.cut(this.id(from), this.id(to), command)
  }

  async heal(from: number, to: number, command?: number): Promise<void> {
    this.simulated.links.heal(this.id(from), this.id(to), command)
  }

  async hold(name: string, from: number, to: number, command: number, count: number): Promise<void> {
    this.simulated.links.hold(name, this.id(from), this.id(to), command, count)
  }

  /** Of held frames, or of a failpoint that holds a call. */
  async release(name: string): Promise<void> {
    this.simulated.links.release(name)
    for (const points of this.failpoints) points.release(name)
  }

  async arm(node: number, point: string, effect: FailpointEffect, after: number, times: number): Promise<void> {
    this.failpoints[node]!.arm(point, effect, after, times)
  }

  async disarm(node: number, point: string): Promise<void> {
    this.failpoints[node]!.disarm(point)
  }

  async reached(node: number, point: string): Promise<number | undefined> {
    return this.simulated.isRunning(node) ? this.failpoints[node]!.reachedOf(point) : undefined
  }

  async measure(node: number, halves: Halves): Promise<void> {
    this.halves.set(node, halves)
  }

  async skewClock(node: number, byMs: number): Promise<void> {
    this.simulated.nodes[node]!.skewMicros += BigInt(byMs) * MICROS_PER_MS
  }

  process(node: number): ProcessReport {
    const { life, replica, exit } = this.simulated.nodes[node]!
    if (life) return { state: life.paused ? 'paused' : replica ? 'running' : 'stopped' }
    if (!exit) return { state: this.crashed.has(node) ? 'crashed' : 'stopped' }
    const refused = exit.status === 2 || exit.status === 3 || exit.status === 64 || exit.status === 65
    return { state: refused ? 'refused' : 'crashed', exit: exit.status, code: exit.error.code }
  }

  events(): readonly SeenEvent[] {
    return this.seen
  }

  async groups(node: number): Promise<readonly GroupSummary[] | undefined> {
    const { replica, life } = this.simulated.nodes[node]!
    if (!replica || life?.paused) return undefined
    const groups = replica.inspect.groups().filter(group => group.plane === 'partition')
    return [replica.inspect.group(METADATA_GROUP)!, ...groups]
  }

  async files(node: number): Promise<readonly string[]> {
    return this.simulated.nodes[node]!.disk.paths()
  }

  async sizes(node: number): Promise<ReadonlyMap<string, number>> {
    const { disk } = this.simulated.nodes[node]!
    return new Map(disk.paths().map(path => [path, disk.live(path)!.size]))
  }

  async readFile(node: number, path: string): Promise<Uint8Array | undefined> {
    return this.simulated.nodes[node]!.disk.peek(path)
  }

  async writeFile(node: number, path: string, bytes: Uint8Array | undefined): Promise<void> {
    if (this.simulated.nodes[node]!.life) throw new CannotAct(`node ${node} has a process; its files are its own`)
    this.simulated.nodes[node]!.disk.put(path, bytes)
    this.checks.edit(node)
  }

  client(nodes: readonly number[], options: Partial<ClientOptions>): Client {
    return this.simulated.client(nodes, options)
  }

  private crash(node: number): void {
    this.simulated.kill(node, this.killKind)
    this.crashed.add(node)
  }

  private needsProcess(node: number): void {
    if (!this.simulated.nodes[node]!.life) throw new CannotAct(`node ${node} has no process`)
  }

  private id(node: number) {
    return this.simulated.nodes[node]!.id
  }
}

function crashLoss(loss: Loss): CrashLoss {
  if (loss === 'drop' || loss === 'part') return loss
  if (typeof loss === 'object') return path => (path.endsWith('.log') ? { without: loss.logPage } : 'keep')
  const kept = loss === 'keep-index' ? '.index' : '.log'
  return path => (path.endsWith(kept) ? 'keep' : 'drop')
}

/** The settings that change what a simulated node is; the rest (ports, paths) has no meaning here. */
function configOf({ settings = {} }: ClusterSpec): Partial<ReplicaConfig> & Pick<ReplicaConfig, 'partition'> {
  const number = (key: string, otherwise: number) => (settings[key] === undefined ? otherwise : Number(settings[key]))
  const metadata = {
    prepareQueueDepth: number('metadata.prepare_queue_depth', 32),
    journalSlots: number('metadata.journal_slots', 1_024),
    clientsTableMax: number('metadata.clients_table_max', 8_192),
  }
  const partition = {
    prepareQueueDepth: number('partition.prepare_queue_depth', 32),
    evictedRingCapacity: number('partition.evicted_ring_capacity', 4_096),
    evictedRingBytesMax: number('partition.evicted_ring_bytes_max', 16 * 1_024 * 1_024),
    offsetReservationLease: number('partition.offset_reservation_lease', 65_536),
  }
  const interval = settings['data_maintenance.messages.interval']
  return { metadata, partition, ...(interval !== undefined && { cleanerIntervalMs: milliseconds(String(interval)) }) }
}

function milliseconds(duration: string): number {
  const [, count, unit] = /^(\d+) ?(ms|s)$/.exec(duration) ?? []
  if (count === undefined) throw new CannotAct(`${duration} is no duration in ms or s`)
  return Number(count) * (unit === 's' ? 1_000 : 1)
}
