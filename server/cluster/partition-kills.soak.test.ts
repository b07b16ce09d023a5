/** Every scenario of a partition with a kill, on real processes and volatile disks. */
import { afterAll, beforeAll, test } from 'vitest'
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

test.each(PARTITION_KILLS.map(scenario => [scenario.id, scenario.title, scenario] as const))(
  '%s %s',
  async (_id, _title, scenario) => {
    await expectPass(scenario, hash, built.entry)
  },
  300_000,
)
