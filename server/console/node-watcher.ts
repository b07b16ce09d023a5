/**
 * Follows one node: its event stream (resumed where it broke off, with back-off and jitter) and its snapshot, asked for
 * every half second and soon after a fact. It knows nothing of processes: whoever does tells it where to look (`watch`)
 * and when to stop (`unwatch`), so that the death of a process is shown at once and not when a socket notices.
 *
 * A stopped process keeps its sockets open and says nothing, hence `silent`: no heartbeat for SILENT_MS.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { EventEnvelope, EventGap } from '../../shared/inspection/envelope.ts'
import { NODE_HEARTBEAT_MS, nodePath } from '../../shared/inspection/node-api.ts'
import { type NodeSnapshot, nodeSnapshot } from '../../shared/inspection/snapshots.ts'
import type { NodeEndpoint, NodeHttp } from './node-http.ts'
import { wallMs } from './wall.ts'

export type WatchState = 'connected' | 'connecting' | 'silent' | 'down'

export interface WatchListener {
  events(node: number, items: readonly (EventEnvelope | EventGap)[]): void
  /** `askedSeq` is the console sequence when the snapshot was asked for: it includes everything up to there. */
  snapshot(node: number, snapshot: NodeSnapshot, askedSeq: number): void
  state(node: number, state: WatchState, error: string | undefined): void
  /** Newest console sequence. */
  seq(): number
}

export const SNAPSHOT_MS = 500
/** Large snapshots are asked for less often: at most this many bytes a second from one node. */
const SNAPSHOT_BYTES_PER_SECOND = 512 * 1024
/** After a fact: soon enough to be drawn with it, rare enough for a storm of facts. */
const SNAPSHOT_SOON_MS = 100
export const SILENT_MS = 3 * NODE_HEARTBEAT_MS
const BACKOFF_MS = 50
const BACKOFF_MAX_MS = 1_000
/** A line is one event. */
const LINE_CHARS_MAX = 1024 * 1024

export class NodeWatcher {
  readonly node: number
  readonly #http: NodeHttp
  readonly #listener: WatchListener
  readonly #random: () => number
  readonly #silentMs: number
  #endpoint: NodeEndpoint | undefined
  #state: WatchState = 'down'
  #error: string | undefined
  #heardMs: number | undefined
  #boot: string | undefined
  #seq = 0
  #request: ClientRequest | undefined
  #retry: NodeJS.Timeout | undefined
  #attempts = 0
  #silence: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined
  #asking = false
  #askAgain = false
  #lastAskedMs = Number.NEGATIVE_INFINITY
  #lastBytes = 0
  /** Items that were not events; shown in /metrics. */
  malformed = 0

  constructor(
    node: number,
    http: NodeHttp,
    listener: WatchListener,
    { random = Math.random, silentMs = SILENT_MS }: { readonly random?: () => number; readonly silentMs?: number } = {},
  ) {
    this.node = node
    this.#http = http
    this.#listener = listener
    this.#random = random
    this.#silentMs = silentMs
  }

  get state(): WatchState {
    return this.#state
  }

  get error(): string | undefined {
    return this.#error
  }

  get heardMs(): number | undefined {
    return this.#heardMs
  }

  /** The last event that was taken. */
  get cursor(): { readonly boot: string | undefined; readonly seq: number } {
    return { boot: this.#boot, seq: this.#seq }
  }

  watch(endpoint: NodeEndpoint): void {
    if (this.#endpoint?.port === endpoint.port && this.#endpoint.host === endpoint.host) return
    this.unwatch()
    this.#endpoint = endpoint
    this.#attempts = 0
    this.#setState('connecting')
    this.#connect()
  }

  unwatch(): void {
    this.#endpoint = undefined
    clearTimeout(this.#retry)
    clearTimeout(this.#silence)
    clearTimeout(this.#poll)
    this.#poll = undefined
    this.#request?.destroy()
    this.#request = undefined
    this.#setState('down')
  }

  /** Asks for a snapshot soon, whatever the period says. */
  refresh(): void {
    if (!this.#endpoint) return
    const wait = Math.max(0, this.#lastAskedMs + SNAPSHOT_SOON_MS - performance.now())
    this.#askIn(wait)
  }

  #setState(state: WatchState, error?: string): void {
    if (state === this.#state && error === this.#error) return
    this.#state = state
    this.#error = error
    this.#listener.state(this.node, state, error)
  }

  #heard(): void {
    this.#heardMs = wallMs()
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#setState('silent', `nothing heard for ${this.#silentMs} ms`), this.#silentMs)
    if (this.#state !== 'connected') this.#setState('connected')
  }

  /* -------------------------------------------------------------------------------------------- events */

  #connect(): void {
    const endpoint = this.#endpoint
    if (!endpoint) return
    const request = this.#http.open(endpoint, nodePath.events(this.#seq, this.#boot))
    this.#request = request
    let over = false
    const ended = (why: string) => {
      if (over) return
      over = true
      request.destroy()
      if (this.#request === request) this.#reconnect(why)
    }
    request.on('error', error => ended(error.message))
    request.on('response', response => {
      if (response.statusCode !== 200) return ended(`status ${response.statusCode}`)
      this.#attempts = 0
      this.#heard()
      this.#askIn(0)
      this.#readLines(response, ended)
    })
  }

  #reconnect(why: string): void {
    clearTimeout(this.#silence)
    clearTimeout(this.#poll)
    this.#poll = undefined
    this.#setState('connecting', why)
    const ceiling = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** Math.min(this.#attempts, 10))
    this.#attempts += 1
    this.#retry = setTimeout(() => this.#connect(), ceiling / 2 + (ceiling / 2) * this.#random())
  }

  #readLines(response: IncomingMessage, ended: (why: string) => void): void {
    response.setEncoding('utf8')
    let pending = ''
    response.on('data', (text: string) => {
      this.#heard()
      const lines = (pending + text).split('\n')
      pending = lines.pop()!
      this.#lines(lines)
      if (pending.length > LINE_CHARS_MAX) ended(`a line of more than ${LINE_CHARS_MAX} characters`)
    })
    response.on('error', error => ended(error.message))
    response.on('close', () => ended('the node closed its event stream'))
  }

  #lines(lines: readonly string[]): void {
    const items: (EventEnvelope | EventGap)[] = []
    for (const line of lines) {
      // An empty line is a heartbeat.
      if (line === '') continue
      let item: unknown
      try {
        item = JSON.parse(line)
      } catch {
        this.malformed += 1
        continue
      }
      if (this.#accept(item)) items.push(item as EventEnvelope | EventGap)
    }
    if (items.length === 0) return
    this.#listener.events(this.node, items)
    if (items.some(item => 'class' in item && item.class === 'fact')) this.refresh()
  }

  /** Takes an item that is of this node and new; moves the cursor. */
  #accept(item: unknown): boolean {
    const event = item as Partial<EventEnvelope & EventGap> | null
    const wellFormed =
      typeof event === 'object' &&
      event !== null &&
      event.v === 1 &&
      event.node === this.node &&
      typeof event.boot === 'string' &&
      typeof event.kind === 'string'
    const last = event?.kind === 'gap' && event.toSeq !== undefined ? event.toSeq : event?.seq
    if (!wellFormed || !Number.isSafeInteger(last)) {
      this.malformed += 1
      return false
    }
    if (event.boot !== this.#boot) {
      this.#boot = event.boot
      this.#seq = 0
    }
    if (last! <= this.#seq) return false
    this.#seq = last!
    return true
  }

  /* ------------------------------------------------------------------------------------------ snapshots */

  #askIn(ms: number): void {
    if (this.#asking) {
      this.#askAgain = true
      return
    }
    clearTimeout(this.#poll)
    this.#poll = setTimeout(() => void this.#ask(), ms)
  }

  async #ask(): Promise<void> {
    const endpoint = this.#endpoint
    if (!endpoint || this.#asking) return
    this.#asking = true
    this.#askAgain = false
    this.#lastAskedMs = performance.now()
    const askedSeq = this.#listener.seq()
    try {
      const answer = await this.#http.get(this.node, endpoint, nodePath.snapshot)
      // What arrives after `unwatch` (or for the next life) is of a process that is gone.
      if (this.#endpoint === endpoint) {
        this.#lastBytes = answer.bytes
        this.#heard()
        this.#listener.snapshot(this.node, nodeSnapshot.parse(answer.json), askedSeq)
      }
    } catch (error) {
      if (this.#endpoint === endpoint && this.#state === 'connected') this.#error = (error as Error).message
    } finally {
      this.#asking = false
      if (this.#endpoint && this.#state !== 'connecting') {
        const period = Math.max(SNAPSHOT_MS, (this.#lastBytes / SNAPSHOT_BYTES_PER_SECOND) * 1000)
        this.#askIn(this.#askAgain ? SNAPSHOT_SOON_MS : period)
      }
    }
  }
}
