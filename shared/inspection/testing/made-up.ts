/** Snapshots and events with only what a test is about. */
import type { StreamMessage } from '../api.ts'
import type { EventEnvelope } from '../envelope.ts'
import type { GroupSnapshotJson, GroupSummary, NodeSnapshot } from '../snapshots.ts'
import { type ClusterView, EMPTY_VIEW } from '../view.ts'

export const METADATA = (1n << 63n).toString()
export const T0 = 1_764_000_000_000

export const usOf = (ms: number): string => Math.round(ms * 1000).toString()

export const summaryOf = (changes: Partial<GroupSummary> = {}): GroupSummary => ({
  group: METADATA,
  plane: 'metadata',
  status: 'normal',
  role: 'backup',
  primary: 0,
  view: 0,
  logView: 0,
  viewDurable: 0,
  logViewDurable: 0,
  op: '10',
  commitMin: '10',
  commitMax: '10',
  ...changes,
})

export const metadataOf = (changes: Partial<GroupSnapshotJson> = {}): GroupSnapshotJson => ({
  ...summaryOf(),
  ceded: false,
  observedNewerView: 0,
  transferStage: 'idle',
  probeAttempts: 0,
  quorums: { replication: 2, viewChange: 2, nack: 2 },
  pipeline: [],
  requestQueue: 0,
  depths: { prepares: 32, requests: 64 },
  votes: { startViewChange: [], doViewChange: [], parked: false },
  timers: [],
  ...changes,
})

export interface Said {
  readonly boot?: string
  readonly seq?: number
  readonly consoleSeq?: number
  readonly atMs?: number
  readonly metadata?: Partial<GroupSnapshotJson>
  readonly groups?: readonly Partial<GroupSummary>[]
  readonly peers?: NodeSnapshot['peers']
}

export function snapshotOf(node: number, said: Said = {}): StreamMessage {
  const atMs = said.atMs ?? T0
  const snapshot: NodeSnapshot = {
    reporter: { node, boot: said.boot ?? `b${node}`, takenWallUs: usOf(atMs), takenMonoUs: 1, seq: said.seq ?? 0 },
    pid: 1,
    clusterName: 'test',
    clusterEnabled: true,
    replicaCount: 3,
    startedWallUs: usOf(T0),
    dataDirectory: '/data',
    threadPoolSize: 16,
    ports: { client: 1, replica: 2, inspection: 3 },
    peers: said.peers ?? [],
    clients: 0,
    metadata: metadataOf({ role: node === 0 ? 'primary' : 'backup', ...said.metadata }),
    groups: (said.groups ?? []).map(group => summaryOf({ group: '7', plane: 'partition', ...group })),
    counters: {},
    memoryBytes: 1,
    fsync: 'full',
  }
  return { event: 'snapshot', data: { seq: said.consoleSeq ?? 0, node, receivedWallUs: usOf(atMs), snapshot } }
}

export const eventOf = (
  node: number,
  seq: number,
  kind: string,
  changes: Partial<EventEnvelope> = {},
): EventEnvelope => ({
  v: 1,
  node,
  boot: `b${node}`,
  seq,
  monoUs: seq,
  wallUs: usOf(T0),
  plane: 'metadata',
  group: METADATA,
  kind,
  class: 'fact',
  data: {},
  ...changes,
})

export const hello: StreamMessage = {
  event: 'hello',
  data: { run: 'r', seq: 0, firstSeq: 1, wallUs: usOf(T0), readOnly: false, replicaCount: 3, name: 'test' },
}

type State = 'running' | 'paused' | 'stopped' | 'crashed' | 'refused' | 'starting'
export const processes = (...states: readonly State[]): StreamMessage => ({
  event: 'nodes',
  data: states.map((state, id) => ({
    id,
    name: `node-${id}`,
    state,
    sinceWallUs: usOf(T0),
    pid: 1,
    ports: null,
    dataDirectory: '/data',
    adopted: false,
    exit: null,
    refusal: null,
    inspection: { state: 'connected', heardWallUs: null, error: null },
    snapshot: null,
    snapshotWallUs: null,
  })),
})

/** Three running nodes that agree on node-0 in view 0. */
export const settled = (): readonly StreamMessage[] => [
  hello,
  processes('running', 'running', 'running'),
  snapshotOf(0),
  snapshotOf(1),
  snapshotOf(2),
]

export const foldAll = (
  fold: (view: ClusterView, message: StreamMessage) => ClusterView,
  messages: readonly StreamMessage[],
  from = EMPTY_VIEW,
): ClusterView => messages.reduce(fold, from)
