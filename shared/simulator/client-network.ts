/** Client connections of the simulated world: byte streams with a latency, framed on the server's side as a node does it. */
import { EngineError } from '../bytes/errors.ts'
import type { ClientNetwork, Endpoint, Transport, TransportEvents } from '../client/ports.ts'
import { FrameSplitter } from '../protocol/splitter.ts'
import type { ClientLinks, ConnectionId } from '../replica/ports.ts'
import type { End } from './links.ts'
import type { Timeline } from './timeline.ts'

/** Sees the frames of client connections: whole ones, as they are sent and as they arrive. */
export interface ClientWatch {
  requested(connection: number, node: number, frame: Uint8Array): void
  answered(connection: number, frame: Uint8Array): void
}

interface Socket {
  readonly events: TransportEvents
  open: boolean
  lastArrivalAtClient: number
  lastArrivalAtServer: number
}

/** The client port of one life of a node. */
export class ServerSide implements ClientLinks {
  private readonly timeline: Timeline
  private readonly latencyMicros: () => number
  private readonly sockets = new Map<ConnectionId, Socket>()
  private connections = 0
  end: End | undefined

  constructor(timeline: Timeline, latencyMicros: () => number) {
    this.timeline = timeline
    this.latencyMicros = latencyMicros
  }

  send(connection: ConnectionId, frame: Uint8Array): void {
    const socket = this.sockets.get(connection)
    if (!socket?.open) return
    const copy = new Uint8Array(frame)
    socket.lastArrivalAtClient = this.later(socket.lastArrivalAtClient, () => {
      if (socket.open) socket.events.data(copy)
    })
  }

  close(connection: ConnectionId): void {
    this.hangUp(connection, 'closed by the server')
  }

  /** The process is gone: so are its connections. */
  closeAll(): void {
    for (const connection of [...this.sockets.keys()]) this.hangUp(connection, 'connection reset')
  }

  accept(events: TransportEvents): Transport {
    const end = this.end!
    this.connections++
    const id = this.connections
    const socket: Socket = { events, open: true, lastArrivalAtClient: 0, lastArrivalAtServer: 0 }
    this.sockets.set(id, socket)
    const splitter = new FrameSplitter()
    const atServer = (run: () => void) => {
      socket.lastArrivalAtServer = this.later(socket.lastArrivalAtServer, () => end.life.run(run))
    }
    end.life.run(() => end.replica.clientConnected(id, `10.0.0.${id % 250}:${40_000 + id}`))
    return {
      send: bytes => {
        const copy = new Uint8Array(bytes)
        atServer(() => {
          if (!this.sockets.has(id)) return
          try {
            splitter.push(copy, frame => end.replica.clientFrame(id, frame))
          } catch (error) {
            if (!(error instanceof EngineError)) throw error
            end.replica.clientClosed(id)
            this.hangUp(id, error.message)
          }
        })
      },
      close: () => {
        if (!socket.open) return
        socket.open = false
        atServer(() => {
          if (this.sockets.delete(id)) end.replica.clientClosed(id)
        })
        this.timeline.after(0, () => events.close('closed by the client'))
      },
    }
  }

  private hangUp(connection: ConnectionId, reason: string): void {
    const socket = this.sockets.get(connection)
    if (!socket) return
    this.sockets.delete(connection)
    // Behind what was sent before.
    this.later(socket.lastArrivalAtClient, () => {
      if (!socket.open) return
      socket.open = false
      socket.events.close(reason)
    })
  }

  /** Keeps the order of one direction: no two arrivals at one time. Returns the time of arrival. */
  private later(notBefore: number, run: () => void): number {
    const arrival = Math.max(notBefore + 1, this.timeline.nowMicros + this.latencyMicros())
    this.timeline.after(arrival - this.timeline.nowMicros, run)
    return arrival
  }
}

/** A client's way to the nodes: the port of an endpoint names the node. */
export function clientNetwork(
  timeline: Timeline,
  latencyMicros: () => number,
  serverAt: (endpoint: Endpoint) => ServerSide | undefined,
  watched: (server: ServerSide, events: TransportEvents) => Transport = (server, events) => server.accept(events),
): ClientNetwork {
  return {
    connect: (endpoint, events) =>
      new Promise((resolve, reject) => {
        timeline.after(latencyMicros(), () => {
          const server = serverAt(endpoint)
          if (server?.end) resolve(watched(server, events))
          else reject(new Error(`nothing listens on ${endpoint.host}:${endpoint.port}`))
        })
      }),
  }
}
