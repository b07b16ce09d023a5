/** Pass B: do the segments make one chain (spec partition.md §6.8)? Reads anchors, changes nothing. */
import { readAnchor } from './anchor.ts'
import type { PartitionOptions } from './contract.ts'
import type { RecoveryLog } from './recovery.ts'
import type { RecoveredSegment } from './recovery-walk.ts'
import { PartitionRefused } from './refused.ts'
import { segmentPath } from './segment.ts'

/** The refusal, or undefined when every segment continues the one before it, by offset or by anchor. Throws DiskError. */
export async function guardChain(
  options: PartitionOptions,
  segments: readonly RecoveredSegment[],
  log: RecoveryLog,
): Promise<PartitionRefused | undefined> {
  const { directory } = options
  const recoverable = segments.reduce((sum, segment) => sum + segment.walkedBytes, 0)
  for (let index = 1; index < segments.length; index++) {
    const previous = segments[index - 1]!
    const next = segments[index]!
    if (previous.walkedBytes === 0) {
      const message = `segment ${previous.startOffset} is empty, but ${next.startOffset} follows it (${recoverable} bytes are recoverable)`
      return new PartitionRefused('EmptyNonTailSegment', directory, message, {
        path: previous.logPath,
        advice: 'restore the messages of that segment, or move its empty files away if there never were any',
      })
    }
    if (previous.endOffset === next.startOffset) continue
    const anchor = await readAnchor(options.host.disk, options.host.hash, directory, next.startOffset)
    const admitted =
      previous.endOffset < next.startOffset &&
      anchor?.plantedStart === next.startOffset &&
      anchor.sealedStart === previous.startOffset &&
      anchor.sealedEnd === previous.endOffset - 1n
    if (admitted) {
      log.fact('gap_admitted', 'anchor', segmentPath(directory, next.startOffset, 'anchor'), 'admitted', {
        first: previous.endOffset.toString(),
        last: (next.startOffset - 1n).toString(),
      })
      continue
    }
    const what = previous.endOffset < next.startOffset ? 'is missing between' : 'is held twice by'
    const message = `segment ${previous.startOffset} ends before offset ${previous.endOffset}, segment ${next.startOffset} follows: a range ${what} them (${recoverable} bytes are recoverable)`
    return new PartitionRefused('Hole', directory, message, {
      path: next.logPath,
      expected: previous.endOffset.toString(),
      actual: next.startOffset.toString(),
      advice: 'restore the missing segment files; nothing was changed',
    })
  }
  return undefined
}
