/** A supervisor of nodes without processes: it keeps their state, and does what it is told at once. */
import { EngineError } from '../../../shared/bytes/errors.ts'
import type { ClusterStatus, NodePorts, NodeState, NodeStatus, Supervisor } from '../../cluster/contract.ts'

export class FakeSupervisor implements Supervisor {
  readonly #nodes: NodeStatus[]
  readonly #listeners = new Set<(node: NodeStatus) => void>()
  /** What was done, in order. */
  readonly calls: string[] = []
  /** Thrown by the next call. */
  failure: EngineError | undefined

  constructor(ports: readonly Partial<NodePorts>[], state: NodeState = 'running') {
    this.#nodes = ports.map((some, replica) => ({
      replica,
      name: `node-${replica}`,
      state,
      sinceWallMs: 1_764_000_000_000,
      ...(state === 'running' && { pid: 1000 + replica }),
      adopted: false,
      ports: { client: 1, replica: 2, inspection: 3, ...some },
      host: '127.0.0.1',
      dataDirectory: `/data/node ${replica}`,
      configFile: `/data/node-${replica}.toml`,
      logFile: `/data/node-${replica}.log`,
      command: `node quorumscope.js node --replica-id ${replica}`,
    }))
  }

  status(): ClusterStatus {
    return { name: 'test', directory: '/data', nodes: [...this.#nodes] }
  }

  set(replica: number, changes: Partial<NodeStatus>): NodeStatus {
    const node = { ...this.#nodes[replica]!, ...changes }
    this.#nodes[replica] = node
    for (const listener of this.#listeners) listener(node)
    return node
  }

  async #do(
    action: string,
    replica: number,
    from: readonly NodeState[],
    changes: Partial<NodeStatus>,
  ): Promise<NodeStatus> {
    this.calls.push(`${action} ${replica}`)
    const { failure } = this
    this.failure = undefined
    if (failure) throw failure
    if (!from.includes(this.#nodes[replica]!.state)) {
      throw new EngineError('WrongState', `node-${replica} is ${this.#nodes[replica]!.state}`)
    }
    return this.set(replica, changes)
  }

  start(replica: number): Promise<NodeStatus> {
    return this.#do('start', replica, ['stopped', 'crashed', 'refused'], { state: 'running', pid: 2000 + replica })
  }
  async startAll(): Promise<void> {}
  kill(replica: number): Promise<NodeStatus> {
    const lastExit = { signal: 'SIGKILL', meaning: 'killed', atWallMs: 1_764_000_001_000, requested: 'kill' } as const
    return this.#do('kill', replica, ['running', 'paused', 'starting'], { state: 'stopped', lastExit })
  }
  terminate(replica: number): Promise<NodeStatus> {
    return this.#do('terminate', replica, ['running'], { state: 'stopped' })
  }
  pause(replica: number): Promise<NodeStatus> {
    return this.#do('pause', replica, ['running'], { state: 'paused' })
  }
  resume(replica: number): Promise<NodeStatus> {
    return this.#do('resume', replica, ['paused'], { state: 'running' })
  }
  wipe(replica: number): Promise<NodeStatus> {
    return this.#do('wipe', replica, ['stopped'], {})
  }
  logTail(_replica: number, lines: number): string[] {
    return ['one', 'two', 'three'].slice(-lines)
  }
  onChange(listener: (node: NodeStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  async close(): Promise<void> {}
}
