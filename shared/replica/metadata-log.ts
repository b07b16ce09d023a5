/**
 * What the recovered log of the metadata group says before any of it is applied (spec metadata-storage.md §6.2 steps 8 to 12,
 * §6.3). Nothing in here touches the disk or the state.
 */
import { EngineError } from '../bytes/errors.ts'
import { Op, View } from '../bytes/units.ts'
import type { WalEntry } from '../storage/wal.ts'
import type { WalScan } from '../storage/wal-scan.ts'

export const METADATA_DIRECTORY = 'metadata'
export const WAL_PATH = `${METADATA_DIRECTORY}/journal.wal`

/** An inferred view this far above the one before it is damage and not a view (§6.3). */
const INFERRED_VIEW_JUMP_MAX = 65_536

const RESTORE_ADVICE = 'acknowledged ops are missing: restore this directory from a copy'

/** An empty superblock says nothing of the cluster; the first sealed prepare does (step 4). */
export function checkCluster(entries: readonly WalEntry[], cluster: bigint): void {
  const first = entries.find(entry => entry.header.checksum !== 0n)
  if (!first || first.header.cluster === cluster) return
  throw new EngineError('ClusterMismatch', `${WAL_PATH} was written in another cluster`, {
    path: WAL_PATH,
    position: first.position + 32,
    expected: cluster.toString(16),
    actual: first.header.cluster.toString(16),
    advice: 'start the node with the cluster name that this directory was written under',
  })
}

/** Parents over all pairs of consecutive ops held, behind gaps too; a zero seal on either side proves nothing (step 11). */
export function checkChain(entries: readonly WalEntry[]): void {
  for (let index = 1; index < entries.length; index++) {
    const [before, after] = [entries[index - 1]!.header, entries[index]!.header]
    if (after.op !== before.op + 1n || before.checksum === 0n || after.checksum === 0n) continue
    if (after.parent === before.checksum) continue
    throw new EngineError('ChainBroken', `op ${after.op} does not follow the op ${before.op} that is held`, {
      path: WAL_PATH,
      op: after.op,
      position: entries[index]!.position,
      expected: before.checksum.toString(16),
      actual: after.parent.toString(16),
      advice: 'in a cluster, wipe this node and let it rejoin',
    })
  }
}

/** Entries from the op after `base` on, up to the first gap. */
export function contiguousFrom(base: Op, entries: readonly WalEntry[]): WalEntry[] {
  const prefix: WalEntry[] = []
  for (const entry of entries) {
    if (entry.header.op !== base + BigInt(prefix.length) + 1n) break
    prefix.push(entry)
  }
  return prefix
}

/** A solo node has nobody to fetch a missing op from (step 12). */
export function refuseGap(base: Op, contiguous: readonly WalEntry[], entries: readonly WalEntry[]): void {
  const behind = entries[contiguous.length]
  if (behind === undefined) return
  const missing = Op(base + BigInt(contiguous.length) + 1n)
  throw new EngineError('LogGap', `op ${missing} is missing from the log, which goes on with op ${behind.header.op}`, {
    path: WAL_PATH,
    position: behind.position,
    op: missing,
    expected: `op ${missing}`,
    actual: `op ${behind.header.op}`,
    advice: RESTORE_ADVICE,
  })
}

/** The embedded commit is at least one op stale; alone, what is journaled is committed (step 9). */
export function commitWatermark(solo: boolean, base: Op, entries: readonly WalEntry[]): Op {
  let watermark: bigint = base
  for (const { header } of entries) {
    const claim = solo ? header.op : header.commit
    if (claim > watermark) watermark = claim
  }
  return Op(watermark)
}

/** A solo op is journaled before it is committed, so the superblock cannot know of more than the log holds (step 9). */
export function refuseCommitAhead(commitMax: Op, watermark: Op, scan: WalScan | undefined): void {
  if (commitMax <= watermark) return
  throw new EngineError('CommitAheadOfLog', `op ${commitMax} was committed, the log ends at ${watermark}`, {
    path: WAL_PATH,
    position: scan?.end.position ?? 0,
    op: commitMax,
    expected: `op ${commitMax}`,
    actual: `op ${watermark}`,
    advice: RESTORE_ADVICE,
  })
}

/**
 * Where the log ends as far as this replica may deny anything (step 12): above the highest op held, an op that the superblock
 * knows committed, and the op of a whole entry that the scan cuts, may have been acknowledged and lost.
 */
export function logEnd(highest: Op, commitMax: Op, scan: WalScan | undefined): Op {
  const end = scan?.end
  const cut = end?.kind === 'torn' && end.whole ? (end.op ?? Op(0n)) : Op(0n)
  return [highest, commitMax, cut].reduce((a, b) => (a > b ? a : b))
}

export interface InferredView {
  readonly view: View
  /** The view that was not believed. */
  readonly damaged?: View
}

/** Without a superblock the last header's view is a hint; it is outside the checksum, so a wild one is not believed. */
export function inferredView(entries: readonly WalEntry[]): InferredView {
  const last = entries[entries.length - 1]
  if (!last) return { view: View(0) }
  const floor = entries[entries.length - 2]?.header.view ?? View(0)
  const { view } = last.header
  return view > floor + INFERRED_VIEW_JUMP_MAX ? { view: floor, damaged: view } : { view }
}
