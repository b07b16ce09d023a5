/**
 * One node, as its process (or a simulated world) drives it. Everything comes in through these methods and is handled by
 * one pump, in order; everything goes out through the ports.
 */
import type { Hash } from '../bytes/hash.ts'
import type { ReplicaId } from '../bytes/units.ts'
import type { GroupConfig, TimerTicks } from '../consensus/contract.ts'
import type { EventSink } from '../inspection/envelope.ts'
import type {
  BatchesSnapshot,
  BytesSnapshot,
  ClientSnapshot,
  ForwardsSnapshot,
  GroupSnapshotJson,
  GroupSummary,
  IndexSnapshot,
  PartitionSnapshot,
  RecoverySnapshot,
  SuperblocksSnapshot,
  TopicNames,
  WalSnapshot,
} from '../inspection/snapshots.ts'
import type { PersistMode } from '../partition/contract.ts'
import type { IndexWindow } from '../partition/index-window.ts'
import type { PartitionKey } from '../protocol/groups.ts'
import type { Rules } from '../protocol/rules.ts'
import type { Stats } from '../protocol/system.ts'
import type { Disk } from '../storage/disk.ts'
import type { Clock, Entropy, Halt, Pacing, Scheduler } from '../storage/ports.ts'
import type { LogInspection } from './log-inspection.ts'
import type { ClientLinks, ConnectionId, LinkMark, ReplicaLinks } from './ports.ts'

/** Password hashing; slow on purpose, hence asynchronous, and done before anything is replicated. */
export interface Passwords {
  hash(password: string): Promise<string>
  verify(hash: string, password: string): Promise<boolean>
}

export interface RosterNode {
  readonly replica: ReplicaId
  readonly name: string
  readonly ip: string
  readonly ports: { readonly tcp: number; readonly quic: number; readonly http: number; readonly websocket: number }
}

export interface ReplicaConfig {
  readonly clusterEnabled: boolean
  readonly clusterName: string
  /** First 16 bytes (little-endian) of BLAKE3 of the name; stamped on every frame, compared by the handshake. */
  readonly clusterId: bigint
  readonly replica: ReplicaId
  readonly nodes: readonly RosterNode[]
  readonly root: { readonly username: string; readonly password: string }
  readonly timers: TimerTicks
  readonly probeAttemptsMax: number
  readonly repairChunkMax: number
  readonly metadata: {
    readonly prepareQueueDepth: number
    readonly journalSlots: number
    readonly clientsTableMax: number
  }
  readonly partition: {
    readonly prepareQueueDepth: number
    readonly evictedRingCapacity: number
    readonly evictedRingBytesMax: number
    /** Offsets that a partition reserves at a time, 1..16,777,216. Default 65,536. */
    readonly offsetReservationLease?: number
    /** Segments end at this size, whatever their topic says: a simulated run could not fill the smallest legal one. */
    readonly segmentBytesMax?: number
    /** For measuring only. */
    readonly persist?: PersistMode
  }
  /** Time for which the metadata superblock may fail before the node ends with status 3; 0: never. Default: two minutes. */
  readonly superblockWedgedFatalMs?: number
  /** How often expired and oversized segments are looked for, in ms; 0: never. Default: one minute. */
  readonly cleanerIntervalMs?: number
  /** Access tokens that one user may have. Default: 100. */
  readonly tokensPerUserMax?: number
  /** How often expired access tokens are looked for, in ms; 0: never. Default: one minute. */
  readonly tokenCleanerIntervalMs?: number
  readonly validateChecksum: boolean
  readonly messageBytesMax: number
  readonly rules: Rules
}

/** What a process can tell of its machine, for `stats`. */
export type HostFacts = Pick<
  Stats,
  | 'processId'
  | 'cpuUsage'
  | 'totalCpuUsage'
  | 'memoryUsage'
  | 'totalMemory'
  | 'availableMemory'
  | 'readBytes'
  | 'writtenBytes'
  | 'hostname'
  | 'osName'
  | 'osVersion'
  | 'kernelVersion'
  | 'threadsCount'
  | 'freeDiskSpace'
  | 'totalDiskSpace'
>

export interface ReplicaPorts {
  readonly disk: Disk
  readonly clock: Clock
  readonly entropy: Entropy
  readonly scheduler: Scheduler
  /** Absent: nothing waits for company. */
  readonly pacing?: Pacing
  readonly hash: Hash
  readonly halt: Halt
  readonly passwords: Passwords
  readonly replicaLinks: ReplicaLinks
  readonly clientLinks: ClientLinks
  readonly sink: EventSink
  /** Gets an exception that a handler let through; the replica does nothing more. Absent: it surfaces where it was thrown. */
  readonly crashed?: (error: unknown) => void
  /** For the `stats` command; without it these figures read 0. */
  readonly hostFacts?: () => HostFacts
}

export interface GroupStanding {
  readonly group: bigint
  readonly status: GroupSummary['status']
  readonly view: number
  readonly commitMin: bigint
  readonly commitMax: bigint
}

/** Snapshots without the `reporter`, which the node process adds. */
type Unreported<T> = Omit<T, 'reporter'>

export interface ReplicaInspection extends LogInspection {
  metadata(): GroupSnapshotJson
  groups(): GroupSummary[]
  /** Where every group stands, metadata first, refused partitions last, without the cost of their snapshots. */
  standings(): GroupStanding[]
  group(group: bigint): GroupSnapshotJson | undefined
  topics(): TopicNames
  partition(key: PartitionKey): Unreported<PartitionSnapshot> | undefined
  index(key: PartitionKey, startOffset: bigint, window: IndexWindow): Promise<Unreported<IndexSnapshot> | undefined>
  /** Lists batches of one segment file from a batch boundary on, verifying each; at most `limit`. */
  batches(
    key: PartitionKey,
    startOffset: bigint,
    fromPosition: number,
    limit: number,
  ): Promise<Unreported<BatchesSnapshot> | undefined>
  bytes(
    key: PartitionKey,
    startOffset: bigint,
    kind: 'log' | 'index',
    position: number,
    length: number,
  ): Promise<Unreported<BytesSnapshot> | undefined>
  superblocks(): Promise<Unreported<SuperblocksSnapshot>>
  wal(): Unreported<WalSnapshot>
  clients(): Unreported<ClientSnapshot>
  recovery(): Unreported<RecoverySnapshot>
  /** Forwarded writes that this node sent or took, newest first, at most `limit`. */
  forwards(limit: number): Unreported<ForwardsSnapshot>
  clientCount(): number
}

/** Who is behind a connection from inside the process. */
export interface LocalClient {
  /** Set when the process has verified who it is: a login asks for no credentials then. */
  readonly userId?: number
}

export interface Replica {
  /** One tick of 10 ms. */
  tick(): void
  /** A whole frame from a peer whose handshake passed. `bytes` becomes the replica's own. */
  peerFrame(from: ReplicaId, bytes: Uint8Array, mark: LinkMark): void
  peerConnected(peer: ReplicaId): void
  peerDisconnected(peer: ReplicaId): void
  /** `local`: a connection that this process makes itself, for a client of another protocol. */
  clientConnected(connection: ConnectionId, address: string, local?: LocalClient): void
  /** A whole frame of a client, size already checked by the framing. */
  clientFrame(connection: ConnectionId, bytes: Uint8Array): void
  clientClosed(connection: ConnectionId): void
  /** Clean stop: refuses new requests, flushes every partition, closes files. */
  stop(): Promise<void>
  readonly inspect: ReplicaInspection
}

export type { GroupConfig }
