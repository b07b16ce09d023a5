/**
 * Names in a partition directory (spec partition.md §1). A segment is named by its first offset, 20 decimal digits; a boot
 * opens files by that padded name only, so any other spelling is invisible to it and merits a warning.
 */
import type { Offset } from '../bytes/units.ts'
import { Offset as toOffset, U64_MAX } from '../bytes/units.ts'

export type SegmentFileKind = 'log' | 'index' | 'anchor'

/** `00000000000000000176.log` for offset 176. */
export const segmentFileName = (start: Offset, kind: SegmentFileKind): string =>
  `${start.toString().padStart(20, '0')}.${kind}`

export type PartitionName =
  | { readonly kind: SegmentFileKind; readonly start: Offset }
  /** Scratch of a transfer or a rebuild, whatever its stem: swept at boot, never read. */
  | { readonly kind: 'staging' }
  /** Ends like a segment file, but its stem is not 20 digits of a u64: invisible to recovery. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'other' }

/** What a name in a partition directory is, by the listing rule of §1. */
export function classifyName(name: string): PartitionName {
  if (name.endsWith('.staging')) return { kind: 'staging' }
  const match = /^(.*)\.(log|index|anchor)$/s.exec(name)
  if (match === null) return { kind: 'other' }
  const stem = match[1]!
  if (!/^\d{20}$/.test(stem)) return { kind: 'foreign' }
  const start = BigInt(stem)
  return start > U64_MAX ? { kind: 'foreign' } : { kind: match[2] as SegmentFileKind, start: toOffset(start) }
}

export interface SegmentListing {
  /** Starts of all `.log` files, ascending. */
  readonly starts: readonly Offset[]
  readonly staging: readonly string[]
  /** `.index` and `.anchor` files without a `.log` of the same stem: the trace of a lost segment. */
  readonly orphans: readonly { readonly name: string; readonly kind: 'index' | 'anchor'; readonly start: Offset }[]
  readonly foreign: readonly string[]
  /** Superblock slots, purge.gen, offsets and what else is there. */
  readonly others: readonly string[]
}

/** Sorts the names of one partition directory. */
export function listSegments(names: readonly string[]): SegmentListing {
  const starts: Offset[] = []
  const staging: string[] = []
  const sides: { name: string; kind: 'index' | 'anchor'; start: Offset }[] = []
  const foreign: string[] = []
  const others: string[] = []
  for (const name of names) {
    const found = classifyName(name)
    if (found.kind === 'log') starts.push(found.start)
    else if (found.kind === 'index' || found.kind === 'anchor')
      sides.push({ name, kind: found.kind, start: found.start })
    else if (found.kind === 'staging') staging.push(name)
    else if (found.kind === 'foreign') foreign.push(name)
    else others.push(name)
  }
  starts.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const logs = new Set<bigint>(starts)
  return { starts, staging, orphans: sides.filter(side => !logs.has(side.start)), foreign, others }
}
