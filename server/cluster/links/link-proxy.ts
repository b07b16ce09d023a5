/**
 * The proxy of one pair of replicas: the lower one dials it as if it were the higher one (spec consensus.md §2.6 fixes who
 * dials), and it dials the real port. Without a shared secret a dialer counts a link as up as soon as it is connected, so
 * the proxy listens only while the node behind it does.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { FramePipe, type PipeEvents } from './frame-pipe.ts'
import type { LinkWay } from './link-way.ts'

/** Where the dialer's Hello carries its number for the connection (see the node's peer-link). */
const TAG_AT = 196
/** The port of a node that is down may be the source port of somebody's short-lived connection meanwhile. */
const LISTEN_RETRY_MS = 100
/** One link per pair, and a few that are on their way out. */
const CONNECTIONS_MAX = 16

export interface LinkProxyOptions {
  readonly host: string
  /** From the dialer to the acceptor, and back. */
  readonly out: LinkWay
  readonly back: LinkWay
  /** The acceptor's own port, as it is now. */
  readonly target: () => number
  readonly pipeEvents: (way: LinkWay) => Omit<PipeEvents, 'handshake'>
  /** A connection shook hands, or the one that had is gone. */
  readonly onConnection: () => void
}

interface Connection {
  readonly sockets: readonly [Socket, Socket]
  readonly out: FramePipe
  readonly back: FramePipe
  /** The dialer's number, once its Hello has passed. */
  tag: number | undefined
}

export class LinkProxy {
  private readonly options: LinkProxyOptions
  private server: Server | undefined
  private retry: NodeJS.Timeout | undefined
  private readonly sockets = new Set<Socket>()
  private readonly connections = new Set<Connection>()
  /** The newest connection that has shaken hands. */
  private current: Connection | undefined
  port: number

  constructor(port: number, options: LinkProxyOptions) {
    this.port = port
    this.options = options
  }

  /** Listens from now on; tries again while somebody else has the port. */
  open(): void {
    if (this.server) return
    clearTimeout(this.retry)
    const server = createServer({ noDelay: true, allowHalfOpen: true, pauseOnConnect: true }, socket =>
      this.accept(socket),
    )
    server.maxConnections = CONNECTIONS_MAX
    this.server = server
    server.on('error', () => {
      if (this.server !== server) return
      this.server = undefined
      this.retry = setTimeout(() => this.open(), LISTEN_RETRY_MS)
    })
    server.listen({ host: this.options.host, port: this.port, exclusive: true })
  }

  /** Listens no more; connections that stand go on. */
  shut(): void {
    clearTimeout(this.retry)
    this.server?.close()
    this.server = undefined
  }

  get connected(): boolean {
    return this.current !== undefined
  }

  /** `from>to#connection` of the frames of one way; undefined without a connection. */
  idOf(way: LinkWay): string | undefined {
    return this.current && this.markId(way, this.current)
  }

  /** The pipe that carries the frames of one way now. */
  pipe(way: LinkWay): FramePipe | undefined {
    return way === this.options.out ? this.current?.out : this.current?.back
  }

  /** Faults of a way have ended: frames that wait go on. */
  hurry(way: LinkWay): void {
    for (const connection of this.connections) (way === this.options.out ? connection.out : connection.back).hurry()
  }

  close(): void {
    this.shut()
    for (const socket of this.sockets) socket.destroy()
  }

  private accept(dialer: Socket): void {
    const acceptor = connect({
      host: this.options.host,
      port: this.options.target(),
      noDelay: true,
      allowHalfOpen: true,
    })
    for (const [socket, other] of [
      [dialer, acceptor],
      [acceptor, dialer],
    ] as const) {
      this.sockets.add(socket)
      socket.on('error', () => {
        if (!other.destroyed) other.resetAndDestroy()
      })
      socket.once('close', () => {
        this.sockets.delete(socket)
        other.destroySoon()
      })
    }
    acceptor.once('connect', () => {
      // A port with nobody behind it can be connected to itself (simultaneous open).
      if (acceptor.localPort === acceptor.remotePort) {
        dialer.resetAndDestroy()
        acceptor.destroy()
        return
      }
      if (dialer.destroyed) acceptor.destroy()
      else this.join(dialer, acceptor)
    })
  }

  private join(dialer: Socket, acceptor: Socket): void {
    const { out, back, pipeEvents } = this.options
    const id = (way: LinkWay) => (): string => this.markId(way, connection)
    const connection: Connection = {
      sockets: [dialer, acceptor],
      tag: undefined,
      out: new FramePipe(out, dialer, acceptor, id(out), {
        ...pipeEvents(out),
        handshake: frame => this.greeted(connection, frame),
      }),
      back: new FramePipe(back, acceptor, dialer, id(back), { ...pipeEvents(back), handshake: () => {} }),
    }
    this.connections.add(connection)
    for (const socket of connection.sockets) socket.once('close', () => this.gone(connection))
    dialer.resume()
  }

  private greeted(connection: Connection, hello: Uint8Array): void {
    if (connection.tag !== undefined) return
    connection.tag = new DataView(hello.buffer, hello.byteOffset, hello.byteLength).getUint32(TAG_AT, true)
    this.current = connection
    this.options.onConnection()
  }

  private gone(connection: Connection): void {
    if (!this.connections.delete(connection)) return
    connection.out.close()
    connection.back.close()
    if (this.current !== connection) return
    this.current = undefined
    this.options.onConnection()
  }

  private markId(way: LinkWay, connection: Connection): string {
    return `${way.from}>${way.to}#${(connection.tag ?? 0).toString(16)}`
  }
}
