/** What clients have been told of the messages of each partition, by a moment of a replay. */
import type { DrillReplay } from '../../../shared/inspection/drills.ts'

export interface LedgerOf {
  readonly partition: string
  /** Offsets that were confirmed, ascending. */
  readonly acked: readonly { readonly offset: bigint; readonly readBack: boolean }[]
}

/** An offset is read back once a poll behind its acknowledgement has brought it. With a purge its topic begins anew. */
export function ledgersAt(told: DrillReplay['told'], at: number): LedgerOf[] {
  const partitions = new Map<string, Map<string, boolean>>()
  for (const { at: when, told: what, partition, offsets } of told) {
    if (when > at) break
    if (what === 'purged')
      for (const name of partitions.keys()) if (name.startsWith(`${partition}/`)) partitions.delete(name)
    const acked = partitions.get(partition) ?? new Map<string, boolean>()
    if (what === 'acked') {
      partitions.set(partition, acked)
      for (const offset of offsets) acked.set(offset, false)
    } else for (const offset of offsets) if (acked.has(offset)) acked.set(offset, true)
  }
  return [...partitions].map(([partition, acked]) => ({
    partition,
    acked: [...acked]
      .map(([offset, readBack]) => ({ offset: BigInt(offset), readBack }))
      .sort((a, b) => (a.offset < b.offset ? -1 : 1)),
  }))
}
