/** The batches of one segment file for the byte view (design.md §4): read from the disk, each verified, damage included. */
import type { Hash } from '../bytes/hash.ts'
import { type Disk, isNotFound } from '../storage/disk.ts'
import type { Scheduler } from '../storage/ports.ts'
import { scanSegment } from '../storage/segment-scan.ts'
import type { BatchInfo } from './contract.ts'

export interface BatchListing {
  /** Size of the file when it was read. */
  readonly sizeBytes: number
  readonly batches: readonly BatchInfo[]
  /** Where the next page starts; missing at the end. */
  readonly nextPosition?: number
  /** What stopped the walk before the end of the file. */
  readonly problem?: { readonly check: string; readonly position: number; readonly message: string }
}

export const LISTED_BATCHES_MAX = 10_000

/**
 * Lists at most `limit` batches from the batch boundary `fromPosition` on; undefined when there is no such file. A bad batch
 * is listed with its verdict, and the walk goes on behind it where its length can still be believed. On a live segment the
 * last bytes may be a write in flight: a `problem` at the very end of an active segment is no damage.
 * @throws DiskError
 */
export async function listBatches(
  disk: Disk,
  hash: Hash,
  path: string,
  fromPosition: number,
  limit: number,
  scheduler?: Scheduler,
): Promise<BatchListing | undefined> {
  let file: Awaited<ReturnType<Disk['open']>>
  try {
    file = await disk.open(path, 'read')
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
  try {
    const sizeBytes = await file.sizeBytes()
    const max = Math.max(1, Math.min(limit, LISTED_BATCHES_MAX))
    const batches: BatchInfo[] = []
    let problem: BatchListing['problem']
    const scan = await scanSegment(file, sizeBytes, hash, {
      from: Math.min(fromPosition, sizeBytes),
      ...(scheduler && { scheduler }),
      onBatch: ({ partitionId: _, ...batch }) => {
        batches.push(batch)
        return batches.length < max
      },
      onProblem: found => {
        problem ??= { check: found.check, position: found.position, message: found.message }
      },
    })
    const last = batches.at(-1)
    const end = last ? last.position + last.lengthBytes : fromPosition
    return {
      sizeBytes,
      batches,
      ...(scan.end.kind !== 'clean' && batches.length >= max && end < sizeBytes && { nextPosition: end }),
      ...(problem && { problem }),
    }
  } finally {
    await file.close()
  }
}
