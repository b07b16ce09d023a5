/**
 * The language of scenario tests and crash drills: a scenario is data (plain JSON values), so that the page can show it, a
 * file can hold it, and any world can run it. A runner per world carries out the actions (see runner.ts); what is asked of
 * the world is asked by predicates over events, snapshots, disk bytes and what clients were told, never over log text, and
 * waiting is always for a predicate with a deadline.
 */
import type { TopicOptions } from '../client/topic-options.ts'

/** A node by number, or by what it is when the step runs: primary or a backup of a group. */
export type NodeRef =
  | number
  | { readonly primaryOf: GroupRef }
  /** The `nth` (default 0) running node that is not the primary, by number. */
  | { readonly backupOf: GroupRef; readonly nth?: number }
  /** What `remember` bound to this name. */
  | { readonly named: string }

/** `metadata`, or `stream/topic/partition` in numeric ids. */
export type GroupRef = 'metadata' | `${number}/${number}/${number}`

export interface ClusterSpec {
  readonly nodes: number
  /** Settings of the node, by their configuration keys, e.g. `{'metadata.journal_slots': 256}`. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>
}

/** Where in a file an edit happens. Negative positions count from the end. */
export type Address =
  | { readonly byte: number }
  | { readonly fraction: number }
  /** Metadata log: the nth entry (negative: from the end). */
  | { readonly walEntry: number; readonly part: 'header' | 'body'; readonly offset: number }
  /** Segment: the nth batch. */
  | { readonly batch: number; readonly part: 'header' | 'body'; readonly offset: number }
  /** Index: the nth entry of 24 bytes. */
  | { readonly indexEntry: number; readonly offset: number }

export type FileEdit =
  | { readonly edit: 'truncate'; readonly path: string; readonly to: Address }
  | { readonly edit: 'append'; readonly path: string; readonly hex: string; readonly times?: number }
  | { readonly edit: 'flip'; readonly path: string; readonly at: Address; readonly mask: number }
  | { readonly edit: 'write'; readonly path: string; readonly at: Address; readonly hex: string }
  | { readonly edit: 'delete'; readonly path: string }
  | { readonly edit: 'copy'; readonly path: string; readonly to: string }
  | { readonly edit: 'swap'; readonly path: string; readonly a: Address; readonly b: Address; readonly length: number }
  /** Recomputes the checksums over an edited record, so that it is wrong and not damaged. */
  | { readonly edit: 'reseal'; readonly path: string; readonly kind: 'superblock' | 'walEntry'; readonly at?: Address }

/** What happens at an armed point. `hold` waits until `release` names the point. */
export type FailpointEffect =
  | { readonly effect: 'kill' }
  | { readonly effect: 'error'; readonly error: 'Io' | 'NoSpace' }
  | { readonly effect: 'delay'; readonly ms: number }
  | { readonly effect: 'hold' }

/** A request of a client. `as` names its outcome for later predicates. */
export type ClientRequest =
  | { readonly request: 'createStream'; readonly stream: string }
  | { readonly request: 'deleteStream'; readonly stream: string }
  | {
      readonly request: 'createTopic'
      readonly stream: string
      readonly topic: string
      readonly partitions: number
      readonly options?: TopicOptions
    }
  | { readonly request: 'deleteTopic'; readonly stream: string; readonly topic: string }
  | { readonly request: 'purgeTopic'; readonly stream: string; readonly topic: string }
  | {
      readonly request: 'send'
      readonly stream: string
      readonly topic: string
      readonly partition: number
      /** Text payloads of one batch. */
      readonly payloads: readonly string[]
    }
  | {
      readonly request: 'poll'
      readonly stream: string
      readonly topic: string
      readonly partition: number
      readonly from: 'first' | 'last' | { readonly offset: string }
      readonly count: number
    }
  | { readonly request: 'listStreams' }
  | { readonly request: 'ping' }

export interface LoadSpec {
  readonly stream: string
  readonly topic: string
  readonly partitions: number
  /** Senders, each with a session and one batch in flight. */
  readonly lanes: number
  readonly batchMessages: number
  readonly messageBytes: number
  /** Pause of a lane between two batches. */
  readonly pauseMs: number
}

export type Action =
  | { readonly do: 'start'; readonly nodes: readonly NodeRef[] | 'all' }
  | { readonly do: 'kill' | 'terminate' | 'pause' | 'resume' | 'wipe'; readonly nodes: readonly NodeRef[] | 'all' }
  /** Frames of this direction are lost in silence. `command`: only frames of this command byte. */
  | { readonly do: 'cut' | 'heal'; readonly from: NodeRef; readonly to: NodeRef; readonly command?: number }
  /** Keeps the next `count` frames of a command until `release`. */
  | {
      readonly do: 'hold'
      readonly name: string
      readonly from: NodeRef
      readonly to: NodeRef
      readonly command: number
      readonly count?: number
    }
  | { readonly do: 'release'; readonly name: string }
  /** `after` hits are let through before the effect; it happens `times` (default 1). */
  | {
      readonly do: 'arm'
      readonly node: NodeRef
      readonly point: string
      readonly effect: FailpointEffect
      readonly after?: number
      readonly times?: number
    }
  | { readonly do: 'disarm'; readonly node: NodeRef; readonly point: string }
  /** Of a node without a process. */
  | { readonly do: 'edit'; readonly node: NodeRef; readonly edits: readonly FileEdit[] }
  | { readonly do: 'skewClock'; readonly node: NodeRef; readonly byMs: number }
  /** One request; `expect`: `ok` (default), `any`, or the names of the errors that are right. */
  | {
      readonly do: 'request'
      readonly client: string
      readonly call: ClientRequest
      readonly as?: string
      readonly expect?: 'ok' | 'any' | readonly string[]
      /** Goes on at once; the outcome is waited for by `outcome`. */
      readonly background?: boolean
    }
  /** Makes a client; without it a name used first connects to all nodes. */
  | {
      readonly do: 'client'
      readonly client: string
      readonly nodes: readonly NodeRef[]
      readonly followLeader?: boolean
      readonly retry?: boolean
      readonly budgetMs?: number
    }
  | { readonly do: 'closeClient'; readonly client: string }
  | { readonly do: 'startLoad'; readonly load: string; readonly spec: LoadSpec }
  /** Stops the lanes, then reads everything back. */
  | { readonly do: 'stopLoad'; readonly load: string; readonly withinMs: number }
  /** Names this moment: later predicates count events since then. Taken before the fault. */
  | { readonly do: 'baseline'; readonly name: string }
  | { readonly do: 'remember'; readonly name: string; readonly node: NodeRef }
  /** Keeps length and hash of files for `fileUnchanged`. */
  | { readonly do: 'recordFiles'; readonly name: string; readonly node: NodeRef; readonly under: string }
  | { readonly do: 'waitFor'; readonly what: string; readonly until: Predicate; readonly withinMs: number }
  /** Must hold now. */
  | { readonly do: 'check'; readonly what: string; readonly that: Predicate }
  /** Must hold all the time for so long. */
  | { readonly do: 'always'; readonly what: string; readonly that: Predicate; readonly forMs: number }
  | { readonly do: 'repeat'; readonly times: number; readonly steps: readonly Action[] }

export type Comparison = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge'
/** 64-bit values are compared as numbers, whatever their form. */
export type Scalar = string | number | boolean

export interface EventMatch {
  readonly node?: NodeRef
  readonly kind: string
  readonly group?: GroupRef
  /** Fields of `data`, or of the envelope. */
  readonly where?: Readonly<Record<string, Scalar>>
  /** Name of a baseline; default: the start of the scenario. */
  readonly since?: string
}

/** Field of a group as a node reports it, e.g. `view`, `status`, `commitMin`, `offsets.persisted`. */
export interface GroupField {
  readonly node: NodeRef
  readonly group: GroupRef
  readonly field: string
}

export type Predicate =
  | { readonly all: readonly Predicate[] }
  | { readonly any: readonly Predicate[] }
  | { readonly not: Predicate }
  /** Default: at least one. */
  | { readonly event: EventMatch; readonly atLeast?: number; readonly atMost?: number }
  | { readonly group: GroupField; readonly is: Comparison; readonly value: Scalar | GroupField }
  /** Every running node reports one value. */
  | { readonly agree: { readonly group: GroupRef; readonly field: string } }
  /** All running nodes: every group normal, applied as far as committed, and the same commit everywhere. */
  | { readonly settled: true; readonly nodes?: readonly NodeRef[] }
  /** Exactly one running node is primary of the group in its highest view, and the others name it. */
  | { readonly oneLeader: GroupRef }
  | { readonly process: NodeRef; readonly state: ProcessState; readonly exit?: number; readonly code?: string }
  | { readonly file: FileRef; readonly exists: boolean }
  | { readonly file: FileRef; readonly length: Comparison; readonly value: number }
  | { readonly fileUnchanged: string }
  /** A field of the newest valid slot, by a decoder of its own. */
  | {
      readonly superblock: { readonly node: NodeRef; readonly directory: string }
      readonly field: 'view' | 'logView' | 'commitMax' | 'checkpointOp' | 'offsetFrontier' | 'offsetReserved'
      readonly is: Comparison
      readonly value: Scalar
    }
  /** `.log` files of a partition are equal on these nodes: sealed ones whole, the last one a prefix of the longest. */
  | { readonly sameLogs: GroupRef; readonly nodes?: readonly NodeRef[] }
  | { readonly outcome: string; readonly is: 'pending' | 'ok' | 'error'; readonly error?: string }
  /** Payloads that a poll answered, in order. */
  | { readonly outcome: string; readonly payloads: readonly string[] }
  | { readonly outcome: string; readonly baseOffset: Comparison; readonly value: Scalar }
  | { readonly load: string; readonly counts: Readonly<Partial<Record<LoadCount, readonly [Comparison, number]>>> }

export type LoadCount = 'sent' | 'acked' | 'unknown' | 'refused' | 'readBack' | 'lost' | 'duplicate' | 'corrupt'

export interface FileRef {
  readonly node: NodeRef
  /** From the data directory; `*` stands for any run of characters but a slash, the last match in name order counts. */
  readonly path: string
}

export type ProcessState = 'running' | 'stopped' | 'paused' | 'crashed' | 'refused'

/** What a world must be able to do for a scenario; where it cannot, the verdict is `unknown`. */
export type Capability = 'holdFrames' | 'cutLinks' | 'failpoints' | 'volatileDisk' | 'clockSkew' | 'events' | 'surgery'

export interface Scenario {
  /** Of the catalogue, e.g. `VC-01` or `D12`. */
  readonly id: string
  readonly title: string
  readonly cluster: ClusterSpec
  readonly needs?: readonly Capability[]
  readonly steps: readonly Action[]
  /** Checked at the end, all of them, each reported by itself. */
  readonly verdict: readonly { readonly what: string; readonly that: Predicate }[]
}

/**
 * `fail`: a check or a wait did not come true. `unknown`: it could not be found out, since the world lacks something, an
 * action could not be carried out, or a precondition never came about.
 */
export type Verdict = 'pass' | 'fail' | 'unknown'

export interface Finding {
  readonly step: string
  readonly verdict: Verdict
  /** What was seen last, value by value. */
  readonly seen: string
  readonly atMs: number
}

export interface ScenarioResult {
  readonly id: string
  readonly world: 'sim' | 'real'
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
}
