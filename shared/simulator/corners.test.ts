/** The corners that the swarm does not draw, each by one seed, and that nothing else depends on them (spec drills.md §2.7). */
import { describe, expect, test } from 'vitest'
import { CORNER_NAMES, type CornerName } from './corners.ts'
import { Dice } from './dice.ts'
import { drawFaults } from './faults.ts'
import { drawProfile, PROFILES } from './profile.ts'
import { runSeed } from './swarm.ts'
import { breathe, hash } from './testing/worlds.ts'

/** A seed of each, and a mark that it is about. */
const SEEDS: Readonly<Record<Exclude<CornerName, 'fsync-lie'>, readonly [seed: bigint, mark: string]>> = {
  atlas: [2n, 'world.rot.segment'],
  'torn-indexes': [1n, 'world.crash.power'],
  'full-disks': [3n, 'world.disk_full'],
  'slow-replica': [1n, 'world.crash'],
  clocks: [1n, 'world.clock'],
  clogs: [1n, 'world.clog'],
  sizes: [1n, 'segment_rolled'],
  performance: [2n, 'metadata_applied'],
}

describe.each(Object.entries(SEEDS))('the corner %s', (profile, [seed, mark]) => {
  test(`keeps every promise (seed ${seed})`, async () => {
    const result = await runSeed({ seed, hash, breathe, profile: profile as CornerName, runMs: 60_000 })
    expect(result.violations, `sim --profile ${profile} --seed ${seed}`).toEqual([])
    expect(result.marks[mark]).toBeGreaterThan(0)
    expect(result.compared).toBeGreaterThan(0)
  })
})

test('a profile that is no corner draws nothing from the dice of corners, and none of their faults', () => {
  const corner = new Dice(1n, 'corner')
  const kinds = new Set<string>()
  for (const name of PROFILES) {
    if ((CORNER_NAMES as readonly string[]).includes(name)) continue
    for (let seed = 1n; seed <= 50n; seed++) {
      const profile = drawProfile(new Dice(seed, 'profile'), name, corner)
      for (const fault of drawFaults(profile, new Dice(seed, 'faults'))) kinds.add(fault.fault)
      expect([profile.lies, profile.clocks, profile.slowReplica, profile.atlas]).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ])
    }
  }
  expect(corner.u32()).toBe(new Dice(1n, 'corner').u32())
  expect(kinds).toContain('crash')
  expect(kinds).not.toContain('clog')
  expect(kinds).not.toContain('diskFails')
})

test('a cluster of each size is drawn, and the smallest of each setting', () => {
  const drawn = Array.from({ length: 100 }, (_, seed) =>
    drawProfile(new Dice(BigInt(seed), 'profile'), 'sizes', new Dice(BigInt(seed), 'corner')),
  )
  expect(new Set(drawn.map(({ nodes }) => nodes))).toEqual(new Set([1, 2, 3, 6, 7]))
  expect(Math.min(...drawn.map(({ metadata }) => metadata.clientsTableMax))).toBe(2)
  expect(Math.min(...drawn.map(({ partition }) => partition.offsetReservationLease))).toBe(1)
})
