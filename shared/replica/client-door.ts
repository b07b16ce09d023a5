/**
 * Client connections (spec wire.md §1.1, §2.4). A connection is served in lockstep: one request at a time, one answer each,
 * in order; what arrives meanwhile waits, within bounds. Reads of other connections go on.
 */

import { EngineError } from '../bytes/errors.ts'
import type { ClientId } from '../bytes/units.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { Operation } from '../protocol/operations.ts'
import { localReply } from '../protocol/replies.ts'
import { readClientFrame } from '../protocol/requests.ts'
import type { LocalClient } from './contract.ts'
import type { Core } from './core.ts'
import type { Exchange } from './exchange.ts'
import type { ConnectionId } from './ports.ts'

/** Frames and bytes that one connection may have waiting; beyond that it is closed: no client of the protocol pipelines. */
export const WAITING_FRAMES_MAX = 4096
export const WAITING_BYTES_MAX = 128 * 1024 * 1024

export interface Session {
  readonly userId: number
  readonly client: ClientId
  readonly session: bigint
}

export interface Connection {
  readonly id: ConnectionId
  readonly address: string
  /** Set when it comes from inside the process. */
  readonly local: LocalClient | undefined
  /** Client id under which its partition writes travel (§1.5). */
  readonly transport: bigint
  session?: Session
  readonly waiting: Uint8Array[]
  waitingBytes: number
  exchange: Exchange | undefined
}

export interface DoorHandlers {
  /** Takes every well-formed request; must answer it, at once or later. */
  request(exchange: Exchange): void
  /** A connection with a session went away. */
  lost(session: Session): void
}

export class ClientDoor {
  readonly connections = new Map<ConnectionId, Connection>()
  private readonly core: Core
  private readonly handlers: DoorHandlers

  constructor(core: Core, handlers: DoorHandlers) {
    this.core = core
    this.handlers = handlers
  }

  connected(id: ConnectionId, address: string, local?: LocalClient): void {
    const connection: Connection = {
      id,
      address,
      local,
      transport: BigInt(id),
      waiting: [],
      waitingBytes: 0,
      exchange: undefined,
    }
    this.connections.set(id, connection)
    this.core.events.node('client_connected', { connection: id, address })
  }

  frame(id: ConnectionId, bytes: Uint8Array): void {
    const connection = this.connections.get(id)
    if (!connection) return
    if (connection.waiting.length >= WAITING_FRAMES_MAX || connection.waitingBytes + bytes.length > WAITING_BYTES_MAX) {
      this.close(connection, 'too many requests were sent without waiting for an answer')
      return
    }
    connection.waiting.push(bytes)
    connection.waitingBytes += bytes.length
    this.next(connection)
  }

  closed(id: ConnectionId): void {
    const connection = this.connections.get(id)
    if (!connection) return
    this.connections.delete(id)
    this.core.events.node('client_disconnected', { connection: id })
    if (connection.session) this.handlers.lost(connection.session)
  }

  /** Binds a login to its connection; another connection that held the same client id is no longer bound (§2.4). */
  bind(connection: Connection, session: Session): void {
    for (const other of this.connections.values()) {
      if (other !== connection && other.session?.client === session.client) delete other.session
    }
    connection.session = session
  }

  /** A session whose connection went away while its login was under way. */
  abandoned(session: Session): void {
    this.handlers.lost(session)
  }

  /** Closes a connection from this side. */
  close(connection: Connection, reason: string): void {
    this.core.events.node('client_closed', { connection: connection.id, reason })
    this.core.ports.clientLinks.close(connection.id)
    this.closed(connection.id)
  }

  private next(connection: Connection): void {
    while (!connection.exchange && this.connections.has(connection.id)) {
      const bytes = connection.waiting.shift()
      if (!bytes) return
      connection.waitingBytes -= bytes.length
      this.begin(connection, bytes)
    }
  }

  private begin(connection: Connection, bytes: Uint8Array): void {
    let frame: ReturnType<typeof readClientFrame>
    try {
      frame = readClientFrame(bytes)
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      this.close(connection, error.message)
      return
    }
    if (frame.kind === 'other') return
    const exchange = this.exchange(connection, frame.header, frame.body)
    connection.exchange = exchange
    if (frame.invalid) {
      // Its operation may be no operation at all, which a client could not read in the answer.
      const operation = frame.header.operation
      const known = operation === Operation.Reserved || frame.invalid.code === 'BadOperation'
      exchange.answer(
        localReply(frame.header, {
          op: 0n,
          status: ErrorCode.InvalidCommand,
          ...(known && { operation: Operation.NonReplicated }),
        }),
      )
      return
    }
    this.handlers.request(exchange)
  }

  private exchange(connection: Connection, header: Exchange['header'], body: Uint8Array): Exchange {
    const finish = (): boolean => {
      if (connection.exchange !== exchange) return false
      connection.exchange = undefined
      return true
    }
    const exchange: Exchange = {
      connection,
      header,
      body,
      answer: frame => {
        if (!finish() || !this.connections.has(connection.id)) return
        this.core.ports.clientLinks.send(connection.id, frame)
        // Not from here: an answer may be given deep inside a group's actions.
        if (connection.waiting.length > 0) this.core.pump.post(() => this.next(connection))
      },
      abandon: () => {
        finish()
      },
    }
    return exchange
  }
}
