/**
 * The links of a replica to its peers: one TCP connection per pair (spec consensus.md §0, §2.6). A replica dials every
 * peer above it and accepts from those below; a peer exists for the engine only after its handshake, and its frames are
 * the engine's by the authenticated peer, not by what a header says. Sending never blocks: beyond the bounded queue a frame
 * is lost, and the protocol's timers repair that.
 *
 * Peers that are not there are dialled again within half a second at first and a second later, with jitter, so that a
 * cluster whose processes start in any order meets long before the first election could begin.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { ReplicaId } from '../../shared/bytes/units.ts'
import { HandshakeAcceptor, type HandshakeConfig, HandshakeDialer, macKey } from '../../shared/protocol/handshake.ts'
import type { Replica } from '../../shared/replica/contract.ts'
import type { LinkMark, ReplicaLinks } from '../../shared/replica/ports.ts'
import type { Entropy } from '../../shared/storage/ports.ts'
import { listenOn } from './client-listener.ts'
import type { Address, PeerAddress } from './config.ts'
import { type LinkEnd, PeerLink } from './peer-link.ts'

/** Strangers that may stand at the door at once; a cluster has at most 32 replicas. */
export const HANDSHAKES_MAX = 256
/** Two frames of the largest size: beside the count of frames, a bound on memory per peer. */
export const QUEUE_BYTES_MAX = 128 * 1024 * 1024
/** Dials of the first seconds come at this pace, then at the later one. Milliseconds, uniform between the two. */
const EARLY_DIALS = 20
const EARLY_DELAY = [100, 500] as const
const LATER_DELAY = [500, 1000] as const
const CONNECT_MS = 5_000

export type LinkEngine = Pick<Replica, 'peerFrame' | 'peerConnected' | 'peerDisconnected'>

export interface ReplicaLinkOptions {
  readonly cluster: bigint
  readonly self: ReplicaId
  readonly replicaCount: number
  readonly peers: readonly PeerAddress[]
  readonly auth?: { readonly secret: string; readonly previousSecret?: string }
  readonly handshakeGraceMs: number
  readonly queueFramesMax: number
  readonly frameBytesMax: number
  readonly entropy: Entropy
  /** A link came up, went down, or was refused; for the log and the inspection stream. */
  readonly onLink: (event: LinkEvent) => void
}

export type LinkEvent =
  | { readonly kind: 'link_up'; readonly peer: ReplicaId; readonly link: string; readonly dialled: boolean }
  | { readonly kind: 'link_down'; readonly peer: ReplicaId; readonly link: string; readonly reason: string }
  | { readonly kind: 'handshake_failed'; readonly peer?: ReplicaId; readonly address: string; readonly reason: string }

export class TcpReplicaLinks implements ReplicaLinks {
  private readonly options: ReplicaLinkOptions
  private readonly handshake: HandshakeConfig
  private readonly server: Server
  private readonly links = new Map<ReplicaId, PeerLink>()
  private readonly pending = new Set<PeerLink>()
  private readonly redials = new Set<NodeJS.Timeout>()
  private readonly attempts = new Map<ReplicaId, number>()
  private engine: LinkEngine | undefined
  private stopped = false

  constructor(options: ReplicaLinkOptions) {
    this.options = options
    const { cluster, self, replicaCount, auth } = options
    this.handshake = {
      cluster,
      self,
      replicaCount,
      ...(auth && {
        auth: {
          current: macKey(auth.secret),
          ...(auth.previousSecret !== undefined && { previous: macKey(auth.previousSecret) }),
        },
      }),
    }
    this.server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 }, socket =>
      this.accept(socket),
    )
  }

  /** Binds the replica port and starts dialling. @throws EngineError PortUnavailable */
  async start(address: Address, engine: LinkEngine): Promise<number> {
    this.engine = engine
    const port = await listenOn(this.server, address.host, address.port, 'replica')
    for (const peer of this.options.peers) if (peer.replica > this.options.self) this.dial(peer)
    return port
  }

  send(to: ReplicaId, frame: Uint8Array): boolean {
    return this.links.get(to)?.send(frame) ?? false
  }

  isConnected(peer: ReplicaId): boolean {
    return this.links.has(peer)
  }

  lastSent(to: ReplicaId): LinkMark | undefined {
    return this.links.get(to)?.lastSent()
  }

  /** Ends all links, after what was sent has left, and dials no more. */
  stop(): void {
    this.stopped = true
    this.server.close()
    for (const timer of this.redials) clearTimeout(timer)
    for (const link of [...this.links.values(), ...this.pending]) link.end()
  }

  private dial(peer: PeerAddress): void {
    if (this.stopped) return
    const { host, port, replica } = peer
    const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 })
    socket.setTimeout(CONNECT_MS, () => socket.destroy())
    let link: PeerLink | undefined
    socket.once('connect', () => {
      socket.setTimeout(0)
      // A port of the ephemeral range with nobody behind it can be connected to itself (simultaneous open).
      if (socket.localPort === socket.remotePort && socket.localAddress === socket.remoteAddress) {
        socket.destroy()
        return
      }
      const nonce = this.options.entropy.bytes(32)
      link = this.adopt(socket, {
        kind: 'dialer',
        peer: replica,
        machine: new HandshakeDialer(this.handshake, replica, nonce),
      })
      link.begin()
    })
    socket.once('error', () => socket.destroy())
    socket.once('close', () => {
      // The pace slows down only while nobody is really there: a link that carried frames starts over.
      const attempts = link?.heard ? 0 : (this.attempts.get(replica) ?? 0) + 1
      this.attempts.set(replica, attempts)
      if (this.stopped) return
      const [least, most] = attempts < EARLY_DIALS ? EARLY_DELAY : LATER_DELAY
      const timer = setTimeout(
        () => {
          this.redials.delete(timer)
          this.dial(peer)
        },
        least + Math.random() * (most - least),
      )
      this.redials.add(timer)
    })
  }

  private accept(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    if (this.stopped || this.pending.size >= HANDSHAKES_MAX) {
      socket.destroy()
      return
    }
    const machine = new HandshakeAcceptor(this.handshake, this.options.entropy.bytes(32))
    this.adopt(socket, { kind: 'acceptor', machine })
  }

  private adopt(socket: Socket, end: LinkEnd): PeerLink {
    const { self, handshakeGraceMs, queueFramesMax, frameBytesMax, entropy, onLink } = this.options
    const link = new PeerLink(socket, end, {
      self,
      handshakeGraceMs,
      queueFramesMax,
      queueBytesMax: QUEUE_BYTES_MAX,
      frameBytesMax,
      tag: Number(entropy.u64() & 0xffff_ffffn) || 1,
      onReady: peer => this.up(peer, link),
      onFrame: (peer, frame, mark) => this.engine!.peerFrame(peer, frame, mark),
      onFailed: reason => {
        const address = `${socket.remoteAddress ?? '?'}:${socket.remotePort ?? 0}`
        onLink({ kind: 'handshake_failed', address, reason, ...(end.kind === 'dialer' && { peer: end.peer }) })
      },
      onClosed: reason => this.down(link, reason),
    })
    this.pending.add(link)
    return link
  }

  private up(peer: ReplicaId, link: PeerLink): void {
    this.pending.delete(link)
    const former = this.links.get(peer)
    // The peer came back before its old connection was seen to end: the newer one is the living one.
    if (former) {
      this.links.delete(peer)
      former.destroy('replaced by a newer connection')
      this.options.onLink({ kind: 'link_down', peer, link: former.name, reason: 'replaced by a newer connection' })
      this.engine!.peerDisconnected(peer)
    }
    this.links.set(peer, link)
    this.options.onLink({ kind: 'link_up', peer, link: link.name, dialled: link.dialled })
    this.engine!.peerConnected(peer)
  }

  private down(link: PeerLink, reason: string): void {
    this.pending.delete(link)
    const { peer } = link
    if (peer === undefined || this.links.get(peer) !== link) return
    this.links.delete(peer)
    this.options.onLink({ kind: 'link_down', peer, link: link.name, reason })
    this.engine!.peerDisconnected(peer)
  }
}
