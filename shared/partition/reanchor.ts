/**
 * A solo boot starts its new offsets on a segment boundary (spec partition.md §7.6). The life before may have given out
 * offsets up to the reservation; the gap up to there must not lie inside a segment, where the next walk would refuse it, but
 * on a boundary that an anchor vouches for.
 */
import { writeAnchor } from './anchor.ts'
import { type Chain, unlinkIfThere } from './chain.ts'
import type { PartitionOptions } from './contract.ts'
import type { RecoveryLog } from './recovery.ts'
import { segmentPath } from './segment.ts'

/**
 * Makes the chain end at `frontier` or above; its tail has writers afterwards only when it was planted here. The caller has
 * seen to it that the group has one replica. @throws DiskError, and then the chain is not serviceable
 */
export async function reanchor(
  options: PartitionOptions,
  chain: Chain,
  frontier: bigint,
  log: RecoveryLog,
): Promise<void> {
  if (frontier === 0n) return
  const { directory, host } = options
  const { disk, hash } = host
  let retired = false
  for (let tail = chain.segments.at(-1); tail?.empty && tail.startOffset < frontier; tail = chain.segments.at(-1)) {
    for (const kind of ['log', 'index', 'anchor'] as const) {
      await unlinkIfThere(disk, segmentPath(directory, tail.startOffset, kind))
    }
    chain.popEmpty()
    retired = true
    log.fact('stale_segment_removed', 'reanchor', tail.logPath, 'unlinked', {
      start: tail.startOffset.toString(),
      frontier: frontier.toString(),
    })
  }
  // the names must be gone before another segment is there, or a loss of power could bring an empty one back in the middle
  if (retired) await disk.syncDirectory(directory)
  const tail = chain.segments.at(-1)
  if (tail === undefined || tail.endOffset >= frontier) return
  const sealedEnd = tail.endOffset - 1n
  await writeAnchor(disk, hash, directory, { plantedStart: frontier, sealedStart: tail.startOffset, sealedEnd })
  chain.push(await chain.create(frontier))
  log.fact('reanchored', 'reanchor', segmentPath(directory, frontier, 'log'), 'planted', {
    sealedEnd: sealedEnd.toString(),
    first: tail.endOffset.toString(),
    last: (frontier - 1n).toString(),
    frontier: frontier.toString(),
  })
}
