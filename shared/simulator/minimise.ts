/** Deletes faults from the script of a failing seed while one of its checkers still objects (delta debugging). */
import { runSeed, type SeedOptions, type SeedResult } from './swarm.ts'

/** Runs that one search may take. */
const RUNS_MAX = 200

export async function minimise(options: SeedOptions, failed: SeedResult): Promise<SeedResult> {
  const checkers = new Set(failed.violations.map(violation => violation.checker))
  let best = failed
  let runs = 0
  for (let size = Math.ceil(best.faults.length / 2); size >= 1; ) {
    let shorter: SeedResult | undefined
    for (let at = 0; at < best.faults.length && runs < RUNS_MAX; at += size) {
      runs++
      const faults = best.faults.filter((_, index) => index < at || index >= at + size)
      const result = await runSeed({ ...options, faults })
      if (!result.violations.some(violation => checkers.has(violation.checker))) continue
      shorter = result
      break
    }
    if (shorter) best = shorter
    else if (size === 1) break
    else size = Math.ceil(size / 2)
  }
  return best
}
