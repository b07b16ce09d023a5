/** The long swarm (spec drills.md §2.7): two thousand seeds in two processes, what they came by, and that nothing was violated. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { Histogram } from './histogram.ts'
import type { SeedResult } from './swarm.ts'

const main = fileURLToPath(new URL('../../server/commands/main.ts', import.meta.url))
const MINUTE_MS = 60_000

test(
  'seeds 1 to 2000 keep every promise, and come by every required mark',
  async () => {
    const args = ['--import', 'tsx', main, 'sim', '--seeds', '1..2000', '--jobs', '2', '--json']
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 30 }).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
    )
    const { seeds, histogram } = JSON.parse(stdout) as { seeds: SeedResult[]; histogram: Histogram }
    expect(seeds).toHaveLength(2_000)
    const failed = seeds.filter(seed => seed.verdict !== 'pass')
    expect(
      failed.map(({ seed, violations }) => `${seed}: ${violations[0]?.checker}: ${violations[0]?.message}`),
    ).toEqual([])
    const share = (mark: string) => histogram.shares[mark] ?? 0
    expect(share('crash and restart')).toBeGreaterThanOrEqual(0.3)
    expect(share('view_started')).toBeGreaterThanOrEqual(0.2)
    expect(share('checkpoint_finished')).toBeGreaterThanOrEqual(0.05)
    expect(share('transfer_installed')).toBeGreaterThanOrEqual(0.02)
    expect(histogram.missed).toEqual([])
  },
  50 * MINUTE_MS,
)
