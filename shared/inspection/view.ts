/**
 * The view model: what the page (or a test, or a recording player) knows of a cluster after folding events and
 * snapshots. Everything is per reporter; nothing in here is averaged. Times are milliseconds since the Unix epoch by the
 * console's clock, so that an age is one subtraction; ops and commits are bigint.
 */
import type { ClusterNode, LoadState, StreamMessage } from './api.ts'
import type { Broken } from './invariants.ts'
import type { GroupSnapshotJson, NodeSnapshot } from './snapshots.ts'

export type ReplicaStatus = GroupSnapshotJson['status']
export type GroupKey = NonNullable<GroupSnapshotJson['key']>

/** What one replica last said of itself in one group. */
export interface ReplicaCell {
  readonly node: number
  readonly status: ReplicaStatus
  readonly role: 'primary' | 'backup'
  /** Who it takes for the primary: its view mod the replica count. */
  readonly primary: number
  readonly view: number
  readonly logView: number
  readonly viewDurable: number
  readonly logViewDurable: number
  readonly op: bigint
  /** Applied up to here. */
  readonly commitMin: bigint
  /** Known to be committed. */
  readonly commitMax: bigint
  readonly offsets: Offsets | undefined
  readonly refusal: { readonly code: string; readonly message: string } | undefined
  /** When this was last confirmed by the replica itself. */
  readonly heardMs: number
  /** `seq` of the event or snapshot that it comes from, in `boot`. */
  readonly seq: number
  readonly boot: string
  readonly source: 'snapshot' | 'event'
}

export interface Offsets {
  readonly next: bigint
  readonly visible: bigint
  readonly persisted: bigint
  readonly empty: boolean
}

/** Short words on a partition's files, from events alone; the chain itself is a snapshot. */
export interface ChainSummary {
  readonly rolls: number
  readonly activeStart: bigint | undefined
  readonly persistRounds: number
}

export interface GroupView {
  readonly group: string
  readonly plane: 'metadata' | 'partition'
  readonly key: GroupKey | undefined
  readonly replicas: ReadonlyMap<number, ReplicaCell>
  readonly chains: ReadonlyMap<number, ChainSummary>
  /** Highest commit that anybody had reported by then, oldest first, at most COMMIT_MARKS_MAX. */
  readonly commitMarks: readonly { readonly atMs: number; readonly commit: bigint }[]
  /** The replica that last reported to lead a view in status normal, and since when. */
  readonly lastPrimary: { readonly node: number; readonly view: number; readonly atMs: number } | undefined
  /** What was seen and may never be, first first, at most BROKEN_MAX; absent when nothing was. */
  readonly broken?: readonly Broken[]
}

/** The process without its snapshot, which is beside it. */
export type NodeProcess = Omit<ClusterNode, 'snapshot' | 'snapshotWallUs'>

export interface NodeView {
  readonly id: number
  readonly process: NodeProcess | undefined
  readonly snapshot: NodeSnapshot | undefined
  readonly boot: string | undefined
  /** Earlier lives, newest last, at most OLD_BOOTS_MAX: what arrives late from them is history, not state. */
  readonly oldBoots: readonly string[]
  /** The process that spoke is gone: whatever runs now has not been heard yet. */
  readonly lifeEnded?: boolean
  /** Last event folded of this boot. */
  readonly seq: number
  readonly heardMs: number
  /** What a snapshot must cover before the node's state is whole again after a gap. */
  readonly missing: { readonly seq: number; readonly consoleSeq: number } | undefined
  /** Nothing was heard yet, or history is missing: what is shown is old until a snapshot arrives. */
  readonly needsSnapshot: boolean
}

export interface Fact {
  /** Unique and growing inside one view. */
  readonly number: number
  readonly consoleSeq: number | undefined
  /** Reporter; CONSOLE_NODE for the console itself. */
  readonly node: number
  /** The node it is about. */
  readonly about: number
  readonly boot: string
  readonly seq: number
  readonly atMs: number
  readonly plane: 'node' | 'metadata' | 'partition'
  readonly group: string
  readonly kind: string
  readonly view: number | undefined
  readonly op: string | undefined
  readonly words: string
  readonly tone: 'plain' | 'good' | 'change' | 'bad'
  readonly data: Readonly<Record<string, string | number | boolean | null>>
}

export interface ClusterView {
  readonly run: string | undefined
  readonly name: string
  readonly replicaCount: number
  readonly readOnly: boolean
  /** Last console sequence folded. */
  readonly seq: number
  readonly nodes: ReadonlyMap<number, NodeView>
  /** By group id, decimal text. */
  readonly groups: ReadonlyMap<string, GroupView>
  /** What happened, newest last, at most FACTS_MAX. */
  readonly facts: readonly Fact[]
  /** How many have left `facts` because newer ones came. */
  readonly factsDropped: number
  /** Facts of everyday traffic (a client connected, a write was forwarded), newest last, at most TRAFFIC_MAX. */
  readonly traffic: readonly Fact[]
  readonly factCount: number
  readonly eventCount: number
  readonly gapCount: number
  readonly load: LoadState | undefined
}

/** Lines of the log drawer; older ones are in the timeline. */
export const FACTS_MAX = 500
/** One for each client and forwarded write: there can be hundreds a second, and they must not push out a view change. */
export const TRAFFIC_MAX = 200
/** Two per second for the span that `behind` looks back over, and some room. */
export const COMMIT_MARKS_MAX = 16
/** A node that restarts more often than this while one late answer is under way has other troubles. */
export const OLD_BOOTS_MAX = 16

export const EMPTY_VIEW: ClusterView = {
  run: undefined,
  name: '',
  replicaCount: 0,
  readOnly: false,
  seq: 0,
  nodes: new Map(),
  groups: new Map(),
  facts: [],
  factsDropped: 0,
  traffic: [],
  factCount: 0,
  eventCount: 0,
  gapCount: 0,
  load: undefined,
}

/** Wall microseconds as decimal text to milliseconds; exact below year 2255, where 2^53 µs ends. */
export const msOf = (wallUs: string): number => Number(wallUs) / 1000

/** When the console told it, by its clock: the same on the stream and in the recording. Undefined where it does not say. */
export function toldMs(message: StreamMessage): number | undefined {
  switch (message.event) {
    case 'hello':
      return msOf(message.data.wallUs)
    case 'snapshot':
      return msOf(message.data.receivedWallUs)
    case 'load':
      return msOf(message.data.takenWallUs)
    case 'nodes': {
      const told = message.data[0]?.toldWallUs
      return told === undefined ? undefined : msOf(told)
    }
    default:
      return undefined
  }
}
