/**
 * A made-up cluster for looking at the page without one: `serve.ts` answers with it. Not part of any build, and no test
 * takes its numbers for facts. A scene is one telling moment; time runs, so that ages and rates move.
 */

import { toHex } from '../../shared/bytes/hex.ts'
import { Checksum, type Micros, type Offset, type Op, type ReplicaId, type View } from '../../shared/bytes/units.ts'
import type {
  ClusterNode,
  CurrentCluster,
  LoadState,
  StreamMessage,
  TopicsAnswer,
} from '../../shared/inspection/api.ts'
import type { EventEnvelope } from '../../shared/inspection/envelope.ts'
import type {
  BatchesSnapshot,
  GroupSnapshotJson,
  IndexSnapshot,
  NodeSnapshot,
  PartitionSnapshot,
  RecoverySnapshot,
  SuperblocksSnapshot,
} from '../../shared/inspection/snapshots.ts'
import { batchHeaderLayout, messageHeaderLayout } from '../../shared/protocol/batch.ts'
import { METADATA_GROUP, packGroup } from '../../shared/protocol/groups.ts'
import { superblockHeaderLayout, vsrStateLayouts } from '../../shared/storage/superblock-record.ts'

export type Scene = 'healthy' | 'killed' | 'behind' | 'corrupt' | 'empty'
export const SCENES: readonly Scene[] = ['healthy', 'killed', 'behind', 'corrupt', 'empty']

const NODES = 3
const PARTITIONS = 3
const BATCH_MESSAGES = 10
const PAYLOAD = 180
const BATCH_BYTES = 256 + BATCH_MESSAGES * (48 + PAYLOAD)
const SEGMENT_BYTES = 1 << 20
const started = Date.now()
const boots = ['a0f1c2d3e4b5a697', 'b1f1c2d3e4b5a698', 'c2f1c2d3e4b5a699']
const groupIds = Array.from({ length: PARTITIONS }, (_, partition) =>
  packGroup({ stream: 0, topic: 0, partition }).toString(),
)

export const nowUs = (): string => (BigInt(Date.now()) * 1000n).toString()
const seconds = (): number => (Date.now() - started) / 1000

export class FixtureCluster {
  readonly scene: Scene
  /** Nodes stopped by a click on the page. */
  readonly stopped = new Map<number, number>()
  readonly paused = new Set<number>()
  loadRuns: boolean
  #seq = 1000

  constructor(scene: Scene) {
    this.scene = scene
    this.loadRuns = scene === 'healthy' || scene === 'killed' || scene === 'behind'
    if (scene === 'killed') this.stopped.set(0, Date.now() - 2000)
  }

  #committed(partition: number): number {
    return this.scene === 'empty' ? 0 : 5100 + partition * 31 + Math.floor(seconds() * 4)
  }
  #behindBy(node: number): number {
    return this.scene === 'behind' && node === 2 ? Math.max(3, 420 - Math.floor(seconds() * 3)) : 0
  }
  down(node: number): boolean {
    return this.stopped.has(node) || (this.scene === 'corrupt' && node === 2)
  }

  node(id: number, withSnapshot = true): ClusterNode {
    const down = this.down(id)
    const refused = this.scene === 'corrupt' && id === 2
    return {
      id,
      name: `node-${id}`,
      state: refused ? 'refused' : down ? 'stopped' : this.paused.has(id) ? 'paused' : 'running',
      sinceWallUs: (BigInt(this.stopped.get(id) ?? started - 240_000) * 1000n).toString(),
      pid: down ? null : 41_870 + id,
      ports: { client: 35_001 + id * 3, replica: 35_002 + id * 3, inspection: 35_003 + id * 3 },
      dataDirectory: `data/node-${id}`,
      logFile: `data/node-${id}.log`,
      command: `npm run -s quorumscope -- node --replica-id ${id}`,
      adopted: false,
      exit: refused
        ? {
            status: 65,
            signal: null,
            atWallUs: nowUs(),
            requested: null,
            meaning: 'refused to boot: slot B of its metadata superblock is unreadable',
          }
        : down
          ? {
              status: null,
              signal: 'SIGKILL',
              atWallUs: nowUs(),
              requested: 'kill',
              meaning: 'killed by SIGKILL, as asked',
            }
          : null,
      refusal: refused
        ? {
            code: 'SuperblockUnreadable',
            message: 'slot B of the metadata superblock does not verify',
            path: 'superblock/superblock.b',
          }
        : null,
      inspection: { state: down ? 'down' : 'connected', heardWallUs: nowUs(), error: null },
      snapshot: down || !withSnapshot ? null : this.snapshot(id),
      snapshotWallUs: nowUs(),
    }
  }

  current(): CurrentCluster {
    return {
      run: 'fixture',
      seq: this.#seq,
      takenWallUs: nowUs(),
      name: 'fixture-local',
      replicaCount: NODES,
      dataDirectory: 'data',
      readOnly: false,
      nodes: [0, 1, 2].map(id => this.node(id)),
    }
  }

  reporter(node: number) {
    return { node, boot: boots[node]!, takenWallUs: nowUs(), takenMonoUs: seconds() * 1e6, seq: this.#seq }
  }

  group(node: number, group: string): GroupSnapshotJson {
    const metadata = group === METADATA_GROUP.toString()
    const partition = metadata ? 0 : groupIds.indexOf(group)
    const changing = this.scene === 'killed'
    const view = changing ? 1 : metadata ? 0 : partition
    const primary = view % NODES
    const top = metadata ? 41 : this.#committed(partition)
    const op = Math.max(0, top - (metadata ? 0 : this.#behindBy(node)))
    const status = changing ? 'view_change' : 'normal'
    const role = primary === node && !changing ? 'primary' : 'backup'
    const timer = (name: string, ticking: boolean, periodMs: number, share: number) => ({
      name,
      ticking,
      remainingMs: Math.round(periodMs * share),
      periodMs,
    })
    return {
      group,
      plane: metadata ? 'metadata' : 'partition',
      ...(metadata ? {} : { key: { stream: 0, topic: 0, partition } }),
      status,
      role,
      primary,
      ceded: false,
      view,
      logView: changing ? 0 : view,
      viewDurable: changing && node === 2 ? 0 : view,
      logViewDurable: changing ? 0 : view,
      op: String(op + (role === 'primary' && this.loadRuns ? 1 : 0)),
      commitMin: String(op),
      commitMax: String(this.scene === 'behind' && node === 2 ? top : op),
      observedNewerView: view,
      transferStage: 'idle',
      probeAttempts: 0,
      quorums: { replication: 2, viewChange: 2, nack: 2 },
      pipeline:
        role === 'primary' && this.loadRuns
          ? [{ op: String(op + 1), checksum: 'ab12', operation: 160, acks: [node], quorum: false }]
          : [],
      requestQueue: 0,
      votes: {
        startViewChange: changing ? [1] : [],
        doViewChange: changing ? [{ replica: 1, logView: 0, op: String(op), commit: String(op) }] : [],
        parked: false,
      },
      timers: [
        timer('commitMessage', role === 'primary', 500, 0.4),
        timer('normalHeartbeat', role === 'backup' && !changing, 5000, 0.93),
        timer('viewChangeStatus', changing, 5000, 0.63),
      ],
      ...(metadata
        ? {}
        : {
            offsets: {
              next: String(op * BATCH_MESSAGES),
              visible: String(op * BATCH_MESSAGES),
              persisted: String(Math.max(0, op - 40) * BATCH_MESSAGES),
              empty: op === 0,
            },
          }),
    }
  }

  snapshot(node: number): NodeSnapshot {
    return {
      reporter: this.reporter(node),
      pid: 41_870 + node,
      clusterName: 'fixture-local',
      clusterEnabled: true,
      replicaCount: NODES,
      startedWallUs: (BigInt(started - 240_000) * 1000n).toString(),
      dataDirectory: `data/node-${node}`,
      threadPoolSize: 16,
      ports: { client: 35_001 + node * 3, replica: 35_002 + node * 3, inspection: 35_003 + node * 3 },
      peers: [0, 1, 2].filter(id => id !== node).map(replica => ({ replica, connected: !this.down(replica) })),
      clients: node === 0 ? 5 : 1,
      metadata: this.group(node, METADATA_GROUP.toString()),
      groups: this.scene === 'empty' ? [] : groupIds.map(id => this.group(node, id)),
      counters: { 'metadata prepare': 41, 'partition prepare': this.#committed(0) },
      memoryBytes: 86_000_000 + node * 1_000_000,
      fsync: 'full',
    }
  }

  topics(): TopicsAnswer {
    return {
      streams:
        this.scene === 'empty'
          ? []
          : [
              {
                id: 0,
                name: 'load',
                topics: [
                  {
                    id: 0,
                    name: 'steady',
                    partitions: PARTITIONS,
                    segmentSizeBytes: String(SEGMENT_BYTES),
                    enforceFsync: false,
                    messagesRequiredToSave: 1024,
                  },
                ],
              },
            ],
      reportedBy: 0,
      heardWallUs: nowUs(),
    }
  }

  superblocks(node: number): SuperblocksSnapshot {
    const group = (id: string, partition: number | undefined): SuperblocksSnapshot['groups'][number] => {
      const base = {
        group: id,
        plane: partition === undefined ? ('metadata' as const) : ('partition' as const),
        ...(partition === undefined ? {} : { key: { stream: 0, topic: 0, partition } }),
      }
      const dir = partition === undefined ? 'superblock' : `partitions/0/0/${partition}`
      if (this.scene === 'healthy' || this.scene === 'empty') {
        const absent = (slot: 'a' | 'b') => ({
          slot,
          path: `${dir}/superblock.${slot}`,
          state: 'absent' as const,
          hex: '',
        })
        return {
          ...base,
          slots: [absent('a'), absent('b')],
          verdict: 'empty',
          why: 'Neither slot exists: this group has never written its superblock. A fresh group boots in view 0.',
        }
      }
      const slot = (
        name: 'a' | 'b',
        sequence: number,
        view: number,
      ): SuperblocksSnapshot['groups'][number]['slots'][number] => {
        const bytes = record(node, sequence, view)
        const corrupt = this.scene === 'corrupt' && node === 2 && partition === undefined && name === 'b'
        if (corrupt) bytes[90] = bytes[90]! ^ 0x20
        return {
          slot: name,
          path: `${dir}/superblock.${name}`,
          state: corrupt ? 'corrupt' : 'valid',
          ...(corrupt
            ? {
                failure: {
                  code: 'BadChecksum',
                  message: 'stored 04e5891471a315c9, computed 7c0f30fef0cc300a over bytes 0 to 101',
                  position: 102,
                },
              }
            : {
                sequence: String(sequence),
                fields: {
                  view,
                  logView: view,
                  commitMax: String(1000 + sequence),
                  checkpointOp: '960',
                  offsetFrontier: '0',
                  offsetReserved: '0',
                  replicaId: node,
                  replicaCount: 3,
                  cluster: '339245870234',
                },
              }),
          hex: toHex(bytes),
          modifiedWallMs: started - 60_000,
        }
      }
      const bad = this.scene === 'corrupt' && node === 2 && partition === undefined
      return {
        ...base,
        slots: [slot('a', 11 + node, 0), slot('b', 12 + node, 1)],
        verdict: bad ? 'unreadable' : 'present',
        ...(bad ? {} : { winner: 'b' as const }),
        why: bad
          ? 'Slot B does not verify and may have been the newer one: booting from A could revive an older view. The node refuses.'
          : 'Both slots are valid; B has the higher sequence.',
      }
    }
    return {
      reporter: this.reporter(node),
      groups: [
        group(METADATA_GROUP.toString(), undefined),
        ...(this.scene === 'empty' ? [] : groupIds.map((id, partition) => group(id, partition))),
      ],
    }
  }

  #batches(node: number, partition: number): number {
    return Math.max(0, this.#committed(partition) - this.#behindBy(node))
  }
  #perSegment = Math.ceil(SEGMENT_BYTES / BATCH_BYTES)

  partition(node: number, partition: number): PartitionSnapshot {
    const batches = this.#batches(node, partition)
    const persisted = Math.max(0, batches - 40)
    const segments: PartitionSnapshot['segments'] = []
    for (let first = 0; first === 0 || first < persisted; first += this.#perSegment) {
      const here = Math.min(this.#perSegment, persisted - first)
      segments.push({
        startOffset: String(first * BATCH_MESSAGES),
        endOffset: String(Math.max(0, (first + here) * BATCH_MESSAGES - 1)),
        empty: here === 0,
        sealed: here === this.#perSegment,
        sizeBytes: here * BATCH_BYTES,
        maxSizeBytes: SEGMENT_BYTES,
        startTimestamp: nowUs(),
        endTimestamp: nowUs(),
        indexEntries: Math.ceil(here / 8),
        indexBytes: Math.ceil(here / 8) * 24,
      })
    }
    const bytes = (count: number): string => String(count * BATCH_BYTES)
    return {
      reporter: this.reporter(node),
      group: this.group(node, groupIds[partition]!),
      directory: `data/node-${node}/streams/0/topics/0/partitions/${partition}`,
      segments: segments.slice(-6),
      journal: {
        batches: batches - persisted,
        messages: (batches - persisted) * BATCH_MESSAGES,
        bytes: (batches - persisted) * BATCH_BYTES,
        firstOffset: String(persisted * BATCH_MESSAGES),
        lastOffset: String(batches * BATCH_MESSAGES - 1),
      },
      flusher: {
        state: 'idle',
        persistedBytes: bytes(persisted),
        inFlightBytes: bytes(persisted),
        journaledBytes: bytes(batches),
        rounds: 640,
        batches,
      },
      reservation: {
        frontier: String(batches * BATCH_MESSAGES),
        reserved: String(batches * BATCH_MESSAGES + 65_536),
        held: '0',
      },
      settings: {
        segmentSizeBytes: SEGMENT_BYTES,
        enforceFsync: false,
        messagesRequiredToSave: 1024,
        sizeRequiredToSaveBytes: 1 << 20,
      },
    }
  }

  #segment(node: number, partition: number, base: string): { first: number; count: number } {
    const first = Number(base) / BATCH_MESSAGES
    const persisted = Math.max(0, this.#batches(node, partition) - 40)
    return { first, count: Math.max(0, Math.min(this.#perSegment, persisted - first)) }
  }

  index(node: number, partition: number, base: string): IndexSnapshot {
    const { first, count } = this.#segment(node, partition, base)
    const entries = Array.from({ length: Math.ceil(count / 8) }, (_, number) => ({
      number,
      offset: String((first + number * 8) * BATCH_MESSAGES),
      timestamp: nowUs(),
      positionBytes: number * 8 * BATCH_BYTES,
    }))
    return {
      reporter: this.reporter(node),
      startOffset: base,
      total: entries.length,
      matching: entries.length,
      entries,
      trailingBytes: 0,
    }
  }

  batches(node: number, partition: number, base: string, from: number, limit: number): BatchesSnapshot {
    const { first, count } = this.#segment(node, partition, base)
    const start = Math.ceil(from / BATCH_BYTES)
    const list = Array.from({ length: Math.max(0, Math.min(limit, count - start)) }, (_, index) => ({
      positionBytes: (start + index) * BATCH_BYTES,
      lengthBytes: BATCH_BYTES,
      baseOffset: String((first + start + index) * BATCH_MESSAGES),
      baseTimestamp: nowUs(),
      originTimestamp: nowUs(),
      messages: BATCH_MESSAGES,
      checksum: '31bbfb9d89b531f0',
      verdict: 'valid' as const,
    }))
    const end = (start + list.length) * BATCH_BYTES
    return {
      reporter: this.reporter(node),
      startOffset: base,
      sizeBytes: count * BATCH_BYTES,
      fromPositionBytes: from,
      ...(start + list.length < count ? { nextPositionBytes: end } : {}),
      batches: list,
    }
  }

  bytes(base: string, position: number, length: number): Uint8Array {
    const out = new Uint8Array(length)
    for (let at = Math.floor(position / BATCH_BYTES) * BATCH_BYTES; at < position + length; at += BATCH_BYTES) {
      const batch = oneBatch(BigInt(base) + BigInt((at / BATCH_BYTES) * BATCH_MESSAGES))
      const skip = Math.max(0, position - at)
      out.set(batch.subarray(skip, Math.min(batch.length, position + length - at)), Math.max(0, at - position))
    }
    return out
  }

  recovery(node: number): RecoverySnapshot {
    const step = (
      at: number,
      step: string,
      path: string,
      verdict: string,
      detail: RecoverySnapshot['steps'][number]['detail'],
    ) => ({ at, step, path, verdict, detail })
    return {
      reporter: this.reporter(node),
      steps: [
        step(0, 'superblock', 'superblock', 'empty', { slots: 'absent, absent' }),
        step(2, 'wal', 'metadata/journal.wal', 'ok', { entries: 41 }),
        ...groupIds.map((_, partition) =>
          step(4 + partition, 'chain', `streams/0/topics/0/partitions/${partition}`, partition === 1 ? 'cut' : 'ok', {
            segments: 3,
            batches: 1210,
          }),
        ),
      ],
    }
  }

  load(): LoadState {
    const rate = 600
    const total = Math.floor(seconds() * rate) + 60 * rate
    const second = Math.floor(Date.now() / 1000) * 1000
    const runs = this.loadRuns
    return {
      state: runs ? 'running' : 'idle',
      run: runs ? 'f00d' : null,
      settings: runs
        ? {
            stream: 'load',
            topic: 'steady',
            partitions: 3,
            policy: 'default',
            segmentSizeBytes: 4 << 20,
            ratePerSecond: rate,
            batchMessages: 10,
            messageBytes: 256,
            connections: 4,
          }
        : null,
      startedWallUs: runs ? nowUs() : null,
      stoppedWallUs: null,
      takenWallUs: nowUs(),
      ledger: {
        sent: runs ? total : 0,
        acked: runs ? total - 90 : 0,
        unknown: runs ? 80 : 0,
        refused: 0,
        inFlight: runs ? 10 : 0,
        readBack: runs ? total - 400 : 0,
        lost: 0,
        duplicate: 0,
        unknownFound: 0,
        refusedFound: 0,
        corrupt: 0,
      },
      latency: runs ? { count: 9000, p50: 3.4, p95: 9.2, p99: 21, max: 240 } : null,
      seconds: runs
        ? Array.from({ length: 110 }, (_, index) => ({
            atMs: second - (110 - index) * 1000,
            sent: rate,
            acked: index > 102 && this.scene === 'killed' ? 200 : rate - ((index * 7) % 11) * 4,
            unknown: 0,
            refused: 0,
            p50Ms: 3,
            p99Ms: 12,
          }))
        : [],
      connections: [],
      partitions: groupIds.map((group, partition) => ({
        partition,
        group,
        acked: 1000,
        readBack: 900,
        readOffset: '900',
      })),
      verdict: {
        kind: runs ? 'nothing_lost' : 'none',
        words: runs ? 'So far every acknowledged message that was read back is there once.' : '',
      },
      lastError: null,
    }
  }

  /** Facts of all nodes in turn. */
  facts(count: number): StreamMessage {
    const data = Array.from({ length: count }, (_, index): EventEnvelope => {
      this.#seq++
      const node = index % NODES
      return {
        v: 1,
        node,
        boot: boots[node]!,
        seq: this.#seq,
        monoUs: 1,
        wallUs: nowUs(),
        plane: 'partition',
        group: groupIds[index % PARTITIONS]!,
        kind: 'superblock_durable',
        class: 'fact',
        view: 0,
        logView: 0,
        data: {},
        consoleSeq: this.#seq,
        receivedWallUs: nowUs(),
        emittedWallUs: nowUs(),
      }
    })
    return { event: 'batch', data }
  }

  /** A second's worth of events. */
  events(): StreamMessage[] {
    const list: EventEnvelope[] = []
    for (let node = 0; node < NODES; node++) {
      if (this.down(node) || this.paused.has(node)) continue
      for (let index = 0; index < 4; index++) {
        this.#seq++
        const partition = index % PARTITIONS
        list.push({
          v: 1,
          node,
          boot: boots[node]!,
          seq: this.#seq,
          monoUs: 1,
          wallUs: nowUs(),
          plane: 'partition',
          group: groupIds[partition]!,
          kind: index === 3 ? 'superblock_due' : 'op_committed',
          class: index === 3 ? 'fact' : 'flow',
          view: this.group(node, groupIds[partition]!).view,
          op: String(this.#batches(node, partition)),
          data: {},
          consoleSeq: this.#seq,
          receivedWallUs: nowUs(),
          emittedWallUs: nowUs(),
        })
      }
    }
    return [{ event: 'batch', data: list }]
  }
  get seq(): number {
    return this.#seq
  }
}

function record(node: number, sequence: number, view: number): Uint8Array {
  const bytes = new Uint8Array(28 + 74 + 8)
  superblockHeaderLayout.encode(
    {
      magic: 0x53424c4b,
      version: 1,
      reserved: 0,
      sequence: BigInt(sequence),
      parentChecksum: Checksum(0n),
      payloadBytes: 74,
    },
    bytes,
    0,
  )
  vsrStateLayouts[74].encode(
    {
      cluster: 0x0a55bacf8d68ca9baf17c67ef7b456n,
      replicaId: node as ReplicaId,
      replicaCount: 3,
      view: view as View,
      logView: view as View,
      commitMax: BigInt(1000 + sequence) as Op,
      checkpointOp: 960n as Op,
      checkpointChecksum: Checksum(0x37a8c50bd4912f6en),
      offsetFrontier: 0n as Offset,
      offsetReserved: 0n as Offset,
    },
    bytes,
    28,
  )
  new DataView(bytes.buffer).setBigUint64(102, 0xa244fc6b16d98ff5n, true)
  return bytes
}

function oneBatch(baseOffset: bigint): Uint8Array {
  const bytes = new Uint8Array(BATCH_BYTES)
  const at = BigInt(started) * 1000n
  batchHeaderLayout.encode(
    {
      partitionId: 1n,
      baseOffset: baseOffset as Offset,
      baseTimestamp: at as Micros,
      originTimestamp: at as Micros,
      batchLength: BigInt(BATCH_BYTES),
      checksum: Checksum(0x31bbfb9d89b531f0n),
      messageCount: BATCH_MESSAGES,
    },
    bytes,
    0,
  )
  for (let index = 0; index < BATCH_MESSAGES; index++) {
    const p = 256 + index * (48 + PAYLOAD)
    messageHeaderLayout.encode(
      {
        checksum: Checksum(0xf00dn + BigInt(index)),
        id: 0x1234_5678_9abc_def0n * 3n + BigInt(index),
        offsetDelta: index,
        timestampDelta: index * 7,
        userHeadersLength: 0,
        payloadLength: PAYLOAD,
      },
      bytes,
      p,
    )
    bytes.set(
      new TextEncoder()
        .encode(JSON.stringify({ order: Number(baseOffset) + index, item: 'EU-408', note: 'x'.repeat(120) }))
        .subarray(0, PAYLOAD),
      p + 48,
    )
  }
  return bytes
}
