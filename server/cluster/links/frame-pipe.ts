/**
 * One way of one connection: bytes come in, frames are told apart by the size in their header, and each goes on, is lost,
 * is kept, is sent twice or waits, as its way says. While nothing is wrong no byte is copied: a chunk goes out as it came,
 * and only the boundaries in it are followed, so that a fault can begin at the next frame.
 */
import type { Socket } from 'node:net'
import { FRAME_BYTES_MAX, HEADER_BYTES } from '../../../shared/protocol/headers.ts'
import { commandOf, type FrameNote, isHandshake, noteOf, sizeOf } from './frame-note.ts'
import type { Fate, FramePlace, Held, LinkWay } from './link-way.ts'

/** Bytes that wait out a delay; beyond, the sender is not read any further. */
const DELAYED_BYTES_MAX = 64 * 1024 * 1024

export interface PipeEvents {
  /** A handshake frame passes: the dialer's names the connection. */
  handshake(frame: Uint8Array): void
  dropped(note: FrameNote, place: FramePlace, reason: 'cut' | 'hold_full'): void
  held(held: Held): void
  doubled(note: FrameNote, place: FramePlace): void
}

interface Delayed {
  readonly frame: Uint8Array
  readonly dueMs: number
}

export class FramePipe {
  private readonly way: LinkWay
  private readonly source: Socket
  private readonly sink: Socket
  private readonly events: PipeEvents
  private readonly idOf: () => string
  private header: Uint8Array = new Uint8Array(0)
  /** Bytes of the present frame that are still to come. */
  private left = 0
  /** What becomes of the present frame. `collect`: it is put together in `parts`, and judged when whole. */
  private mode: 'pass' | 'drop' | 'collect' = 'pass'
  private parts: Uint8Array[] = []
  private fate: Fate = 'pass'
  /** The stream has no frames that we understand; whoever reads it will say so. */
  private opaque = false
  private ordinal = 0
  private injected: Uint8Array[] = []
  private delayed: Delayed[] = []
  private delayedBytes = 0
  private timer: NodeJS.Timeout | undefined
  private ended = false

  /** `idOf` answers the name of the connection, once its handshake has passed. */
  constructor(way: LinkWay, source: Socket, sink: Socket, idOf: () => string, events: PipeEvents) {
    this.way = way
    this.source = source
    this.sink = sink
    this.idOf = idOf
    this.events = events
    source.on('data', chunk => this.receive(chunk))
    sink.on('drain', () => this.resume())
    source.once('end', () => {
      this.ended = true
      if (this.header.length > 0) this.write(this.header)
      if (this.delayed.length === 0) sink.end()
    })
  }

  /** Puts a whole frame between two others. */
  inject(frame: Uint8Array): void {
    if (this.mode === 'pass' && this.left > 0) this.injected.push(frame)
    else this.write(frame)
  }

  /** A delay was changed or ended: nothing waits longer than it must now. */
  hurry(): void {
    if (this.way.delay !== undefined) return
    for (const { frame } of this.delayed) this.write(frame)
    this.delayed = []
    this.delayedBytes = 0
    clearTimeout(this.timer)
    this.timer = undefined
    this.afterDelayed()
  }

  close(): void {
    clearTimeout(this.timer)
    this.delayed = []
  }

  private receive(chunk: Uint8Array): void {
    const { counters } = this.way
    counters.bytes += chunk.length
    // Bytes from `from` to `at` go on as they are.
    let from = 0
    let at = 0
    while (at < chunk.length && !this.opaque) {
      if (this.left === 0) {
        const kept = this.header.length
        if (kept + chunk.length - at < HEADER_BYTES) {
          this.pass(chunk, from, at)
          this.header = joined([this.header, chunk.subarray(at)])
          return
        }
        const header =
          kept === 0
            ? chunk.subarray(at, at + HEADER_BYTES)
            : joined([this.header, chunk.subarray(at, at + HEADER_BYTES - kept)])
        this.begin(header)
        if (this.opaque) {
          if (kept > 0) this.write(this.header)
          break
        }
        if (this.mode === 'pass') {
          if (kept > 0) this.write(this.header)
        } else {
          this.pass(chunk, from, at)
          if (kept > 0 && this.mode === 'collect') this.parts.push(this.header)
        }
        this.header = NOTHING
        this.left -= kept
      }
      const count = Math.min(this.left, chunk.length - at)
      if (this.mode === 'collect') this.parts.push(chunk.slice(at, at + count))
      at += count
      this.left -= count
      if (this.mode !== 'pass') from = at
      if (this.left > 0) break
      if (this.mode === 'collect') this.finish()
      else if (this.injected.length > 0) {
        this.pass(chunk, from, at)
        from = at
        for (const frame of this.injected) this.write(frame)
        this.injected = []
      }
    }
    this.pass(chunk, from, chunk.length)
  }

  /** Reads the header of the next frame and decides what becomes of it. */
  private begin(header: Uint8Array): void {
    const size = sizeOf(header)
    if (size < HEADER_BYTES || size > FRAME_BYTES_MAX * 2) {
      this.opaque = true
      this.mode = 'pass'
      return
    }
    const { way } = this
    const command = commandOf(header)
    way.counters.frames += 1
    if (!isHandshake(command)) this.ordinal += 1
    this.left = size
    this.fate = way.clear ? 'pass' : way.judge(command)
    if (isHandshake(command) && this.fate !== 'drop') this.events.handshake(header)
    if (this.fate === 'drop') {
      this.mode = 'drop'
      way.counters.dropped += 1
      this.events.dropped(noteOf(header), this.place(), 'cut')
    } else {
      // Behind frames that wait, nothing may go first.
      const straight = this.fate === 'pass' && way.delay === undefined && this.delayed.length === 0
      this.mode = straight ? 'pass' : 'collect'
    }
  }

  /** A frame that was put together is whole. */
  private finish(): void {
    const frame = joined(this.parts)
    this.parts = []
    this.mode = 'pass'
    const { way, fate, events } = this
    if (typeof fate === 'object') {
      const note = noteOf(frame)
      const held = way.keep(fate.hold, frame, note, this.place())
      if (held) events.held(held)
      else {
        way.counters.dropped += 1
        events.dropped(note, this.place(), 'hold_full')
      }
      return
    }
    this.send(frame)
    if (fate !== 'double') return
    this.send(frame)
    way.counters.doubled += 1
    events.doubled(noteOf(frame), this.place())
  }

  private send(frame: Uint8Array): void {
    const { delay, counters } = this.way
    if (delay === undefined && this.delayed.length === 0) {
      this.write(frame)
      return
    }
    const waitMs = delay ? delay.ms + Math.random() * delay.jitterMs : 0
    // Nobody overtakes: who is due behind one that is not waits with it.
    const dueMs = performance.now() + waitMs
    this.delayed.push({ frame, dueMs })
    this.delayedBytes += frame.length
    counters.delayed += 1
    if (this.delayedBytes > DELAYED_BYTES_MAX) this.source.pause()
    this.timer ??= setTimeout(() => this.due(), dueMs - performance.now())
  }

  private due(): void {
    this.timer = undefined
    const now = performance.now()
    // Timers may fire a fraction of a millisecond early.
    while (this.delayed.length > 0 && this.delayed[0]!.dueMs <= now + 0.5) {
      const { frame } = this.delayed.shift()!
      this.delayedBytes -= frame.length
      this.write(frame)
    }
    const next = this.delayed[0]
    if (next) this.timer = setTimeout(() => this.due(), next.dueMs - now)
    this.afterDelayed()
  }

  private afterDelayed(): void {
    if (this.ended && this.delayed.length === 0) this.sink.end()
    else this.resume()
  }

  private place(): FramePlace {
    return { id: this.idOf(), ordinal: this.ordinal }
  }

  private pass(chunk: Uint8Array, from: number, to: number): void {
    if (to > from) this.write(from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to))
  }

  private write(bytes: Uint8Array): void {
    if (!this.sink.writable) return
    if (!this.sink.write(bytes)) this.source.pause()
  }

  private resume(): void {
    if (this.delayedBytes <= DELAYED_BYTES_MAX && !this.sink.writableNeedDrain) this.source.resume()
  }
}

const NOTHING = new Uint8Array(0)

function joined(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
