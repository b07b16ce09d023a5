/**
 * The language of scenario tests and crash drills: a scenario is data (plain JSON values), so that the page can show it, a
 * file can hold it, and any world can run it. A runner per world carries out the actions (see runner.ts); what is asked of
 * the world is asked by predicates over events, snapshots, disk bytes and what clients were told, never over log text, and
 * waiting is always for a predicate with a deadline.
 */
import type { TopicOptions } from '../client/topic-options.ts'
import type { EvidenceItem } from './evidence.ts'
import type { SurgeryRecord } from './surgeon.ts'

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

/** All of it; any part of it; all but what index files, or log files, have; only one page of 4 KiB of each log file. */
export type Loss = 'drop' | 'part' | 'keep-index' | 'keep-log' | { readonly logPage: number }

/** Where in a file an edit happens. Negative positions count from the end. */
export type Address =
  | { readonly byte: number }
  | { readonly fraction: number }
  /** Metadata log: the nth entry (negative: from the end). */
  | { readonly walEntry: number; readonly part: 'header' | 'body'; readonly offset: number }
  /** Metadata log: the entry of this op. */
  | { readonly walOp: number; readonly part: 'header' | 'body'; readonly offset: number }
  /** Segment: the nth batch. */
  | { readonly batch: number; readonly part: 'header' | 'body'; readonly offset: number }
  /** Index: the nth entry of 24 bytes. */
  | { readonly indexEntry: number; readonly offset: number }

/** `superblock.newest` and `superblock.oldest` in a path name the slot with the higher and the lower sequence. */
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
  /** Nothing: it is only counted how often the point is reached (predicate `reached`). */
  | { readonly effect: 'count' }

/** Options of a topic as plain JSON: 64-bit values are decimal text. */
export type ScenarioTopicOptions = {
  readonly [Name in keyof TopicOptions]: bigint extends TopicOptions[Name] ? string : TopicOptions[Name]
}

/** A request of a client. `as` names its outcome for later predicates. */
export type ClientRequest =
  | { readonly request: 'createStream'; readonly stream: string }
  | { readonly request: 'deleteStream'; readonly stream: string }
  | {
      readonly request: 'createTopic'
      readonly stream: string
      readonly topic: string
      readonly partitions: number
      readonly options?: ScenarioTopicOptions
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
      /** So many polls (default 1), each from behind what the one before has brought; the answer is all that they brought. */
      readonly polls?: number
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

/** Log and index of a persist: one behind the other, or side by side. */
export type Halves = 'serial' | 'concurrent'

export type Action =
  | { readonly do: 'start'; readonly nodes: readonly NodeRef[] | 'all' }
  | { readonly do: 'terminate' | 'pause' | 'resume' | 'wipe'; readonly nodes: readonly NodeRef[] | 'all' }
  /** `loss`: what the disk loses of what was not synced, as at a loss of power; default: nothing, as with SIGKILL. */
  | { readonly do: 'kill'; readonly nodes: readonly NodeRef[] | 'all'; readonly loss?: Loss }
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
  /** How log and index of a persist are written, from the node's next start on: a switch for measuring, of a node alone. */
  | { readonly do: 'measure'; readonly node: NodeRef; readonly halves: Halves }
  /** Of a node without a process. */
  | { readonly do: 'edit'; readonly node: NodeRef; readonly edits: readonly FileEdit[] }
  /** Takes back the last edit of a node's files that stands; the node has no process, and the file is as that edit left it. */
  | { readonly do: 'undo'; readonly node: NodeRef }
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
      /** Client id that it always comes under: a client of the same id that starts over asks as request 1 again. */
      readonly identity?: number
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
  | { readonly file: FileRef; readonly length: Comparison; readonly value: number | FileLength }
  | { readonly fileUnchanged: string }
  /** A field of the newest valid slot, by a decoder of its own. */
  | {
      readonly superblock: { readonly node: NodeRef; readonly directory: string }
      readonly field: 'view' | 'logView' | 'commitMax' | 'checkpointOp' | 'offsetFrontier' | 'offsetReserved'
      readonly is: Comparison
      /** Or the same field in a superblock of the same name on another node. */
      readonly value: Scalar | { readonly on: NodeRef }
    }
  /** `.log` files of a partition are equal on these nodes: sealed ones whole, the last one a prefix of the longest. */
  | { readonly sameLogs: GroupRef; readonly nodes?: readonly NodeRef[] }
  | { readonly outcome: string; readonly is: 'pending' | 'ok' | 'error'; readonly error?: string }
  /** Payloads that a poll answered, in order. */
  | { readonly outcome: string; readonly payloads: readonly string[] }
  | { readonly outcome: string; readonly baseOffset: Comparison; readonly value: Scalar }
  /** Time from the request to its answer, which is a success. */
  | { readonly outcome: string; readonly tookMs: Comparison; readonly value: number }
  /** Two requests were answered with the same bytes. */
  | { readonly outcome: string; readonly sameReplyAs: string }
  /** Median of the times of several requests, all of which have succeeded: in ms, or in percent of that of others. */
  | {
      readonly medianOf: readonly string[]
      readonly tookMs: Comparison
      readonly value: number | { readonly percent: number; readonly ofMedian: readonly string[] }
    }
  /** How often an armed point of a node was reached in the life that runs now, whatever happened there. */
  | {
      readonly reached: { readonly node: NodeRef; readonly point: string }
      readonly is: Comparison
      readonly value: number
    }
  /** The longest time for which the node's process was busy with one thing and answered nobody, since it started. */
  | { readonly pauseOf: NodeRef; readonly is: Comparison; readonly valueMs: number }
  | { readonly load: string; readonly counts: Readonly<Partial<Record<LoadCount, readonly [Comparison, number]>>> }

export type LoadCount = 'sent' | 'acked' | 'unknown' | 'refused' | 'readBack' | 'lost' | 'duplicate' | 'corrupt'

/** Length of another file now, or of this one when it was recorded, and some bytes more. */
export type FileLength = { readonly of: FileRef } | { readonly recorded: string; readonly plus?: number }

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
  /** Of the evidence that it rests on. */
  readonly key: string
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
  /** What the verdict was computed from, and can be again (evidence.ts). */
  readonly evidence: readonly EvidenceItem[]
  /** What was done to files, with what stood there before. */
  readonly surgery: readonly SurgeryRecord[]
}
