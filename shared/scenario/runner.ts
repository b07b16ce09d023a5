/**
 * What a world offers to a scenario. The interpreter (run.ts) does the waiting, the predicates and the ledgers with these
 * few calls; a runner only acts and reports. There is one for the simulator and one for real processes.
 */
import type { Client, ClientOptions } from '../client/client.ts'
import type { EventEnvelope } from '../inspection/envelope.ts'
import type { GroupSummary } from '../inspection/snapshots.ts'
import type { Objection } from './evidence.ts'
import type { Capability, FailpointEffect, Halves, Loss, ProcessState } from './language.ts'

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
> & { readonly atMs: number }

/** An action that the present state of the world does not allow. The verdict becomes `unknown`. */
export class CannotAct extends Error {}

/** Hears what clients are told, in worlds whose checkers compare it. A partition is `STREAM/TOPIC/NUMBER`, by names. */
export interface Witness {
  /** `eager`: what it acknowledges is on disk. A topic is `STREAM/TOPIC`. */
  topicMade(topic: string, eager: boolean): void
  topicPurged(topic: string): void
  /** This offset holds this payload; `acked`: told to its sender, else to a reader. */
  confirmed(partition: string, offset: bigint, payload: string, acked: boolean): void
  /** A request that was to succeed has ended without, though its client asked again until its budget was spent. */
  unanswered(request: string, error: string): void
  /** All that the partition has, read from its first message on. */
  readBack(partition: string, found: ReadonlyMap<bigint, string>): void
}

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
  /** SIGKILL, or with a loss of power; resolves when the process is gone. @throws CannotAct for a loss it cannot make */
  kill(node: number, loss?: Loss): Promise<void>
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
  /** How often an armed point was reached in the node's life that runs now; undefined: it is not armed, or nobody answers. */
  reached(node: number, point: string): Promise<number | undefined>
  /** How persists are written from the node's next start on. */
  measure(node: number, halves: Halves): Promise<void>
  skewClock(node: number, byMs: number): Promise<void>

  /** What the world's own checkers say so far; a world without any leaves this out. */
  checkers?(): { readonly looked: number; readonly violations: readonly Objection[] }
  readonly witness?: Witness
  process(node: number): ProcessReport
  /** Longest time of the running process in which it did one thing; a world without processors leaves this out. */
  longestPauseMs?(node: number): Promise<number | undefined>
  /** Where events take a while to arrive: resolves once all that running nodes have reported by now are among `events`. */
  caughtUp?(): Promise<void>
  /** All events of all nodes so far, in order of arrival; grows, never shrinks. */
  events(): readonly SeenEvent[]
  /** Every group of a running node, its metadata group first, with as many fields as the world has; undefined while it does not answer. */
  groups(node: number): Promise<readonly GroupSummary[] | undefined>

  /** Paths of all files in the data directory, sorted. */
  files(node: number): Promise<readonly string[]>
  /** Paths of all files with their lengths. */
  sizes(node: number): Promise<ReadonlyMap<string, number>>
  /** Undefined: no such file. */
  readFile(node: number, path: string): Promise<Uint8Array | undefined>
  /** Tools only, on a node without a process. `undefined` removes the file. */
  writeFile(node: number, path: string, bytes: Uint8Array | undefined): Promise<void>

  client(nodes: readonly number[], options: Partial<ClientOptions>): Client
}
