/**
 * Scenarios on real processes: a supervised cluster in a directory of its own, link proxies between the nodes, and nodes
 * that were started to take faults. Nothing here waits by time alone; the interpreter looks again until its deadline.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { EngineError } from '../../shared/bytes/errors.ts'
import type { Hash } from '../../shared/bytes/hash.ts'
import { Client, type ClientOptions } from '../../shared/client/client.ts'
import { CONSOLE_NODE, type EventEnvelope, type EventGap, isGap } from '../../shared/inspection/envelope.ts'
import { nodePath } from '../../shared/inspection/node-api.ts'
import { type GroupSummary, type NodeSnapshot, nodeSnapshot } from '../../shared/inspection/snapshots.ts'
import type { Capability, ClusterSpec, FailpointEffect, Halves, Loss } from '../../shared/scenario/language.ts'
import { CannotAct, type ProcessReport, type Runner, type SeenEvent } from '../../shared/scenario/runner.ts'
import { NodeHttp } from '../console/node-http.ts'
import { NodeWatcher } from '../console/node-watcher.ts'
import { NODE_LOCK } from '../node/directory-lock.ts'
import type { FaultsAnswer } from '../node/faults/node-faults.ts'
import { nodeClientPorts } from '../node/tcp-transport.ts'
import type { NodeStatus } from './contract.ts'
import type { LaunchEntry } from './launcher.ts'
import type { ClusterLinks } from './links/cluster-links.ts'
import { type LocalSupervisor, openSupervisor } from './supervisor.ts'

const ROOT = { username: 'iggy', password: 'iggy' }
const PROGRESS_MS = 25
const SPAWN_POLL_MS = 5
/** A process that is spawned is in the table at once; configuration and ports come before it. */
const SPAWN_MS = 10_000
/** Of events that a node has reported: a stream that is this late is cut, and what follows is judged as it is. */
const CATCH_UP_MS = 5_000

export interface RealRunnerOptions {
  readonly hash: Hash
  readonly entry?: LaunchEntry
  /** SIGKILL loses what was not synced. */
  readonly volatileDisk?: boolean
  /** Made for the run and removed after it; must not hold anything. Default: one of its own among the temporary ones. */
  readonly directory?: string
}

interface Armed {
  readonly point: string
  readonly effect: FailpointEffect
  readonly after: number
  readonly times: number
}

export class RealRunner implements Runner {
  readonly world: 'real' = 'real'
  readonly nodes: number
  readonly supervisor: LocalSupervisor
  private readonly directory: string
  private readonly options: RealRunnerOptions
  private readonly started = performance.now()
  private readonly seen: SeenEvent[] = []
  private readonly http = new NodeHttp()
  private readonly watchers: readonly NodeWatcher[]
  /** By node: what is armed, also over the lives of its process. */
  private readonly armed: Armed[][]
  /** By node: how its persists are measured. */
  private readonly halves: Map<number, Halves>

  private constructor(
    spec: ClusterSpec,
    options: RealRunnerOptions,
    directory: string,
    supervisor: LocalSupervisor,
    armed: Armed[][],
    halves: Map<number, Halves>,
  ) {
    this.nodes = spec.nodes
    this.options = options
    this.directory = directory
    this.supervisor = supervisor
    this.armed = armed
    this.halves = halves
    const listener = {
      events: (_node: number, items: readonly (EventEnvelope | EventGap)[]) => {
        for (const item of items) if (!isGap(item)) this.seen.push({ ...item, atMs: this.nowMs() })
      },
      snapshot: () => {},
      state: () => {},
      seq: () => 0,
    }
    this.watchers = Array.from({ length: spec.nodes }, (_, node) => new NodeWatcher(node, this.http, listener))
    supervisor.onChange(status => this.changed(status))
    supervisor.links?.onEvent(event => this.seen.push({ node: CONSOLE_NODE, ...event, atMs: this.nowMs() }))
  }

  static async open(spec: ClusterSpec, options: RealRunnerOptions): Promise<RealRunner> {
    const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'scenario-'))
    const armed: Armed[][] = Array.from({ length: spec.nodes }, () => [])
    const halves = new Map<number, Halves>()
    const faults = options.volatileDisk ? 'volatile' : 'plain'
    const supervisor = await openSupervisor({
      directory,
      nodes: spec.nodes,
      root: ROOT,
      ...(options.entry && { entry: options.entry }),
      ...(spec.settings && { settings: spec.settings }),
      nodeArgs: node => [
        '--test-faults',
        faults,
        ...armed[node]!.flatMap(point => ['--arm', queryOf(point).toString()]),
        ...(halves.has(node) ? ['--measure', `persist=${halves.get(node)}`] : []),
      ],
    })
    return new RealRunner(spec, options, directory, supervisor, armed, halves)
  }

  /** Ends every process and removes the directory. */
  async close(): Promise<void> {
    await Promise.all(this.statuses.filter(isAlive).map(({ replica }) => this.supervisor.kill(replica).catch(() => {})))
    await this.supervisor.close({ stopNodes: true })
    for (const watcher of this.watchers) watcher.unwatch()
    this.http.close()
    rmSync(this.directory, { recursive: true, force: true })
  }

  supports(capability: Capability): boolean {
    switch (capability) {
      case 'holdFrames':
      case 'cutLinks':
        return this.supervisor.links !== undefined
      case 'volatileDisk':
        return this.options.volatileDisk ?? false
      default:
        return true
    }
  }

  nowMs(): number {
    return performance.now() - this.started
  }

  progress(): Promise<void> {
    return this.sleep(PROGRESS_MS)
  }

  sleep(ms: number): Promise<void> {
    return new Promise(resolve => setTimeout(resolve, ms))
  }

  async start(node: number): Promise<void> {
    if (isAlive(this.status(node))) throw new CannotAct(`node ${node} has a process`)
    const before = this.status(node).startedWallMs
    let failure: unknown
    this.supervisor.start(node).catch((error: unknown) => {
      failure = error
    })
    const limit = this.nowMs() + SPAWN_MS
    while (failure === undefined && this.status(node).startedWallMs === before) {
      if (this.nowMs() > limit) throw new CannotAct(`node ${node} was not spawned within ${SPAWN_MS} ms`)
      await this.sleep(SPAWN_POLL_MS)
    }
    // A process that refuses was spawned; here none was.
    if (this.status(node).startedWallMs === before && failure !== undefined)
      throw new CannotAct(`node ${node} could not be started: ${(failure as Error).message}`)
  }

  async kill(node: number, loss?: Loss): Promise<void> {
    if (loss !== undefined && !(loss === 'drop' && this.options.volatileDisk))
      throw new CannotAct(`a process that is killed does not lose its disk's cache as ${loss} would`)
    await this.keepArmed(node)
    await acting(this.supervisor.kill(node))
  }

  async terminate(node: number): Promise<void> {
    await this.keepArmed(node)
    await acting(this.supervisor.terminate(node))
  }

  async pause(node: number): Promise<void> {
    await acting(this.supervisor.pause(node))
  }

  async resume(node: number): Promise<void> {
    await acting(this.supervisor.resume(node))
  }

  async wipe(node: number): Promise<void> {
    await acting(this.supervisor.wipe(node))
  }

  async cut(from: number, to: number, command?: number): Promise<void> {
    await acting(() => this.links.cut(from, to, command === undefined ? {} : { commands: [command] }))
  }

  async heal(from: number, to: number, command?: number): Promise<void> {
    await acting(() => this.links.mend(from, to, command))
  }

  async hold(name: string, from: number, to: number, command: number, count: number): Promise<void> {
    await acting(() => this.links.hold(from, to, name, { commands: [command], count }))
  }

  /** Of held frames, or of a failpoint that holds a call. */
  async release(name: string): Promise<void> {
    await acting(() => {
      for (const { from, to, faults, heldFrames } of this.supervisor.links?.status() ?? []) {
        const holds = faults.some(fault => fault.fault === 'hold' && fault.name === name)
        if (holds || heldFrames.some(({ hold }) => hold === name)) this.links.release(from, to, { name })
      }
    })
    for (const { replica, state } of this.statuses) {
      if (state === 'running' && this.armed[replica]!.some(({ point }) => point === name)) {
        await this.faults(replica, 'release', new URLSearchParams({ point: name }))
      }
    }
  }

  /** On a node without a process: from the first moment of its next one. */
  async arm(node: number, point: string, effect: FailpointEffect, after: number, times: number): Promise<void> {
    const armed = { point, effect, after, times }
    if (isAlive(this.status(node))) await this.faults(node, 'arm', queryOf(armed))
    this.armed[node]!.push(armed)
  }

  async disarm(node: number, point: string): Promise<void> {
    this.armed[node] = this.armed[node]!.filter(armed => armed.point !== point)
    if (isAlive(this.status(node))) await this.faults(node, 'disarm', new URLSearchParams({ point }))
  }

  async reached(node: number, point: string): Promise<number | undefined> {
    if (this.status(node).state !== 'running') return undefined
    const { points } = await this.faults(node)
    return points.find(armed => armed.point === point)?.hits
  }

  async measure(node: number, halves: Halves): Promise<void> {
    this.halves.set(node, halves)
  }

  async skewClock(node: number, byMs: number): Promise<void> {
    await this.faults(node, 'clock', new URLSearchParams({ byMs: String(byMs) }))
  }

  process(node: number): ProcessReport {
    const { state, lastExit, lastRefusal } = this.status(node)
    if (state === 'running' || state === 'paused') return { state }
    // As elsewhere: who does not listen yet does not run.
    if (state === 'starting' || state === 'stopped') return { state: 'stopped' }
    return {
      state,
      ...(lastExit?.status !== undefined && { exit: lastExit.status }),
      ...(lastRefusal && { code: lastRefusal.code }),
    }
  }

  async longestPauseMs(node: number): Promise<number | undefined> {
    return (await this.snapshot(node))?.longestPauseMs
  }

  events(): readonly SeenEvent[] {
    return this.seen
  }

  async caughtUp(): Promise<void> {
    await Promise.all(
      this.statuses.map(async ({ replica }) => {
        const snapshot = await this.snapshot(replica)
        if (!snapshot) return
        const { boot, seq } = snapshot.reporter
        const limit = this.nowMs() + CATCH_UP_MS
        const behind = () => {
          const { cursor } = this.watchers[replica]!
          return cursor.boot !== boot || cursor.seq < seq
        }
        while (behind() && this.status(replica).state === 'running' && this.nowMs() < limit) await this.progress()
      }),
    )
  }

  async groups(node: number): Promise<readonly GroupSummary[] | undefined> {
    const snapshot = await this.snapshot(node)
    if (!snapshot) return undefined
    const { metadata, groups } = snapshot
    return [metadata, ...groups.filter(({ plane }) => plane === 'partition')]
  }

  /** What a process keeps only for its own life is not among them. */
  async files(node: number): Promise<readonly string[]> {
    const { dataDirectory } = this.status(node)
    const found: string[] = []
    const walk = (under: string): void => {
      for (const entry of readdirSync(join(dataDirectory, under), { withFileTypes: true })) {
        const path = under === '' ? entry.name : `${under}/${entry.name}`
        if (path === 'runtime' || path === NODE_LOCK) continue
        if (entry.isDirectory()) walk(path)
        else found.push(path)
      }
    }
    ifThere(() => walk(''))
    return found.sort()
  }

  /** A file that goes away meanwhile is not among them. */
  async sizes(node: number): Promise<ReadonlyMap<string, number>> {
    const { dataDirectory } = this.status(node)
    const found = new Map<string, number>()
    for (const path of await this.files(node)) {
      const bytes = ifThere(() => statSync(join(dataDirectory, path)).size)
      if (bytes !== undefined) found.set(path, bytes)
    }
    return found
  }

  async readFile(node: number, path: string): Promise<Uint8Array | undefined> {
    return ifThere(() => new Uint8Array(readFileSync(join(this.status(node).dataDirectory, path))))
  }

  async writeFile(node: number, path: string, bytes: Uint8Array | undefined): Promise<void> {
    const status = this.status(node)
    if (isAlive(status)) throw new CannotAct(`node ${node} has a process; its files are its own`)
    const target = join(status.dataDirectory, path)
    if (bytes === undefined) {
      rmSync(target, { force: true })
      return
    }
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, bytes)
  }

  client(nodes: readonly number[], options: Partial<ClientOptions>): Client {
    const endpoints = nodes.map(node => {
      const { host, ports } = this.status(node)
      return { host, port: ports.client }
    })
    return new Client(nodeClientPorts, { endpoints, hash: this.options.hash, credentials: ROOT, ...options })
  }

  /** Undefined while the node does not answer. */
  private async snapshot(node: number): Promise<NodeSnapshot | undefined> {
    const { state, host, ports } = this.status(node)
    if (state !== 'running') return undefined
    try {
      const { json } = await this.http.get(node, { host, port: ports.inspection }, nodePath.snapshot)
      return nodeSnapshot.parse(json)
    } catch {
      return undefined
    }
  }

  private get statuses(): readonly NodeStatus[] {
    return this.supervisor.status().nodes
  }

  private status(node: number): NodeStatus {
    const found = this.statuses[node]
    if (!found) throw new CannotAct(`there is no node ${node}`)
    return found
  }

  private get links(): ClusterLinks {
    if (!this.supervisor.links) throw new CannotAct('a node alone has no links')
    return this.supervisor.links
  }

  private changed(status: NodeStatus): void {
    const watcher = this.watchers[status.replica]!
    // From its first moment: what a boot says before it listens is of interest too.
    if (isAlive(status)) watcher.watch({ host: status.host, port: status.ports.inspection })
    else watcher.unwatch()
    // A process that killed itself has used up what did it.
    if (status.state === 'crashed') {
      this.armed[status.replica] = this.armed[status.replica]!.filter(({ effect }) => effect.effect !== 'kill')
    }
  }

  /** Counts go with the process, so they are read before it ends. */
  private async keepArmed(node: number): Promise<void> {
    const armed = this.armed[node]!
    if (armed.length === 0 || this.status(node).state !== 'running') return
    const { points } = await this.faults(node)
    this.armed[node] = armed.flatMap(each => {
      const now = points.find(({ point }) => point === each.point)
      if (!now || now.left === 0) return []
      return [{ ...each, after: Math.max(0, each.after - now.hits), times: now.left ?? each.times }]
    })
  }

  private async faults(node: number, what?: string, query?: URLSearchParams): Promise<FaultsAnswer> {
    const { host, ports } = this.status(node)
    const path = what === undefined ? '/faults' : `/faults/${what}?${query}`
    const answered = this.http.get(node, { host, port: ports.inspection }, path, what === undefined ? 'GET' : 'POST')
    return (await acting(answered)).json as FaultsAnswer
  }
}

const isAlive = ({ state }: NodeStatus): boolean => state === 'starting' || state === 'running' || state === 'paused'

function queryOf({ point, effect, after, times }: Armed): URLSearchParams {
  const query = new URLSearchParams({ point, after: String(after) })
  for (const [name, value] of Object.entries(effect)) query.set(name, String(value))
  if (times < Number.MAX_SAFE_INTEGER) query.set('times', String(times))
  return query
}

/** What cannot be done now is no failure of what is tested. */
async function acting<T>(work: Promise<T> | (() => T)): Promise<T> {
  try {
    return await (typeof work === 'function' ? work() : work)
  } catch (error) {
    if (error instanceof EngineError || (error as { code?: string }).code?.startsWith('CON_')) {
      throw new CannotAct((error as Error).message)
    }
    throw error
  }
}

function ifThere<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
