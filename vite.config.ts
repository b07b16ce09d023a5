import { gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/**
 * The page is built into dist/app, which the console serves. `vite dev` proxies to a running console; when the console
 * is away, its proxy answers 503 and lives on (a page that reconnects by itself needs a dev server that stays up).
 */
const backend = process.env.QUORUMSCOPE_CONSOLE ?? 'http://127.0.0.1:4600'

/** Compressed script that the first screen may need; charts come later and do not count. */
const INITIAL_SCRIPT_BYTES_MAX = 220 * 1024
const FIRST_SCREEN = 'screens/cluster/cluster-screen.tsx'

/** Fails the build when the first screen grows past its budget. */
function initialScriptBudget(): Plugin {
  return {
    name: 'initial-script-budget',
    apply: 'build',
    generateBundle(_options, bundle) {
      const wanted = Object.values(bundle)
        .filter(item => item.type === 'chunk')
        .filter(chunk => chunk.isEntry || (chunk.facadeModuleId ?? '').endsWith(FIRST_SCREEN))
      if (wanted.length < 2)
        this.error(`the budget looks for ${FIRST_SCREEN}, which is not a chunk of its own any more`)
      const seen = new Set<string>()
      const queue = wanted.map(chunk => chunk.fileName)
      let bytes = 0
      for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
        const chunk = bundle[name]
        if (seen.has(name) || chunk?.type !== 'chunk') continue
        seen.add(name)
        bytes += gzipSync(chunk.code).length
        queue.push(...chunk.imports)
      }
      const words = `first screen: ${(bytes / 1024).toFixed(1)} KiB of script, compressed, in ${seen.size} files`
      if (bytes > INITIAL_SCRIPT_BYTES_MAX) this.error(`${words}; the budget is ${INITIAL_SCRIPT_BYTES_MAX / 1024} KiB`)
      this.info(words)
    },
  }
}

export default defineConfig({
  publicDir: 'app/public',
  plugins: [react(), initialScriptBudget()],
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    // The console serves the page under a policy that forbids inline scripts and data: scripts.
    assetsInlineLimit: 0,
  },
  server: {
    host: '127.0.0.1',
    proxy: {
      '/api': {
        target: backend,
        changeOrigin: true,
        configure: proxy => {
          // The console answers only its own page; here this server stands in for it.
          proxy.on('proxyReq', request => request.setHeader('origin', new URL(backend).origin))
          proxy.on('error', (_error, _request, response) => {
            if ('writeHead' in response && !response.headersSent) {
              response.writeHead(503, { 'content-type': 'application/json' })
              response.end(
                JSON.stringify({
                  code: 'CON_UNREACHABLE',
                  message: 'The console is not answering.',
                  advice: 'Start it; the page reconnects by itself.',
                }),
              )
            }
          })
        },
      },
    },
  },
})
