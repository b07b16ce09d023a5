/** The `sim` command, as a process of its own: the same history wherever and whenever it runs. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const main = fileURLToPath(new URL('./main.ts', import.meta.url))

async function sim(args: readonly string[], env: Record<string, string> = {}) {
  const command = ['--import', 'tsx', main, 'sim', ...args]
  try {
    const { stdout } = await promisify(execFile)(process.execPath, command, { env: { ...process.env, ...env } })
    return { status: 0, stdout }
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string }
    return { status: code, stdout }
  }
}

/** Two: the soak has fifty, of the swarm. */
const SEEDS = ['--seeds', '1..2', '--profile', 'crash', '--json']

test('fresh processes, in any time zone and language, run one and the same history', async () => {
  const runs = await Promise.all([
    sim(SEEDS, { TZ: 'UTC', LC_ALL: 'C' }),
    sim(SEEDS, { TZ: 'Asia/Kathmandu', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' }),
  ])
  const prints = runs.map(({ stdout }) =>
    (JSON.parse(stdout) as { seeds: { seed: string; fingerprint: string }[] }).seeds.map(
      ({ seed, fingerprint }) => `${seed} ${fingerprint}`,
    ),
  )
  expect(prints[0]).toHaveLength(2)
  expect(new Set(prints[0]!.map(print => print.split(' ')[1])).size).toBe(2)
  expect(prints[1]).toEqual(prints[0])
}, 180_000)

test('two processes of the command share a range of seeds, and find what one finds', async () => {
  const alone = JSON.parse((await sim(['--seeds', '1..2', '--profile', 'idle', '--json'])).stdout)
  const shared = JSON.parse((await sim(['--seeds', '1..2', '--profile', 'idle', '--jobs', '2', '--json'])).stdout)
  expect(alone).toMatchObject({ ok: true })
  expect(alone.seeds.map((each: { verdict: string }) => each.verdict)).toEqual(['pass', 'pass'])
  expect(shared).toEqual(alone)
}, 180_000)

describe('a run that finds something', () => {
  test('ends with 1, names the checker, and prints the line that runs it again', async () => {
    const { status, stdout } = await sim(['--seeds', '1..4', '--profile', 'crash', '--rule-off', 'durableBeforeSend'])
    expect(status).toBe(1)
    expect(stdout).toContain('durable-before-send')
    expect(stdout).toMatch(/sim --seed \d+ --profile crash --rule-off durableBeforeSend/)
  }, 180_000)
})

test('a run in which a drive has lied says that its claims are weakened, and what was not asked', async () => {
  const { status, stdout } = await sim(['--seed', '6', '--profile', 'fsync-lie'])
  expect([status, stdout]).toEqual([0, expect.stringMatching(/claims weakened to "detect, never serve wrong bytes"/)])
  expect(stdout).toMatch(/not asked since: .*lost-message/)
}, 60_000)

test('wrong usage ends with 2', async () => {
  for (const args of [
    ['--seeds', '5..1'],
    ['--seed', 'x'],
    ['--profile', 'none'],
    ['--rule-off', 'none'],
  ]) {
    expect((await sim(args)).status).toBe(2)
  }
}, 60_000)
