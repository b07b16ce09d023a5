/**
 * For tests that start real processes: the command line, bundled anew from the sources as they are now, so that no test
 * passes or fails on a stale build. Half a second, and each process then starts four times as fast as on the sources.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import type { LaunchEntry } from '../launcher.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

const PREFIX = '.entry-'
/** A run that was killed could not tidy up; no test run lasts this long. */
const ABANDONED_MS = 3_600_000

function removeAbandoned(modules: string): void {
  for (const name of readdirSync(modules).filter(entry => entry.startsWith(PREFIX))) {
    const path = join(modules, name)
    // Another test file may just have removed its own.
    const found = statSync(path, { throwIfNoEntry: false })
    if (found && Date.now() - found.mtimeMs > ABANDONED_MS) rmSync(path, { recursive: true, force: true })
  }
}

export async function buildEntry(): Promise<{ readonly entry: LaunchEntry; remove(): void }> {
  // Inside node_modules, so that the bundle finds the packages it leaves outside.
  const modules = join(root, 'node_modules')
  removeAbandoned(modules)
  const outDir = mkdtempSync(join(modules, PREFIX))
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: {
      ssr: 'server/commands/main.ts',
      outDir,
      target: 'node20',
      minify: false,
      rollupOptions: { output: { entryFileNames: 'quorumscope.js', chunkFileNames: '[name]-[hash].js' } },
    },
  })
  return {
    entry: { args: [join(outDir, 'quorumscope.js')] },
    remove: () => rmSync(outDir, { recursive: true, force: true }),
  }
}
