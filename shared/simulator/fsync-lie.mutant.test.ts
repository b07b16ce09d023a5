/**
 * The checkers that are kept on drives that lie do bite: here nothing verifies a checksum, neither a boot nor a poll, and
 * what a loss of power has torn is served (spec drills.md §2.3, 8). The same seeds are whole in fsync-lie.test.ts.
 */
import { expect, test, vi } from 'vitest'
import { runSeed } from './swarm.ts'
import { breathe, hash } from './testing/worlds.ts'

vi.mock('../storage/batch-verifier.ts', async original => {
  const { BatchVerifier } = await original<typeof import('../storage/batch-verifier.ts')>()
  const { checkBatch } = await import('../protocol/batch.ts')
  return {
    BatchVerifier: class extends BatchVerifier {
      /** Of the layout only. */
      override verify(bytes: Uint8Array) {
        return checkBatch(bytes)
      }
    },
  }
})

const run = async (seed: bigint, ignore: readonly string[]) => {
  const { violations, weakened } = await runSeed({ seed, hash, breathe, profile: 'fsync-lie', ignore })
  expect(weakened).toBeDefined()
  return violations[0]?.checker
}

test('a second reading of the disk objects to what a boot accepts unverified', async () => {
  expect(await run(7n, [])).toBe('cold-open')
})

test('and without it, the clients do: they are served what nobody has sent', async () => {
  expect(await run(7n, ['cold-open', 'index-soundness'])).toBe('invented')
})
