/**
 * Who a client is to the server, and how it numbers its requests (spec wire.md §1.4): the client table of the metadata plane
 * recognises a repeated request by (client id, session, request number). Reads and partition operations carry the current
 * number without using it up. A second Register takes a new client id.
 */
import type { Hash } from '../bytes/hash.ts'
import { Checksum, ClientId } from '../bytes/units.ts'
import { isMetadata, isPartition, Operation } from '../protocol/operations.ts'
import { requestFrame } from '../protocol/requests.ts'
import type { ClientEntropy } from './ports.ts'

export class ClientIdentity {
  private readonly entropy: ClientEntropy
  private readonly hash: Hash
  private readonly fixed: ClientId | undefined
  private client: ClientId
  private boundSession = 0n
  private counter = 1n
  private registered = false

  /** @param fixed the id of every login: who comes back after a crash is then known to the client table */
  constructor(entropy: ClientEntropy, hash: Hash, fixed?: ClientId) {
    this.entropy = entropy
    this.hash = hash
    this.fixed = fixed
    this.client = fixed ?? freshClientId(entropy)
  }

  /** 0 until a login is answered. */
  get session(): bigint {
    return this.boundSession
  }

  get clientId(): ClientId {
    return this.client
  }

  bind(session: bigint): void {
    this.boundSession = session
  }

  unbind(): void {
    this.boundSession = 0n
  }

  /** The next request; to repeat one, send the same bytes again. */
  frame(operation: number, code: number, body: Uint8Array): Uint8Array {
    let request = this.counter
    if (operation === Operation.Register) {
      if (this.registered) this.client = this.fixed ?? freshClientId(this.entropy)
      this.registered = true
      this.counter = 1n
      this.boundSession = 0n
      request = 0n
    } else if (operation !== Operation.NonReplicated && !isPartition(operation)) {
      this.counter++
    }
    const stamped = operation === Operation.Register || operation === Operation.Logout || isMetadata(operation)
    return requestFrame(
      {
        client: this.client,
        session: this.boundSession,
        request,
        operation,
        code: operation === Operation.NonReplicated ? code : 0,
        requestChecksum: stamped ? this.hash.xxh3(body) : Checksum(0n),
      },
      body,
    )
  }
}

/** A random u128 that is not 0. */
export function randomU128(entropy: ClientEntropy): bigint {
  let value = 0n
  while (value === 0n) for (const byte of entropy.bytes(16)) value = (value << 8n) | BigInt(byte)
  return value
}

const freshClientId = (entropy: ClientEntropy): ClientId => ClientId(randomU128(entropy))
