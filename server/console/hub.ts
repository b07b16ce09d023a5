/**
 * What the console knows of its cluster, in one place: the processes (from the supervisor, at once), what each node says
 * (from its watcher), and one merged stream of both. The routes read from here; the event stream is told from here.
 */
import { randomBytes } from 'node:crypto'
import type {
  ClusterNode,
  CurrentCluster,
  LoadState,
  StreamHello,
  StreamMessage,
  StreamSnapshot,
} from '../../shared/inspection/api.ts'
import { CONSOLE_NODE, type EventDraft, type EventEnvelope, type EventGap } from '../../shared/inspection/envelope.ts'
import type { KnownKind } from '../../shared/inspection/kinds.ts'
import type { NodeSnapshot } from '../../shared/inspection/snapshots.ts'
import type { NodeStatus, Supervisor } from '../cluster/contract.ts'
import { ConsoleError } from './errors.ts'
import { EventLog, type EventLogOptions } from './event-log.ts'
import { EventStream, type StreamState } from './event-stream.ts'
import { type NodeEndpoint, NodeHttp } from './node-http.ts'
import { NodeWatcher, type WatchListener, type WatchState } from './node-watcher.ts'
import { usOfMs, wallMs, wallUs } from './wall.ts'

export interface HubOptions {
  readonly supervisor: Supervisor
  readonly readOnly: boolean
  readonly log?: EventLogOptions
}

interface HeardSnapshot {
  readonly askedSeq: number
  readonly receivedWallUs: string
  readonly snapshot: NodeSnapshot
}

export class Hub implements WatchListener, StreamState {
  readonly run = randomBytes(8).toString('hex')
  readonly supervisor: Supervisor
  readonly readOnly: boolean
  readonly log: EventLog
  readonly stream: EventStream
  readonly http = new NodeHttp()
  readonly watchers = new Map<number, NodeWatcher>()
  readonly #snapshots = new Map<number, HeardSnapshot>()
  readonly #lastStatus = new Map<number, NodeStatus>()
  readonly #stopListening: () => void
  #ownSeq = 0
  /** Set by the load once it exists. */
  loadState: (() => LoadState) | undefined

  constructor(options: HubOptions) {
    this.supervisor = options.supervisor
    this.readOnly = options.readOnly
    this.log = new EventLog(options.log)
    this.stream = new EventStream(this.log, this, this.run)
    for (const node of this.supervisor.status().nodes) {
      this.watchers.set(node.replica, new NodeWatcher(node.replica, this.http, this))
      this.#lastStatus.set(node.replica, node)
      if (node.adopted && node.pid !== undefined) this.emit('process_adopted', { node: node.replica, pid: node.pid })
      this.#follow(node)
    }
    const stopNodes = this.supervisor.onChange(node => this.#changed(node))
    const stopLinks = this.supervisor.links?.onEvent(event => this.#append(event))
    this.#stopListening = () => {
      stopNodes()
      stopLinks?.()
    }
  }

  get replicaCount(): number {
    return this.watchers.size
  }

  /** A fact of the console itself. `data.node` says which node it is about. */
  emit(kind: KnownKind, data: EventEnvelope['data']): void {
    this.#append({ plane: 'node', group: 'node', kind, class: 'fact', data })
  }

  #append(draft: EventDraft): void {
    this.#ownSeq += 1
    const now = wallUs()
    const event: EventEnvelope = {
      v: 1,
      node: CONSOLE_NODE,
      boot: this.run,
      seq: this.#ownSeq,
      monoUs: Math.round(performance.now() * 1000),
      wallUs: now,
      ...draft,
    }
    this.log.append([event])
  }

  /* ------------------------------------------------------------------------------------------ processes */

  #changed(node: NodeStatus): void {
    const old = this.#lastStatus.get(node.replica)
    this.#lastStatus.set(node.replica, node)
    this.#follow(node)
    const about = { node: node.replica }
    if (old?.state !== node.state) {
      if (node.state === 'running' && old?.state === 'paused') this.emit('process_resumed', about)
      else if (node.state === 'running') this.emit('process_started', { ...about, pid: node.pid ?? 0 })
      else if (node.state === 'paused') this.emit('process_paused', about)
      else if (node.state !== 'starting')
        this.emit('process_exited', { ...about, ...exitData(node), ...(old && { was: old.state }) })
    }
    this.stream.sendNodes(this.nodes())
  }

  #follow(node: NodeStatus): void {
    const watcher = this.watchers.get(node.replica)
    if (!watcher) return
    if (node.state === 'running' || node.state === 'paused')
      watcher.watch({ host: node.host, port: node.ports.inspection })
    else watcher.unwatch()
  }

  status(id: number): NodeStatus {
    const node = this.supervisor.status().nodes.find(candidate => candidate.replica === id)
    if (!node) throw new ConsoleError('CON_NO_SUCH_NODE', `There is no node-${id}.`)
    return node
  }

  /** Where to ask node `id`. @throws ConsoleError CON_NO_SUCH_NODE, CON_NODE_DOWN, CON_NODE_SILENT */
  endpoint(id: number): NodeEndpoint {
    const node = this.status(id)
    if (node.state === 'paused') throw new ConsoleError('CON_NODE_SILENT', `node-${id} is paused and cannot answer.`)
    if (node.state !== 'running') throw new ConsoleError('CON_NODE_DOWN', `node-${id} is ${node.state}.`)
    return { host: node.host, port: node.ports.inspection }
  }

  /** What node `id` answers at `path` of its inspection endpoint. */
  async ask(id: number, path: string): Promise<unknown> {
    return (await this.http.get(id, this.endpoint(id), path)).json
  }

  /** Ids of nodes that can be asked now, the ones heard last first. */
  answering(): number[] {
    const heard = (id: number) => this.watchers.get(id)?.heardMs ?? 0
    return this.supervisor
      .status()
      .nodes.filter(node => node.state === 'running')
      .map(node => node.replica)
      .sort((a, b) => heard(b) - heard(a))
  }

  /* ----------------------------------------------------------------------------------- what a node says */

  events(_node: number, items: readonly (EventEnvelope | EventGap)[]): void {
    this.log.append(items)
  }

  snapshot(node: number, snapshot: NodeSnapshot, askedSeq: number): void {
    const heard = { askedSeq, receivedWallUs: wallUs(), snapshot }
    this.#snapshots.set(node, heard)
    this.stream.sendSnapshot(toStream(node, heard))
  }

  state(node: number, state: WatchState, error: string | undefined): void {
    if (state === 'connected') this.emit('node_heard', { node })
    if (state === 'silent') this.emit('node_silent', { node, ...(error !== undefined && { error }) })
    this.stream.sendNodes(this.nodes())
  }

  seq(): number {
    return this.log.seq
  }

  snapshotOf(node: number): NodeSnapshot | undefined {
    return this.#snapshots.get(node)?.snapshot
  }

  /* ------------------------------------------------------------------------------- what readers are told */

  hello(): StreamHello {
    return {
      run: this.run,
      seq: this.log.seq,
      firstSeq: this.log.firstSeq,
      wallUs: wallUs(),
      readOnly: this.readOnly,
      replicaCount: this.replicaCount,
      name: this.supervisor.status().name,
    }
  }

  /** Without snapshots: they travel on their own. */
  nodes(): ClusterNode[] {
    const toldWallUs = wallUs()
    return this.supervisor.status().nodes.map(node => ({ ...this.#describe(node, undefined), toldWallUs }))
  }

  snapshots(): StreamSnapshot[] {
    return [...this.#snapshots].map(([node, heard]) => toStream(node, heard))
  }

  load(): LoadState {
    if (!this.loadState) throw new Error('the hub has no load yet')
    return this.loadState()
  }

  /** Everything about now, as a new reader is told it. */
  keyframe(): StreamMessage[] {
    return [
      { event: 'hello', data: this.hello() },
      { event: 'nodes', data: this.nodes() },
      ...this.snapshots().map(data => ({ event: 'snapshot', data }) as const),
      { event: 'load', data: this.load() },
    ]
  }

  refresh(): void {
    for (const watcher of this.watchers.values()) watcher.refresh()
  }

  node(id: number): ClusterNode {
    return this.#describe(this.status(id), this.#snapshots.get(id))
  }

  current(): CurrentCluster {
    const status = this.supervisor.status()
    return {
      run: this.run,
      seq: this.log.seq,
      takenWallUs: wallUs(),
      name: status.name,
      replicaCount: status.nodes.length,
      dataDirectory: status.directory,
      readOnly: this.readOnly,
      nodes: status.nodes.map(node => this.#describe(node, this.#snapshots.get(node.replica))),
    }
  }

  #describe(node: NodeStatus, heard: HeardSnapshot | undefined): ClusterNode {
    const watcher = this.watchers.get(node.replica)
    const { lastExit, lastRefusal } = node
    return {
      id: node.replica,
      name: node.name,
      state: node.state,
      sinceWallUs: usOfMs(node.sinceWallMs),
      pid: node.pid ?? null,
      ports: node.ports,
      dataDirectory: node.dataDirectory,
      logFile: node.logFile,
      command: node.command,
      adopted: node.adopted,
      exit: lastExit
        ? {
            status: lastExit.status ?? null,
            signal: lastExit.signal ?? null,
            atWallUs: usOfMs(lastExit.atWallMs),
            requested: lastExit.requested ?? null,
            meaning: lastExit.meaning,
          }
        : null,
      refusal: lastRefusal
        ? {
            code: lastRefusal.code,
            message: lastRefusal.message,
            ...(lastRefusal.path !== undefined && { path: lastRefusal.path }),
            ...(lastRefusal.advice !== undefined && { advice: lastRefusal.advice }),
          }
        : null,
      inspection: {
        state: watcher?.state ?? 'down',
        heardWallUs: watcher?.heardMs === undefined ? null : usOfMs(watcher.heardMs),
        error: watcher?.error ?? null,
      },
      snapshot: heard?.snapshot ?? null,
      snapshotWallUs: heard?.receivedWallUs ?? null,
    }
  }

  close(): void {
    this.#stopListening()
    for (const watcher of this.watchers.values()) watcher.unwatch()
    this.stream.close()
    this.log.close()
    this.http.close()
  }
}

const toStream = (node: number, heard: HeardSnapshot): StreamSnapshot => ({
  seq: heard.askedSeq,
  node,
  receivedWallUs: heard.receivedWallUs,
  snapshot: heard.snapshot,
})

function exitData(node: NodeStatus): EventEnvelope['data'] {
  const { lastExit } = node
  const data: EventEnvelope['data'] = { state: node.state, atWallMs: Math.round(lastExit?.atWallMs ?? wallMs()) }
  if (lastExit?.status !== undefined) data.status = lastExit.status
  if (lastExit?.signal !== undefined) data.signal = lastExit.signal
  if (lastExit?.requested !== undefined) data.requested = lastExit.requested
  if (lastExit) data.meaning = lastExit.meaning
  return data
}
