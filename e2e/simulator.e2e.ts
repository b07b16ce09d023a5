import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@playwright/test'
import { build, type Rolldown } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))
const command = join(root, 'dist/server/quorumscope.js')
const SEEDS = { first: 1, last: 3 }
/** The shortest runs of those in which something fails. */
const PROFILE = 'crash'

/** Runs in the page: the seeds, and what their histories come to. */
const ENTRY = `
import { createHash } from '${root}/shared/bytes/hash.ts'
import { runSeed } from '${root}/shared/simulator/swarm.ts'
const { port1, port2 } = new MessageChannel()
const waiting = []
port1.onmessage = () => waiting.shift()()
const breathe = () => new Promise(resolve => {
  waiting.push(resolve)
  port2.postMessage(0)
})
globalThis.simulate = async (seed, profile) => {
  const { fingerprint, verdict, events } = await runSeed({ seed: BigInt(seed), profile, hash: await createHash(), breathe })
  return { seed, fingerprint, verdict, events }
}
`

async function bundle(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'quorumscope-simulator-'))
  try {
    const entry = join(folder, 'entry.js')
    writeFileSync(entry, ENTRY)
    const built = (await build({
      root,
      configFile: false,
      logLevel: 'warn',
      build: { write: false, minify: false, target: 'es2022', lib: { entry, formats: ['iife'], name: 'simulator' } },
    })) as Rolldown.RolldownOutput[]
    return built[0]!.output[0].code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('a seed has one history, in the browser as in Node', async ({ page }) => {
  const { first, last } = SEEDS
  const args = [command, 'sim', '--seeds', `${first}..${last}`, '--profile', PROFILE, '--json']
  const node = promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 }).catch(
    (error: { stdout: string }) => error,
  )
  await page.goto('about:blank')
  await page.addScriptTag({ content: await bundle() })
  const found = []
  for (let seed = first; seed <= last; seed++) {
    found.push(
      await page.evaluate(
        ([number, profile]) =>
          (globalThis as unknown as { simulate(seed: number, profile: string): Promise<unknown> }).simulate(
            number,
            profile,
          ),
        [seed, PROFILE] as const,
      ),
    )
  }
  const { seeds } = JSON.parse((await node).stdout) as {
    seeds: { seed: string; fingerprint: string; verdict: string; events: number }[]
  }
  expect(seeds).toHaveLength(last - first + 1)
  expect(found).toEqual(
    seeds.map(({ seed, fingerprint, verdict, events }) => ({ seed: Number(seed), fingerprint, verdict, events })),
  )
})
