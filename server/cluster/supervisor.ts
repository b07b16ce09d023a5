/**
 * A local cluster of 1, 3 or 5 node processes in one directory (design.md §4). It survives its own death: the nodes live
 * in sessions of their own, and the next supervisor of the directory finds and adopts exactly them.
 *
 *   DIR/cluster.json   ports and processes          DIR/node-N.toml   configuration, written at each start
 *   DIR/console.lock   the supervisor's own lock    DIR/node-N.log    what node N printed
 *   DIR/node-N/        data directory of node N
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { EngineError } from '../../shared/bytes/errors.ts'
import { type DirectoryLock, liveOwner, lockDirectory, NODE_LOCK } from '../node/directory-lock.ts'
import { findSame } from '../node/process-identity.ts'
import {
  type ClusterFile,
  type ClusterFileNode,
  readClusterFile,
  removeClusterFile,
  writeClusterFile,
} from './cluster-file.ts'
import type { ClusterStatus, NodeStatus, Supervisor } from './contract.ts'
import { findNodes } from './find-nodes.ts'
import { chooseFreePorts, isFree } from './free-ports.ts'
import { defaultEntry, type LaunchEntry, nodeArguments, nodeEnvironment } from './launcher.ts'
import { ClusterLinks, type LinkPort } from './links/cluster-links.ts'
import { bootsFileOf, type ExtraSettings, HOST, nodeFiles, writeNodeConfig } from './node-files.ts'
import { NodeProcess, sleep } from './node-process.ts'

export const SUPERVISOR_LOCK = 'console.lock'

export interface SupervisorOptions {
  /** Made when absent. */
  readonly directory: string
  /** 1, 3 or 5 for a new cluster; what the directory holds already wins when this is left out. Default 3. */
  readonly nodes?: number
  readonly name?: string
  readonly root?: { readonly username: string; readonly password: string }
  readonly entry?: LaunchEntry
  /** Settings of every node, by dotted key. */
  readonly settings?: ExtraSettings
  /** The nodes reach each other through proxies in this process, which can cut, delay and hold. Default true. */
  readonly links?: boolean
  /** Nodes that the last supervisor had only just started are waited for, to be adopted. Default true. */
  readonly awaitStarts?: boolean
  /** Further arguments of a node process, asked for at each start. */
  readonly nodeArgs?: (replica: number) => readonly string[]
  /** Until a starting node must listen. Default 30 s. */
  readonly startTimeoutMs?: number
  /** Until a clean stop becomes a kill. Default 30 s. */
  readonly stopGraceMs?: number
}

const NODE_COUNTS = [1, 3, 5]
const NAME = 'quorumscope'
/** Pauses by others and the end of adopted processes are noticed within this time; `ps` is slower than /proc. */
const LOOK_MS = process.platform === 'linux' ? 100 : 1_000
/** New ports are tried this often when somebody else takes one between choice and use. */
const PORT_ATTEMPTS = 5
/** From the start of a node until it holds the lock of its directory; one that is stopped meanwhile never does. */
const LOCKED_MS = 10_000
const LOCK_POLL_MS = 20
/** A port of a node that is down may be the source port of somebody's short-lived connection. */
const PORT_RETRY_MS = 300

/** Takes the directory, reads or makes its cluster, and adopts its live nodes. @throws EngineError ClusterInUse, BadClusterFile */
export async function openSupervisor(options: SupervisorOptions): Promise<LocalSupervisor> {
  const directory = resolve(options.directory)
  mkdirSync(directory, { recursive: true })
  const lock = lockSupervisor(directory)
  try {
    const file = readClusterFile(directory) ?? (await newCluster(options))
    if (options.nodes !== undefined && file.nodes.length !== options.nodes) {
      throw new EngineError(
        'BadClusterFile',
        `${directory} holds a cluster of ${file.nodes.length} nodes, not of ${options.nodes}`,
        { path: directory, advice: 'leave the number out, or choose another directory' },
      )
    }
    writeClusterFile(directory, file)
    if (options.awaitStarts !== false) await startsSettled(directory)
    const supervisor = new LocalSupervisor(directory, file, lock, options)
    if (options.links !== false && file.nodes.length > 1) await supervisor.openLinks()
    return supervisor
  } catch (error) {
    lock.release()
    throw error
  }
}

/**
 * A node takes the lock that it is adopted by a while after its start. If the last supervisor died in between, the node
 * would be nobody's, and in the way of the next one of its number.
 */
async function startsSettled(directory: string): Promise<void> {
  const deadline = Date.now() + LOCKED_MS
  for (const { replica, ...node } of findNodes(directory)) {
    const lock = join(nodeFiles(directory, replica).dataDirectory, NODE_LOCK)
    while (findSame(node) && liveOwner(lock)?.pid !== node.pid && Date.now() < deadline) await sleep(LOCK_POLL_MS)
  }
}

function lockSupervisor(directory: string): DirectoryLock {
  try {
    return lockDirectory(directory, SUPERVISOR_LOCK)
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    throw new EngineError('ClusterInUse', error.message, error.context, { cause: error })
  }
}

async function newCluster(options: SupervisorOptions): Promise<ClusterFile> {
  const count = options.nodes ?? 3
  if (!NODE_COUNTS.includes(count)) {
    throw new EngineError('BadClusterFile', `a cluster has 1, 3 or 5 nodes, not ${count}`)
  }
  const ports = await chooseFreePorts(HOST, count * 3)
  const nodes: ClusterFileNode[] = []
  for (let replica = 0; replica < count; replica++) {
    const [client, replicaPort, inspection] = ports.slice(replica * 3, replica * 3 + 3)
    nodes.push({ replica, ports: { client: client!, replica: replicaPort!, inspection: inspection! } })
  }
  return { v: 1, name: options.name ?? NAME, createdWallMs: Date.now(), nodes }
}

/** None of the nodes' own: nobody listens on those yet, so the system would give them again. */
async function chooseLinkPorts(file: ClusterFile): Promise<LinkPort[]> {
  const nodes = file.nodes.length
  const spoken = new Set(file.nodes.flatMap(({ ports }) => Object.values(ports)))
  const pairs: Omit<LinkPort, 'port'>[] = []
  for (let from = 0; from < nodes; from++) for (let to = from + 1; to < nodes; to++) pairs.push({ from, to })
  const ports = await chooseFreePorts(HOST, pairs.length, spoken)
  return pairs.map((pair, index) => ({ ...pair, port: ports[index]! }))
}

/** What is being done to one node; at most one thing at a time. */
interface Work {
  readonly over: Promise<void>
  /** Of the process that there was when it began. */
  readonly startedWallMs: number | undefined
}

export class LocalSupervisor implements Supervisor {
  private readonly directory: string
  private readonly lock: DirectoryLock
  private readonly options: SupervisorOptions
  private file: ClusterFile
  private readonly processes: readonly NodeProcess[]
  private readonly listeners = new Set<(node: NodeStatus) => void>()
  private readonly looker: NodeJS.Timeout
  /** By node: what is being done to it; settles when it is over, however it ends. */
  private readonly busy = new Map<number, Work>()
  private closed = false
  private unsaved = false
  private proxies: ClusterLinks | undefined
  private choosingPorts: Promise<void> | undefined
  /** Replicas that were running when this supervisor came. */
  readonly adopted: readonly number[]

  constructor(directory: string, file: ClusterFile, lock: DirectoryLock, options: SupervisorOptions) {
    this.directory = directory
    this.file = file
    this.lock = lock
    this.options = options
    const entry = options.entry ?? defaultEntry()
    const environment = nodeEnvironment(options.root ?? { username: 'iggy', password: 'iggy' })
    this.processes = file.nodes.map(({ replica }) => {
      const files = nodeFiles(directory, replica)
      return new NodeProcess({
        replica,
        directory,
        files,
        ports: () => this.file.nodes[replica]!.ports,
        host: HOST,
        args: () => [...nodeArguments(entry, replica, files.configFile), ...(options.nodeArgs?.(replica) ?? [])],
        environment,
        onChange: () => this.changed(replica),
        onProcess: found => this.note(replica, found),
      })
    })
    const adopted = file.nodes.filter(node => this.processes[node.replica]!.adopt(node.process))
    this.adopted = adopted.map(node => node.replica)
    for (const node of this.file.nodes)
      if (node.process && !this.adopted.includes(node.replica)) this.note(node.replica, undefined)
    this.looker = setInterval(() => {
      for (const process of this.processes) process.look()
      if (this.unsaved) this.saveNotes()
    }, LOOK_MS)
    this.looker.unref()
  }

  get links(): ClusterLinks | undefined {
    return this.proxies
  }

  /** Nodes that were adopted dial the ports that their former supervisor wrote down. */
  async openLinks(): Promise<void> {
    const { nodes } = this.file
    this.proxies = new ClusterLinks({
      host: HOST,
      nodes: nodes.length,
      ports: this.file.links ?? (await chooseLinkPorts(this.file)),
      target: replica => this.file.nodes[replica]!.ports.replica,
    })
    this.file = { ...this.file, links: this.proxies.ports }
    writeClusterFile(this.directory, this.file)
    for (const process of this.processes) this.followLinks(process.status())
  }

  private followLinks({ replica, state }: NodeStatus): void {
    this.proxies?.follow(replica, state === 'running' || state === 'paused')
  }

  status(): ClusterStatus {
    return { name: this.file.name, directory: this.directory, nodes: this.processes.map(process => process.status()) }
  }

  async start(replica: number): Promise<NodeStatus> {
    // A process that dies while it starts is seen dead before its start has ended.
    if (this.cutShort(replica)) await this.busy.get(replica)?.over
    return this.exclusively(replica, async process => {
      if (!this.processes.some(other => other.alive)) await this.freshPorts()
      this.writeConfig(replica)
      for (let attempt = 1; ; attempt++) {
        // Ports take a while to look for; a process that is spawned behind a close would be nobody's.
        if (this.closed) throw closedError()
        try {
          return await process.start(this.startTimeoutMs)
        } catch (error) {
          if (!isPortTaken(error) || attempt === PORT_ATTEMPTS) throw error
          await sleep(PORT_RETRY_MS)
        }
      }
    })
  }

  async startAll(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const fresh = !this.processes.some(process => process.alive)
      if (fresh) await this.freshPorts()
      for (const { replica } of this.file.nodes) this.writeConfig(replica)
      const idle = this.file.nodes.filter(({ replica }) => !this.processes[replica]!.alive)
      const results = await Promise.allSettled(
        idle.map(({ replica }) => this.exclusively(replica, process => process.start(this.startTimeoutMs))),
      )
      const failures = results.flatMap(result => (result.status === 'rejected' ? [result.reason as unknown] : []))
      if (failures.length === 0) return
      // Somebody took a port between choice and use. The others know the old one, so all get new ones together.
      if (!fresh || attempt === PORT_ATTEMPTS || !failures.every(isPortTaken)) throw failures[0]
      await this.stopAll()
    }
  }

  async kill(replica: number): Promise<NodeStatus> {
    // Not exclusive: a kill may cut short whatever else is being done to the node.
    await this.process(replica).end('kill', this.stopGraceMs)
    // The start that it cut short has yet to notice: until then nobody could start the node anew.
    await this.busy.get(replica)?.over
    return this.process(replica).status()
  }

  terminate(replica: number): Promise<NodeStatus> {
    return this.exclusively(replica, process => process.end('terminate', this.stopGraceMs))
  }

  pause(replica: number): Promise<NodeStatus> {
    return this.exclusively(replica, process => process.pause())
  }

  resume(replica: number): Promise<NodeStatus> {
    return this.exclusively(replica, process => process.resume())
  }

  wipe(replica: number): Promise<NodeStatus> {
    return this.exclusively(replica, async process => {
      process.look()
      if (process.alive) {
        throw new EngineError('WrongState', `node-${replica} has a process; its data cannot be wiped`, {
          advice: 'stop or kill the node first',
        })
      }
      rmSync(nodeFiles(this.directory, replica).dataDirectory, { recursive: true, force: true })
    })
  }

  logTail(replica: number, lines: number): string[] {
    return this.process(replica).logTail(lines)
  }

  onChange(listener: (node: NodeStatus) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  async close({ stopNodes }: { readonly stopNodes: boolean }): Promise<void> {
    if (this.closed) return
    this.closed = true
    if (stopNodes) await this.stopAll()
    this.release()
  }

  /** Stops every node and removes the cluster with all its data: the next supervisor of the directory makes a new one. */
  async destroy(): Promise<void> {
    if (this.closed) throw closedError()
    this.closed = true
    await this.stopAll()
    // The file first: without it nothing names what may be left of a removal that was cut short.
    removeClusterFile(this.directory)
    for (const { replica } of this.file.nodes) {
      const { dataDirectory, configFile, logFile } = nodeFiles(this.directory, replica)
      for (const path of [dataDirectory, configFile, logFile, `${logFile}.1`, bootsFileOf(dataDirectory)])
        rmSync(path, { recursive: true, force: true })
    }
    this.release()
  }

  private release(): void {
    clearInterval(this.looker)
    for (const process of this.processes) process.release()
    this.proxies?.close()
    this.lock.release()
  }

  private async stopAll(): Promise<void> {
    const alive = this.processes.filter(process => process.alive)
    await Promise.all(
      alive.map(process =>
        process.end('terminate', this.stopGraceMs).catch((error: unknown) => {
          // Gone in the meantime is what was wanted.
          if (process.alive) throw error
        }),
      ),
    )
  }

  /** One look for all nodes that are started at once: two would find each other in the ports they try. */
  private freshPorts(): Promise<void> {
    this.choosingPorts ??= this.replaceTakenPorts().finally(() => {
      this.choosingPorts = undefined
    })
    return this.choosingPorts
  }

  /** Only while no node runs: the ports stand in everybody's roster. */
  private async replaceTakenPorts(): Promise<void> {
    const nodes: ClusterFileNode[] = []
    // The system may give a port that another node has been given and does not listen on yet.
    const spoken = new Set(this.file.nodes.flatMap(({ ports }) => Object.values(ports)))
    for (const { port } of this.proxies?.ports ?? []) spoken.add(port)
    const choose = async (count: number) => {
      const chosen = await chooseFreePorts(HOST, count, spoken)
      for (const port of chosen) spoken.add(port)
      return chosen
    }
    for (const node of this.file.nodes) {
      const free = await Promise.all(Object.values(node.ports).map(port => isFree(HOST, port)))
      if (free.every(Boolean)) {
        nodes.push(node)
        continue
      }
      const [client, replica, inspection] = await choose(3)
      nodes.push({ ...node, ports: { client: client!, replica: replica!, inspection: inspection! } })
    }
    for (const { from, to, port } of this.proxies?.ports ?? []) {
      if (!(await isFree(HOST, port))) this.proxies!.move(from, to, (await choose(1))[0]!)
    }
    this.file = { ...this.file, nodes, ...(this.proxies && { links: this.proxies.ports }) }
    writeClusterFile(this.directory, this.file)
  }

  private writeConfig(replica: number): void {
    const { settings = {} } = this.options
    writeNodeConfig(this.directory, this.file, replica, settings, (from, to, real) =>
      this.proxies ? this.proxies.peerPort(from, to, real) : real,
    )
  }

  private async exclusively(replica: number, work: (process: NodeProcess) => Promise<void>): Promise<NodeStatus> {
    const process = this.process(replica)
    if (this.closed) throw closedError()
    if (this.busy.has(replica)) {
      throw new EngineError('WrongState', `node-${replica} is being worked on`, { advice: 'wait for that to end' })
    }
    const { startedWallMs } = process.status()
    const done = work(process)
    const over = done.then(nothing, nothing).then(() => void this.busy.delete(replica))
    this.busy.set(replica, { over, startedWallMs })
    await done.finally(() => over)
    return process.status()
  }

  private cutShort(replica: number): boolean {
    const work = this.busy.get(replica)
    const process = this.process(replica)
    return work !== undefined && !process.alive && process.status().startedWallMs !== work.startedWallMs
  }

  private process(replica: number): NodeProcess {
    const process = this.processes[replica]
    if (!process) throw new EngineError('NoSuchNode', `there is no node-${replica}`)
    return process
  }

  private note(replica: number, found: ClusterFileNode['process']): void {
    const nodes = this.file.nodes.map(node => {
      if (node.replica !== replica) return node
      const { process: _gone, ...rest } = node
      return found ? { ...rest, process: found } : rest
    })
    this.file = { ...this.file, nodes }
    this.saveNotes()
  }

  /**
   * A full disk that ends the nodes must not end whoever says so. Notes are no proof: a process that was not noted is found
   * by the lock of its directory, so writing them may wait until it can be done.
   */
  private saveNotes(): void {
    try {
      writeClusterFile(this.directory, this.file)
      this.unsaved = false
    } catch {
      this.unsaved = true
    }
  }

  private changed(replica: number): void {
    const status = this.processes[replica]?.status()
    if (!status) return
    this.followLinks(status)
    for (const listener of this.listeners) listener(status)
  }

  private get startTimeoutMs(): number {
    return this.options.startTimeoutMs ?? 30_000
  }

  private get stopGraceMs(): number {
    return this.options.stopGraceMs ?? 30_000
  }
}

const isPortTaken = (error: unknown): boolean => error instanceof EngineError && error.code === 'PortUnavailable'

const closedError = (): EngineError => new EngineError('WrongState', 'the supervisor is closed')

const nothing = (): void => {}
