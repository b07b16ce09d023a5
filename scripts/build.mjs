// Builds the page into dist/app and the command line, node process included, into dist/server.
import { join } from 'node:path'
import { build } from 'vite'
import { root } from './lib/prepare.mjs'

const started = Date.now()
await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'warn' })
await build({
  root,
  configFile: false,
  logLevel: 'warn',
  build: {
    ssr: 'server/commands/main.ts',
    outDir: 'dist/server',
    emptyOutDir: true,
    target: 'node20',
    sourcemap: true,
    rollupOptions: { output: { entryFileNames: 'quorumscope.js', chunkFileNames: '[name]-[hash].js' } },
  },
})
process.stderr.write(`built in ${((Date.now() - started) / 1000).toFixed(1)} s\n`)
