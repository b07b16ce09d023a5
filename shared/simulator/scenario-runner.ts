/** Scenarios in the simulated world: its nodes, its virtual time, its disks and links. One seed, one story. */
import type { Hash } from '../bytes/hash.ts'
import type { Client, ClientOptions } from '../client/client.ts'
import type { GroupSummary } from '../inspection/snapshots.ts'
import { METADATA_GROUP } from '../protocol/groups.ts'
import type { ReplicaConfig } from '../replica/contract.ts'
import type { Capability, ClusterSpec, FailpointEffect } from '../scenario/language.ts'
import { CannotAct, type ProcessReport, type Runner, type SeenEvent } from '../scenario/runner.ts'
import type { CrashKind } from './disk.ts'
import { Failpoints } from './failpoint-disk.ts'
import { World } from './world.ts'

export interface SimulatedRunnerOptions {
  readonly seed: bigint
  readonly hash: Hash
  readonly breathe: () => Promise<void>
  /** What a kill leaves on the disk: `process` (default) as SIGKILL does, the others as a loss of power. */
  readonly killKind?: CrashKind
  readonly config?: Partial<ReplicaConfig>
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
  private readonly killKind: CrashKind
  private readonly seen: SeenEvent[] = []
  private readonly failpoints: readonly Failpoints[]
  /** Whoever lets time pass; the others wait for it. One turn of the world at a time. */
  private turning: Promise<boolean> | undefined

  constructor(spec: ClusterSpec, options: SimulatedRunnerOptions) {
    this.nodes = spec.nodes
    this.killKind = options.killKind ?? 'process'
    this.failpoints = Array.from({ length: spec.nodes }, () => new Failpoints())
    this.simulated = new World({
      seed: options.seed,
      nodes: spec.nodes,
      hash: options.hash,
      breathe: options.breathe,
      config: { ...configOf(spec), ...options.config },
      factsMax: 1_000,
      observer: { fact: fact => this.seen.push(fact) },
      wrapDisk: (node, disk, life) =>
        this.failpoints[node]!.wrap(disk, {
          kill: () => this.simulated.kill(node, this.killKind),
          delay: ms => life.outside(ms * 1_000, async () => {}),
        }),
    })
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
    this.simulated.start(node)
  }

  async kill(node: number): Promise<void> {
    this.needsProcess(node)
    this.simulated.kill(node, this.killKind)
  }

  async terminate(node: number): Promise<void> {
    this.needsProcess(node)
    if (!this.simulated.isRunning(node)) throw new CannotAct(`node ${node} has not booted yet`)
    let stopped = false
    void this.simulated.stop(node).then(() => {
      stopped = true
    })
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

  async skewClock(node: number, byMs: number): Promise<void> {
    this.simulated.nodes[node]!.skewMicros += BigInt(byMs) * MICROS_PER_MS
  }

  process(node: number): ProcessReport {
    const { life, replica, exit } = this.simulated.nodes[node]!
    if (life) return { state: life.paused ? 'paused' : replica ? 'running' : 'stopped' }
    if (!exit) return { state: 'stopped' }
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

  async readFile(node: number, path: string): Promise<Uint8Array | undefined> {
    return this.simulated.nodes[node]!.disk.peek(path)
  }

  async writeFile(node: number, path: string, bytes: Uint8Array | undefined): Promise<void> {
    this.simulated.nodes[node]!.disk.put(path, bytes)
  }

  client(nodes: readonly number[], options: Partial<ClientOptions>): Client {
    return this.simulated.client(nodes, options)
  }

  private needsProcess(node: number): void {
    if (!this.simulated.nodes[node]!.life) throw new CannotAct(`node ${node} has no process`)
  }

  private id(node: number) {
    return this.simulated.nodes[node]!.id
  }
}

/** The settings that change what a simulated node is; the rest (ports, paths) has no meaning here. */
function configOf({ settings = {} }: ClusterSpec): Partial<ReplicaConfig> {
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
  }
  return { metadata, partition }
}
