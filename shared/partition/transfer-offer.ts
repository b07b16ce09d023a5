/**
 * What a partition offers a replica that lags (spec partition.md §8.2): its sized segments, as they are on disk at one
 * moment of the pump, and the consumer offsets. The segments only grow meanwhile; whatever else may happen to them (a purge,
 * an install, a cut, retention) makes the offer void.
 */
import { EngineError } from '../bytes/errors.ts'
import type { HashStream } from '../bytes/hash.ts'
import type { Checksum, Offset, Op } from '../bytes/units.ts'
import type { TransferredOffsets } from '../protocol/transfer-offsets.ts'
import type { DiskFile } from '../storage/disk.ts'
import { feedHash } from '../storage/file-hash.ts'
import type { PartitionHost } from './contract.ts'
import type { Segment } from './segment.ts'

/** Bytes hashed per request; the rest of a long chain is hashed by the requests that follow. */
export const OFFER_HASH_BYTES_MAX = 256 * 1024 * 1024
/** Segments of one offer; its manifest has one entry more. */
export const OFFER_SEGMENTS_MAX = 65_535

export interface OfferedSegment {
  readonly startOffset: Offset
  readonly sizeBytes: number
  readonly checksum: Checksum
  /** End (exclusive) of the segment before it; lower than `startOffset` where an anchor vouches for the gap. */
  readonly gapFrom: Offset
}

export interface PartitionOffer {
  /** The op that segments and offsets are as of. */
  readonly commitOp: Op
  readonly segments: readonly OfferedSegment[]
  readonly offsets: TransferredOffsets
  /** Bytes of a segment, by its place in `segments`. Rejects with DiskError. */
  read(segment: number, from: number, to: number): Promise<Uint8Array>
  /** False once the segments are no longer those that were offered. */
  valid(): boolean
  release(): void
}

/** A part of the chain at the moment of the offer. */
export interface OfferPlan {
  readonly commitOp: Op
  readonly segments: readonly { readonly segment: Segment; readonly sizeBytes: number; readonly gapFrom: Offset }[]
  readonly offsets: TransferredOffsets
  readonly valid: () => boolean
}

interface Progress {
  readonly stream: HashStream
  position: number
}

/** Checksums that need not be computed again: a sealed segment never changes. */
export class SegmentHashes {
  private readonly host: PartitionHost
  private readonly known = new WeakMap<Segment, { readonly sizeBytes: number; readonly checksum: Checksum }>()
  private readonly partial = new WeakMap<Segment, Progress>()

  constructor(host: PartitionHost) {
    this.host = host
  }

  /** @returns the checksum, or how many bytes are still to be hashed once `budget` is used up. @throws DiskError */
  async checksum(segment: Segment, sizeBytes: number, budget: number): Promise<Checksum | { remaining: number }> {
    const known = this.known.get(segment)
    if (known?.sizeBytes === sizeBytes) return known.checksum
    const { disk, hash, scheduler } = this.host
    const progress = this.partial.get(segment) ?? { stream: hash.xxh3Stream(), position: 0 }
    // Only one request may use a stream; a second one for the same segment begins its own.
    this.partial.delete(segment)
    const to = Math.min(sizeBytes, progress.position + budget)
    const file = await disk.open(segment.logPath, 'read')
    try {
      await feedHash(file, progress.position, to, progress.stream, scheduler)
    } finally {
      await file.close()
    }
    progress.position = to
    if (to < sizeBytes) {
      this.partial.set(segment, progress)
      return { remaining: sizeBytes - to }
    }
    const checksum = progress.stream.digest()
    this.known.set(segment, { sizeBytes, checksum })
    return checksum
  }
}

/** @throws EngineError OfferBuildInProgress, SegmentSetChanged, ManifestTooLarge; DiskError. All but the third pass by themselves. */
export async function buildOffer(
  host: PartitionHost,
  hashes: SegmentHashes,
  plan: OfferPlan,
  budgetBytes = OFFER_HASH_BYTES_MAX,
): Promise<PartitionOffer> {
  if (plan.segments.length > OFFER_SEGMENTS_MAX) {
    throw new EngineError('ManifestTooLarge', `${plan.segments.length} segments, at most ${OFFER_SEGMENTS_MAX} fit`)
  }
  let budget = budgetBytes
  const segments: OfferedSegment[] = []
  for (const { segment, sizeBytes, gapFrom } of plan.segments) {
    const checksum = await hashes.checksum(segment, sizeBytes, budget)
    if (typeof checksum !== 'bigint') {
      const message = `${checksum.remaining} bytes of ${segment.logPath} are still to be hashed`
      throw new EngineError('OfferBuildInProgress', message)
    }
    budget = Math.max(1, budget - sizeBytes)
    segments.push({ startOffset: segment.startOffset as Offset, sizeBytes, checksum, gapFrom })
  }
  if (!plan.valid()) throw new EngineError('SegmentSetChanged', 'the segments changed while they were hashed')
  const reader = new OfferReader(host, plan)
  return {
    commitOp: plan.commitOp,
    segments,
    offsets: plan.offsets,
    read: (segment, from, to) => reader.read(segment, from, to),
    valid: plan.valid,
    release: () => reader.release(),
  }
}

/** One open file at a time: a requester fetches in order. */
class OfferReader {
  private readonly host: PartitionHost
  private readonly plan: OfferPlan
  private open: { readonly segment: number; readonly file: Promise<DiskFile> } | undefined

  constructor(host: PartitionHost, plan: OfferPlan) {
    this.host = host
    this.plan = plan
  }

  async read(segment: number, from: number, to: number): Promise<Uint8Array> {
    if (this.open?.segment !== segment) {
      this.release()
      this.open = { segment, file: this.host.disk.open(this.plan.segments[segment]!.segment.logPath, 'read') }
    }
    const file = await this.open.file
    const bytes = new Uint8Array(to - from)
    return bytes.subarray(0, await file.read(from, bytes))
  }

  release(): void {
    const { open } = this
    this.open = undefined
    // A file that could not be opened has failed a read already.
    open?.file.then(
      file => file.close().catch(() => {}),
      () => {},
    )
  }
}
