/**
 * One connection, lockstep (spec wire.md §0): one request is sent, and the next frame is its answer. A request that is not
 * answered in time makes the connection useless, since a late answer would be taken for the next one's; so it is closed.
 */
import { ErrorCode } from '../protocol/error-codes.ts'
import { FrameSplitter } from '../protocol/splitter.ts'
import { ClientError } from './errors.ts'
import type { ClientPorts, Endpoint, Transport } from './ports.ts'

interface Pending {
  resolve(frame: Uint8Array): void
  reject(error: ClientError): void
}

export class Connection {
  readonly endpoint: Endpoint
  /** Called with a frame that nobody asked for: an eviction. */
  onUnsolicited: (frame: Uint8Array) => void = () => {}
  private readonly ports: ClientPorts
  private readonly splitter = new FrameSplitter()
  private transport: Transport | undefined
  private pending: Pending | undefined
  private closed: string | undefined

  private constructor(ports: ClientPorts, endpoint: Endpoint) {
    this.ports = ports
    this.endpoint = endpoint
  }

  /** @throws ClientError CannotEstablishConnection. */
  static async open(ports: ClientPorts, endpoint: Endpoint): Promise<Connection> {
    const connection = new Connection(ports, endpoint)
    try {
      connection.transport = await ports.network.connect(endpoint, {
        data: chunk => connection.receive(chunk),
        close: reason => connection.end(reason),
      })
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      const detail = `cannot connect to ${endpoint.host}:${endpoint.port}: ${why}`
      throw new ClientError(ErrorCode.CannotEstablishConnection, 'not_applied', detail, { cause })
    }
    return connection
  }

  get isOpen(): boolean {
    return this.closed === undefined
  }

  /**
   * Sends one frame and resolves with the next one that arrives.
   * @throws ClientError NotConnected (nothing was sent), or Disconnected and TaskTimeout (outcome unknown).
   */
  exchange(frame: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    if (this.closed !== undefined || !this.transport) {
      return Promise.reject(new ClientError(ErrorCode.NotConnected, 'not_applied', `not connected: ${this.closed}`))
    }
    if (this.pending) throw new Error('a connection carries one request at a time')
    const { transport } = this
    return new Promise((resolve, reject) => {
      const cancel = this.ports.clock.after(timeoutMs, () => {
        const detail = `no answer within ${Math.round(timeoutMs)} ms`
        this.fail(new ClientError(ErrorCode.TaskTimeout, 'unknown', detail))
        this.close('timed out')
      })
      this.pending = {
        resolve: answer => {
          cancel()
          resolve(answer)
        },
        reject: error => {
          cancel()
          reject(error)
        },
      }
      transport.send(frame)
    })
  }

  close(reason = 'closed'): void {
    const { transport } = this
    this.end(reason)
    transport?.close()
  }

  private receive(chunk: Uint8Array): void {
    if (this.closed !== undefined) return
    try {
      this.splitter.push(chunk, frame => this.deliver(frame))
    } catch (cause) {
      this.fail(new ClientError(ErrorCode.InvalidBytesResponse, 'unknown', 'the server sent no frame', { cause }))
      this.close('the server sent no frame')
    }
  }

  private deliver(frame: Uint8Array): void {
    const { pending } = this
    this.pending = undefined
    if (pending) pending.resolve(frame)
    else this.onUnsolicited(frame)
  }

  private end(reason: string): void {
    if (this.closed !== undefined) return
    this.closed = reason
    this.fail(new ClientError(ErrorCode.Disconnected, 'unknown', `the connection ended: ${reason}`))
  }

  private fail(error: ClientError): void {
    const { pending } = this
    this.pending = undefined
    pending?.reject(error)
  }
}
