/** The `drill` command, as a process of its own. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { DRILLS } from '../../shared/drills/library.ts'

const main = fileURLToPath(new URL('./main.ts', import.meta.url))

async function drill(...args: string[]) {
  const command = ['--import', 'tsx', main, 'drill', ...args]
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command)
    return { status: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { status: code, stdout, stderr }
  }
}

test('the list names every drill with what it teaches, in order', async () => {
  const { status, stdout } = await drill('list')
  expect(status).toBe(0)
  const lines = stdout.trimEnd().split('\n')
  expect(lines).toHaveLength(DRILLS.length)
  for (const [index, { id, title, teaches }] of DRILLS.entries()) {
    expect(lines[index]).toMatch(new RegExp(`^${id} `))
    expect(lines[index]).toContain(title)
    expect(lines[index]).toContain(teaches)
  }
}, 60_000)

test('a drill that nobody knows, and a seed for real processes, are wrong usage: exit 2, and nothing is run', async () => {
  const [unknown, seeded] = await Promise.all([
    drill('run', 'D18', 'D99', '--json'),
    drill('run', 'D18', '--real', '--seed', '3'),
  ])
  expect(unknown).toMatchObject({ status: 2, stdout: '' })
  expect(unknown.stderr).toContain('D99')
  expect(unknown.stderr).not.toContain('D18')
  expect(seeded).toMatchObject({ status: 2, stdout: '' })
}, 60_000)

test('a run that passes ends with 0, and its JSON holds the verdict with the evidence it rests on', async () => {
  const { status, stdout } = await drill('run', 'd18', '--seed', '5', '--json')
  expect(status).toBe(0)
  const answer = JSON.parse(stdout)
  expect(answer).toMatchObject({
    ok: true,
    runs: [{ id: 'D18', world: 'sim', seed: '5', broken: false, verdict: 'pass', asExpected: true }],
  })
  const [{ evidence, findings }] = answer.runs
  expect(findings.map(({ key }: { key: string }) => key)).toEqual(evidence.map(({ key }: { key: string }) => key))
  expect(evidence.at(-1)).toMatchObject({ key: 'checkers', found: { is: 'checkers', violations: [] } })
}, 60_000)

test('with its rule broken a drill fails, names who noticed, and that is what was expected', async () => {
  const { status, stdout } = await drill('run', 'D18', '--broken')
  expect(status).toBe(0)
  expect(stdout).toContain('offsetsAreReserved off: fail')
  expect(stdout).toContain('noticed by offset-reuse')
}, 60_000)

test('a script from a file is run in the simulator; a file that is none is wrong usage', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'drill-script-'))
  try {
    const [script, none] = [join(directory, 'kill.json'), join(directory, 'none.json')]
    writeFileSync(script, JSON.stringify(DRILLS.find(({ id }) => id === 'D18')!.scenario))
    writeFileSync(none, '{"id": "X"}')
    const [ran, refused] = await Promise.all([drill('run', script, '--seed', '3', '--json'), drill('run', none)])
    expect(JSON.parse(ran.stdout)).toMatchObject({ ok: true, runs: [{ id: 'D18', seed: '3', verdict: 'pass' }] })
    expect(refused).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('not a script') })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}, 60_000)
