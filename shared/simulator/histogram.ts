/** In how many seeds of a swarm each mark was met, which of the required ones never, and whether that is enough. */
import { REQUIRED_MARKS } from './marks.ts'
import type { SeedResult } from './swarm.ts'

export interface Histogram {
  readonly seeds: number
  /** Of 1, by mark. */
  readonly shares: Readonly<Record<string, number>>
  readonly missed: readonly string[]
}

export function histogram(results: readonly Pick<SeedResult, 'marks'>[]): Histogram {
  const seeds = new Map<string, number>()
  for (const { marks } of results) for (const mark of Object.keys(marks)) seeds.set(mark, (seeds.get(mark) ?? 0) + 1)
  const both = results.filter(({ marks }) => marks['world.crash'] !== undefined && marks['world.restart'] !== undefined)
  if (both.length > 0) seeds.set('crash and restart', both.length)
  return {
    seeds: results.length,
    shares: Object.fromEntries(
      [...seeds].sort(([a], [b]) => (a < b ? -1 : 1)).map(([mark, count]) => [mark, count / results.length]),
    ),
    missed: REQUIRED_MARKS.filter(mark => !seeds.has(mark)),
  }
}

/** Fewer seeds than these prove nothing about rare places. */
export const SEEDS_JUDGED_MIN = 500

/** Shares of a swarm's seeds below which its drawing is at fault: what hardly ever happens is not tested. */
const SHARES_MIN: Readonly<Record<string, number>> = {
  'crash and restart': 0.3,
  view_started: 0.2,
  checkpoint_finished: 0.05,
  transfer_installed: 0.02,
}

/** What a swarm came by too seldom, in words; nothing when there is nothing to object to, or too few seeds to say so. */
export function shortfalls({ seeds, shares, missed }: Histogram): string[] {
  if (seeds < SEEDS_JUDGED_MIN) return []
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`
  return [
    ...Object.entries(SHARES_MIN)
      .filter(([mark, wanted]) => (shares[mark] ?? 0) < wanted)
      .map(([mark, wanted]) => `${mark} in ${percent(shares[mark] ?? 0)} of the seeds, at least ${percent(wanted)}`),
    ...missed.map(mark => `${mark} in no seed`),
  ]
}

export function histogramText({ seeds, shares, missed }: Histogram): string {
  const lines = Object.entries(shares).map(([mark, share]) => {
    const bar = '█'.repeat(Math.round(share * 30)).padEnd(30)
    return `${mark.padEnd(32)} ${bar} ${(share * 100).toFixed(1).padStart(5)} %`
  })
  if (missed.length > 0) lines.push(`not met in ${seeds} seeds: ${missed.join(', ')}`)
  return `${lines.join('\n')}\n`
}
