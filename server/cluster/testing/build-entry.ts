/**
 * For tests that start real processes: the command line, bundled anew from the sources as they are now, so that no test
 * passes or fails on a stale build. Half a second, and each process then starts four times as fast as on the sources.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import type { LaunchEntry } from '../launcher.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

export async function buildEntry(): Promise<{ readonly entry: LaunchEntry; remove(): void }> {
  // Inside node_modules, so that the bundle finds the packages it leaves outside.
  const outDir = mkdtempSync(join(root, 'node_modules', '.entry-'))
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
