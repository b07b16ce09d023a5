/**
 * A world in memory: the replicas that run as processes elsewhere run here, in virtual time, from one seed. Whatever a
 * replica asks of a port completes through one queue. Left alone, network and disks are perfect; whoever drives the world
 * sets their faults. A crash drops a life with everything that was on its way to it; its disk keeps what a disk must keep.
 */
import type { EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { Micros, ReplicaId, TICK_MS } from '../bytes/units.ts'
import { Client, type ClientOptions } from '../client/client.ts'
import type { ClientPorts, Endpoint, Transport, TransportEvents } from '../client/ports.ts'
import type { EventDraft } from '../inspection/envelope.ts'
import { clusterId } from '../protocol/handshake.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { bootReplica } from '../replica/boot.ts'
import type { Replica, ReplicaConfig, ReplicaPorts } from '../replica/contract.ts'
import { DEFAULT_SETTINGS } from '../replica/default-settings.ts'
import type { Disk } from '../storage/disk.ts'
import type { ExitStatus } from '../storage/ports.ts'
import { type ClientWatch, clientNetwork, ServerSide } from './client-network.ts'
import { Dice } from './dice.ts'
import { type CrashLoss, type DiskCall, SimulatedDisk } from './disk.ts'
import { Life } from './life.ts'
import { Links } from './links.ts'
import { type LieShape, LyingDrive } from './lying-drive.ts'
import { Timeline } from './timeline.ts'
import { type ClockShape, clockError } from './wall-clock.ts'

export interface WorldOptions {
  readonly seed: bigint
  readonly nodes: number
  readonly hash: Hash
  /** Lets every promise that can settle now settle: a turn of the host's event loop. */
  readonly breathe: () => Promise<void>
  readonly config?: Partial<ReplicaConfig>
  /** Of one node, on top of that. */
  readonly configOf?: (node: number) => Partial<ReplicaConfig>
  /** Record flow events too. */
  readonly watched?: boolean
  readonly observer?: WorldObserver
  /** Puts something between a replica and its disk. */
  readonly wrapDisk?: (node: number, disk: Disk, life: Life) => Disk
  /** Called before an answer leaves a node; what kills the node here keeps the answer from leaving. */
  readonly beforeAnswer?: (node: number) => void
  /** Default: facts are kept for the whole life of the world. A long run keeps the last ones only. */
  readonly factsMax?: number
  /** Rounds of a group commit wait for company, as they do in a process (design.md §3). Default: none ever waits. */
  readonly paced?: boolean
  /** Nodes whose drive lies about its syncs, and how. Default: none does. */
  readonly lies?: ReadonlyMap<number, LieShape>
  /** Nodes whose wall clock is wrong, and how. */
  readonly clocks?: ReadonlyMap<number, ClockShape>
}

/** Who checks and counts what happens. Called as it happens; what these throw ends the run. */
export interface WorldObserver {
  fact?(fact: WorldFact): void
  counted?(node: number, group: string, kind: string, by: number): void
  applied?(node: number, group: string, header: PrepareHeader): void
  booted?(node: number): void
  ended?(node: number, why: 'crash' | 'stop' | 'exit'): void
  readonly clients?: ClientWatch
  diskCall?(node: number, call: DiskCall, path: string): void
}

/** How the disk of a node misbehaves just now. */
export interface DiskTrouble {
  /** Calls take this many times as long. */
  slowness: number
  /** On top of that, by call. */
  slownessOf?: (call: DiskCall) => number
  /** The error of this call, if it is to fail. */
  fault: (call: DiskCall, path: string) => 'Io' | 'NoSpace' | undefined
}

/** Something that a replica told of itself. */
export interface WorldFact extends EventDraft {
  readonly node: number
  readonly atMicros: number
}

/** The wall clock of the world at its start. */
const EPOCH_MICROS = 1_700_000_000_000_000n
const CLUSTER_NAME = 'simulated'
const PORT_BASE = 8_090
const MICROS_PER_MS = 1_000

/** Thrown where the process of a node would end. */
export class Halted extends Error {}

export interface SimulatedNode {
  readonly id: ReplicaId
  readonly disk: SimulatedDisk
  readonly trouble: DiskTrouble
  /** Offset of its wall clock from that of the world. */
  skewMicros: bigint
  /** Port calls until it crashes in the middle of what it does. */
  crashIn: number | undefined
  lives: number
  life?: Life
  server?: ServerSide
  replica?: Replica
  /** How the last life ended by itself. */
  exit?: { readonly status: ExitStatus; readonly error: EngineError }
}

export class World {
  readonly timeline: Timeline
  readonly facts: WorldFact[] = []
  /** Exact counts by `group kind`, over all nodes. */
  readonly counters = new Map<string, number>()
  readonly links: Links
  readonly nodes: readonly SimulatedNode[]
  private readonly options: WorldOptions
  private readonly dice: Dice
  private readonly entropy: readonly Dice[]
  private readonly diskDice: readonly Dice[]
  private readonly clientDice: Dice
  private readonly clockDice: readonly Dice[]
  /** Of clients, so far. */
  private connections = 0
  /** Called when an armed crash goes off, with the node; the default kills the process alone. */
  onCrash: (id: number) => void = id => this.kill(id)
  /** What went wrong in a life other than a halt; the next turn throws it. */
  private readonly failures: unknown[] = []

  constructor(options: WorldOptions) {
    this.options = options
    const { seed } = options
    this.dice = new Dice(seed, 'world')
    this.clientDice = new Dice(seed, 'clients')
    const shuffle = new Dice(seed, 'order')
    this.timeline = new Timeline(() => shuffle.u32())
    this.links = new Links(this.timeline, new Dice(seed, 'network'))
    const ids = Array.from({ length: options.nodes }, (_, id) => id)
    this.entropy = ids.map(id => new Dice(seed, `entropy ${id}`))
    this.diskDice = ids.map(id => new Dice(seed, `disk ${id}`))
    this.clockDice = ids.map(id => new Dice(seed, `clock ${id}`))
    const wallMs = () => Number(this.wallMicros() / 1_000n)
    const driveOf = (id: number) => {
      const shape = options.lies?.get(id)
      return shape && new LyingDrive(shape, new Dice(seed, `lies ${id}`), wallMs)
    }
    this.nodes = ids.map(id => ({
      id: ReplicaId(id),
      disk: new SimulatedDisk(wallMs, driveOf(id)),
      trouble: { slowness: 1, fault: () => undefined },
      skewMicros: 0n,
      crashIn: undefined,
      lives: 0,
    }))
  }

  /** Milliseconds since the start of the world. */
  get nowMs(): number {
    return this.timeline.nowMicros / MICROS_PER_MS
  }

  below(limit: number): number {
    return this.dice.below(limit)
  }

  between(low: number, high: number): number {
    return this.dice.between(low, high)
  }

  replica(id: number): Replica {
    const replica = this.nodes[id]?.replica
    if (!replica) throw new Error(`node ${id} is not running`)
    return replica
  }

  isRunning(id: number): boolean {
    return this.nodes[id]?.replica !== undefined
  }

  /** Starts the process of a node: it boots, ticks, connects and listens. */
  start(id: number): void {
    const node = this.nodes[id]!
    if (node.life) throw new Error(`node ${id} is running`)
    const life = new Life(this.timeline)
    const server = new ServerSide(this.timeline, () => this.between(100, 1_000))
    node.life = life
    node.server = server
    node.lives++
    delete node.exit
    bootReplica(this.config(node.id), this.ports(node, life, server)).then(
      replica => life.run(() => this.booted(node, life, server, replica)),
      (error: unknown) => this.failed(error),
    )
  }

  /** SIGKILL, or with another `kind` a loss of power. */
  kill(id: number, kind: CrashLoss = 'process'): void {
    const node = this.nodes[id]!
    if (!node.life) return
    this.endLife(node, 'crash')
    node.disk.crash(kind, this.diskDice[id]!)
  }

  /** Takes the disk of a node without a process away. */
  wipe(id: number): void {
    const node = this.nodes[id]!
    if (node.life) throw new Error(`node ${id} is running`)
    node.disk.wipe()
  }

  /** SIGTERM: resolves when the process has ended. */
  async stop(id: number): Promise<void> {
    const node = this.nodes[id]!
    await this.replica(id).stop()
    this.endLife(node, 'stop')
    node.disk.crash('process', this.diskDice[id]!)
  }

  pause(id: number): void {
    this.nodes[id]!.life?.pause()
  }

  resume(id: number): void {
    this.nodes[id]!.life?.resume()
  }

  /** Frames of this direction are lost in silence. */
  cut(from: number, to: number): void {
    this.links.cut(ReplicaId(from), ReplicaId(to))
  }

  heal(from: number, to: number): void {
    this.links.heal(ReplicaId(from), ReplicaId(to))
  }

  endpoint(id: number): Endpoint {
    return { host: '127.0.0.1', port: PORT_BASE + id }
  }

  /** A client of the protocol that knows the given nodes, the first one first. */
  client(ids: readonly number[], options: Partial<ClientOptions> = {}): Client {
    return new Client(this.clientPorts(), {
      endpoints: ids.map(id => this.endpoint(id)),
      hash: this.options.hash,
      credentials: { username: 'iggy', password: 'iggy' },
      ...options,
    })
  }

  clientPorts(): ClientPorts {
    const latency = () => this.clientDice.between(100, 1_000)
    return {
      network: clientNetwork(
        this.timeline,
        latency,
        ({ port }) => this.nodes[port - PORT_BASE]?.server,
        (server, events) => this.watchedConnection(server, events),
      ),
      clock: {
        nowMs: () => this.nowMs,
        nowMicros: () => Micros(this.wallMicros()),
        after: (ms, then) => this.timeline.after(ms * MICROS_PER_MS, then),
      },
      entropy: { bytes: length => this.clientDice.bytes(length) },
    }
  }

  /** A connection whose frames the observer sees too. */
  private watchedConnection(server: ServerSide, events: TransportEvents): Transport {
    const watch = this.options.observer?.clients
    if (!watch) return server.accept(events)
    const connection = ++this.connections
    const node = server.end!.id
    const transport = server.accept({
      data: frame => {
        watch.answered(connection, frame)
        events.data(frame)
      },
      close: reason => events.close(reason),
    })
    return {
      send: frame => {
        watch.requested(connection, node, frame)
        transport.send(frame)
      },
      close: () => transport.close(),
    }
  }

  /** Lets time pass. */
  async run(ms: number): Promise<void> {
    const until = this.timeline.nowMicros + ms * MICROS_PER_MS
    this.timeline.after(ms * MICROS_PER_MS, () => {})
    while (this.timeline.nowMicros < until && (await this.turn())) {}
  }

  /** Lets time pass until `condition` holds; false when `limitMs` passed without it. */
  async until(condition: () => boolean, limitMs: number): Promise<boolean> {
    const limit = this.timeline.nowMicros + limitMs * MICROS_PER_MS
    for (;;) {
      if (condition()) return true
      if (this.timeline.nowMicros > limit || !(await this.turn())) return condition()
    }
  }

  /** Lets time pass until `work` settles; throws when that takes more than `limitMs`. */
  async drive<T>(work: Promise<T>, limitMs = 60_000): Promise<T> {
    let settled = false
    const done = work.finally(() => {
      settled = true
    })
    // A rejection is the caller's to see, below.
    done.catch(() => {})
    if (!(await this.until(() => settled, limitMs))) throw new Error(`nothing came of it in ${limitMs} virtual ms`)
    return done
  }

  factsOf(kind: string): WorldFact[] {
    return this.facts.filter(fact => fact.kind === kind)
  }

  /** Runs the next thing that happens, and all that settles with it. False when nothing is left to happen. */
  async turn(): Promise<boolean> {
    try {
      if (!this.timeline.step()) return false
    } catch (error) {
      if (!(error instanceof Halted)) throw error
    }
    await this.options.breathe()
    const [failure] = this.failures
    if (failure) throw failure
    return true
  }

  private booted(node: SimulatedNode, life: Life, server: ServerSide, replica: Replica): void {
    node.replica = replica
    this.options.observer?.booted?.(node.id)
    const end = { id: node.id, life, replica }
    server.end = end
    this.links.up(end)
    const tick = () => {
      replica.tick()
      life.after(TICK_MS * MICROS_PER_MS, tick)
    }
    life.after(this.below(TICK_MS * MICROS_PER_MS), tick)
  }

  private failed(error: unknown): void {
    if (!(error instanceof Halted)) this.failures.push(error)
  }

  /** One port call of a life: true when it is the one at which the node crashes, or when it has crashed. */
  private crashesHere(node: SimulatedNode, life: Life): boolean {
    if (life.ended) return true
    if (node.crashIn === undefined || node.life !== life) return false
    if (--node.crashIn > 0) return false
    node.crashIn = undefined
    this.onCrash(node.id)
    return true
  }

  private endLife(node: SimulatedNode, why: 'crash' | 'stop' | 'exit'): void {
    node.life?.end()
    node.crashIn = undefined
    this.options.observer?.ended?.(node.id, why)
    node.server?.closeAll()
    if (node.replica) this.links.down(node.id)
    delete node.life
    delete node.server
    delete node.replica
  }

  private clockError(id: number): bigint {
    const shape = this.options.clocks?.get(id)
    return shape ? clockError(shape, this.timeline.nowMicros, this.clockDice[id]!) : 0n
  }

  private wallMicros(): bigint {
    return EPOCH_MICROS + BigInt(this.timeline.nowMicros)
  }

  private config(replica: ReplicaId): ReplicaConfig {
    return {
      clusterEnabled: this.options.nodes > 1,
      clusterName: CLUSTER_NAME,
      clusterId: clusterId(CLUSTER_NAME),
      replica,
      nodes: this.nodes.map(({ id }) => ({
        replica: id,
        name: `node-${id}`,
        ip: '127.0.0.1',
        ports: { tcp: PORT_BASE + id, quic: 0, http: 0, websocket: 0 },
      })),
      ...DEFAULT_SETTINGS,
      ...this.options.config,
      ...this.options.configOf?.(replica),
    }
  }

  private ports(node: SimulatedNode, life: Life, server: ServerSide): ReplicaPorts {
    const bornMicros = this.timeline.nowMicros
    const { observer } = this.options
    const entropy = this.entropy[node.id]!
    const dice = this.diskDice[node.id]!
    const pass = <T>(delayMicros: number, value: T) => life.outside(delayMicros, async () => value)
    const { wrapDisk = (_node: number, disk: Disk) => disk } = this.options
    const disk = node.disk.attach(life, {
      latency: call => {
        this.crashesHere(node, life)
        const sync = call === 'sync' || call === 'datasync' || call === 'syncDirectory'
        const { slowness, slownessOf } = node.trouble
        return dice.between(20, sync ? 1_500 : 400) * slowness * (slownessOf?.(call) ?? 1)
      },
      fault: (call, path) => node.trouble.fault(call, path),
      completing: (call, path) => {
        if (this.crashesHere(node, life)) throw new Halted(`node ${node.id} crashed`)
        observer?.diskCall?.(node.id, call, path)
      },
    })
    return {
      disk: wrapDisk(node.id, disk, life),
      clock: {
        nowMicros: () => Micros(this.wallMicros() + node.skewMicros + this.clockError(node.id)),
        monoMicros: () => this.timeline.nowMicros - bornMicros,
      },
      entropy: { u64: () => entropy.u64(), bytes: length => entropy.bytes(length) },
      scheduler: { yield: () => pass(1, undefined) },
      // The whole of a pause: who is over it by then finds nothing to do.
      ...(this.options.paced && {
        pacing: {
          monoMicros: () => this.timeline.nowMicros - bornMicros,
          pause: (micros: number) => pass(Math.ceil(micros), undefined),
        },
      }),
      hash: this.options.hash,
      halt: {
        fatal: (status, error) => {
          if (!life.ended) {
            node.exit = { status, error }
            this.endLife(node, 'exit')
            node.disk.crash('process', dice)
          }
          throw new Halted(`node ${node.id}: ${error.message}`)
        },
      },
      passwords: {
        hash: password => pass(5_000, `simulated$${password}`),
        verify: (stored, password) => pass(5_000, stored === `simulated$${password}`),
      },
      replicaLinks: {
        send: (to, frame) => !this.crashesHere(node, life) && this.links.send(node.id, to, frame),
        isConnected: peer => !life.ended && this.links.isConnected(node.id, peer),
        lastSent: to => this.links.lastSent(node.id, to),
      },
      clientLinks: {
        send: (connection, frame) => {
          if (this.crashesHere(node, life)) return
          this.options.beforeAnswer?.(node.id)
          if (!life.ended) server.send(connection, frame)
        },
        close: connection => server.close(connection),
      },
      crashed: error => this.failed(error),
      sink: {
        emit: draft => {
          if (life.ended) return 0
          const fact = { ...draft, node: node.id, atMicros: this.timeline.nowMicros }
          observer?.fact?.(fact)
          this.facts.push(fact)
          const { factsMax } = this.options
          if (factsMax !== undefined && this.facts.length > 2 * factsMax) this.facts.splice(0, factsMax)
          return this.facts.length
        },
        wantsFlow: () => this.options.watched === true,
        count: (group, kind, by = 1) => {
          const key = `${group} ${kind}`
          this.counters.set(key, (this.counters.get(key) ?? 0) + by)
          observer?.counted?.(node.id, group, kind, by)
        },
        applied: (group, header) => {
          if (!life.ended) observer?.applied?.(node.id, group, header)
        },
      },
    }
  }
}
