/** `drill run all --real`, as a person would type it, three times in a row: each pass is green and leaves nothing behind. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { DRILLS } from '../../shared/drills/library.ts'
import type { DrillRun } from '../../shared/drills/run.ts'
import { buildEntry } from '../cluster/testing/build-entry.ts'
import { processesUnder } from '../drills/testing/processes.ts'

/** A whole pass must fit in here, on two cores. */
const PASS_MS = 12 * 60_000

let built: Awaited<ReturnType<typeof buildEntry>>
let directory: string

beforeAll(async () => {
  built = await buildEntry()
  directory = mkdtempSync(join(tmpdir(), 'drills-soak-'))
})
afterAll(() => {
  built.remove()
  rmSync(directory, { recursive: true, force: true })
})

it.each([1, 2, 3])('pass %i: every drill that runs on real processes, and nothing is left', async () => {
  const args = [...built.entry.args, 'drill', 'run', 'all', '--real', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, TMPDIR: directory },
    timeout: PASS_MS,
    maxBuffer: 256 * 1024 * 1024,
  }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }))
  const { ok, runs } = JSON.parse(stdout) as { ok: boolean; runs: DrillRun[] }
  const red = runs.flatMap(({ id, findings }) =>
    findings.filter(each => each.verdict !== 'pass').map(each => [id, each]),
  )
  expect(red).toEqual([])
  expect(runs.map(({ id }) => id)).toEqual(DRILLS.filter(({ worlds }) => worlds.includes('real')).map(({ id }) => id))
  expect(ok).toBe(true)
  expect(processesUnder(directory)).toEqual([])
  expect(readdirSync(directory)).toEqual([])
})
