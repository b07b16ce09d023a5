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
/** Compressed script that whatever is fetched later may need beyond that. */
const LATER_SCRIPT_BYTES_MAX = 150 * 1024
const FIRST_SCREEN = 'screens/cluster/cluster-screen.tsx'

/** Fails the build when the first screen, or one that is fetched later, grows past its budget. */
function scriptBudgets(): Plugin {
  return {
    name: 'script-budgets',
    apply: 'build',
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter(item => item.type === 'chunk')
      /** Files that these need to run, and how many bytes they are as they travel; what is there already costs nothing. */
      const weigh = (names: readonly string[], there: ReadonlySet<string>): { seen: Set<string>; bytes: number } => {
        const seen = new Set<string>()
        const queue = [...names]
        let bytes = 0
        for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
          const chunk = bundle[name]
          if (seen.has(name) || there.has(name) || chunk?.type !== 'chunk') continue
          seen.add(name)
          bytes += gzipSync(chunk.code).length
          queue.push(...chunk.imports)
        }
        return { seen, bytes }
      }
      const wanted = chunks.filter(chunk => chunk.isEntry || (chunk.facadeModuleId ?? '').endsWith(FIRST_SCREEN))
      if (wanted.length < 2)
        this.error(`the budget looks for ${FIRST_SCREEN}, which is not a chunk of its own any more`)
      const hold = (what: string, bytes: number, most: number): void => {
        const words = `${what}: ${(bytes / 1024).toFixed(1)} KiB of script, compressed`
        if (bytes > most) this.error(`${words}; the budget is ${most / 1024} KiB`)
        this.info(words)
      }
      const first = weigh(
        wanted.map(chunk => chunk.fileName),
        new Set(),
      )
      hold('first screen', first.bytes, INITIAL_SCRIPT_BYTES_MAX)
      for (const chunk of chunks)
        if (chunk.isDynamicEntry && !first.seen.has(chunk.fileName))
          hold(chunk.name, weigh([chunk.fileName], first.seen).bytes, LATER_SCRIPT_BYTES_MAX)
    },
  }
}

export default defineConfig({
  publicDir: 'app/public',
  plugins: [react(), scriptBudgets()],
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
