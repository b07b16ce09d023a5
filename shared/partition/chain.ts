/**
 * The segment chain of one partition and the files of its active segment (spec partition.md §3.10, §3.7 "plant").
 * The asynchronous methods touch files only; `push` and `pop` change the chain, and run in the pump.
 */
import type { Hash } from '../bytes/hash.ts'
import type { Rules } from '../protocol/rules.ts'
import { type Disk, type DiskFile, isNotFound } from '../storage/disk.ts'
import { writeAnchor } from './anchor.ts'
import { Segment, segmentPath, type Writers } from './segment.ts'
import { SharedFile } from './shared-file.ts'
import { SparseIndex } from './sparse-index.ts'

export interface ChainHost {
  readonly disk: Disk
  readonly hash: Hash
  note(kind: string, cls: 'fact' | 'flow', data: Readonly<Record<string, string | number | boolean>>): void
}

export interface ChainOptions {
  readonly host: ChainHost
  readonly directory: string
  readonly settings: { readonly segmentSizeBytes: number; readonly preallocateSegments: boolean }
  readonly rules: Rules
}

export class Chain {
  readonly directory: string
  private readonly host: ChainHost
  private readonly segmentSizeBytes: number
  private readonly preallocate: boolean
  private readonly readersHold: boolean
  private list: Segment[] = []

  constructor({ host, directory, settings, rules }: ChainOptions) {
    this.host = host
    this.directory = directory
    this.segmentSizeBytes = settings.segmentSizeBytes
    this.preallocate = settings.preallocateSegments
    this.readersHold = rules.readersHoldDescriptors
  }

  get segments(): readonly Segment[] {
    return this.list
  }

  /** Every open partition has one: the last segment, unsealed. */
  get active(): Segment {
    return this.list[this.list.length - 1]!
  }

  persistedBytes(): number {
    let bytes = 0
    for (const segment of this.list) bytes += segment.sizeBytes
    return bytes
  }

  /** Exclusive end of the last segment that holds bytes, 0 when none does. */
  durableEnd(): bigint {
    for (let index = this.list.length - 1; index >= 0; index--) {
      const segment = this.list[index]!
      if (!segment.empty) return segment.endOffset
    }
    return 0n
  }

  newSegment(startOffset: bigint): Segment {
    return new Segment(this.directory, startOffset, this.segmentSizeBytes)
  }

  /** Creates both files of an empty segment, emptying what has their names, and makes the names durable. */
  async create(startOffset: bigint): Promise<Segment> {
    const segment = this.newSegment(startOffset)
    const [log, index] = await openBoth(
      this.host.disk.open(segment.logPath, 'create'),
      this.host.disk.open(segment.indexPath, 'create'),
    )
    if (this.preallocate && !(await log.preallocate(this.segmentSizeBytes))) {
      this.host.note('preallocate_failed', 'fact', { path: segment.logPath, bytes: this.segmentSizeBytes })
    }
    await this.host.disk.syncDirectory(this.directory)
    segment.writers = this.writers(log, index)
    segment.index = new SparseIndex()
    return segment
  }

  /** Opens the files of a recovered active segment for writing behind what the boot found. */
  async reopen(segment: Segment): Promise<void> {
    const [log, index] = await openBoth(
      this.host.disk.open(segment.logPath, 'write'),
      this.host.disk.open(segment.indexPath, 'write'),
    )
    segment.writers = this.writers(log, index)
    const bytes = new Uint8Array(segment.indexBytes)
    segment.index = new SparseIndex(bytes.subarray(0, await index.read(0, bytes)))
  }

  /** Creates a segment behind a gap: anchor first, or, when the tail is empty, that tail's files out of the way (§3.7). */
  async plant(startOffset: bigint, tail: Segment): Promise<Segment> {
    if (!tail.empty) {
      const sealedEnd = tail.endOffset - 1n
      await writeAnchor(this.host.disk, this.host.hash, this.directory, {
        plantedStart: startOffset,
        sealedStart: tail.startOffset,
        sealedEnd,
      })
      return this.create(startOffset)
    }
    for (const ending of ['log', 'index', 'anchor'] as const) {
      await unlinkIfThere(this.host.disk, segmentPath(this.directory, tail.startOffset, ending))
    }
    await this.host.disk.syncDirectory(this.directory)
    const before = this.list[this.list.length - 2]
    if (before !== undefined) {
      await writeAnchor(this.host.disk, this.host.hash, this.directory, {
        plantedStart: startOffset,
        sealedStart: before.startOffset,
        sealedEnd: before.endOffset - 1n,
      })
    }
    return this.create(startOffset)
  }

  /** Seals the present tail and appends `segment` as the active one. */
  push(segment: Segment): void {
    const tail = this.list[this.list.length - 1]
    if (tail) {
      tail.sealed = true
      tail.index = undefined
      this.closeWriters(tail)
    }
    this.list.push(segment)
  }

  /** Takes the empty tail off the chain; its files are gone already. */
  popEmpty(): void {
    const tail = this.list[this.list.length - 1]
    if (!tail?.empty) throw new Error('only an empty tail leaves the chain at its back')
    this.closeWriters(tail)
    this.list.pop()
  }

  /** Takes the segments from `index` on off the chain and closes them; what becomes of their files is the caller's. */
  dropFrom(index: number): void {
    for (const segment of this.list.splice(index)) this.closeWriters(segment)
  }

  /** Takes the oldest `count` segments off the chain; they are sealed. */
  dropFront(count: number): void {
    for (const segment of this.list.splice(0, count)) this.closeWriters(segment)
  }

  /** Puts `segment` at the end as it is, without sealing what is before it: a boot or a cut decides that itself. */
  restore(segment: Segment): void {
    this.list.push(segment)
  }

  /** Lets go of the writers; the log closes with its last reader. */
  close(): void {
    for (const segment of this.list) this.closeWriters(segment)
  }

  readonly closeFailed = (error: unknown): void => {
    this.host.note('close_failed', 'fact', { message: String(error) })
  }

  private writers(log: DiskFile, index: DiskFile): Writers {
    return { log: new SharedFile(log, this.closeFailed), index }
  }

  private closeWriters(segment: Segment): void {
    const { writers } = segment
    segment.writers = undefined
    if (!writers) return
    writers.log.letGo(this.readersHold)
    writers.index.close().catch(this.closeFailed)
  }
}

export async function unlinkIfThere(disk: Disk, path: string): Promise<void> {
  try {
    await disk.unlink(path)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** Both or neither: when one fails, the other is closed again. */
async function openBoth(log: Promise<DiskFile>, index: Promise<DiskFile>): Promise<[DiskFile, DiskFile]> {
  const [a, b] = await Promise.allSettled([log, index])
  if (a.status === 'fulfilled' && b.status === 'fulfilled') return [a.value, b.value]
  for (const opened of [a, b]) if (opened.status === 'fulfilled') await opened.value.close()
  throw a.status === 'rejected' ? a.reason : (b as PromiseRejectedResult).reason
}
