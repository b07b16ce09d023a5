/**
 * The serving side of a metadata state transfer (spec consensus.md §6.4). A caught-up primary offers its snapshot file,
 * proven and without its trailer, and its live client table; what was offered stays as it was offered until it is fetched.
 */
import type { ReplicaId } from '../bytes/units.ts'
import type { ConsensusGroup } from '../consensus/contract.ts'
import { encodeClientTable } from '../metadata/client-table-blob.ts'
import { type FrameOf, NO_BODY, sealFrame } from '../protocol/frames.ts'
import { ArtifactKind, encodeManifest, type ManifestEntry } from '../protocol/transfer-manifest.ts'
import { readSnapshot, type StoredSnapshot } from '../storage/snapshot-store.ts'
import type { Core } from './core.ts'
import { METADATA_DIRECTORY } from './metadata-log.ts'

/** Bytes of one chunk at most; a frame has its header besides. */
export const CHUNK_BYTES_MAX = 256 * 1024
/** An offer that nobody fetches from goes after 10 s, one that was fetched to its end after 3 s. */
const IDLE_TICKS_MAX = 1000
const SERVED_TICKS_MAX = 300

interface Offer {
  readonly nonce: bigint
  readonly commitOp: bigint
  readonly manifest: Uint8Array
  readonly artifacts: readonly Uint8Array[]
  touchedAt: number
  served: boolean
}

export class MetadataOffers {
  private readonly core: Core
  private readonly group: ConsensusGroup
  private readonly applied: () => bigint
  /** One per requester: a new nonce replaces the offer before it. */
  private readonly offers = new Map<ReplicaId, Offer>()
  private readonly building = new Map<ReplicaId, bigint>()

  constructor(core: Core, group: ConsensusGroup, applied: () => bigint) {
    this.core = core
    this.group = group
    this.applied = applied
  }

  requested(from: ReplicaId, { nonce }: FrameOf<'RequestStateTransfer'>['header']) {
    const offer = this.offers.get(from)
    if (offer !== undefined && offer.nonce === nonce) return this.announce(from, offer)
    if (this.building.get(from) === nonce) return
    if (!this.group.isCaughtUpPrimary()) return this.refuse(from, nonce, 'not_caught_up_primary')
    this.building.set(from, nonce)
    const { disk, hash } = this.core.ports
    const done = (act: () => void) => {
      if (this.building.get(from) !== nonce) return
      this.building.delete(from)
      act()
    }
    this.core.pump.settle(
      readSnapshot(disk, METADATA_DIRECTORY, hash),
      snapshot => done(() => this.built(from, nonce, snapshot)),
      cause => done(() => this.refuse(from, nonce, cause instanceof Error ? cause.message : String(cause))),
    )
  }

  chunkRequested(from: ReplicaId, { nonce, artifact, offset, length }: FrameOf<'RequestStateChunk'>['header']) {
    const offer = this.offers.get(from)
    if (offer === undefined || offer.nonce !== nonce) return this.refuse(from, nonce, 'unknown_nonce')
    const bytes = offer.artifacts[artifact]
    // Never an empty chunk: the requester counts bytes.
    if (bytes === undefined || offset >= BigInt(bytes.length)) return
    offer.touchedAt = this.core.tick
    const at = Number(offset)
    const end = Math.min(bytes.length, at + Math.min(length, CHUNK_BYTES_MAX, this.core.config.messageBytesMax - 256))
    if (end <= at) return
    if (artifact === offer.artifacts.length - 1 && end === bytes.length) offer.served = true
    const fields = { ...this.origin(), view: 0 as never, nonce, offset, artifact }
    this.send(from, sealFrame(this.core.ports.hash, 'StateChunk', fields, bytes.subarray(at, end)))
  }

  tick(): void {
    for (const [from, offer] of this.offers) {
      const age = this.core.tick - offer.touchedAt
      if (age > (offer.served ? SERVED_TICKS_MAX : IDLE_TICKS_MAX)) this.offers.delete(from)
    }
  }

  /** Offers that are kept, for people. */
  get open(): number {
    return this.offers.size
  }

  private built(from: ReplicaId, nonce: bigint, snapshot: StoredSnapshot | undefined) {
    if (!this.group.isCaughtUpPrimary()) return this.refuse(from, nonce, 'not_caught_up_primary')
    // Repair covers everything while there is no snapshot.
    if (snapshot === undefined) return this.refuse(from, nonce, 'no_snapshot')
    const { hash } = this.core.ports
    const commitOp = this.applied()
    const table = encodeClientTable(this.core.machine.clients, hash)
    // The same generation for several requesters is kept once.
    const same = [...this.offers.values()]
      .map(offer => offer.artifacts[0]!)
      .find(bytes => equal(bytes, snapshot.payload))
    const payload = same ?? snapshot.payload
    const entry = (kind: number, frontier: bigint, bytes: Uint8Array): ManifestEntry => ({
      kind,
      frontier,
      length: BigInt(bytes.length),
      checksum: hash.xxh3(bytes),
    })
    const manifest = encodeManifest(
      [entry(ArtifactKind.MetadataSnapshot, snapshot.op, payload), entry(ArtifactKind.ClientTable, commitOp, table)],
      hash,
    )
    const offer = {
      nonce,
      commitOp,
      manifest,
      artifacts: [payload, table],
      touchedAt: this.core.tick,
      served: false,
    }
    this.offers.set(from, offer)
    this.core.events.group(this.group, 'transfer_served', 'fact', {
      peer: from,
      snapshotOp: snapshot.op.toString(),
      bytes: payload.length + table.length,
    })
    this.announce(from, offer)
  }

  private announce(from: ReplicaId, offer: Offer): void {
    offer.touchedAt = this.core.tick
    this.target(from, offer.nonce, { available: 1, transient: 0, commitOp: offer.commitOp }, offer.manifest)
  }

  private refuse(from: ReplicaId, nonce: bigint, reason: string): void {
    this.core.events.group(this.group, 'transfer_refused', 'fact', { peer: from, reason })
    this.target(from, nonce, { available: 0, transient: 1, commitOp: 0n }, NO_BODY)
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

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}
