/** One seed, one history: fifty seeds of the swarm, in fresh processes that agree neither on time zone nor on language. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const main = fileURLToPath(new URL('./main.ts', import.meta.url))
const SEEDS = 50
const MINUTE_MS = 60_000

/** `seed fingerprint` of each seed, in order. A seed may fail: then it must fail in the same way. */
async function fingerprints(env: Record<string, string>): Promise<string[]> {
  const args = ['--import', 'tsx', main, 'sim', '--seeds', `1..${SEEDS}`, '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, ...env },
    maxBuffer: 1 << 28,
  }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }))
  const { seeds } = JSON.parse(stdout) as { seeds: { seed: string; fingerprint: string; events: number }[] }
  return seeds.map(({ seed, fingerprint, events }) => `${seed} ${fingerprint} after ${events} events`)
}

test(
  'fifty seeds have the same fingerprints in UTC and C as in Kathmandu and Turkish',
  async () => {
    const [one, other] = await Promise.all([
      fingerprints({ TZ: 'UTC', LC_ALL: 'C' }),
      fingerprints({ TZ: 'Asia/Kathmandu', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' }),
    ])
    expect(one).toHaveLength(SEEDS)
    expect(new Set(one!.map(line => line.split(' ')[1])).size).toBe(SEEDS)
    expect(other).toEqual(one)
  },
  30 * MINUTE_MS,
)
