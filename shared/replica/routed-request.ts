/** The request header that a group mints a prepare from (spec consensus.md §2.5, §3.5). */
import { Checksum, type ClientId, type GroupId, Micros, type ReplicaId, View } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { HEADER_BYTES, type RoutedRequestHeader } from '../protocol/headers.ts'

export interface RoutedFields {
  readonly cluster: bigint
  readonly replica: ReplicaId
  readonly client: ClientId
  readonly session: bigint
  readonly request: bigint
  readonly requestChecksum: Checksum
  readonly operation: number
  readonly userId: number
  readonly group: GroupId
  /** Of a forward; 0 otherwise. */
  readonly nonce?: bigint
  /** Sending replica + 1 of a forward; 0 otherwise. */
  readonly origin?: number
  /** created_revision of the partition that a forward means; 0 otherwise. */
  readonly incarnation?: bigint
}

export function routedRequest(fields: RoutedFields, body: Uint8Array): RoutedRequestHeader {
  return {
    checksum: Checksum(0n),
    checksumBody: Checksum(0n),
    size: HEADER_BYTES + body.length,
    view: View(0),
    release: 0,
    command: Command.Request,
    timestamp: Micros(0n),
    code: 0,
    nonce: 0n,
    origin: 0,
    encrypted: 0,
    incarnation: 0n,
    ...fields,
  }
}
