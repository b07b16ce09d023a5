/**
 * The client table (spec consensus.md §3.6, metadata-storage.md §5): sessions, and at-most-once for metadata requests.
 * Every replica holds the same table, since only committed ops change it; the victim of an eviction is chosen from
 * committed state alone. A request number is a watermark, not a sequence: gaps are legal.
 */
import { EngineError } from '../bytes/errors.ts'
import type { ClientId } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { HEADER_BYTES, replyLayout } from '../protocol/headers.ts'
import { frameSize } from '../protocol/seal.ts'

/** Slots that a table can have, whatever is configured (§5). */
export const CLIENT_SLOTS_MAX = 65_536

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

/** An entry as a snapshot or a peer tells of it; `replies` are whole frames, oldest first, at least one. */
export interface StoredClient {
  readonly slot: number
  readonly client: ClientId
  readonly epoch: bigint
  readonly userId: number
  readonly watermark: bigint
  readonly watermarkChecksum: bigint
  readonly replies: readonly Uint8Array[]
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
  private readonly capacity: number
  private readonly index = new Map<ClientId, number>()
  /** Clients that an eviction passes over. Nobody, or the tables of two replicas differ. */
  spares: (client: ClientId) => boolean = () => false

  constructor(capacity: number) {
    if (!(capacity >= 2 && capacity <= CLIENT_SLOTS_MAX)) throw new RangeError(`client table of ${capacity} slots`)
    this.capacity = capacity
    this.slots = new Array<ClientEntry | undefined>(capacity).fill(undefined)
  }

  get size(): number {
    return this.index.size
  }

  get(client: ClientId): ClientEntry | undefined {
    const slot = this.index.get(client)
    return slot === undefined ? undefined : this.slots[slot]
  }

  slotOf(client: ClientId): number | undefined {
    return this.index.get(client)
  }

  /** Slots of the table, taken or free. */
  get slotCount(): number {
    return this.slots.length
  }

  /** Entries in slot order, with their slot. */
  *entries(): IterableIterator<readonly [number, ClientEntry]> {
    for (let slot = 0; slot < this.slots.length; slot++) {
      const entry = this.slots[slot]
      if (entry) yield [slot, entry]
    }
  }

  /**
   * Replaces the whole table. It gets as many slots as are configured, or as the highest slot needs.
   * @throws EngineError ClientTableDecode, before anything is changed.
   */
  restore(stored: readonly StoredClient[]): void {
    const entries = stored.map(entryOf)
    const taken = new Set<number>()
    const clients = new Set<ClientId>()
    for (const { slot, client } of stored) {
      if (slot >= CLIENT_SLOTS_MAX) throw undecodable(slot, `slot ${slot} is out of range`)
      if (taken.has(slot)) throw undecodable(slot, `slot ${slot} is named twice`)
      if (client === 0n || clients.has(client)) throw undecodable(slot, `client ${client.toString(16)} is named twice`)
      taken.add(slot)
      clients.add(client)
    }
    const slots = stored.reduce((most, { slot }) => Math.max(most, slot + 1), this.capacity)
    this.slots.length = 0
    for (let slot = 0; slot < slots; slot++) this.slots.push(undefined)
    this.index.clear()
    for (const [at, { slot, client }] of stored.entries()) {
      this.slots[slot] = entries[at]
      this.index.set(client, slot)
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

  /** Slots that are free. */
  get free(): number {
    return this.slots.length - this.index.size
  }

  /** Whom the next new client pushes out of a full table: the entry with the oldest newest reply (tie: lowest slot). */
  victim(): ClientEntry | undefined {
    return this.free > 0 ? undefined : this.slots[this.victimSlot()]
  }

  private victimSlot(): number {
    let victim: number | undefined
    for (const [slot, entry] of this.entries()) {
      if (this.spares(entry.client)) continue
      if (victim === undefined || entry.latestCommit < this.slots[victim]!.latestCommit) victim = slot
    }
    return victim ?? 0
  }

  /** The lowest free slot, or, when the table is full, that of the victim, which is gone then. */
  private freeSlot(): number {
    if (this.free > 0) return this.slots.indexOf(undefined)
    const slot = this.victimSlot()
    this.index.delete(this.slots[slot]!.client)
    return slot
  }
}

const conflicting = (a: bigint, b: bigint): boolean => a !== 0n && b !== 0n && a !== b

function push(entry: ClientEntry, reply: CachedReply): void {
  entry.replies.push(reply)
  if (entry.replies.length > REPLY_RING_CAPACITY) entry.replies.shift()
  entry.latestCommit = reply.commit
}

function entryOf({ slot, replies, ...fields }: StoredClient): ClientEntry {
  const cached = replies.map(frame => cachedReply(slot, fields.client, frame))
  const newest = cached[cached.length - 1]
  if (newest === undefined) throw undecodable(slot, `slot ${slot} has no reply`)
  return { ...fields, replies: cached.slice(-REPLY_RING_CAPACITY), latestCommit: newest.commit }
}

/** Request number and commit come out of the reply's own header. */
function cachedReply(slot: number, client: ClientId, frame: Uint8Array): CachedReply {
  if (frame.length < HEADER_BYTES || frameSize(frame) !== frame.length)
    throw undecodable(slot, `the reply in slot ${slot} is not as long as it says`)
  const header = replyLayout.decode(frame)
  if (header.command !== Command.Reply || header.client !== client || header.commit !== header.op)
    throw undecodable(slot, `the reply in slot ${slot} is no reply to its client`)
  return { request: header.request, requestChecksum: header.requestChecksum, commit: header.commit, frame }
}

const undecodable = (slot: number, message: string): EngineError =>
  new EngineError('ClientTableDecode', message, {
    actual: `slot ${slot}`,
    advice: 'in a cluster wipe this node and let it rejoin; a solo node needs a copy of its directory',
  })
