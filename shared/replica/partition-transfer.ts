/**
 * What a partition makes of a state transfer, on both sides (spec partition.md §8, consensus.md §6.4–6.6): the segments go to
 * staging files as they come, the consumer offsets stay in memory, and the install follows when all of it is proven.
 */
import { EngineError } from '../bytes/errors.ts'
import { Micros, Offset, Op } from '../bytes/units.ts'
import type { Partition } from '../partition/contract.ts'
import type { PartitionOffer } from '../partition/transfer-offer.ts'
import type { WantedSegment } from '../partition/transfer-staging.ts'
import { ArtifactKind, type ManifestEntry } from '../protocol/transfer-manifest.ts'
import { decodeTransferredOffsets, encodeTransferredOffsets } from '../protocol/transfer-offsets.ts'
import type { Core } from './core.ts'
import type { GroupHost } from './group-host.ts'
import { ArtifactInMemory } from './transfer-artifact.ts'
import { type Built, HardRefusal, type OfferPlane } from './transfer-offers.ts'
import type { ArtifactSink, Failure, Offer, TransferPlane } from './transfer-session.ts'

/** A transfer that cannot begin or go on now is tried again after a second; one that failed, after 1, 2, 4 … seconds. */
const RETRY_TICKS = 100
const BACKOFF_SHIFT_MAX = 10
/** Transfers that a node receives, and offers that it builds or keeps, at a time (§8.1, ST-20). */
export const TRANSFERS_MAX = 4
export const OFFERS_MAX = 16

const OFFSETS_BYTES_MAX = 32 * 1024 * 1024
const TOTAL_BYTES_MAX = 1024 ** 4
/** An entry of a chain with a gap says where the segment before it ends. */
const GAP_BYTES = 8
const ENTRY_REST_NONE = new Uint8Array(0)

/** How much state transfer is under way on this node; one object for all partitions. */
export class TransferSlots {
  receiving = 0
  serving = 0
}

export class PartitionOffers implements OfferPlane {
  private readonly core: Core
  private readonly partition: Partition
  private readonly slots: TransferSlots

  constructor(core: Core, partition: Partition, slots: TransferSlots) {
    this.core = core
    this.partition = partition
    this.slots = slots
  }

  async build(): Promise<Built> {
    if (!this.partition.journal.mayAcknowledge())
      throw new EngineError('TransferUnavailable', 'a committed purge is not applied yet')
    if (this.slots.serving >= OFFERS_MAX)
      throw new EngineError('TransferUnavailable', `${OFFERS_MAX} offers are kept already`)
    this.slots.serving++
    try {
      const offer = await this.partition.offer()
      const { segments, offsets } = offer
      if (offer.commitOp === 0n && segments.length === 0 && offsets.nextOffset === 0n && offsets.purgeGeneration === 0n)
        throw new EngineError('TransferUnavailable', 'nothing is committed here')
      return this.describe(offer)
    } catch (cause) {
      this.slots.serving--
      if (cause instanceof EngineError && cause.code === 'ManifestTooLarge')
        throw new HardRefusal(cause.code, cause.message)
      throw cause
    }
  }

  private describe(offer: PartitionOffer): Built {
    const { hash } = this.core.ports
    const offsets = encodeTransferredOffsets(offer.offsets, hash)
    const gaps = offer.segments.some(({ startOffset, gapFrom }) => startOffset !== gapFrom)
    const rest = (value: bigint) => {
      if (!gaps) return ENTRY_REST_NONE
      const bytes = new Uint8Array(GAP_BYTES)
      new DataView(bytes.buffer).setBigUint64(0, value, true)
      return bytes
    }
    const entries: ManifestEntry[] = offer.segments.map(({ startOffset, sizeBytes, checksum, gapFrom }) => ({
      kind: ArtifactKind.SegmentLog,
      frontier: startOffset,
      length: BigInt(sizeBytes),
      checksum,
      rest: rest(gapFrom),
    }))
    entries.push({
      kind: ArtifactKind.ConsumerOffsets,
      frontier: offer.commitOp,
      length: BigInt(offsets.length),
      checksum: hash.xxh3(offsets),
      rest: rest(0n),
    })
    return {
      commitOp: offer.commitOp,
      entries,
      restBytes: gaps ? GAP_BYTES : 0,
      read: (artifact, at, end) =>
        artifact === offer.segments.length ? offsets.subarray(at, end) : offer.read(artifact, at, end),
      valid: offer.valid,
      release: () => {
        this.slots.serving--
        offer.release()
      },
    }
  }
}

export class PartitionTransfer implements TransferPlane {
  private readonly core: Core
  private readonly host: GroupHost
  private readonly partition: Partition
  private readonly slots: TransferSlots
  private readonly committedGeneration: () => bigint
  private offsets: ArtifactInMemory | undefined
  private holdsSlot = false
  /** Since the last install. */
  private failures = 0
  /** When the group hears that an install was refused. */
  private abandonAt = Number.POSITIVE_INFINITY

  constructor(
    core: Core,
    host: GroupHost,
    partition: Partition,
    slots: TransferSlots,
    committedGeneration: () => bigint,
  ) {
    this.core = core
    this.host = host
    this.partition = partition
    this.slots = slots
    this.committedGeneration = committedGeneration
  }

  mayBegin(): boolean {
    if (this.holdsSlot) return true
    if (this.slots.receiving >= TRANSFERS_MAX) return false
    this.slots.receiving++
    this.holdsSlot = true
    return true
  }

  /** Segments in order of their offsets, then the consumer offsets. @throws EngineError IncoherentManifest, StaleTransfer */
  judge({ entries, commitOp, commitMax, view }: Offer) {
    const refuse = (message: string, code = 'IncoherentManifest'): never => {
      throw new EngineError(code, message)
    }
    const { commitMin, commitMax: ownMax, view: ownView } = this.host.group
    if (commitOp > commitMax) refuse('an offer ahead of the commit')
    if (view < ownView || commitMax < ownMax || commitOp < commitMin)
      refuse('the offer is older than what this replica has', 'StaleTransfer')
    const offsets = entries.at(-1)
    if (offsets?.kind !== ArtifactKind.ConsumerOffsets) return refuse('the consumer offsets do not come last')
    if (offsets.frontier !== commitOp) refuse('consumer offsets of another op')
    if (offsets.length > BigInt(OFFSETS_BYTES_MAX)) refuse(`consumer offsets of more than ${OFFSETS_BYTES_MAX} bytes`)
    const { segmentSizeBytes } = this.partition.options.settings
    const segmentMax = BigInt(segmentSizeBytes + this.core.config.messageBytesMax)
    let total = offsets.length
    let before = -1n
    for (const { kind, frontier, length } of entries.slice(0, -1)) {
      if (kind !== ArtifactKind.SegmentLog) refuse('something else among the segments')
      if (frontier <= before) refuse(`segment ${frontier} behind segment ${before}`)
      if (length === 0n || length > segmentMax) refuse(`segment ${frontier} of ${length} bytes`)
      before = frontier
      total += length
    }
    if (total > BigInt(TOTAL_BYTES_MAX)) refuse('too many bytes')
    this.offsets = undefined
  }

  async open(offer: Offer, index: number): Promise<ArtifactSink | undefined> {
    const { staging } = this.partition
    if (index === 0) await staging.begin(offer.entries.slice(0, -1).map(wantedSegment))
    const entry = offer.entries[index]!
    if (index === offer.entries.length - 1) {
      this.offsets = new ArtifactInMemory(entry, this.core.ports.hash)
      return this.offsets
    }
    const wanted = wantedSegment(entry)
    if (await staging.adopt(wanted)) return undefined
    return {
      write: (position, bytes) => staging.write(wanted, position, bytes),
      complete: () => staging.complete(wanted),
    }
  }

  /** @throws DecodeError of the consumer offsets. */
  install(offer: Offer, done: () => void): void {
    const offsets = decodeTransferredOffsets(this.offsets!.bytes, this.core.ports.hash)
    this.offsets = undefined
    const { peer, commitMax, view } = offer
    const commitOp = Op(offer.commitOp)
    this.note('transfer_installing', { peer }, commitOp)
    this.core.pump.settle(
      this.partition.install({ commitOp, offsets }, this.committedGeneration()),
      () => {
        this.failures = 0
        this.release()
        done()
        this.note(
          'transfer_installed',
          {
            peer,
            commitMax: commitMax.toString(),
            segments: offer.entries.length - 1,
            nextOffset: offsets.nextOffset.toString(),
          },
          commitOp,
        )
        this.host.step({
          kind: 'transferInstalled',
          op: commitOp,
          commitMax: Op(commitMax),
          timestamp: Micros(0n),
          view,
        })
      },
      cause => {
        if (!(cause instanceof EngineError)) throw cause
        this.release()
        done()
        this.failures++
        this.note('transfer_abandoned', { peer, reason: cause.message, code: cause.code }, commitOp)
        this.abandonAt = this.core.tick + this.delayTicks('bad')
        // Nothing is being changed on the disk until the next attempt.
        this.host.step({ kind: 'transferStage', stage: 'awaiting_target' })
      },
    )
  }

  tick(): void {
    if (this.core.tick < this.abandonAt) return
    this.abandonAt = Number.POSITIVE_INFINITY
    this.host.step({ kind: 'transferAbandoned' })
  }

  delayTicks(failure: Failure): number {
    this.release()
    if (failure === 'transient') return RETRY_TICKS
    return RETRY_TICKS << Math.min(++this.failures, BACKOFF_SHIFT_MAX)
  }

  ended(): void {
    this.release()
  }

  private release(): void {
    if (!this.holdsSlot) return
    this.holdsSlot = false
    this.slots.receiving--
  }

  private note(kind: string, data: Record<string, string | number>, op: Op): void {
    this.core.events.group(this.host.group, kind, 'fact', data, { op: op.toString() })
  }
}

function wantedSegment({ frontier, length, checksum, rest }: ManifestEntry): WantedSegment {
  const gapFrom =
    rest !== undefined && rest.length >= GAP_BYTES
      ? new DataView(rest.buffer, rest.byteOffset).getBigUint64(0, true)
      : frontier
  return { startOffset: Offset(frontier), sizeBytes: Number(length), checksum, gapFrom: Offset(gapFrom) }
}
