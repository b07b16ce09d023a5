/**
 * The independent cold open (spec drills.md §2.5, checker 13): what lies on the disk of a settled node, read by decoders that
 * share nothing with the engine, is the log that everybody applied, from the snapshot on without a hole.
 */
import type { Checker } from './checker.ts'

export function coldOpen(checker: Checker, node: number): void {
  const problem = coldProblem(checker, node)
  if (problem !== undefined) checker.fail('cold-open', problem, node)
}

function coldProblem(checker: Checker, node: number): string | undefined {
  if (checker.isRotten(node)) return undefined
  const durable = checker.durable[node]!
  const superblock = durable.superblock('metadata')
  if (superblock === 'corrupt') return 'its metadata superblock does not verify'
  const floor = superblock?.checkpointOp ?? 0n
  const log = durable.log()
  let compared = 0
  for (let op = floor + 1n; op <= BigInt(checker.canonical.length); op++) {
    const known = checker.canonical[Number(op) - 1]!
    const entry = log.get(op)
    if (!entry) return `metadata op ${op} is not on its disk`
    if (entry.checksum !== known.checksum) return `metadata op ${op} on its disk is another one`
    compared++
  }
  checker.pairsCompared += compared
  return undefined
}
