/**
 * One connection to one peer: its handshake, its framing, its counters. Both ends give it the same name: the dialer puts a
 * random number into bytes of the Hello frame that the protocol leaves free (u32 at 196, 0 from a peer that sends none).
 */
import type { Socket } from 'node:net'
import { EngineError } from '../../shared/bytes/errors.ts'
import type { ReplicaId } from '../../shared/bytes/units.ts'
import {
  type HandshakeAcceptor,
  type HandshakeDialer,
  HandshakeStatus,
  type HandshakeStep,
} from '../../shared/protocol/handshake.ts'
import { HEADER_BYTES } from '../../shared/protocol/headers.ts'
import { FrameSplitter } from '../../shared/protocol/splitter.ts'
import type { LinkMark } from '../../shared/replica/ports.ts'

const TAG_AT = 196

export type LinkEnd =
  | { readonly kind: 'dialer'; readonly peer: ReplicaId; readonly machine: HandshakeDialer }
  | { readonly kind: 'acceptor'; readonly machine: HandshakeAcceptor }

export interface PeerLinkOptions {
  readonly self: ReplicaId
  readonly handshakeGraceMs: number
  readonly queueFramesMax: number
  readonly queueBytesMax: number
  readonly frameBytesMax: number
  /** The dialer's number for this connection, not 0. */
  readonly tag: number
  readonly onReady: (peer: ReplicaId) => void
  readonly onFrame: (peer: ReplicaId, frame: Uint8Array, mark: LinkMark) => void
  /** The handshake ended without a link. */
  readonly onFailed: (reason: string) => void
  /** Once, after the socket has closed. */
  readonly onClosed: (reason: string) => void
}

const statusNames = new Map<number, string>(Object.entries(HandshakeStatus).map(([name, value]) => [value, name]))

export class PeerLink {
  private readonly socket: Socket
  private readonly side: LinkEnd
  private readonly options: PeerLinkOptions
  private readonly splitter: FrameSplitter
  private readonly greeting = new Uint8Array(HEADER_BYTES)
  private greeted = 0
  private state: 'handshake' | 'up' | 'closed' = 'handshake'
  private reason = 'closed by the peer'
  private readonly timer: NodeJS.Timeout
  private tag: number
  private queuedFrames = 0
  private queuedBytes = 0
  private outOrdinal = 0
  private inOrdinal = 0
  private corked = false
  /** Known from the start to the dialer, after the handshake to the acceptor. */
  peer: ReplicaId | undefined

  constructor(socket: Socket, end: LinkEnd, options: PeerLinkOptions) {
    this.socket = socket
    this.side = end
    this.options = options
    this.splitter = new FrameSplitter(options.frameBytesMax)
    this.tag = end.kind === 'dialer' ? options.tag : 0
    this.timer = setTimeout(() => this.fail('no handshake in time'), options.handshakeGraceMs)
    socket.on('data', chunk => this.receive(chunk))
    socket.once('close', () => {
      clearTimeout(this.timer)
      if (this.state === 'handshake') this.fail('the connection ended within the handshake')
      this.state = 'closed'
      options.onClosed(this.reason)
    })
  }

  get dialled(): boolean {
    return this.side.kind === 'dialer'
  }

  /** True once the peer has sent a frame of its own. */
  get heard(): boolean {
    return this.inOrdinal > 0
  }

  /** `dialer>acceptor#number`, for people. Marks name the direction of their frame instead. */
  get name(): string {
    const { self } = this.options
    return this.dialled ? this.markId(self, this.peer!) : this.markId(this.peer!, self)
  }

  /** Sends the dialer's first frame. */
  begin(): void {
    if (this.side.kind === 'dialer') this.follow(this.side.machine.start())
  }

  send(frame: Uint8Array): boolean {
    if (this.state !== 'up') return false
    const { queueFramesMax, queueBytesMax } = this.options
    if (this.queuedFrames >= queueFramesMax || this.queuedBytes + frame.length > queueBytesMax) return false
    this.queuedFrames++
    this.queuedBytes += frame.length
    this.outOrdinal++
    if (!this.corked) {
      // The frames of one turn of the loop leave in one write.
      this.corked = true
      this.socket.cork()
      process.nextTick(() => {
        this.corked = false
        this.socket.uncork()
      })
    }
    this.socket.write(frame, () => {
      this.queuedFrames--
      this.queuedBytes -= frame.length
    })
    return true
  }

  lastSent(): LinkMark | undefined {
    if (this.outOrdinal === 0) return undefined
    return { id: this.markId(this.options.self, this.peer!), ordinal: this.outOrdinal, dir: 'out' }
  }

  /** Closes after what was sent has left. */
  end(): void {
    this.reason = 'this node stops'
    this.socket.destroySoon()
  }

  destroy(reason: string): void {
    this.reason = reason
    this.state = 'closed'
    this.socket.destroy()
  }

  private markId(from: ReplicaId, to: ReplicaId): string {
    return `${from}>${to}#${this.tag.toString(16)}`
  }

  private receive(chunk: Uint8Array): void {
    let rest = chunk
    while (this.state === 'handshake' && rest.length > 0) {
      const part = rest.subarray(0, HEADER_BYTES - this.greeted)
      this.greeting.set(part, this.greeted)
      this.greeted += part.length
      rest = rest.subarray(part.length)
      if (this.greeted < HEADER_BYTES) return
      this.greeted = 0
      this.greet(this.greeting.slice())
    }
    if (this.state !== 'up' || rest.length === 0) return
    try {
      this.splitter.push(rest, frame => this.deliver(frame))
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      this.reason = error.message
      this.socket.destroy()
    }
  }

  private deliver(frame: Uint8Array): void {
    if (this.state !== 'up') return
    const peer = this.peer!
    const mark: LinkMark = { id: this.markId(peer, this.options.self), ordinal: ++this.inOrdinal, dir: 'in' }
    this.options.onFrame(peer, frame, mark)
  }

  private greet(frame: Uint8Array): void {
    if (this.side.kind === 'acceptor' && this.tag === 0) this.tag = new DataView(frame.buffer).getUint32(TAG_AT, true)
    this.follow(this.side.machine.receive(frame))
  }

  private follow(step: HandshakeStep): void {
    for (const frame of step.send) {
      if (this.side.kind === 'dialer') new DataView(frame.buffer, frame.byteOffset).setUint32(TAG_AT, this.tag, true)
      this.socket.write(frame)
    }
    if (step.kind === 'wait') return
    if (step.kind === 'rejected') {
      const name = statusNames.get(step.status) ?? String(step.status)
      this.fail(step.byPeer ? `the peer says ${name}` : name)
      return
    }
    clearTimeout(this.timer)
    this.state = 'up'
    this.peer = step.peer
    this.options.onReady(step.peer)
  }

  private fail(reason: string): void {
    if (this.state !== 'handshake') return
    clearTimeout(this.timer)
    this.state = 'closed'
    this.reason = reason
    this.socket.destroySoon()
    // A stranger that does not read its refusal is not waited for.
    this.socket.setTimeout(2_000, () => this.socket.destroy())
    this.options.onFailed(reason)
  }
}
