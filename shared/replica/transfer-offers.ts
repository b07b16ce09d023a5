/**
 * The serving side of a state transfer, both planes (spec consensus.md §6.4). Only a caught-up primary offers; what was
 * offered to a requester under a nonce stays as it was until it is fetched, or nobody asks for it any more.
 */
import { EngineError } from '../bytes/errors.ts'
import type { ReplicaId } from '../bytes/units.ts'
import type { ConsensusGroup } from '../consensus/contract.ts'
import { type FrameOf, NO_BODY, sealFrame } from '../protocol/frames.ts'
import { encodeManifest, type ManifestEntry } from '../protocol/transfer-manifest.ts'
import type { Core } from './core.ts'

/** Bytes of one chunk at most; a frame has its header besides. */
export const CHUNK_BYTES_MAX = 256 * 1024
/** An offer that nobody fetches from goes after 10 s, one that was fetched to its end after 3 s. */
const IDLE_TICKS_MAX = 1000
const SERVED_TICKS_MAX = 300

/** What a plane offers. */
export interface Built {
  readonly commitOp: bigint
  readonly entries: readonly ManifestEntry[]
  /** Bytes of each entry beyond the 25 that all have. */
  readonly restBytes?: number
  /** Bytes `at` to `end` of an artifact. Rejects with EngineError when they are no longer there: the offer is withdrawn. */
  read(artifact: number, at: number, end: number): Uint8Array | Promise<Uint8Array>
  /** False once what was offered is not there any more. */
  valid?(): boolean
  release?(): void
}

/** A refusal that a later request of the same kind will meet too. Anything else is worth asking again. */
export class HardRefusal extends EngineError {}

interface Offer {
  readonly nonce: bigint
  readonly built: Built
  readonly manifest: Uint8Array
  touchedAt: number
  served: boolean
}

export interface OfferPlane {
  /** Runs only on a caught-up primary. Rejects with an error whose message says why not. */
  build(from: ReplicaId): Promise<Built>
}

export class TransferOffers {
  private readonly core: Core
  private readonly group: ConsensusGroup
  private readonly plane: OfferPlane
  /** One per requester: a new nonce replaces the offer before it. */
  private readonly offers = new Map<ReplicaId, Offer>()
  private readonly building = new Map<ReplicaId, bigint>()

  constructor(core: Core, group: ConsensusGroup, plane: OfferPlane) {
    this.core = core
    this.group = group
    this.plane = plane
  }

  requested(from: ReplicaId, { nonce }: FrameOf<'RequestStateTransfer'>['header']) {
    const offer = this.offers.get(from)
    if (offer !== undefined && offer.nonce === nonce && (offer.built.valid?.() ?? true))
      return this.announce(from, offer)
    if (this.building.get(from) === nonce) return
    if (!this.group.isCaughtUpPrimary()) return this.refuse(from, nonce, 'not_caught_up_primary')
    this.building.set(from, nonce)
    const done = (act: () => void) => {
      if (this.building.get(from) !== nonce) return
      this.building.delete(from)
      act()
    }
    this.core.pump.settle(
      this.plane.build(from),
      built => {
        if (this.building.get(from) === nonce) done(() => this.built(from, nonce, built))
        else built.release?.()
      },
      cause =>
        done(() =>
          this.refuse(
            from,
            nonce,
            cause instanceof Error ? cause.message : String(cause),
            !(cause instanceof HardRefusal),
          ),
        ),
    )
  }

  chunkRequested(from: ReplicaId, { nonce, artifact, offset, length }: FrameOf<'RequestStateChunk'>['header']) {
    const offer = this.offers.get(from)
    if (offer === undefined || offer.nonce !== nonce) return this.refuse(from, nonce, 'unknown_nonce')
    if (offer.built.valid?.() === false) return this.withdraw(from, nonce, 'what was offered is gone')
    const entry = offer.built.entries[artifact]
    // Never an empty chunk: the requester counts bytes.
    if (entry === undefined || offset >= entry.length) return
    offer.touchedAt = this.core.tick
    const at = Number(offset)
    const size = Math.min(length, CHUNK_BYTES_MAX, this.core.config.messageBytesMax - 256)
    const end = Math.min(Number(entry.length), at + size)
    if (end <= at) return
    const send = (bytes: Uint8Array) => {
      if (bytes.length !== end - at) return this.withdraw(from, nonce, 'what was offered is shorter now')
      if (artifact === offer.built.entries.length - 1 && BigInt(end) === entry.length) offer.served = true
      const fields = { ...this.origin(), view: 0 as never, nonce, offset, artifact }
      this.send(from, sealFrame(this.core.ports.hash, 'StateChunk', fields, bytes))
    }
    const bytes = offer.built.read(artifact, at, end)
    if (bytes instanceof Uint8Array) return send(bytes)
    this.core.pump.settle(bytes, send, cause =>
      this.withdraw(from, nonce, cause instanceof Error ? cause.message : String(cause)),
    )
  }

  tick(): void {
    if (this.offers.size === 0) return
    for (const [from, offer] of this.offers) {
      const age = this.core.tick - offer.touchedAt
      if (age > (offer.served ? SERVED_TICKS_MAX : IDLE_TICKS_MAX)) this.drop(from)
    }
  }

  /** Offers that are kept, for people. */
  get open(): number {
    return this.offers.size
  }

  /** Offers that are kept or being built. */
  get busy(): number {
    return this.offers.size + this.building.size
  }

  close(): void {
    for (const from of [...this.offers.keys()]) this.drop(from)
    this.building.clear()
  }

  private built(from: ReplicaId, nonce: bigint, built: Built) {
    if (!this.group.isCaughtUpPrimary()) {
      built.release?.()
      return this.refuse(from, nonce, 'not_caught_up_primary')
    }
    this.drop(from)
    const manifest = encodeManifest(built.entries, this.core.ports.hash, built.restBytes ?? 0)
    const offer = { nonce, built, manifest, touchedAt: this.core.tick, served: false }
    this.offers.set(from, offer)
    this.core.events.group(this.group, 'transfer_served', 'fact', {
      peer: from,
      commitOp: built.commitOp.toString(),
      artifacts: built.entries.length,
      bytes: built.entries.reduce((sum, { length }) => sum + Number(length), 0),
    })
    this.announce(from, offer)
  }

  private announce(from: ReplicaId, offer: Offer): void {
    offer.touchedAt = this.core.tick
    this.target(from, offer.nonce, { available: 1, transient: 0, commitOp: offer.built.commitOp }, offer.manifest)
  }

  private withdraw(from: ReplicaId, nonce: bigint, reason: string): void {
    if (this.offers.get(from)?.nonce === nonce) this.drop(from)
    this.refuse(from, nonce, reason)
  }

  private drop(from: ReplicaId): void {
    this.offers.get(from)?.built.release?.()
    this.offers.delete(from)
  }

  private refuse(from: ReplicaId, nonce: bigint, reason: string, transient = true): void {
    this.core.events.group(this.group, 'transfer_refused', 'fact', { peer: from, reason })
    this.target(from, nonce, { available: 0, transient: transient ? 1 : 0, commitOp: 0n }, NO_BODY)
  }

  private target(
    to: ReplicaId,
    nonce: bigint,
    { available, transient, commitOp }: { available: number; transient: number; commitOp: bigint },
    body: Uint8Array,
  ): void {
    const fields = {
      ...this.origin(),
      nonce,
      commitOp: commitOp as never,
      available,
      unavailableTransient: transient,
      commitMax: this.group.commitMax,
    }
    this.send(to, sealFrame(this.core.ports.hash, 'StateTransferTarget', fields, body))
  }

  private origin() {
    const { cluster, replica, group } = this.group.config
    return { cluster, replica, group, view: this.group.view }
  }

  private send(to: ReplicaId, frame: Uint8Array): void {
    this.core.ports.replicaLinks.send(to, frame)
  }
}
