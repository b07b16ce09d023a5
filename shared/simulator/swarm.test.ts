/** A short swarm: every kind of fault, every checker, and each seed that ever found something (spec drills.md §2). */
import { expect, test } from 'vitest'
import { histogram } from './histogram.ts'
import type { ProfileName } from './profile.ts'
import { runSeed, type SeedOptions } from './swarm.ts'
import recorded from './testdata/seeds.json' with { type: 'json' }
import { breathe, hash } from './testing/worlds.ts'

const SEEDS = Array.from({ length: 4 }, (_, index) => BigInt(9_001 + index))
const LIMIT_MS = 120_000

const run = (seed: bigint, options: Partial<SeedOptions> = {}) => runSeed({ seed, hash, breathe, ...options })

test.each(SEEDS)(
  'a world that fails keeps what it acknowledged, agrees, and comes to rest (seed %s)',
  async seed => {
    const result = await run(seed)
    expect(result.violations, `sim --seed ${seed}`).toEqual([])
    expect(result.virtualMs).toBeGreaterThanOrEqual(120_000)
    expect(result.committed).toBeGreaterThanOrEqual(300)
    // A checker that compared nothing proved nothing.
    expect(result.compared).toBeGreaterThan(300)
  },
  LIMIT_MS,
)

test.each(recorded)(
  'seed $seed, which found: $was',
  async ({ seed, profile }) => {
    expect((await run(BigInt(seed), { profile: profile as ProfileName })).violations).toEqual([])
  },
  LIMIT_MS,
)

test.each([1n, 2n])('a world without faults elects nobody (seed %s)', async seed => {
  const result = await run(seed, { profile: 'calm' })
  expect(result.violations).toEqual([])
  expect(result.marks).not.toHaveProperty('view_change_started')
  expect(result.marks).not.toHaveProperty('world.crash')
})

test('one seed is one history, another seed is another', async () => {
  const crash = { profile: 'crash', runMs: 40_000 } as const
  const [first, second, other] = [await run(5n, crash), await run(5n, crash), await run(6n, crash)]
  expect(second.fingerprint).toBe(first.fingerprint)
  expect(second.events).toBe(first.events)
  expect(other.fingerprint).not.toBe(first.fingerprint)
}, 180_000)

test('a part of the faults of a seed is a script of its own', async () => {
  const whole = await run(4n, { profile: 'crash', runMs: 40_000 })
  const none = await run(4n, { profile: 'crash', runMs: 40_000, faults: [] })
  expect(whole.faults.length).toBeGreaterThan(0)
  expect(none.faults).toEqual([])
  expect(none.marks).not.toHaveProperty('world.crash')
  expect(none.fingerprint).not.toBe(whole.fingerprint)
}, 180_000)

test('the histogram counts seeds, and names required marks that were not met', () => {
  const shares = histogram([{ marks: { 'world.crash': 3, 'world.restart': 1 } }, { marks: { view_started: 2 } }])
  expect(shares.seeds).toBe(2)
  expect(shares.shares).toMatchObject({ 'world.crash': 0.5, view_started: 0.5, 'crash and restart': 0.5 })
  expect(shares.missed).toContain('world.rot')
  expect(shares.missed).not.toContain('world.crash')
})
