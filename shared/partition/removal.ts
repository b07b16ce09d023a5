/**
 * Which sealed segments may go, and their removal (spec partition.md §4.1, §4.2). From the oldest on, so that a crash leaves a
 * contiguous suffix; never the active one; never what a consumer has not read yet. Who asks, and when, is the host's.
 */
import { Offset } from '../bytes/units.ts'
import { unlinkIfThere } from './chain.ts'
import type { PartitionOptions } from './contract.ts'
import { type Segment, segmentPath } from './segment.ts'

/** Segments removed at a time: the rest waits for the next pass. */
export const REMOVED_MAX = 16

export interface Removal {
  readonly removed: number
  /** More could go at once. */
  readonly budgetSpent: boolean
  /** The consumer or group, as `kind/id`, whose stored offset keeps the next segment. */
  readonly heldBy?: string
}

export interface RetentionRules {
  readonly nowMicros: bigint
  /** Age at which a sealed segment goes; undefined: never. */
  readonly expiryMicros?: bigint
  /** Bytes of sealed segments that may stay; undefined: any number. */
  readonly sealedBytesMax?: bigint
}

export function planRemoval(
  segments: readonly Segment[],
  upTo: bigint,
  slowest: { readonly consumer: string; readonly offset: bigint } | undefined,
): { readonly removal: Removal; readonly segments: readonly Segment[] } {
  const going: Segment[] = []
  for (const segment of segments) {
    const last = segment.endOffset - 1n
    if (!segment.sealed || segment === segments.at(-1) || last > upTo) break
    if (slowest !== undefined && last > slowest.offset) {
      return { removal: { removed: going.length, budgetSpent: false, heldBy: slowest.consumer }, segments: going }
    }
    if (going.length === REMOVED_MAX) return { removal: { removed: REMOVED_MAX, budgetSpent: true }, segments: going }
    going.push(segment)
  }
  return { removal: { removed: going.length, budgetSpent: false }, segments: going }
}

/** The leading run of expired segments, and of those beyond the bytes that may stay: whichever reaches further. */
export function retentionEnd(segments: readonly Segment[], rules: RetentionRules): Offset | undefined {
  const { nowMicros, expiryMicros, sealedBytesMax } = rules
  const sealed = segments.filter(segment => segment.sealed && segment !== segments.at(-1))
  let bytes = sealed.reduce((sum, { sizeBytes }) => sum + BigInt(sizeBytes), 0n)
  let expired = expiryMicros !== undefined
  let end: bigint | undefined
  for (const { maxTimestamp, sizeBytes, endOffset } of sealed) {
    expired = expired && maxTimestamp !== 0n && maxTimestamp + expiryMicros! <= nowMicros
    const oversized = sealedBytesMax !== undefined && bytes > sealedBytesMax
    if (!expired && !oversized) break
    bytes -= BigInt(sizeBytes)
    end = endOffset - 1n
  }
  return end === undefined ? undefined : Offset(end)
}

/** Unlinks the files of segments that left the chain. What cannot be unlinked stays behind, is said, and is found at the next boot. */
export async function unlinkRemoved(
  { host, directory }: PartitionOptions,
  segments: readonly Segment[],
): Promise<void> {
  for (const { startOffset, endOffset, sizeBytes } of segments) {
    try {
      for (const kind of ['log', 'index', 'anchor'] as const)
        await unlinkIfThere(host.disk, segmentPath(directory, startOffset, kind))
    } catch (error) {
      host.note('segment_kept', 'fact', { segment: startOffset.toString(), message: String(error) })
      continue
    }
    host.note('segment_removed', 'fact', {
      segment: startOffset.toString(),
      last: (endOffset - 1n).toString(),
      bytes: sizeBytes,
    })
  }
  await host.disk.syncDirectory(directory).catch((error: unknown) => {
    host.note('segment_kept', 'fact', { segment: directory, message: String(error) })
  })
}
