/**
 * The client table (spec consensus.md §3.6, metadata-storage.md §5): sessions, and at-most-once for metadata requests.
 * Every replica holds the same table, since only committed ops change it; the victim of an eviction is chosen from
 * committed state alone. A request number is a watermark, not a sequence: gaps are legal.
 */
import type { ClientId } from '../bytes/units.ts'

/** Replies kept per client; a retry of an older request learns only that it was applied (§5). */
export const REPLY_RING_CAPACITY = 5

export interface CachedReply {
  readonly request: bigint
  readonly requestChecksum: bigint
  /** Commit position in the reply's header: the op that made it. */
  readonly commit: bigint
  /** The whole frame, as it is sent again. */
  readonly frame: Uint8Array
}

export interface ClientEntry {
  readonly client: ClientId
  /** Session number: the op of the latest Register. */
  epoch: bigint
  userId: number
  /** Highest committed request number. */
  watermark: bigint
  watermarkChecksum: bigint
  /** Oldest first, never empty. */
  readonly replies: CachedReply[]
  /** Commit of the newest reply; the smallest one is evicted first. */
  latestCommit: bigint
}

export type RequestVerdict =
  | { readonly kind: 'new' }
  | { readonly kind: 'duplicate'; readonly frame: Uint8Array }
  | { readonly kind: 'already_applied' }
  | { readonly kind: 'no_session' }
  | { readonly kind: 'fenced' }
  | { readonly kind: 'epoch_ahead' }
  | { readonly kind: 'checksum_mismatch' }

export class ClientTable {
  private readonly slots: (ClientEntry | undefined)[]
  private readonly index = new Map<ClientId, number>()

  constructor(capacity: number) {
    if (!(capacity >= 2 && capacity <= 65_536)) throw new RangeError(`client table of ${capacity} slots`)
    this.slots = new Array<ClientEntry | undefined>(capacity).fill(undefined)
  }

  get size(): number {
    return this.index.size
  }

  get(client: ClientId): ClientEntry | undefined {
    const slot = this.index.get(client)
    return slot === undefined ? undefined : this.slots[slot]
  }

  /** Entries in slot order, with their slot. */
  *entries(): IterableIterator<readonly [number, ClientEntry]> {
    for (let slot = 0; slot < this.slots.length; slot++) {
      const entry = this.slots[slot]
      if (entry) yield [slot, entry]
    }
  }

  /** What becomes of a request with this number (§5, the order of the checks matters). */
  check(client: ClientId, epoch: bigint, request: bigint, requestChecksum: bigint): RequestVerdict {
    const entry = this.get(client)
    if (!entry) return { kind: 'no_session' }
    if (epoch < entry.epoch) return { kind: 'fenced' }
    if (epoch > entry.epoch) return { kind: 'epoch_ahead' }
    if (request > entry.watermark) return { kind: 'new' }
    if (request === entry.watermark && conflicting(requestChecksum, entry.watermarkChecksum))
      return { kind: 'checksum_mismatch' }
    const cached = entry.replies.find(reply => reply.request === request)
    if (!cached) return { kind: 'already_applied' }
    if (conflicting(requestChecksum, cached.requestChecksum)) return { kind: 'checksum_mismatch' }
    return { kind: 'duplicate', frame: cached.frame }
  }

  /** A committed Register: its op becomes the session. Keeps watermark and replies of a client that registers again. */
  commitRegister(client: ClientId, userId: number, reply: CachedReply): void {
    const entry = this.get(client)
    if (entry) {
      entry.epoch = reply.commit
      entry.userId = userId
      const older = entry.replies.findIndex(cached => cached.request === 0n)
      if (older >= 0) entry.replies.splice(older, 1)
      push(entry, reply)
      return
    }
    const slot = this.freeSlot()
    this.slots[slot] = {
      client,
      epoch: reply.commit,
      userId,
      watermark: 0n,
      watermarkChecksum: 0n,
      replies: [reply],
      latestCommit: reply.commit,
    }
    this.index.set(client, slot)
  }

  /**
   * Caches the reply of a committed request. Without an entry, or behind what the entry already knows, nothing changes:
   * eviction is local to a boot and a replay may legally regress.
   */
  commitReply(client: ClientId, reply: CachedReply): void {
    const entry = this.get(client)
    if (!entry || reply.commit < entry.latestCommit || reply.request < entry.watermark) return
    const at =
      reply.request === entry.watermark ? entry.replies.findIndex(cached => cached.request === reply.request) : -1
    if (at >= 0) {
      entry.replies[at] = reply
      entry.latestCommit = reply.commit
    } else {
      push(entry, reply)
    }
    entry.watermark = reply.request
    entry.watermarkChecksum = reply.requestChecksum
  }

  /** A committed Logout. */
  remove(client: ClientId): boolean {
    const slot = this.index.get(client)
    if (slot === undefined) return false
    this.index.delete(client)
    this.slots[slot] = undefined
    return true
  }

  /** The lowest free slot, or, when the table is full, that of the entry with the oldest newest reply (tie: lowest slot). */
  private freeSlot(): number {
    if (this.index.size < this.slots.length) return this.slots.indexOf(undefined)
    let victim = 0
    for (const [slot, entry] of this.entries()) {
      if (entry.latestCommit < this.slots[victim]!.latestCommit) victim = slot
    }
    this.index.delete(this.slots[victim]!.client)
    return victim
  }
}

const conflicting = (a: bigint, b: bigint): boolean => a !== 0n && b !== 0n && a !== b

function push(entry: ClientEntry, reply: CachedReply): void {
  entry.replies.push(reply)
  if (entry.replies.length > REPLY_RING_CAPACITY) entry.replies.shift()
  entry.latestCommit = reply.commit
}
