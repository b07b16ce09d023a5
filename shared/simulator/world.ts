/**
 * A small world in memory: the replicas that run as processes elsewhere run here, in virtual time, from one seed, over a
 * perfect network with latency and perfect disks. A crash drops a life with everything that was on its way to it; what its
 * disk holds stays.
 */
import type { EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { Xoshiro256 } from '../bytes/random.ts'
import { Micros, ReplicaId, TICK_MS } from '../bytes/units.ts'
import { Client, type ClientOptions } from '../client/client.ts'
import type { ClientPorts, Endpoint } from '../client/ports.ts'
import { RULES_ON } from '../consensus/rules.ts'
import type { EventDraft } from '../inspection/envelope.ts'
import { clusterId } from '../protocol/handshake.ts'
import { bootReplica } from '../replica/boot.ts'
import type { Replica, ReplicaConfig, ReplicaPorts } from '../replica/contract.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import type { ExitStatus } from '../storage/ports.ts'
import { clientNetwork, ServerSide } from './client-network.ts'
import { diskOfLife, Life } from './life.ts'
import { Links } from './links.ts'
import { Timeline } from './timeline.ts'

export interface WorldOptions {
  readonly seed: bigint
  readonly nodes: number
  readonly hash: Hash
  /** Lets every promise that can settle now settle: a turn of the host's event loop. */
  readonly breathe: () => Promise<void>
  readonly config?: Partial<ReplicaConfig>
  /** Record flow events too. */
  readonly watched?: boolean
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
class Halted extends Error {}

interface SimulatedNode {
  readonly id: ReplicaId
  readonly disk: MemoryDisk
  life?: Life
  server?: ServerSide
  replica?: Replica
  /** How the last life ended by itself. */
  exit?: { readonly status: ExitStatus; readonly error: EngineError }
}

export class World {
  readonly timeline = new Timeline()
  readonly facts: WorldFact[] = []
  /** Exact counts by `group kind`, over all nodes. */
  readonly counters = new Map<string, number>()
  readonly links: Links
  readonly nodes: readonly SimulatedNode[]
  private readonly options: WorldOptions
  private readonly random: Xoshiro256
  /** What went wrong in a life other than a halt; the next turn throws it. */
  private readonly failures: unknown[] = []

  constructor(options: WorldOptions) {
    this.options = options
    this.random = new Xoshiro256(options.seed)
    this.links = new Links(
      this.timeline,
      below => this.below(below),
      () => this.between(200, 3_000),
    )
    this.nodes = Array.from({ length: options.nodes }, (_, id) => ({
      id: ReplicaId(id),
      disk: new MemoryDisk({ nowMs: () => Number(this.wallMicros() / 1_000n) }),
    }))
  }

  /** Milliseconds since the start of the world. */
  get nowMs(): number {
    return this.timeline.nowMicros / MICROS_PER_MS
  }

  below(limit: number): number {
    return this.random.upTo(limit - 1)
  }

  between(low: number, high: number): number {
    return low + this.random.upTo(high - low)
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
    delete node.exit
    bootReplica(this.config(node.id), this.ports(node, life, server)).then(
      replica => life.run(() => this.booted(node, life, server, replica)),
      (error: unknown) => {
        if (!(error instanceof Halted)) this.failures.push(error)
      },
    )
  }

  /** SIGKILL. */
  kill(id: number): void {
    this.endLife(this.nodes[id]!)
  }

  /** SIGTERM: resolves when the process has ended. */
  async stop(id: number): Promise<void> {
    const node = this.nodes[id]!
    await this.replica(id).stop()
    this.endLife(node)
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
    const latency = () => this.between(100, 1_000)
    return {
      network: clientNetwork(this.timeline, latency, ({ port }) => this.nodes[port - PORT_BASE]?.server),
      clock: {
        nowMs: () => this.nowMs,
        nowMicros: () => Micros(this.wallMicros()),
        after: (ms, then) => this.timeline.after(ms * MICROS_PER_MS, then),
      },
      entropy: { bytes: length => this.randomBytes(length) },
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

  private async turn(): Promise<boolean> {
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
    const end = { id: node.id, life, replica }
    server.end = end
    this.links.up(end)
    const tick = () => {
      replica.tick()
      life.after(TICK_MS * MICROS_PER_MS, tick)
    }
    life.after(this.below(TICK_MS * MICROS_PER_MS), tick)
  }

  private endLife(node: SimulatedNode): void {
    node.life?.end()
    node.server?.closeAll()
    if (node.replica) this.links.down(node.id)
    delete node.life
    delete node.server
    delete node.replica
  }

  private wallMicros(): bigint {
    return EPOCH_MICROS + BigInt(this.timeline.nowMicros)
  }

  private randomBytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.random.upTo(255))
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
      root: { username: 'iggy', password: 'iggy' },
      timers: {
        prepare: 25,
        commitMessage: 50,
        normalHeartbeat: 500,
        startViewChangeMessage: 50,
        doViewChangeMessage: 50,
        viewChangeStatus: 500,
        requestStartView: 100,
        repairRetry: 100,
      },
      probeAttemptsMax: 5,
      repairChunkMax: 128,
      metadata: { prepareQueueDepth: 32, journalSlots: 1024, clientsTableMax: 8192 },
      partition: { prepareQueueDepth: 32, evictedRingCapacity: 4096, evictedRingBytesMax: 16 * 1024 * 1024 },
      validateChecksum: true,
      messageBytesMax: 64 * 1024 * 1024,
      rules: RULES_ON,
      ...this.options.config,
    }
  }

  private ports(node: SimulatedNode, life: Life, server: ServerSide): ReplicaPorts {
    const bornMicros = this.timeline.nowMicros
    const pass = <T>(delayMicros: number, value: T) => life.outside(delayMicros, async () => value)
    return {
      disk: diskOfLife(node.disk, life, { next: () => this.between(20, 400) }),
      clock: {
        nowMicros: () => Micros(this.wallMicros()),
        monoMicros: () => this.timeline.nowMicros - bornMicros,
      },
      entropy: { u64: () => this.random.u64(), bytes: length => this.randomBytes(length) },
      scheduler: { yield: () => pass(1, undefined) },
      hash: this.options.hash,
      halt: {
        fatal: (status, error) => {
          node.exit = { status, error }
          this.endLife(node)
          throw new Halted(`node ${node.id}: ${error.message}`)
        },
      },
      passwords: {
        hash: password => pass(5_000, `simulated$${password}`),
        verify: (stored, password) => pass(5_000, stored === `simulated$${password}`),
      },
      replicaLinks: {
        send: (to, frame) => this.links.send(node.id, to, frame),
        isConnected: peer => this.links.isConnected(node.id, peer),
      },
      clientLinks: server,
      sink: {
        emit: draft => this.facts.push({ ...draft, node: node.id, atMicros: this.timeline.nowMicros }),
        wantsFlow: () => this.options.watched === true,
        count: (group, kind, by = 1) => {
          const key = `${group} ${kind}`
          this.counters.set(key, (this.counters.get(key) ?? 0) + by)
        },
      },
    }
  }
}
