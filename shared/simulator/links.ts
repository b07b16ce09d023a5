/**
 * The network between simulated replicas: one FIFO connection per pair, made soon after both ends are up, with a latency per
 * frame. A cut direction loses frames in silence; a dead end closes the connection.
 */
import type { ReplicaId } from '../bytes/units.ts'
import type { Replica } from '../replica/contract.ts'
import type { Life } from './life.ts'
import type { Timeline } from './timeline.ts'

/** Time that the shutdown of one end takes to be seen by the other. */
const CLOSE_MICROS = 1_000
/** Longest wait between two nodes being up and their connection. */
const DIAL_MICROS_MAX = 50_000

export interface End {
  readonly id: ReplicaId
  readonly life: Life
  readonly replica: Replica
}

interface Connection {
  readonly number: number
  readonly ends: readonly [End, End]
  open: boolean
  readonly lastArrival: Map<ReplicaId, number>
  readonly sent: Map<ReplicaId, number>
}

export class Links {
  private readonly timeline: Timeline
  private readonly random: (below: number) => number
  private readonly latencyMicros: () => number
  private readonly ends = new Map<ReplicaId, End>()
  private readonly connections = new Map<string, Connection>()
  private readonly cutDirections = new Set<string>()
  private numbers = 0
  /** Frames that reached their end, over the life of the world. */
  delivered = 0

  constructor(timeline: Timeline, random: (below: number) => number, latencyMicros: () => number) {
    this.timeline = timeline
    this.random = random
    this.latencyMicros = latencyMicros
  }

  /** A replica is up: it connects to every other one that is. */
  up(end: End): void {
    for (const other of this.ends.values()) {
      this.timeline.after(this.random(DIAL_MICROS_MAX), () => this.connect(end, other))
    }
    this.ends.set(end.id, end)
  }

  down(id: ReplicaId): void {
    this.ends.delete(id)
    for (const [key, connection] of this.connections) {
      const survivor = connection.ends.find(end => end.id !== id)
      if (!connection.ends.some(end => end.id === id) || !survivor) continue
      connection.open = false
      this.connections.delete(key)
      this.timeline.after(CLOSE_MICROS, () => survivor.life.run(() => survivor.replica.peerDisconnected(id)))
    }
  }

  cut(from: ReplicaId, to: ReplicaId): void {
    this.cutDirections.add(`${from}>${to}`)
  }

  heal(from: ReplicaId, to: ReplicaId): void {
    this.cutDirections.delete(`${from}>${to}`)
  }

  isConnected(a: ReplicaId, b: ReplicaId): boolean {
    return this.connections.has(pair(a, b))
  }

  send(from: ReplicaId, to: ReplicaId, frame: Uint8Array): boolean {
    const connection = this.connections.get(pair(from, to))
    if (!connection) return false
    if (this.cutDirections.has(`${from}>${to}`)) return true
    const target = connection.ends.find(end => end.id === to)!
    const arrival = Math.max(connection.lastArrival.get(to) ?? 0, this.timeline.nowMicros + this.latencyMicros())
    connection.lastArrival.set(to, arrival)
    const ordinal = (connection.sent.get(to) ?? 0) + 1
    connection.sent.set(to, ordinal)
    // Each receiver owns its bytes, as if they had come off a wire.
    const copy = new Uint8Array(frame)
    this.timeline.after(arrival - this.timeline.nowMicros, () => {
      if (!connection.open) return
      target.life.run(() => {
        this.delivered++
        target.replica.peerFrame(from, copy, { id: `${from}>${to}#${connection.number}`, ordinal, dir: 'in' })
      })
    })
    return true
  }

  private connect(a: End, b: End): void {
    if (this.ends.get(a.id) !== a || this.ends.get(b.id) !== b || this.isConnected(a.id, b.id)) return
    this.numbers++
    const connection: Connection = {
      number: this.numbers,
      ends: [a, b],
      open: true,
      lastArrival: new Map(),
      sent: new Map(),
    }
    this.connections.set(pair(a.id, b.id), connection)
    a.life.run(() => a.replica.peerConnected(b.id))
    b.life.run(() => b.replica.peerConnected(a.id))
  }
}

const pair = (a: ReplicaId, b: ReplicaId): string => (a < b ? `${a}-${b}` : `${b}-${a}`)
