/**
 * Snapshots: what one node says of itself, now. Every snapshot names its reporter and when it was taken; readers show
 * both. 64-bit values are decimal text. Additive only.
 */
import { z } from 'zod'
import { decimal } from './envelope.ts'

export const reporter = z.object({
  node: z.number().int(),
  /** Random id of the reporter's life; `directory` when nobody reports and the files of a node without a process were read. */
  boot: z.string(),
  /** Microseconds since the Unix epoch, by the reporter's clock. */
  takenWallUs: decimal,
  takenMonoUs: z.number(),
  /** The last event that this snapshot includes. */
  seq: z.number().int().nonnegative(),
})

export type Reporter = z.infer<typeof reporter>

const replica = z.number().int()
const view = z.number().int().nonnegative()

/** A state transfer that the reporter is receiving; totals are 0 until its peer has offered. */
export const transferProgress = z.object({
  peer: replica,
  artifact: z.number(),
  artifacts: z.number(),
  receivedBytes: z.number(),
  totalBytes: z.number(),
  installing: z.boolean(),
})
export type TransferProgressJson = z.infer<typeof transferProgress>

export const groupSnapshot = z.object({
  group: decimal,
  plane: z.enum(['metadata', 'partition']),
  /** `stream/topic/partition` ids for a partition group. */
  key: z.object({ stream: z.number(), topic: z.number(), partition: z.number() }).optional(),
  status: z.enum(['normal', 'view_change', 'recovering', 'tombstoned']),
  role: z.enum(['primary', 'backup']),
  primary: replica,
  ceded: z.boolean(),
  view,
  logView: view,
  viewDurable: view,
  logViewDurable: view,
  op: decimal,
  commitMin: decimal,
  commitMax: decimal,
  observedNewerView: view,
  transferStage: z.enum(['idle', 'awaiting_target', 'fetching', 'installing']),
  probeAttempts: z.number(),
  quorums: z.object({ replication: z.number(), viewChange: z.number(), nack: z.number() }),
  pipeline: z.array(
    z.object({ op: decimal, checksum: z.string(), operation: z.number(), acks: z.array(replica), quorum: z.boolean() }),
  ),
  requestQueue: z.number(),
  /** How many prepares may be in flight, and how many requests may wait; absent of a group that is refused. */
  depths: z.object({ prepares: z.number(), requests: z.number() }).optional(),
  votes: z.object({
    startViewChange: z.array(replica),
    /** `checksum`: of the frame that counts; the own vote came in none. */
    doViewChange: z.array(
      z.object({ replica, logView: view, op: decimal, commit: decimal, checksum: z.string().optional() }),
    ),
    parked: z.boolean(),
  }),
  timers: z.array(z.object({ name: z.string(), ticking: z.boolean(), remainingMs: z.number(), periodMs: z.number() })),
  repair: z.object({ peer: replica, toOp: decimal, idleMs: z.number() }).optional(),
  transfer: transferProgress.optional(),
  /** Partition groups: next offset, visible end and what is on disk. */
  offsets: z.object({ next: decimal, visible: decimal, persisted: decimal, empty: z.boolean() }).optional(),
  /** Why a tombstoned group is not served. */
  refusal: z
    .object({ code: z.string(), message: z.string(), path: z.string().optional(), advice: z.string().optional() })
    .optional(),
})
export type GroupSnapshotJson = z.infer<typeof groupSnapshot>

/** One line per group, for tables and rings of 2,000 groups. */
export const groupSummary = groupSnapshot.pick({
  group: true,
  plane: true,
  key: true,
  status: true,
  role: true,
  primary: true,
  view: true,
  logView: true,
  viewDurable: true,
  logViewDurable: true,
  op: true,
  commitMin: true,
  commitMax: true,
  offsets: true,
})
export type GroupSummary = z.infer<typeof groupSummary>

export const nodeSnapshot = z.object({
  reporter,
  pid: z.number().int(),
  clusterName: z.string(),
  clusterEnabled: z.boolean(),
  replicaCount: z.number().int(),
  startedWallUs: decimal,
  dataDirectory: z.string(),
  threadPoolSize: z.number().int(),
  ports: z.object({ client: z.number(), replica: z.number(), inspection: z.number() }),
  peers: z.array(z.object({ replica, connected: z.boolean() })),
  clients: z.number().int(),
  metadata: groupSnapshot,
  groups: z.array(groupSummary),
  counters: z.record(z.string(), z.number()),
  memoryBytes: z.number(),
  /** Longest time since the start of the boot in which the process did one thing and answered nobody. */
  longestPauseMs: z.number().optional(),
  fsync: z.enum(['full', 'weaker']),
})
export type NodeSnapshot = z.infer<typeof nodeSnapshot>

export const topicNames = z.object({
  streams: z.array(
    z.object({
      id: z.number(),
      name: z.string(),
      topics: z.array(
        z.object({
          id: z.number(),
          name: z.string(),
          partitions: z.number(),
          segmentSizeBytes: decimal,
          enforceFsync: z.boolean(),
          messagesRequiredToSave: z.number(),
        }),
      ),
    }),
  ),
})
export type TopicNames = z.infer<typeof topicNames>

export const segmentSnapshot = z.object({
  startOffset: decimal,
  /** Last offset in it; equal to startOffset - 1 would be empty, so `empty` says it. */
  endOffset: decimal,
  empty: z.boolean(),
  sealed: z.boolean(),
  sizeBytes: z.number(),
  maxSizeBytes: z.number(),
  startTimestamp: decimal,
  endTimestamp: decimal,
  indexEntries: z.number(),
  indexBytes: z.number(),
})

export const partitionSnapshot = z.object({
  reporter,
  group: groupSnapshot,
  directory: z.string(),
  segments: z.array(segmentSnapshot),
  journal: z.object({
    batches: z.number(),
    messages: z.number(),
    bytes: z.number(),
    firstOffset: decimal.optional(),
    lastOffset: decimal.optional(),
  }),
  flusher: z.object({
    state: z.enum(['idle', 'writing', 'barred']),
    persistedBytes: decimal,
    inFlightBytes: decimal,
    journaledBytes: decimal,
    rounds: z.number(),
    batches: z.number(),
  }),
  reservation: z.object({ frontier: decimal, reserved: decimal, held: decimal }),
  /** Files that are open for polls; absent where no process is. */
  descriptors: z
    .object({
      /** Read through its writer. */
      active: z.object({ startOffset: decimal, readers: z.number() }).optional(),
      /** Sealed segments that polls started in, the most recent last. */
      sealed: z.array(z.object({ startOffset: decimal, log: z.boolean(), index: z.boolean() })),
      sealedMax: z.number(),
      /** Files that polls have opened in this life of the partition. */
      opened: z.number(),
    })
    .optional(),
  settings: z.object({
    segmentSizeBytes: z.number(),
    enforceFsync: z.boolean(),
    messagesRequiredToSave: z.number(),
    sizeRequiredToSaveBytes: z.number(),
    /** Age at which a sealed segment goes, and bytes of sealed segments that may stay; absent: any. */
    expiryUs: decimal.optional(),
    sealedBytesMax: decimal.optional(),
  }),
  /** Purges of the topic (spec partition.md §4.4): applied by this replica, and committed as its metadata knows. */
  purge: z.object({ applied: decimal, committed: decimal }).optional(),
})
export type PartitionSnapshot = z.infer<typeof partitionSnapshot>

export const indexEntrySnapshot = z.object({
  number: z.number(),
  offset: decimal,
  timestamp: decimal,
  positionBytes: z.number(),
})
export const indexSnapshot = z.object({
  reporter,
  startOffset: decimal,
  /** Entries that the file holds. */
  total: z.number(),
  /** Of them in what was asked for; `entries` are all of these, or every n-th when there are more than the limit. */
  matching: z.number(),
  entries: z.array(indexEntrySnapshot),
  trailingBytes: z.number(),
})
export type IndexSnapshot = z.infer<typeof indexSnapshot>

export const batchSnapshot = z.object({
  positionBytes: z.number(),
  lengthBytes: z.number(),
  baseOffset: decimal,
  baseTimestamp: decimal,
  originTimestamp: decimal,
  messages: z.number(),
  checksum: z.string(),
  verdict: z.enum(['valid', 'bad_checksum', 'bad_layout']),
  /** Of a bad one: which check failed, in which words, and where it is a checksum, the stored beside the computed one. */
  problem: z
    .object({ check: z.string(), message: z.string(), stored: z.string().optional(), computed: z.string().optional() })
    .optional(),
})
export const batchesSnapshot = z.object({
  reporter,
  startOffset: decimal,
  /** Size of the file when it was read. */
  sizeBytes: z.number(),
  fromPositionBytes: z.number(),
  nextPositionBytes: z.number().optional(),
  /** The walk could not pass this place: what is behind it in the file is no batch that can be read. */
  stopped: z.object({ positionBytes: z.number(), check: z.string(), message: z.string() }).optional(),
  batches: z.array(batchSnapshot),
})
export type BatchesSnapshot = z.infer<typeof batchesSnapshot>

export const bytesSnapshot = z.object({
  reporter,
  path: z.string(),
  positionBytes: z.number(),
  sizeBytes: z.number(),
  hex: z.string(),
})
export type BytesSnapshot = z.infer<typeof bytesSnapshot>

export const superblockSlot = z.object({
  slot: z.enum(['a', 'b']),
  path: z.string(),
  state: z.enum(['absent', 'valid', 'corrupt']),
  /** Code of the check that failed, and where. */
  failure: z.object({ code: z.string(), message: z.string(), position: z.number().optional() }).optional(),
  sequence: decimal.optional(),
  fields: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  hex: z.string(),
  modifiedWallMs: z.number().optional(),
})
export const superblockGroup = z.object({
  group: decimal,
  plane: z.enum(['metadata', 'partition']),
  key: z.object({ stream: z.number(), topic: z.number(), partition: z.number() }).optional(),
  slots: z.tuple([superblockSlot, superblockSlot]),
  verdict: z.enum(['present', 'empty', 'unreadable']),
  winner: z.enum(['a', 'b']).optional(),
  why: z.string(),
})
export const superblocksSnapshot = z.object({ reporter, groups: z.array(superblockGroup) })
export type SuperblocksSnapshot = z.infer<typeof superblocksSnapshot>

export const walSnapshot = z.object({
  reporter,
  slots: z.number(),
  snapshotOp: decimal,
  lastOp: decimal,
  sizeBytes: z.number(),
  /** The state machine is at this op; above it, up to `commitMax`, ops are committed and not applied. */
  appliedOp: decimal.default('0'),
  commitMax: decimal.default('0'),
  /** Appends that are not synced yet. */
  waitingOps: z.array(decimal).default([]),
  /** Why nothing is appended any more until the node starts again. */
  failure: z.string().optional(),
  /** Entries that fit before one above the snapshot would have to go; a checkpoint starts at `marginSlots`. */
  freeSlots: z.number().optional(),
  checkpoint: z
    .object({
      phase: z.enum(['idle', 'snapshot', 'pairing', 'drain', 'install']),
      /** Of the one under way, else of the last one in this life; 0 when there was none. */
      op: decimal,
      /** Snapshot that the superblock names, and its checksum; op 0: none. */
      pairedOp: decimal,
      pairedChecksum: z.string(),
      finished: z.number(),
      failed: z.number(),
      marginSlots: z.number(),
      /** What the last one of this life took off the log. */
      freed: z.object({ fromOp: decimal, toOp: decimal, entries: z.number(), bytes: z.number() }).optional(),
    })
    .optional(),
  /** A metadata state transfer that this node is receiving. */
  transfer: transferProgress.optional(),
  entries: z.array(
    z.object({
      op: decimal,
      view: z.number(),
      operation: z.number(),
      checksum: z.string(),
      parent: z.string(),
      positionBytes: z.number(),
      lengthBytes: z.number(),
      timestamp: decimal,
      client: z.string().default(''),
      request: decimal.default('0'),
    }),
  ),
})
export type WalSnapshot = z.infer<typeof walSnapshot>

export const clientSnapshot = z.object({
  reporter,
  connections: z.array(
    z.object({
      connection: z.number(),
      address: z.string(),
      user: z.number().optional(),
      client: z.string().optional(),
      session: decimal.optional(),
    }),
  ),
  /** Of the client table, taken or free. */
  slots: z.number().default(0),
  table: z.array(
    z.object({
      slot: z.number().default(0),
      client: z.string(),
      session: decimal,
      user: z.number(),
      watermark: decimal,
      cachedReplies: z.number(),
      latestCommit: decimal,
    }),
  ),
})
export type ClientSnapshot = z.infer<typeof clientSnapshot>

/** The last boot, step by step, with every verdict. */
export const recoverySnapshot = z.object({
  reporter,
  steps: z.array(
    z.object({
      at: z.number(),
      step: z.string(),
      path: z.string(),
      verdict: z.string(),
      detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    }),
  ),
})
export type RecoverySnapshot = z.infer<typeof recoverySnapshot>

/**
 * The steps of a forwarded write. At its origin: received, parked, sent or unsent, answered or lost. At the primary: taken,
 * accepted or refused.
 */
export const forwardStepName = z.enum([
  'received',
  'parked',
  'sent',
  'unsent',
  'taken',
  'accepted',
  'refused',
  'answered',
  'lost',
])
export type ForwardStepName = z.infer<typeof forwardStepName>

/** One forward as one of its two ends saw it. */
export const forwardRecord = z.object({
  /** Hex; the same at both ends. */
  nonce: z.string(),
  side: z.enum(['origin', 'primary']),
  origin: replica,
  primary: replica,
  group: decimal,
  key: z.object({ stream: z.number(), topic: z.number(), partition: z.number() }).optional(),
  operation: z.number(),
  /** Connection of the client at the origin, as a number of that node; `auto` for an offset committed by a poll. */
  client: z.string(),
  /** Its number, as the client gave it. */
  request: decimal.optional(),
  /** `waiting`: not decided here yet. `unknown`: it may have been committed (57). */
  state: z.enum(['waiting', 'accepted', 'refused', 'unknown']),
  /** What the client was told, 0 for success. */
  status: z.number().optional(),
  reason: z.string().optional(),
  /** Of one that was accepted: its op. The view of its group is known at the primary only. */
  op: decimal.optional(),
  view: decimal.optional(),
  /** Of messages that were accepted: the offset of the first one. */
  firstOffset: decimal.optional(),
  /** In order of time. `seq` is the event of the step; `link` where its frame sits on the connection. */
  steps: z.array(
    z.object({
      step: forwardStepName,
      wallUs: decimal,
      monoUs: z.number(),
      seq: z.number(),
      link: z.object({ id: z.string(), ordinal: z.number() }).optional(),
    }),
  ),
})
export type ForwardRecord = z.infer<typeof forwardRecord>

/** The forwards of one node, newest first. */
export const forwardsSnapshot = z.object({
  reporter,
  /** Forwards that wait for their result now. */
  parked: z.number(),
  /** Requests of clients and peers that wait for their op now. */
  waiting: z.number(),
  /** Bytes of frames and requests that wait for their partition to be built. */
  parkedBytes: z.number(),
  /** Since the boot; the list holds the newest of them. */
  total: z.number(),
  forwards: z.array(forwardRecord),
})
export type ForwardsSnapshot = z.infer<typeof forwardsSnapshot>
