/**
 * Connections that the HTTP server makes to the engine of its own process. An HTTP request is a client of the protocol like
 * any other: it is admitted, forwarded and answered by the same code, only no socket lies between.
 */
import type { ClientNetwork, TransportEvents } from '../../../shared/client/ports.ts'
import type { Replica } from '../../../shared/replica/contract.ts'
import type { ClientLinks, ConnectionId } from '../../../shared/replica/ports.ts'

/** Above every number that a listener can give. */
const FIRST_ID = 2 ** 40

export type LocalEngine = Pick<Replica, 'clientConnected' | 'clientFrame' | 'clientClosed'>

export class LocalConnections implements ClientLinks {
  private readonly outside: ClientLinks
  private readonly open = new Map<ConnectionId, TransportEvents>()
  private engine: LocalEngine | undefined
  private lastId = FIRST_ID

  /** `outside` carries the answers of every other connection. */
  constructor(outside: ClientLinks) {
    this.outside = outside
  }

  serve(engine: LocalEngine): void {
    this.engine = engine
  }

  /**
   * A network for one HTTP session. With a `userId` the connection belongs to this user already: its bearer was verified,
   * and the engine asks for no credentials again.
   */
  network(address: string, userId?: number): ClientNetwork {
    return {
      connect: async (_, events) => {
        const { engine } = this
        if (!engine) throw new Error('the node does not serve yet')
        const id = ++this.lastId
        this.open.set(id, events)
        engine.clientConnected(id, address, userId === undefined ? {} : { userId })
        return {
          send: frame => engine.clientFrame(id, frame),
          close: () => {
            if (!this.open.delete(id)) return
            engine.clientClosed(id)
            events.close('closed')
          },
        }
      },
    }
  }

  send(id: ConnectionId, frame: Uint8Array): void {
    if (id <= FIRST_ID) this.outside.send(id, frame)
    else this.open.get(id)?.data(frame)
  }

  close(id: ConnectionId): void {
    if (id <= FIRST_ID) this.outside.close(id)
    else this.take(id)?.close('closed by the node')
  }

  private take(id: ConnectionId): TransportEvents | undefined {
    const events = this.open.get(id)
    this.open.delete(id)
    return events
  }
}
