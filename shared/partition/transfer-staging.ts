/**
 * Segments on their way in (spec partition.md §8.3): each goes to `{start}.log.staging` as its bytes come, is proven when it
 * is complete (length, checksum of the manifest, every batch from byte 0), and gets an index beside it. Nothing outside the
 * `.staging` files is touched, and a boot sweeps those. A transfer that was broken off goes on with what is there and whole.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Checksum, Offset } from '../bytes/units.ts'
import { type DiskFile, isNotFound } from '../storage/disk.ts'
import { hashFile } from '../storage/file-hash.ts'
import { joinPath } from '../storage/paths.ts'
import { classifyName } from '../storage/segment-names.ts'
import { scanSegment } from '../storage/segment-scan.ts'
import { unlinkIfThere } from './chain.ts'
import type { PartitionOptions } from './contract.ts'
import { REBUILT_STRIDE_BYTES } from './recovery-index.ts'
import { segmentPath } from './segment.ts'
import { encodeIndexPoint, SparseIndex } from './sparse-index.ts'

/** What a manifest says of a segment. */
export interface WantedSegment {
  readonly startOffset: Offset
  readonly sizeBytes: number
  readonly checksum: Checksum
  readonly gapFrom: Offset
}

/** A segment that is staged, proven and durable. */
export interface StagedSegment extends WantedSegment {
  /** Exclusive. */
  readonly endOffset: bigint
  readonly indexBytes: number
  readonly startTimestamp: bigint
  readonly endTimestamp: bigint
  readonly maxTimestamp: bigint
  readonly monotone: boolean
}

export const stagedPath = (path: string): string => `${path}.staging`

export class SegmentStaging {
  private readonly options: PartitionOptions
  private staged: StagedSegment[] = []
  private open: DiskFile | undefined

  constructor(options: PartitionOptions) {
    this.options = options
  }

  /** Proven segments, in the order in which they came. */
  get segments(): readonly StagedSegment[] {
    return this.staged
  }

  /** A new transfer begins: forgets the last one, and sweeps what it left that this one cannot use. @throws DiskError */
  async begin(wanted: readonly WantedSegment[]): Promise<void> {
    this.staged = []
    await this.closeOpen()
    const { directory, host } = this.options
    const useful = new Set(wanted.map(({ startOffset }) => this.logPath(startOffset)))
    for (const name of await host.disk.list(directory)) {
      const path = joinPath(directory, name)
      if (classifyName(name).kind === 'staging' && !useful.has(path)) await unlinkIfThere(host.disk, path)
    }
  }

  /** Takes a segment that an earlier transfer has staged whole; false when there is none. @throws DiskError */
  async adopt(wanted: WantedSegment): Promise<boolean> {
    const { disk, hash, scheduler } = this.options.host
    let file: DiskFile
    try {
      file = await disk.open(this.logPath(wanted.startOffset), 'read')
    } catch (error) {
      if (isNotFound(error)) return false
      throw error
    }
    try {
      if ((await file.sizeBytes()) !== wanted.sizeBytes) return false
      if ((await hashFile(file, wanted.sizeBytes, hash, scheduler)) !== wanted.checksum) return false
      await file.sync()
      await this.prove(file, wanted)
      return true
    } catch (error) {
      if (error instanceof EngineError && error.code === 'StagedSegmentUnsound') return false
      throw error
    } finally {
      await file.close()
    }
  }

  /** Writes bytes of a segment at their place; position 0 begins it anew. @throws DiskError */
  async write(wanted: WantedSegment, position: number, bytes: Uint8Array): Promise<void> {
    if (position === 0) {
      await this.closeOpen()
      this.open = await this.options.host.disk.open(this.logPath(wanted.startOffset), 'create')
    }
    await this.open!.write(position, [bytes])
  }

  /** The segment is complete. @throws EngineError BadChecksum, StagedSegmentUnsound; DiskError. */
  async complete(wanted: WantedSegment): Promise<void> {
    const { hash, scheduler } = this.options.host
    const file = this.open!
    try {
      if ((await hashFile(file, wanted.sizeBytes, hash, scheduler)) !== wanted.checksum)
        throw new EngineError('BadChecksum', `segment ${wanted.startOffset}: the checksum differs`)
      await file.datasync()
      await this.prove(file, wanted)
    } finally {
      await this.closeOpen()
    }
  }

  async closeOpen(): Promise<void> {
    const { open } = this
    this.open = undefined
    await open?.close()
  }

  /** Every batch from byte 0, then the index. */
  private async prove(file: DiskFile, wanted: WantedSegment): Promise<void> {
    const { host, directory, key } = this.options
    const index = new SparseIndex()
    let indexed = 0
    const times = { max: 0n, last: 0n, monotone: true }
    const scan = await scanSegment(file, wanted.sizeBytes, host.hash, {
      startOffset: wanted.startOffset,
      partitionId: key.partition,
      scheduler: host.scheduler,
      onBatch: batch => {
        const { baseOffset: offset, baseTimestamp: timestamp, position } = batch
        if (index.entries === 0 || position - indexed >= REBUILT_STRIDE_BYTES) {
          index.push(encodeIndexPoint({ offset, timestamp, position }))
          indexed = position
        }
        if (timestamp < times.last) times.monotone = false
        if (timestamp > times.max) times.max = timestamp
        times.last = timestamp
        return undefined
      },
    })
    if (scan.end.kind !== 'clean' || scan.endOffset === undefined) {
      const why = 'problem' in scan.end ? scan.end.problem.message : 'no batch'
      throw new EngineError('StagedSegmentUnsound', `segment ${wanted.startOffset}: ${why}`)
    }
    const bytes = index.toBytes()
    const target = await host.disk.open(stagedPath(segmentPath(directory, wanted.startOffset, 'index')), 'create')
    try {
      await target.write(0, [bytes])
      await target.datasync()
    } finally {
      await target.close()
    }
    await host.disk.syncDirectory(directory)
    this.staged.push({
      ...wanted,
      endOffset: scan.endOffset + 1n,
      indexBytes: bytes.length,
      startTimestamp: scan.startTimestamp ?? 0n,
      endTimestamp: scan.endTimestamp ?? 0n,
      maxTimestamp: times.max,
      monotone: times.monotone,
    })
  }

  private logPath(startOffset: Offset): string {
    return stagedPath(segmentPath(this.options.directory, startOffset, 'log'))
  }
}
