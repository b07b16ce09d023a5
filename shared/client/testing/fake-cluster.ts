/** A cluster of scripted servers in memory, with a clock that jumps to the next timer, for tests of the client. */
import { Micros } from '../../bytes/units.ts'
import { type Codec, encodeBody } from '../../protocol/codec.ts'
import type { RequestHeader } from '../../protocol/headers.ts'
import { Operation } from '../../protocol/operations.ts'
import { localReply, rejectionBody, successBody } from '../../protocol/replies.ts'
import { readClientFrame } from '../../protocol/requests.ts'
import { type Roster, roster } from '../../protocol/roster.ts'
import { loginReply, PROTOCOL_VERSION } from '../../protocol/session.ts'
import { FrameSplitter } from '../../protocol/splitter.ts'
import type { ClientPorts, TransportEvents } from '../ports.ts'

export interface Seen {
  readonly port: number
  readonly header: RequestHeader
  readonly body: Uint8Array
  readonly bytes: Uint8Array
  readonly atMs: number
}

/** Bytes to answer, `close` to drop the connection, `silence` to say nothing. */
export type Answer = Uint8Array | 'close' | 'silence'

export class FakeCluster {
  nowMs = 0
  readonly seen: Seen[] = []
  /** Ports that refuse connections. */
  readonly down = new Set<number>()
  /** How a server answers what `standard` does not; may answer anything itself by returning non-undefined. */
  answer: (request: Seen) => Answer | undefined = () => undefined
  roster: Roster = { clusterName: 'fake', nodes: [] }
  private readonly timers: { atMs: number; order: number; then: () => void }[] = []
  private readonly open = new Set<{ port: number; end: (reason: string) => void }>()
  private order = 0
  private session = 0n
  private random = 1

  readonly ports: ClientPorts = {
    network: { connect: (endpoint, events) => this.connect(endpoint.port, events) },
    clock: {
      nowMs: () => this.nowMs,
      nowMicros: () => Micros(1_700_000_000_000_000n + BigInt(this.nowMs) * 1000n),
      after: (ms, then) => {
        const timer = { atMs: this.nowMs + ms, order: this.order++, then }
        this.timers.push(timer)
        return () => {
          const index = this.timers.indexOf(timer)
          if (index >= 0) this.timers.splice(index, 1)
        }
      },
    },
    entropy: { bytes: length => Uint8Array.from({ length }, () => this.nextByte()) },
  }

  private nextByte(): number {
    this.random = (this.random * 75 + 74) % 65_537
    return this.random & 0xff
  }

  /** Ends every connection to this port. */
  kill(port: number): void {
    this.down.add(port)
    for (const connection of [...this.open]) if (connection.port === port) connection.end('killed')
  }

  /** Runs until `work` settles, jumping from timer to timer. */
  async run<T>(work: Promise<T>): Promise<T> {
    let settled = false
    const mark = () => {
      settled = true
    }
    work.then(mark, mark)
    for (let round = 0; !settled; round++) {
      if (round > 100_000) throw new Error('the work does not end')
      await new Promise(resolve => setImmediate(resolve))
      if (settled) break
      const next = this.timers.sort((a, b) => a.atMs - b.atMs || a.order - b.order).shift()
      if (!next) throw new Error('nothing will ever happen again')
      this.nowMs = Math.max(this.nowMs, next.atMs)
      next.then()
    }
    return work
  }

  private async connect(port: number, events: TransportEvents) {
    if (this.down.has(port)) throw new Error('connection refused')
    const splitter = new FrameSplitter()
    let ended = false
    const connection = {
      port,
      end: (reason: string) => {
        if (ended) return
        ended = true
        this.open.delete(connection)
        events.close(reason)
      },
    }
    this.open.add(connection)
    return {
      send: (bytes: Uint8Array) => {
        splitter.push(bytes, frame => {
          const read = readClientFrame(frame)
          if (read.kind !== 'request') throw new Error('the client sent no request')
          const seen = { port, header: read.header, body: read.body, bytes: frame, atMs: this.nowMs }
          this.seen.push(seen)
          const answer = this.answer(seen) ?? this.standard(seen)
          // An answer always arrives later than the send returns, as on a real wire.
          this.ports.clock.after(0, () => {
            if (ended || answer === 'silence') return
            if (answer === 'close') connection.end('closed by the server')
            else events.data(answer)
          })
        })
      },
      close: () => connection.end('closed'),
    }
  }

  private standard({ header }: Seen): Answer {
    if (header.operation === Operation.Register) {
      this.session++
      return success(header, loginReply, {
        userId: 0,
        session: this.session,
        serverProtocol: PROTOCOL_VERSION,
        serverVersion: '0.9.0',
      })
    }
    if (header.operation === Operation.NonReplicated && header.code === 12) {
      return localReply(header, {}, encodeBody(roster, this.roster))
    }
    return localReply(header, {})
  }
}

export const success = <T>(header: RequestHeader, codec: Codec<T>, value: T): Uint8Array =>
  localReply(
    header,
    {},
    header.operation === Operation.NonReplicated ? encodeBody(codec, value) : successBody(codec, value),
  )
export const status = (header: RequestHeader, code: number): Uint8Array => localReply(header, { status: code })
export const rejection = (header: RequestHeader, code: number): Uint8Array =>
  localReply(header, {}, rejectionBody(code))

export const threeNodes = (leader: number | undefined): Roster => ({
  clusterName: 'fake',
  nodes: [1, 2, 3].map(port => ({
    name: `node-${port}`,
    ip: '127.0.0.1',
    tcp: port,
    quic: 0,
    http: 0,
    websocket: 0,
    role: port === leader ? 'leader' : 'follower',
    status: 'healthy',
  })),
})
