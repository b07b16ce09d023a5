/**
 * Takes a divergent tail out of the segments (design.md §3, What an acknowledgement survives): after a whole-cluster restart
 * the others may have begun a new log that does not hold what is at the end of this replica's. Nothing is deleted: whole
 * segments move to `.fenced.N`, of a segment that is cut in the middle the bytes behind the cut are copied there first. A
 * crash at any point leaves either the tail in place, to be set aside again, or a copy more than was needed.
 */
import { Offset } from '../bytes/units.ts'
import { INDEX_ENTRY_BYTES } from '../storage/index-file.ts'
import { joinPath, nameOf, parentOf } from '../storage/paths.ts'
import { scanSegment } from '../storage/segment-scan.ts'
import type { Chain } from './chain.ts'
import type { PartitionOptions } from './contract.ts'
import { freeFence } from './incarnation.ts'
import { larger } from './reservation.ts'
import type { Segment } from './segment.ts'
import { segmentPath } from './segment.ts'
import { SparseIndex } from './sparse-index.ts'

const COPY_BYTES = 1024 * 1024

/**
 * Cuts the chain at the last batch boundary at or below `from`; the flusher must be idle and barred. Answers the new end of
 * the bytes. @throws DiskError
 */
export async function setAsideFrom(options: PartitionOptions, chain: Chain, from: bigint): Promise<bigint> {
  const { host, directory } = options
  const { disk } = host
  const oldEnd = chain.durableEnd()
  const { segments } = chain
  const whole = segments.filter(segment => segment.startOffset >= from)
  const last = segments[segments.length - whole.length - 1]
  const cut = last && last.endOffset > from ? await boundary(options, last, from) : undefined

  const to = await freeFence(disk, directory)
  await disk.makeDirectory(to)
  if (last && cut) await copyTail(options, last, cut.position, joinPath(to, nameOf(last.logPath)))
  for (const segment of [...whole].reverse()) {
    for (const kind of ['index', 'log', 'anchor'] as const) {
      const path = segmentPath(directory, segment.startOffset, kind)
      const there = await disk.stat(path).catch(() => undefined)
      if (there) await disk.rename(path, joinPath(to, nameOf(path)))
    }
  }
  for (const path of [to, directory, parentOf(directory)]) await disk.syncDirectory(path)
  chain.dropFrom(segments.length - whole.length)

  if (last === undefined) chain.push(await chain.create(from))
  else if (cut === undefined && last.writers === undefined) await chain.reopen(unsealed(last))
  else if (cut) await shorten(chain, last, cut)
  const end = chain.durableEnd()
  host.note('tail_set_aside', 'fact', { first: end.toString(), last: (oldEnd - 1n).toString(), to })
  return end
}

interface Boundary {
  readonly position: number
  readonly endOffset: bigint
  readonly startTimestamp: bigint
  readonly endTimestamp: bigint
  readonly maxTimestamp: bigint
}

/** The last batch boundary of `segment` at or below `from`, and what is in front of it. */
async function boundary({ host }: PartitionOptions, segment: Segment, from: bigint): Promise<Boundary> {
  const file = await host.disk.open(segment.logPath, 'read')
  try {
    let found: Boundary = {
      position: 0,
      endOffset: segment.startOffset,
      startTimestamp: 0n,
      endTimestamp: 0n,
      maxTimestamp: 0n,
    }
    await scanSegment(file, segment.sizeBytes, host.hash, {
      startOffset: Offset(segment.startOffset),
      scheduler: host.scheduler,
      onBatch: batch => {
        const end = batch.baseOffset + BigInt(batch.messages)
        if (end > from) return false
        const { baseTimestamp } = batch
        found = {
          position: batch.position + batch.lengthBytes,
          endOffset: end,
          startTimestamp: found.startTimestamp === 0n ? baseTimestamp : found.startTimestamp,
          endTimestamp: baseTimestamp,
          maxTimestamp: larger(baseTimestamp, found.maxTimestamp),
        }
        return true
      },
    })
    return found
  } finally {
    await file.close()
  }
}

async function copyTail({ host }: PartitionOptions, segment: Segment, position: number, to: string): Promise<void> {
  const source = await host.disk.open(segment.logPath, 'read')
  try {
    const target = await host.disk.open(to, 'create')
    try {
      const buffer = new Uint8Array(COPY_BYTES)
      for (let at = position; at < segment.sizeBytes; ) {
        const read = await source.read(at, buffer.subarray(0, Math.min(COPY_BYTES, segment.sizeBytes - at)))
        if (read === 0) break
        await target.write(at - position, [buffer.slice(0, read)])
        at += read
      }
      await target.sync()
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** Log before index: in between, the index is ahead of its log, which is an ordinary input of a boot. */
async function shorten(chain: Chain, segment: Segment, cut: Boundary): Promise<void> {
  if (segment.writers === undefined) await chain.reopen(segment)
  const { log, index } = segment.writers!
  const entries = segment.index ?? new SparseIndex()
  let kept = 0
  while (kept < entries.entries && entries.entry(kept).position < cut.position) kept++
  await log.file.truncate(cut.position)
  await log.file.sync()
  await index.truncate(kept * INDEX_ENTRY_BYTES)
  await index.sync()
  const bytes = entries.toBytes().slice(0, kept * INDEX_ENTRY_BYTES)
  segment.index = new SparseIndex(bytes)
  segment.indexBytes = bytes.length
  segment.sizeBytes = cut.position
  segment.endOffset = cut.endOffset
  segment.startTimestamp = cut.startTimestamp
  segment.endTimestamp = cut.endTimestamp
  segment.maxTimestamp = cut.maxTimestamp
  unsealed(segment)
}

function unsealed(segment: Segment): Segment {
  segment.sealed = false
  segment.forget()
  return segment
}
