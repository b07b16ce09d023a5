/**
 * The outside world of a client. It has no timers, sockets or chance of its own, so that the same code runs in Node, in a
 * browser behind a proxy, and in the simulator.
 */
import type { Micros } from '../bytes/units.ts'

export interface Endpoint {
  readonly host: string
  readonly port: number
}

export interface TransportEvents {
  /** Bytes from the server; chunks may end anywhere. */
  data(chunk: Uint8Array): void
  /** The connection has ended, for whatever reason; nothing follows. Called once, also after `Transport.close`. */
  close(reason: string): void
}

export interface Transport {
  send(bytes: Uint8Array): void
  close(): void
}

export interface ClientNetwork {
  /** Resolves when the connection stands; rejects when it cannot be made. `events` are not called before it resolves. */
  connect(endpoint: Endpoint, events: TransportEvents): Promise<Transport>
}

export interface ClientClock {
  /** Monotonic, for budgets. */
  nowMs(): number
  /** Wall time, for the origin timestamps of messages. */
  nowMicros(): Micros
  /** Runs `then` once after `ms`; the result cancels it. */
  after(ms: number, then: () => void): () => void
}

export interface ClientEntropy {
  /** Fresh random bytes, for client ids and message ids. */
  bytes(length: number): Uint8Array
}

export interface ClientPorts {
  readonly network: ClientNetwork
  readonly clock: ClientClock
  readonly entropy: ClientEntropy
}
