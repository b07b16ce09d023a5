/**
 * The client port of a node (spec wire.md §1.1). Cuts the streams into frames and hands requests to the replica; carries
 * its answers back. What is not a frame closes its own connection and disturbs no other: a size outside 256..max, an
 * unknown frame command. A known command that is no Request is dropped.
 *
 * Bounds, each with its reason:
 *   - connections: what the client table holds twice over; more could not log in anyway
 *   - bytes of unfinished frames, per connection by the frame size and over all connections by `UNFINISHED_BYTES_MAX`
 *   - answers that a client does not read: above `PAUSE_BYTES` nothing more is read from it, above `DROP_BYTES`, or with
 *     no progress for `STALL_MS`, it is dropped
 */
import { createServer, type Server, type Socket } from 'node:net'
import { EngineError } from '../../shared/bytes/errors.ts'
import { Command, commandName } from '../../shared/protocol/commands.ts'
import { FrameSplitter } from '../../shared/protocol/splitter.ts'
import type { Replica } from '../../shared/replica/contract.ts'
import type { ClientLinks, ConnectionId } from '../../shared/replica/ports.ts'

const COMMAND_AT = 60
/** A fifth of a small machine's memory; a single connection can hold at most one frame of it. */
export const UNFINISHED_BYTES_MAX = 256 * 1024 * 1024
/** A poll reply is usually below 1 MiB; a client that owes more reading than this is not read from. */
export const PAUSE_BYTES = 1024 * 1024
/** Two replies of the largest size. */
export const DROP_BYTES = 128 * 1024 * 1024
export const STALL_MS = 30_000
const SWEEP_MS = 5_000

export type ClientEngine = Pick<Replica, 'clientConnected' | 'clientFrame' | 'clientClosed'>

/** Why a connection was closed from this side; counted under these names. */
export type CloseReason = 'bad_size' | 'unknown_command' | 'too_many' | 'memory' | 'stalled' | 'engine'

export interface ClientListenerOptions {
  readonly frameBytesMax: number
  readonly connectionsMax: number
  readonly onClosed?: (reason: CloseReason, detail: string) => void
  readonly onDropped?: (command: string) => void
}

interface Connection {
  readonly id: ConnectionId
  readonly socket: Socket
  readonly address: string
  readonly splitter: FrameSplitter
  /** Unfinished bytes as last counted in the total. */
  counted: number
  corked: boolean
  paused: boolean
  closed: boolean
  /** Bytes that the kernel had taken at the last sweep, and when that last changed. */
  flushed: number
  flushedAtMs: number
}

export class ClientListener implements ClientLinks {
  private readonly options: ClientListenerOptions
  private readonly server: Server
  private readonly connections = new Map<ConnectionId, Connection>()
  private readonly waiting: Socket[] = []
  private readonly sweeper: NodeJS.Timeout
  private engine: ClientEngine | undefined
  private lastId = 0
  private unfinished = 0
  private ending = false

  constructor(options: ClientListenerOptions) {
    this.options = options
    this.server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 }, socket =>
      this.accept(socket),
    )
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS)
    this.sweeper.unref()
  }

  get connectionCount(): number {
    return this.connections.size
  }

  /**
   * Binds the port and returns it (`port` 0: the system chooses). Connections wait until `serve`.
   * @throws EngineError PortUnavailable
   */
  listen(host: string, port: number): Promise<number> {
    return listenOn(this.server, host, port, 'client')
  }

  /** From now on connections reach `engine`. */
  serve(engine: ClientEngine): void {
    this.engine = engine
    for (const socket of this.waiting.splice(0)) if (!socket.destroyed) this.open(socket, engine)
  }

  send(id: ConnectionId, frame: Uint8Array): void {
    const connection = this.connections.get(id)
    if (!connection || connection.closed) return
    const { socket } = connection
    if (!connection.corked) {
      // Everything that is answered in this turn of the loop leaves in one write.
      connection.corked = true
      socket.cork()
      process.nextTick(() => {
        connection.corked = false
        socket.uncork()
      })
    }
    socket.write(frame)
    const waitingBytes = socket.writableLength
    if (waitingBytes > DROP_BYTES) this.drop(connection, 'stalled', `${waitingBytes} bytes unread by the client`)
    else if (waitingBytes > PAUSE_BYTES && !connection.paused) {
      connection.paused = true
      connection.flushedAtMs = Date.now()
      socket.pause()
      socket.once('drain', () => {
        connection.paused = false
        if (!connection.closed) socket.resume()
      })
    }
  }

  /** Closes after what was sent before has left. */
  close(id: ConnectionId): void {
    const connection = this.connections.get(id)
    if (!connection) return
    this.forget(connection)
    connection.socket.end()
    // A client that never closes its side does not hold the socket for ever.
    connection.socket.setTimeout(2_000, () => connection.socket.destroy())
    connection.socket.resume()
  }

  /** Accepts nothing more; live connections go on. */
  stopAccepting(): void {
    this.ending = true
    this.server.close()
    for (const socket of this.waiting.splice(0)) socket.destroy()
  }

  /** Ends everything at once. */
  destroy(): void {
    this.stopAccepting()
    clearInterval(this.sweeper)
    for (const connection of [...this.connections.values()]) {
      this.forget(connection)
      connection.socket.destroy()
    }
  }

  private accept(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    const count = this.connections.size + this.waiting.length
    if (this.ending) socket.destroy()
    else if (count >= this.options.connectionsMax) {
      socket.destroy()
      this.options.onClosed?.('too_many', `${count} connections are open`)
    } else if (this.engine) this.open(socket, this.engine)
    else this.waiting.push(socket)
  }

  private open(socket: Socket, engine: ClientEngine): void {
    const connection: Connection = {
      id: ++this.lastId,
      socket,
      address: `${socket.remoteAddress ?? '?'}:${socket.remotePort ?? 0}`,
      splitter: new FrameSplitter(this.options.frameBytesMax),
      counted: 0,
      corked: false,
      paused: false,
      closed: false,
      flushed: 0,
      flushedAtMs: Date.now(),
    }
    this.connections.set(connection.id, connection)
    engine.clientConnected(connection.id, connection.address)
    socket.on('data', chunk => this.receive(connection, chunk))
    // The engine hears of the end here and nowhere else: never from within one of its own calls to `send` or `close`.
    socket.on('close', () => {
      this.forget(connection)
      engine.clientClosed(connection.id)
    })
  }

  private receive(connection: Connection, chunk: Uint8Array): void {
    if (connection.closed) return
    try {
      connection.splitter.push(chunk, frame => this.deliver(connection, frame))
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      this.drop(connection, 'bad_size', error.message)
      return
    }
    if (connection.closed) return
    this.unfinished += connection.splitter.pendingBytes - connection.counted
    connection.counted = connection.splitter.pendingBytes
    if (this.unfinished > UNFINISHED_BYTES_MAX) {
      this.drop(connection, 'memory', `unfinished frames hold ${this.unfinished} bytes`)
    }
  }

  private deliver(connection: Connection, frame: Uint8Array): void {
    if (connection.closed) return
    const command = frame[COMMAND_AT]!
    if (command === Command.Request) this.engine!.clientFrame(connection.id, frame)
    else {
      const name = commandName(command)
      if (name === undefined) this.drop(connection, 'unknown_command', `frame command ${command}`)
      else this.options.onDropped?.(name)
    }
  }

  private drop(connection: Connection, reason: CloseReason, detail: string): void {
    if (connection.closed) return
    this.forget(connection)
    // Answers to the frames before the bad one are let out; the client gets a closed connection, not a reset.
    if (reason === 'stalled' || reason === 'memory') connection.socket.destroy()
    else connection.socket.destroySoon()
    this.options.onClosed?.(reason, `${connection.address}: ${detail}`)
  }

  private forget(connection: Connection): void {
    if (connection.closed) return
    connection.closed = true
    this.connections.delete(connection.id)
    this.unfinished -= connection.counted
  }

  private sweep(): void {
    const now = Date.now()
    for (const connection of [...this.connections.values()]) {
      const { socket } = connection
      const flushed = socket.bytesWritten - socket.writableLength
      if (!connection.paused || flushed !== connection.flushed) {
        connection.flushed = flushed
        connection.flushedAtMs = now
      } else if (now - connection.flushedAtMs > STALL_MS) {
        this.drop(connection, 'stalled', `${socket.writableLength} bytes unread for ${STALL_MS} ms`)
      }
    }
  }
}

/** Binds a server and returns its port. @throws EngineError PortUnavailable */
export function listenOn(
  server: Pick<Server, 'listen' | 'once' | 'off' | 'address'>,
  host: string,
  port: number,
  what: string,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void =>
      reject(
        new EngineError(
          'PortUnavailable',
          `the ${what} port ${host}:${port} cannot be opened: ${error.code}`,
          {
            advice:
              error.code === 'EADDRINUSE'
                ? 'end the process that uses it, or choose another port'
                : 'check the address',
          },
          { cause: error },
        ),
      )
    server.once('error', failed)
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off('error', failed)
      const bound = server.address()
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port)
    })
  })
}
