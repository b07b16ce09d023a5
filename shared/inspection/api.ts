/**
 * What the console's HTTP interface says, as schemas (design.md §4). The server validates with them and generates its
 * OpenAPI document from them; the page imports the types. Additive only. 64-bit values are decimal text.
 */
import { z } from 'zod'
import { decimal, type eventEnvelope, type eventGap } from './envelope.ts'
import { nodeSnapshot, topicNames } from './snapshots.ts'

/** A token that begins so only looks: the page need not ask to know it. */
export const VIEWER_PREFIX = 'viewer.'

/** Every failure of the interface. `code` is stable, see docs/errors.md. */
export const apiError = z.object({
  code: z.string().regex(/^CON_[A-Z_]+$/),
  message: z.string(),
  /** What a person should do next. */
  advice: z.string(),
  /** What the node or the engine said, when the failure is theirs. */
  cause: z.object({ code: z.string(), message: z.string() }).optional(),
})
export type ApiError = z.infer<typeof apiError>

/**
 * The operating-system process of a node. `stopped`: never started, or ended because it was asked to (kill included).
 * `crashed`: ended by itself. `refused`: ended by itself with a status that says why it will not boot (2, 3, 64, 65).
 */
export const processState = z.enum(['starting', 'running', 'paused', 'stopped', 'crashed', 'refused'])
export type ProcessState = z.infer<typeof processState>

export const nodeAction = z.enum(['kill', 'terminate', 'pause', 'resume', 'start', 'wipe'])
export type NodeAction = z.infer<typeof nodeAction>

export const processExit = z.object({
  status: z.number().int().nullable(),
  signal: z.string().nullable(),
  atWallUs: decimal,
  /** The action of this console that ended it, null when it ended by itself. */
  requested: nodeAction.nullable(),
  /** The status in words, from the project's one list of exit statuses. */
  meaning: z.string(),
})
export type ProcessExit = z.infer<typeof processExit>

export const clusterNode = z.object({
  id: z.number().int(),
  name: z.string(),
  state: processState,
  /** Since when it is in this state, by the console's clock. */
  sinceWallUs: decimal,
  pid: z.number().int().nullable(),
  ports: z.object({ client: z.number(), replica: z.number(), inspection: z.number() }).nullable(),
  dataDirectory: z.string(),
  logFile: z.string().optional(),
  /** Starts this node by hand, as one line of shell. */
  command: z.string().optional(),
  /** The node was running before this console started. */
  adopted: z.boolean(),
  exit: processExit.nullable(),
  refusal: z
    .object({ code: z.string(), message: z.string(), path: z.string().optional(), advice: z.string().optional() })
    .nullable(),
  /** Its inspection endpoint, as the console sees it. `silent`: the process runs and does not answer (hung or paused). */
  inspection: z.object({
    state: z.enum(['connected', 'connecting', 'silent', 'down']),
    /** When anything was last heard from it, by the console's clock. */
    heardWallUs: decimal.nullable(),
    error: z.string().nullable(),
  }),
  /** What it last said of itself; null when nothing was heard in this run of the console. */
  snapshot: nodeSnapshot.nullable(),
  /** When that arrived, by the console's clock. */
  snapshotWallUs: decimal.nullable(),
  /** When the console said this of its nodes, on its stream: so that a replay has it where it was. */
  toldWallUs: decimal.optional(),
})
export type ClusterNode = z.infer<typeof clusterNode>

export const currentCluster = z.object({
  /** Random id of this run of the console. */
  run: z.string(),
  /** Console sequence that this answer includes: ask for events after it. */
  seq: z.number().int().nonnegative(),
  takenWallUs: decimal,
  name: z.string(),
  replicaCount: z.number().int(),
  dataDirectory: z.string(),
  readOnly: z.boolean(),
  nodes: z.array(clusterNode),
})
export type CurrentCluster = z.infer<typeof currentCluster>

export const actionResult = z.object({
  action: nodeAction,
  /** True when this answer was given before for the same idempotency key and nothing was done now. */
  repeated: z.boolean(),
  node: clusterNode,
  /** The same as a shell command. */
  command: z.string(),
})
export type ActionResult = z.infer<typeof actionResult>

/** A new cluster in the place of the present one. `run`: of the console that is asked, so that a repeat finds it gone. */
export const resetBody = z.object({
  nodes: z.union([z.literal(1), z.literal(3), z.literal(5)]),
  run: z.string().optional(),
})
export const resetResult = z.object({ nodes: z.number().int(), command: z.string() })

/** `default`: acknowledged from memory of a majority. `eager`: acknowledged once on disk (enforce_fsync, threshold 1). */
export const topicPolicy = z.enum(['default', 'eager'])
export type TopicPolicy = z.infer<typeof topicPolicy>

/** Names are 1 to 255 bytes of UTF-8; control characters would make an object that no URL reaches. */
const name = z
  .string()
  .min(1)
  .max(255)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the point is to refuse them
  .regex(/^[^\u0000-\u001f\u007f]+$/)

/** 1 MiB to 1 GiB, whole blocks of 512 bytes (spec metadata-storage.md §4.3). */
const segmentSize = z
  .number()
  .int()
  .min(2 ** 20)
  .max(2 ** 30)
  .multipleOf(512)

export const createStreamBody = z.object({ name })
export const createTopicBody = z.object({
  stream: name,
  name,
  partitions: z.number().int().min(1).max(1000),
  policy: topicPolicy.default('default'),
  /** Bytes at which a segment ends; the node's default (1 GiB) when absent. */
  segmentSizeBytes: segmentSize.optional(),
})
export const createStreamResult = z.object({ id: z.number().int(), name: z.string() })
export const createTopicResult = z.object({
  stream: z.number().int(),
  id: z.number().int(),
  name: z.string(),
  partitions: z.number().int(),
})

/** Text that a person writes from the page; what a program writes goes through the client protocol. */
export const writeBody = z.object({ messages: z.array(z.string().min(1).max(65_536)).min(1).max(100) })
export const writeResult = z.object({
  messages: z.number().int(),
  /** Of the first message; null when the answer names none. */
  baseOffset: decimal.nullable(),
})

export const topicsAnswer = topicNames.extend({
  /** The node that said so, and when it was heard, by the console's clock. */
  reportedBy: z.number().int().nullable(),
  heardWallUs: decimal.nullable(),
})
export type TopicsAnswer = z.infer<typeof topicsAnswer>

/** Bounds keep one console from exhausting the machine that also runs the nodes. */
export const loadSettings = z.object({
  stream: name.default('load'),
  topic: name.default('steady'),
  /** Used when the topic does not exist yet. */
  partitions: z.number().int().min(1).max(100).default(3),
  policy: topicPolicy.default('default'),
  /** Small, so that a chain grows before one's eyes. Used when the topic does not exist yet. */
  segmentSizeBytes: segmentSize.default(4 * 2 ** 20),
  ratePerSecond: z.number().int().min(1).max(1_000_000).default(200),
  batchMessages: z.number().int().min(1).max(1000).default(10),
  messageBytes: z.number().int().min(32).max(65_536).default(256),
  connections: z.number().int().min(1).max(64).default(4),
})
export type LoadSettings = z.infer<typeof loadSettings>
/** What a caller may leave out. */
export type LoadSettingsInput = z.input<typeof loadSettings>

export const loadCommand = z.discriminatedUnion('action', [
  z.object({ action: z.literal('start'), settings: loadSettings.default(loadSettings.parse({})) }),
  z.object({ action: z.literal('stop') }),
  /** Another pace for the load that runs. */
  z.object({ action: z.literal('rate'), ratePerSecond: loadSettings.shape.ratePerSecond.unwrap() }),
])
export type LoadCommand = z.input<typeof loadCommand>

/** All counts are messages. sent = acked + unknown + refused + in flight. */
export const loadLedger = z.object({
  sent: z.number(),
  acked: z.number(),
  /** The answer never came, or it said so: may or may not be stored. */
  unknown: z.number(),
  /** Surely not stored. */
  refused: z.number(),
  inFlight: z.number(),
  /** Acknowledged messages read back with equal content. */
  readBack: z.number(),
  /** Acknowledged, and passed by the reader without being there. */
  lost: z.number(),
  /** Message copies read beyond the first one. */
  duplicate: z.number(),
  /** Messages with unknown outcome that were found stored. */
  unknownFound: z.number(),
  /** Messages that were refused ("surely not stored") and were found stored. */
  refusedFound: z.number(),
  /** Messages of this run with a wrong checksum, or at another offset than acknowledged. */
  corrupt: z.number(),
})
export type LoadLedgerJson = z.infer<typeof loadLedger>

export const loadSecond = z.object({
  /** Start of this second, milliseconds since the Unix epoch. */
  atMs: z.number(),
  sent: z.number(),
  acked: z.number(),
  unknown: z.number(),
  refused: z.number(),
  /** Of the requests answered in this second; null when none was. */
  p50Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
})

export const loadState = z.object({
  state: z.enum(['idle', 'starting', 'running', 'stopping', 'verifying', 'done', 'failed']),
  run: z.string().nullable(),
  settings: loadSettings.nullable(),
  startedWallUs: decimal.nullable(),
  stoppedWallUs: decimal.nullable(),
  takenWallUs: decimal,
  ledger: loadLedger,
  /** Milliseconds from send to acknowledgement, over the whole run. */
  latency: z
    .object({ count: z.number(), p50: z.number(), p95: z.number(), p99: z.number(), max: z.number() })
    .nullable(),
  /** The last 120 seconds, oldest first; a second without traffic is there with zeros. */
  seconds: z.array(loadSecond),
  connections: z.array(
    z.object({
      id: z.number(),
      state: z.enum(['connecting', 'connected', 'waiting', 'closed']),
      node: z.number().nullable(),
      reconnects: z.number(),
      error: z.string().nullable(),
    }),
  ),
  partitions: z.array(
    z.object({
      partition: z.number(),
      group: decimal.nullable(),
      acked: z.number(),
      readBack: z.number(),
      /** Next offset that the reader asks for. */
      readOffset: decimal,
    }),
  ),
  verdict: z.object({
    kind: z.enum(['none', 'nothing_lost', 'lost', 'duplicate', 'corrupt', 'not_all_read']),
    words: z.string(),
  }),
  lastError: z.object({ code: z.string(), message: z.string(), atWallUs: decimal }).nullable(),
})
export type LoadState = z.infer<typeof loadState>

export const health = z.object({
  ok: z.boolean(),
  run: z.string(),
  uptimeMs: z.number(),
  readOnly: z.boolean(),
  nodes: z.array(
    z.object({ id: z.number(), state: processState, inspection: clusterNode.shape.inspection.shape.state }),
  ),
})

/**
 * `GET /api/events`: server-sent events. `id` is a console sequence: it grows by one an event, and a later run of the
 * console starts above an earlier one. Without `after` (or `Last-Event-ID`) the stream starts now.
 *
 *   event: hello     data: StreamHello               first, always
 *   event: nodes     data: ClusterNode[]             after hello, after a gap, and whenever a process changes state;
 *                                                    `snapshot` is left out (null) in here
 *   event: snapshot  data: StreamSnapshot            after hello and after a gap one for each node heard; then as they come
 *   event: load      data: LoadState                 at most 4 a second while a load runs
 *   event: batch     data: (EventEnvelope|EventGap)[]  id: last consoleSeq; at most one each 33 ms
 *   event: gap       data: EventGap                  this reader missed console sequences fromSeq..toSeq
 *   event: heartbeat data: {wallUs, seq}             every 5 s
 */
export const streamHello = z.object({
  run: z.string(),
  /** Newest console sequence. */
  seq: z.number(),
  /** Oldest console sequence still kept. */
  firstSeq: z.number(),
  wallUs: decimal,
  readOnly: z.boolean(),
  replicaCount: z.number(),
  name: z.string(),
})
export type StreamHello = z.infer<typeof streamHello>
export const streamSnapshot = z.object({
  /** Every event up to this console sequence is included: the sequence when the snapshot was asked for. */
  seq: z.number(),
  node: z.number(),
  receivedWallUs: decimal,
  snapshot: nodeSnapshot,
})
export type StreamSnapshot = z.infer<typeof streamSnapshot>
export const streamHeartbeat = z.object({ wallUs: decimal, seq: z.number() })

/** One message of the stream, as readers and the fold see it. `event` is the SSE event name. */
export type StreamMessage =
  | { readonly event: 'hello'; readonly data: StreamHello }
  | { readonly event: 'nodes'; readonly data: readonly ClusterNode[] }
  | { readonly event: 'snapshot'; readonly data: StreamSnapshot }
  | { readonly event: 'load'; readonly data: LoadState }
  | { readonly event: 'batch'; readonly data: readonly (z.infer<typeof eventEnvelope> | z.infer<typeof eventGap>)[] }
  | { readonly event: 'gap'; readonly data: z.infer<typeof eventGap> }
  | { readonly event: 'heartbeat'; readonly data: z.infer<typeof streamHeartbeat> }

export const STREAM_EVENTS = ['hello', 'nodes', 'snapshot', 'load', 'batch', 'gap', 'heartbeat'] as const
