/** Four drills on real processes, side by side: mostly they wait for timers of the protocol. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { drillOf } from '../../shared/drills/library.ts'
import { runDrill } from '../../shared/drills/run.ts'
import { buildEntry } from '../cluster/testing/build-entry.ts'
import { processesUnder } from './testing/processes.ts'
import { drillWorlds } from './worlds.ts'

const hash = await createHash()
let built: Awaited<ReturnType<typeof buildEntry>>
let directory: string

beforeAll(async () => {
  built = await buildEntry()
  directory = mkdtempSync(join(tmpdir(), 'real-drills-'))
})
afterAll(() => {
  built.remove()
  rmSync(directory, { recursive: true, force: true })
})

it.concurrent.each(['D03', 'D09', 'D18', 'D22'])('%s passes, and leaves no process and no file', async id => {
  const own = join(directory, id)
  const open = drillWorlds(hash, { entry: built.entry, directory: own })
  const { verdict, findings, asExpected } = await runDrill(drillOf(id)!, { world: 'real' }, open, { hash })
  expect(findings.filter(finding => finding.verdict !== 'pass')).toEqual([])
  expect([verdict, asExpected]).toEqual(['pass', true])
  expect(processesUnder(own)).toEqual([])
  expect(readdirSync(directory)).not.toContain(id)
})
