/**
 * What a world offers to a scenario. The interpreter (run.ts) does the waiting, the predicates and the ledgers with these
 * few calls; a runner only acts and reports. There is one for the simulator and one for real processes.
 */
import type { Client, ClientOptions } from '../client/client.ts'
import type { EventEnvelope } from '../inspection/envelope.ts'
import type { GroupSummary } from '../inspection/snapshots.ts'
import type { Capability, FailpointEffect, ProcessState } from './language.ts'

export interface ProcessReport {
  readonly state: ProcessState
  /** Of the last process, once it has ended by itself. */
  readonly exit?: number
  /** Code of the typed error it ended with. */
  readonly code?: string
}

/** An event with the time it was received at, in the scenario's clock. */
export type SeenEvent = Pick<
  EventEnvelope,
  'node' | 'kind' | 'class' | 'plane' | 'group' | 'view' | 'logView' | 'op' | 'commit' | 'data'
>

/** An action that the present state of the world does not allow. The verdict becomes `unknown`. */
export class CannotAct extends Error {}

export interface Runner {
  readonly world: 'sim' | 'real'
  readonly nodes: number
  supports(capability: Capability): boolean
  /** Milliseconds since the scenario began: virtual, or of the wall. */
  nowMs(): number
  /** Lets a little time pass: the pace at which predicates are looked at. Never more than 50 ms. */
  progress(): Promise<void>
  /** Lets this much time pass. */
  sleep(ms: number): Promise<void>

  /** Resolves once the process is spawned; whether it comes to serve is seen by `process`. Does not reject on a refusal. */
  start(node: number): Promise<void>
  /** SIGKILL; resolves when the process is gone. */
  kill(node: number): Promise<void>
  /** SIGTERM; resolves when the process is gone. */
  terminate(node: number): Promise<void>
  pause(node: number): Promise<void>
  resume(node: number): Promise<void>
  /** Removes the data directory of a node without a process. */
  wipe(node: number): Promise<void>

  cut(from: number, to: number, command?: number): Promise<void>
  heal(from: number, to: number, command?: number): Promise<void>
  hold(name: string, from: number, to: number, command: number, count: number): Promise<void>
  release(name: string): Promise<void>
  arm(node: number, point: string, effect: FailpointEffect, after: number, times: number): Promise<void>
  disarm(node: number, point: string): Promise<void>
  skewClock(node: number, byMs: number): Promise<void>

  process(node: number): ProcessReport
  /** All events of all nodes so far, in order of arrival; grows, never shrinks. */
  events(): readonly SeenEvent[]
  /** Every group of a running node, its metadata group first, with as many fields as the world has; undefined while it does not answer. */
  groups(node: number): Promise<readonly GroupSummary[] | undefined>

  /** Paths of all files in the data directory, sorted. */
  files(node: number): Promise<readonly string[]>
  /** Undefined: no such file. */
  readFile(node: number, path: string): Promise<Uint8Array | undefined>
  /** Tools only, on a node without a process. `undefined` removes the file. */
  writeFile(node: number, path: string, bytes: Uint8Array | undefined): Promise<void>

  client(nodes: readonly number[], options: Partial<ClientOptions>): Client
}
