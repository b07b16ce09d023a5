/**
 * Removes expired access tokens (spec metadata-storage.md §4.7). Only the caught-up primary proposes it, one token at a time
 * and for nobody (client 0, which has no session); the op deletes what has expired by its own time, so that a token which was
 * made anew under the same name meanwhile is kept.
 */
import { Checksum, ClientId, TICK_MS } from '../bytes/units.ts'
import { isExpired } from '../metadata/tokens.ts'
import { encodeBody } from '../protocol/codec.ts'
import { Operation } from '../protocol/operations.ts'
import { deleteTokenReplicated } from '../protocol/replicated.ts'
import type { TokenRecord } from '../storage/snapshot-record.ts'
import type { Core } from './core.ts'
import type { MetadataHost } from './metadata-host.ts'

const INTERVAL_MS = 60_000
const NOBODY = ClientId(0n)

export class TokenCleaner {
  private readonly core: Core
  private readonly metadata: MetadataHost
  private readonly intervalTicks: number
  private next: number
  private busy = false

  constructor(core: Core, metadata: MetadataHost) {
    this.core = core
    this.metadata = metadata
    this.intervalTicks = Math.floor((core.config.tokenCleanerIntervalMs ?? INTERVAL_MS) / TICK_MS)
    this.next = this.intervalTicks
  }

  tick(): void {
    const { core, metadata } = this
    if (this.intervalTicks === 0 || this.busy || core.tick < this.next) return
    const expired = core.accepting && metadata.group.isCaughtUpPrimary() ? this.expired() : undefined
    if (!expired || !metadata.hasRoom()) {
      this.next = core.tick + this.intervalTicks
      return
    }
    this.busy = true
    const { userId, name } = expired
    const fields = {
      client: NOBODY,
      session: 0n,
      request: 0n,
      requestChecksum: Checksum(0n),
      operation: Operation.DeletePersonalAccessToken,
      userId,
    }
    metadata.submit(fields, encodeBody(deleteTokenReplicated, { userId, name, onlyIfExpired: true }), outcome => {
      this.busy = false
      // Whatever hindered it may pass; the next pass looks again.
      if (outcome.kind !== 'applied') this.next = core.tick + this.intervalTicks
    })
  }

  private expired(): TokenRecord | undefined {
    const now = this.core.ports.clock.nowMicros()
    for (const tokens of this.core.machine.state.tokens.values()) {
      for (const token of tokens) if (isExpired(token, now)) return token
    }
    return undefined
  }
}
