/**
 * The network between simulated replicas: one connection per pair, made soon after both ends are up and made anew when it
 * breaks. Frames of a connection keep their order unless `reorder` is on; those of a broken one may still arrive, late,
 * beside those of its successor. Loss is decided on arrival, so that a direction that is healed loses what was on its way.
 */
import type { ReplicaId } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import type { Replica } from '../replica/contract.ts'
import { frameGroup } from '../replica/frame-group.ts'
import type { LinkMark } from '../replica/ports.ts'
import type { Dice } from './dice.ts'
import type { Life } from './life.ts'
import type { Timeline } from './timeline.ts'

/** Time that the shutdown of one end takes to be seen by the other. */
const CLOSE_MICROS = 1_000
/** Longest wait between two nodes being up and their connection. */
const DIAL_MICROS_MAX = 50_000
/** Mean time after which an answer comes once more. */
const LATE_MEAN_MICROS = 300_000
/** Longest wait for a new connection after one broke. */
const REDIAL_MICROS_MAX = 500_000
/** Offset of the command byte in a frame (spec consensus.md §2.1). */
const COMMAND_AT = 60
/** Offset of the nonce in a StartView (§2.5). */
const NONCE_AT = 240
/** Frames whose whole header is under their checksum. The view of a prepare is under none, by the format. */
const SEALED: ReadonlySet<number> = new Set([
  Command.PrepareOk,
  Command.Commit,
  Command.StartViewChange,
  Command.DoViewChange,
  Command.StartView,
  Command.RequestStartView,
  Command.RequestPrepares,
  Command.RepairDone,
  Command.RangeEvicted,
])

export interface End {
  readonly id: ReplicaId
  readonly life: Life
  readonly replica: Replica
}

/** What may befall a frame. Probabilities from 0 to 1. */
export interface LinkFaults {
  readonly delayMinMicros: number
  /** Mean of what comes on top. */
  readonly delayMeanMicros: number
  readonly loss: number
  readonly duplicate: number
  /** Bit flips: the checksums must find them. */
  readonly corrupt: number
  /** Frames overtake each other within a connection too. */
  readonly reorder: boolean
  /** Answers to probes that come once more, late, whoever is at that end by then: a proxy keeps frames beyond a connection. */
  readonly lateAnswers?: number
  /** A frame that comes twice may come a third time, and so on. Default: it does not. */
  readonly replayed?: boolean
  /** Frames that a way holds; of more, one that is drawn is lost. Default: any number. */
  readonly capacity?: number
}

export const CALM: LinkFaults = Object.freeze({
  delayMinMicros: 200,
  delayMeanMicros: 1_000,
  loss: 0,
  duplicate: 0,
  corrupt: 0,
  reorder: false,
})

export interface WireObserver {
  /** A replica hands over a frame; called before anything can befall it. */
  sent(from: ReplicaId, to: ReplicaId, frame: Uint8Array): void
  arrived(from: ReplicaId, to: ReplicaId, frame: Uint8Array): void
}

interface Connection {
  readonly number: number
  readonly ends: readonly [End, End]
  open: boolean
  readonly lastArrival: Map<ReplicaId, number>
  readonly sent: Map<ReplicaId, number>
}

/** A frame on its way. */
interface Flight {
  lost: boolean
}

interface Held {
  readonly from: number
  readonly to: number
  readonly command: number
  left: number
  readonly frames: (() => void)[]
}

export class Links {
  faults: LinkFaults = CALM
  observer: WireObserver | undefined
  private readonly timeline: Timeline
  private readonly dice: Dice
  private readonly ends = new Map<ReplicaId, End>()
  private readonly connections = new Map<string, Connection>()
  private readonly cutDirections = new Set<string>()
  private readonly holds = new Map<string, Held>()
  /** Ways on which nothing moves: what has come to their end waits there. */
  private readonly clogs = new Map<string, (() => void)[]>()
  /** By way, when it holds so many and no more. */
  private readonly flights = new Map<string, Flight[]>()
  private numbers = 0
  /** Frames that reached their end, over the life of the world. */
  delivered = 0

  constructor(timeline: Timeline, dice: Dice) {
    this.timeline = timeline
    this.dice = dice
  }

  /** A replica is up: it connects to every other one that is. */
  up(end: End): void {
    for (const other of this.ends.values()) {
      this.timeline.after(this.dice.below(DIAL_MICROS_MAX), () => this.connect(end, other))
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

  /** The connection of a pair breaks, and is made anew. `late`: what was on its way still arrives. */
  reset(a: ReplicaId, b: ReplicaId, late: boolean): void {
    const connection = this.connections.get(pair(a, b))
    if (!connection) return
    this.connections.delete(pair(a, b))
    if (!late) connection.open = false
    const [one, two] = connection.ends
    this.timeline.after(CLOSE_MICROS, () => one.life.run(() => one.replica.peerDisconnected(two.id)))
    this.timeline.after(CLOSE_MICROS, () => two.life.run(() => two.replica.peerDisconnected(one.id)))
    this.timeline.after(CLOSE_MICROS + 1 + this.dice.below(REDIAL_MICROS_MAX), () => this.connect(one, two))
  }

  /** Frames of this direction, or only those with this command byte (of this group), are lost in silence. */
  cut(from: ReplicaId, to: ReplicaId, command?: number, group?: bigint): void {
    this.cutDirections.add(direction(from, to, command, group))
  }

  heal(from: ReplicaId, to: ReplicaId, command?: number, group?: bigint): void {
    this.cutDirections.delete(direction(from, to, command, group))
  }

  healAll(): void {
    this.cutDirections.clear()
  }

  /** What is on this way, and what follows, waits until it is unclogged. */
  clog(from: ReplicaId, to: ReplicaId): void {
    const way = direction(from, to)
    if (!this.clogs.has(way)) this.clogs.set(way, [])
  }

  /** All that waited arrives, one behind the other, and what comes meanwhile behind that. */
  unclog(from: ReplicaId, to: ReplicaId): void {
    const way = direction(from, to)
    const waiting = this.clogs.get(way)
    if (!waiting) return
    const next = () => {
      const arrive = waiting.shift()
      if (!arrive) {
        if (this.clogs.get(way) === waiting) this.clogs.delete(way)
        return
      }
      arrive()
      this.timeline.after(1, next)
    }
    next()
  }

  isCut(from: ReplicaId, to: ReplicaId): boolean {
    return this.cutDirections.has(direction(from, to))
  }

  /** Keeps the next `count` frames with this command byte back until they are released. */
  hold(name: string, from: ReplicaId, to: ReplicaId, command: number, count: number): void {
    this.holds.set(name, { from, to, command, left: count, frames: [] })
  }

  /** Frames held under this name so far. */
  heldFrames(name: string): number {
    return this.holds.get(name)?.frames.length ?? 0
  }

  release(name: string): void {
    const held = this.holds.get(name)
    this.holds.delete(name)
    for (const deliver of held?.frames ?? []) deliver()
  }

  isConnected(a: ReplicaId, b: ReplicaId): boolean {
    return this.connections.has(pair(a, b))
  }

  send(from: ReplicaId, to: ReplicaId, frame: Uint8Array): boolean {
    const connection = this.connections.get(pair(from, to))
    if (!connection) return false
    this.observer?.sent(from, to, frame)
    const ordinal = (connection.sent.get(to) ?? 0) + 1
    connection.sent.set(to, ordinal)
    // Each receiver owns its bytes, as if they had come off a wire.
    this.carry(connection, from, to, new Uint8Array(frame), ordinal)
    while (this.faults.duplicate > 0 && this.dice.chance(this.faults.duplicate)) {
      this.carry(connection, from, to, new Uint8Array(frame), ordinal)
      if (this.faults.replayed !== true) break
    }
    if (isAnswer(frame)) this.repeatLate(from, to, frame)
    return true
  }

  /** Mark of the frame that was sent last to this peer. */
  lastSent(from: ReplicaId, to: ReplicaId): LinkMark | undefined {
    const connection = this.connections.get(pair(from, to))
    const ordinal = connection?.sent.get(to)
    return ordinal === undefined ? undefined : { id: `${from}>${to}#${connection!.number}`, ordinal, dir: 'out' }
  }

  private carry(connection: Connection, from: ReplicaId, to: ReplicaId, frame: Uint8Array, ordinal: number): void {
    const { faults, dice, timeline } = this
    const delay = faults.delayMinMicros + Math.round(dice.exponential(faults.delayMeanMicros))
    let arrival = timeline.nowMicros + Math.max(1, delay)
    if (!faults.reorder) {
      arrival = Math.max((connection.lastArrival.get(to) ?? 0) + 1, arrival)
      connection.lastArrival.set(to, arrival)
    }
    const lost = faults.loss > 0 && dice.chance(faults.loss)
    const command = frame[COMMAND_AT]!
    if (faults.corrupt > 0 && SEALED.has(command) && dice.chance(faults.corrupt)) {
      const bit = dice.below(frame.length * 8)
      // The size field is read before any checksum; a byte stream that lost its framing is a broken connection.
      if (bit >> 3 < 48 || bit >> 3 >= 52) frame[bit >> 3]! ^= 1 << (bit & 7)
    }
    const target = connection.ends.find(end => end.id === to)!
    const deliver = () => {
      if (!connection.open) return
      target.life.run(() => {
        this.delivered++
        this.observer?.arrived(from, to, frame)
        target.replica.peerFrame(from, frame, { id: `${from}>${to}#${connection.number}`, ordinal, dir: 'in' })
      })
    }
    const flight = this.takeOff(from, to)
    const arrive = () => {
      this.land(from, to, flight)
      if (lost || flight?.lost || this.isLost(from, to, frame)) return
      for (const held of this.holds.values()) {
        if (held.from !== from || held.to !== to || held.command !== command || held.left === 0) continue
        held.left--
        // Held frames belong to the way, not to the connection: they may reach the next life of the receiver.
        held.frames.push(() => (connection.open ? deliver() : this.deliverLate(from, to, frame)))
        return
      }
      deliver()
    }
    timeline.after(arrival - timeline.nowMicros, () => {
      const waiting = this.clogs.get(direction(from, to))
      if (waiting) waiting.push(arrive)
      else arrive()
    })
  }

  private takeOff(from: ReplicaId, to: ReplicaId): Flight | undefined {
    const { capacity } = this.faults
    if (capacity === undefined) return undefined
    const way = direction(from, to)
    const flights = this.flights.get(way) ?? []
    this.flights.set(way, flights)
    if (flights.length >= capacity) flights.splice(this.dice.below(flights.length), 1)[0]!.lost = true
    const flight = { lost: false }
    flights.push(flight)
    return flight
  }

  private land(from: ReplicaId, to: ReplicaId, flight: Flight | undefined): void {
    const flights = flight && this.flights.get(direction(from, to))
    const index = flights?.indexOf(flight!) ?? -1
    if (index >= 0) flights!.splice(index, 1)
  }

  private repeatLate(from: ReplicaId, to: ReplicaId, frame: Uint8Array): void {
    const { lateAnswers = 0 } = this.faults
    if (lateAnswers === 0 || !this.dice.chance(lateAnswers)) return
    this.timeline.after(Math.round(this.dice.exponential(LATE_MEAN_MICROS)), () => {
      this.repeatLate(from, to, frame)
      this.deliverLate(from, to, frame)
    })
  }

  /** On whatever connection there is now. */
  private deliverLate(from: ReplicaId, to: ReplicaId, frame: Uint8Array): void {
    const end = this.ends.get(to)
    if (!end || !this.isConnected(from, to) || this.isLost(from, to, frame)) return
    end.life.run(() => {
      this.observer?.arrived(from, to, frame)
      end.replica.peerFrame(from, new Uint8Array(frame), { id: `${from}>${to}#late`, ordinal: 0, dir: 'in' })
    })
  }

  private isLost(from: ReplicaId, to: ReplicaId, frame: Uint8Array): boolean {
    const { cutDirections: cuts } = this
    if (cuts.size === 0) return false
    const command = frame[COMMAND_AT]!
    if (cuts.has(direction(from, to)) || cuts.has(direction(from, to, command))) return true
    const group = frameGroup(frame)
    return group !== undefined && cuts.has(direction(from, to, command, group))
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

/** A StartView that echoes a nonce. */
const isAnswer = (frame: Uint8Array): boolean =>
  frame[COMMAND_AT] === Command.StartView && frame.subarray(NONCE_AT, NONCE_AT + 16).some(byte => byte !== 0)

const pair = (a: ReplicaId, b: ReplicaId): string => (a < b ? `${a}-${b}` : `${b}-${a}`)
const direction = (from: number, to: number, command?: number, group?: bigint): string =>
  [`${from}>${to}`, command, group].filter(part => part !== undefined).join(' ')
