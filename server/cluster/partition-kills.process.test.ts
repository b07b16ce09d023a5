/** Kills of partitions on real processes and volatile disks: a few of each kind; the soak has all of them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { PARTITION_KILLS } from '../../shared/scenario/testing/partition-kills.scenario.ts'
import { buildEntry } from './testing/build-entry.ts'
import { expectPass } from './testing/real-scenario.ts'

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())

/** By the beginning of `id title`. */
const CHOSEN = ['PL-01', 'PL-03', 'OR-02', 'OR-14', 'RP-08 a purge killed at purge.gen', 'ST-05']
const chosen = PARTITION_KILLS.filter(({ id, title }) => CHOSEN.some(start => `${id} ${title}`.startsWith(start)))

test.each(chosen.map(scenario => [scenario.id, scenario.title, scenario] as const))(
  '%s %s',
  async (_id, _title, scenario) => {
    expect(chosen).toHaveLength(CHOSEN.length)
    await expectPass(scenario, hash, built.entry)
  },
)
