/**
 * The local cluster as the console sees it (design.md §3, §4): what each node process is doing, and the few things that
 * can be done to it. State follows the exit of the process at once, never a poll of its HTTP endpoint.
 */

import type { ClusterLinks } from './links/cluster-links.ts'

/**
 * `starting`: spawned, not yet listening. `running`: listening. `paused`: stopped by SIGSTOP, by whoever.
 * `stopped`: never started, or ended because it was asked to (kill included). `refused`: ended by itself with a status that
 * says why it will not run (2, 3, 64, 65, 69). `crashed`: ended by itself in any other way.
 */
export type NodeState = 'starting' | 'running' | 'paused' | 'stopped' | 'crashed' | 'refused'

export interface NodePorts {
  readonly client: number
  /** Where the node itself listens for its peers; a link proxy may stand before it. */
  readonly replica: number
  readonly inspection: number
}

export interface NodeExit {
  /** Exit status, absent after a signal and for adopted processes, whose status nobody can read. */
  readonly status?: number
  readonly signal?: string
  /** The status in words, from the one list of the project. */
  readonly meaning: string
  readonly atWallMs: number
  /** What this supervisor was asked to do that ended it; absent when it ended by itself. */
  readonly requested?: 'kill' | 'terminate'
}

/** What the process said before it ended by itself. */
export interface NodeRefusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly path?: string
  readonly advice?: string
}

export interface NodeStatus {
  readonly replica: number
  readonly name: string
  readonly state: NodeState
  /** Since when it is in this state. */
  readonly sinceWallMs: number
  /** Pid of the live process. */
  readonly pid?: number
  /** Found alive by this supervisor, started by an earlier one. */
  readonly adopted: boolean
  readonly ports: NodePorts
  readonly host: string
  readonly dataDirectory: string
  readonly configFile: string
  readonly logFile: string
  readonly startedWallMs?: number
  /** Milliseconds from spawn to listening, for processes started here. */
  readonly readyMs?: number
  readonly lastExit?: NodeExit
  readonly lastRefusal?: NodeRefusal
  /** The command that starts this node by hand, as one line of shell. */
  readonly command: string
}

export interface ClusterStatus {
  readonly name: string
  readonly directory: string
  readonly nodes: readonly NodeStatus[]
}

/** A request that the present state of the node does not allow, e.g. resuming a node that is not paused. */
export type SupervisorErrorCode =
  | 'NoSuchNode'
  | 'WrongState'
  | 'StartTimedOut'
  | 'StopTimedOut'
  | 'ClusterInUse'
  | 'BadClusterFile'

export interface Supervisor {
  /** The proxies on the links between the nodes; absent where the nodes dial each other directly. */
  readonly links?: ClusterLinks | undefined
  status(): ClusterStatus
  /** Starts one node and resolves when it listens. @throws EngineError WrongState, or StartTimedOut; a refusal rejects with its own code. */
  start(replica: number): Promise<NodeStatus>
  /** Starts every node that has no process, all at once. */
  startAll(): Promise<void>
  /** SIGKILL; resolves when the process is gone. */
  kill(replica: number): Promise<NodeStatus>
  /** SIGTERM, a clean stop; resolves when the process is gone. After `stopGraceMs` the process gets SIGKILL, and the exit says so. */
  terminate(replica: number): Promise<NodeStatus>
  /** SIGSTOP; resolves when the kernel reports the process stopped. */
  pause(replica: number): Promise<NodeStatus>
  /** SIGCONT. */
  resume(replica: number): Promise<NodeStatus>
  /** Removes the data directory of a node without a process. Port and config stay. */
  wipe(replica: number): Promise<NodeStatus>
  /** The last lines of the node's log, newest last. */
  logTail(replica: number, lines: number): string[]
  /** Called at every change of a node's status. Returns the way to stop listening. */
  onChange(listener: (node: NodeStatus) => void): () => void
  /** Ends the supervisor. With `stopNodes` every node is stopped cleanly first; without, the nodes go on and the next supervisor finds them. */
  close(options: { readonly stopNodes: boolean }): Promise<void>
}
