/** The real inspection endpoint of a node over made-up contents: what the console talks to, without an engine behind it. */
import { Micros } from '../../../shared/bytes/units.ts'
import type { EventDraft } from '../../../shared/inspection/envelope.ts'
import type { ForwardsSnapshot, GroupSnapshotJson, NodeSnapshot } from '../../../shared/inspection/snapshots.ts'
import type { ReplicaInspection } from '../../../shared/replica/contract.ts'
import { EventRing } from '../../node/event-ring.ts'
import { InspectionServer } from '../../node/inspection-server.ts'

export const METADATA = (1n << 63n).toString()

export const groupOf = (changes: Partial<GroupSnapshotJson> = {}): GroupSnapshotJson => ({
  group: METADATA,
  plane: 'metadata',
  status: 'normal',
  role: 'backup',
  primary: 0,
  ceded: false,
  view: 0,
  logView: 0,
  viewDurable: 0,
  logViewDurable: 0,
  op: '0',
  commitMin: '0',
  commitMax: '0',
  observedNewerView: 0,
  transferStage: 'idle',
  probeAttempts: 0,
  quorums: { replication: 2, viewChange: 2, nack: 2 },
  pipeline: [],
  requestQueue: 0,
  votes: { startViewChange: [], doViewChange: [], parked: false },
  timers: [],
  ...changes,
})

export const nodeOf = (metadata: GroupSnapshotJson): Omit<NodeSnapshot, 'reporter'> => ({
  pid: 1,
  clusterName: 'test',
  clusterEnabled: true,
  replicaCount: 3,
  startedWallUs: '1764000000000000',
  dataDirectory: '/data',
  threadPoolSize: 16,
  ports: { client: 1, replica: 2, inspection: 3 },
  peers: [],
  clients: 0,
  metadata,
  groups: [],
  counters: {},
  memoryBytes: 1,
  fsync: 'full',
})

export class FakeNode {
  readonly node: number
  ring: EventRing
  metadata: GroupSnapshotJson
  forwards: Omit<ForwardsSnapshot, 'reporter'> = {
    parked: 0,
    waiting: 0,
    parkedBytes: 0,
    total: 0,
    forwards: [],
  }
  port = 0
  #server: InspectionServer

  constructor(node: number, boot = 'b0') {
    this.node = node
    this.metadata = groupOf({ role: node === 0 ? 'primary' : 'backup' })
    this.ring = this.#newRing(boot)
    this.#server = this.#newServer()
  }

  #newRing(boot: string): EventRing {
    const clock = { nowMicros: () => Micros(BigInt(Date.now()) * 1000n), monoMicros: () => performance.now() * 1000 }
    return new EventRing({ node: this.node, boot, clock, capacity: 64 })
  }

  #newServer(): InspectionServer {
    const inspect = {
      metadata: () => this.metadata,
      groups: () => [this.metadata],
      group: (group: bigint) => (group.toString() === METADATA ? this.metadata : undefined),
      topics: () => ({ streams: [] }),
      partition: () => undefined,
      forwards: () => this.forwards,
      recovery: () => ({ steps: [{ at: 1, step: 'structure', path: 'x', verdict: 'ok', detail: {} }] }),
    } as unknown as ReplicaInspection
    return new InspectionServer({
      ring: this.ring,
      inspect: () => inspect,
      reporter: () => ({
        node: this.node,
        boot: this.ring.boot,
        takenWallUs: (Date.now() * 1000).toString(),
        takenMonoUs: performance.now() * 1000,
        seq: this.ring.seq,
      }),
      node: () => nodeOf(this.metadata),
    })
  }

  async listen(port = 0): Promise<number> {
    this.port = await this.#server.listen('127.0.0.1', port)
    return this.port
  }

  emit(kind: string, changes: Partial<EventDraft> = {}): number {
    return this.ring.emit({ plane: 'metadata', group: METADATA, kind, class: 'fact', data: {}, ...changes })
  }

  close(): void {
    this.#server.close()
  }

  /** Dies and comes back on the same port, in another life. */
  async restart(boot: string): Promise<void> {
    this.close()
    this.ring = this.#newRing(boot)
    this.#server = this.#newServer()
    await this.listen(this.port)
  }
}
