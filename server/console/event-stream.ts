/**
 * `GET /api/events`: the merged stream as server-sent events (the table of messages is in shared/inspection/api.ts).
 *
 * A reader is a cursor into the event log, nothing else. While its socket takes what is written it gets each batch as it
 * is published; once more than BACKLOG_BYTES wait in the socket it is written nothing more, and when it has drained it
 * reads on from the log at its own pace. When the log has moved past it meanwhile, it is told so (`gap`) and gets fresh
 * snapshots. So a slow reader costs the console BACKLOG_BYTES and never more.
 */
import type { ServerResponse } from 'node:http'
import type { ClusterNode, LoadState, StreamHello, StreamSnapshot } from '../../shared/inspection/api.ts'
import { CONSOLE_NODE, type EventGap } from '../../shared/inspection/envelope.ts'
import type { EventLog, PublishedBatch } from './event-log.ts'
import { wallUs } from './wall.ts'

export const READERS_MAX = 64
/** Several seconds of a busy cluster; above that the reader is not reading. */
export const BACKLOG_BYTES = 1024 * 1024
/** Items of one catch-up message, so that a resumed tab stays responsive. */
const CATCH_UP_ITEMS = 500
export const HEARTBEAT_MS = 5_000

/** What a new reader, and one that missed something, must be told. */
export interface StreamState {
  hello(): StreamHello
  nodes(): readonly ClusterNode[]
  snapshots(): readonly StreamSnapshot[]
  load(): LoadState
  /** Some reader has a gap: snapshots that cover it should come soon. */
  refresh(): void
}

/** The part of a response that a reader needs. */
export type ReaderSocket = Pick<ServerResponse, 'write' | 'end' | 'on' | 'writableLength' | 'destroyed'>

/** Who else gets what the readers get, as they get it: the recorder, the stopwatches of faults. */
export interface StreamTap {
  batch(batch: PublishedBatch): void
  state(event: string, json: string): void
}

export class EventStream {
  readonly taps = new Set<StreamTap>()
  readonly #log: EventLog
  readonly #state: StreamState
  readonly #run: string
  readonly #readers = new Set<Reader>()
  readonly #stopListening: () => void
  readonly #heartbeat: NodeJS.Timeout

  constructor(log: EventLog, state: StreamState, run: string, heartbeatMs = HEARTBEAT_MS) {
    this.#log = log
    this.#state = state
    this.#run = run
    this.#stopListening = log.onBatch(batch => {
      for (const reader of this.#readers) reader.publish(batch)
      for (const tap of this.taps) tap.batch(batch)
    })
    this.#heartbeat = setInterval(() => {
      const text = frame('heartbeat', JSON.stringify({ wallUs: wallUs(), seq: this.#log.seq }))
      for (const reader of this.#readers) reader.writeState(text)
    }, heartbeatMs)
    this.#heartbeat.unref()
  }

  get readers(): number {
    return this.#readers.size
  }

  get full(): boolean {
    return this.#readers.size >= READERS_MAX
  }

  /** Adds a reader that continues after `after`, or starts now. The caller has looked at `full`. */
  add(socket: ReaderSocket, after: number | undefined): void {
    const reader = new Reader(socket, this.#log, this.#state, this.#run, after)
    this.#readers.add(reader)
    socket.on('close', () => this.#readers.delete(reader))
    reader.start()
  }

  sendNodes(nodes: readonly ClusterNode[]): void {
    this.#sendState('nodes', nodes)
  }

  sendSnapshot(snapshot: StreamSnapshot): void {
    this.#sendState('snapshot', snapshot)
  }

  sendLoad(load: LoadState): void {
    this.#sendState('load', load)
  }

  #sendState(event: string, data: unknown): void {
    if (this.#readers.size === 0 && this.taps.size === 0) return
    const json = JSON.stringify(data)
    for (const tap of this.taps) tap.state(event, json)
    const text = frame(event, json)
    for (const reader of this.#readers) reader.writeState(text)
  }

  close(): void {
    this.#stopListening()
    clearInterval(this.#heartbeat)
    for (const reader of this.#readers) reader.end()
    this.#readers.clear()
  }
}

/** JSON has no raw line break, so one `data:` line always holds it. */
const frame = (event: string, json: string, id?: number): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${json}\n\n`

class Reader {
  readonly #socket: ReaderSocket
  readonly #log: EventLog
  readonly #state: StreamState
  readonly #run: string
  /** Last console sequence that this reader was given or told it missed. */
  #cursor: number
  #lagging = false
  /** State messages were skipped while it lagged. */
  #stateSkipped = false

  constructor(socket: ReaderSocket, log: EventLog, state: StreamState, run: string, after: number | undefined) {
    this.#socket = socket
    this.#log = log
    this.#state = state
    this.#run = run
    this.#cursor = after ?? log.seq
    socket.on('drain', () => this.#drained())
  }

  start(): void {
    this.#socket.write('retry: 1000\n\n')
    this.#write(frame('hello', JSON.stringify(this.#state.hello())))
    this.#tellState()
    this.#write(frame('load', JSON.stringify(this.#state.load())))
    this.#catchUp()
  }

  publish(batch: PublishedBatch): void {
    if (this.#lagging) return
    if (batch.firstSeq === this.#cursor + 1) {
      this.#cursor = batch.lastSeq
      this.#write(frame('batch', batch.json, batch.lastSeq))
    } else this.#catchUp()
  }

  writeState(text: string): void {
    if (this.#lagging) this.#stateSkipped = true
    else this.#write(text)
  }

  end(): void {
    this.#socket.end()
  }

  #write(text: string): void {
    if (this.#socket.destroyed) return
    this.#socket.write(text)
    if (this.#socket.writableLength > BACKLOG_BYTES) this.#lagging = true
  }

  #drained(): void {
    if (!this.#lagging) return
    this.#lagging = false
    if (this.#stateSkipped) {
      this.#stateSkipped = false
      this.#tellState()
    }
    this.#catchUp()
  }

  #tellState(): void {
    this.#write(frame('nodes', JSON.stringify(this.#state.nodes())))
    for (const snapshot of this.#state.snapshots()) this.#write(frame('snapshot', JSON.stringify(snapshot)))
  }

  #catchUp(): void {
    while (!this.#lagging && this.#cursor !== this.#log.seq) {
      const batch = this.#log.read(this.#cursor, CATCH_UP_ITEMS)
      if (batch) {
        this.#cursor = batch.lastSeq
        this.#write(frame('batch', batch.json, batch.lastSeq))
      } else this.#skip()
    }
  }

  /** Says which sequences this reader will never get, and goes on with what is still there. */
  #skip(): void {
    const ofThisRun = this.#cursor >= this.#log.base && this.#cursor <= this.#log.seq
    const to = this.#log.firstSeq - 1
    const gap: EventGap = {
      v: 1,
      node: CONSOLE_NODE,
      boot: this.#run,
      kind: 'gap',
      fromSeq: Math.min(this.#cursor + 1, to),
      toSeq: to,
      reason: ofThisRun ? 'slow_reader' : 'console_restarted',
    }
    this.#cursor = to
    this.#write(frame('gap', JSON.stringify(gap), to))
    this.#tellState()
    this.#state.refresh()
  }
}
