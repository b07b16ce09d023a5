/**
 * The network of a replica, as it sees it. Frames are whole; the links own framing, handshake, redial and bounded queues
 * (spec consensus.md §0, §2.6). Sending never blocks and may lose the frame: timers repair.
 */
import type { ReplicaId } from '../bytes/units.ts'

/** Number of a client connection, counted from 1 and unique within one boot of the node. Low 32 bits are what `client.list` shows. */
export type ConnectionId = number

export interface ReplicaLinks {
  /** False when the peer is not connected or its queue is full; the frame is dropped then. */
  send(to: ReplicaId, frame: Uint8Array): boolean
  isConnected(peer: ReplicaId): boolean
  /** Mark of the frame that the last successful `send` to this peer took, for the event that belongs to it. */
  lastSent?(to: ReplicaId): LinkMark | undefined
}

export interface ClientLinks {
  send(connection: ConnectionId, frame: Uint8Array): void
  close(connection: ConnectionId): void
}

/**
 * Where a frame sits on its connection: both ends count, so that a sent and a received frame can be matched by id and
 * ordinal. Ordinals start at 1 with the first frame after the handshake, per direction.
 */
export interface LinkMark {
  /** `sender>receiver#connection`, the same text at both ends. */
  readonly id: string
  readonly ordinal: number
  readonly dir: 'in' | 'out'
}
