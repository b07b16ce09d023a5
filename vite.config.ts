import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/**
 * The page is built into dist/app, which the console serves. `vite dev` proxies to a running console; when the console
 * is away, its proxy answers 503 and lives on (a page that reconnects by itself needs a dev server that stays up).
 */
const backend = process.env.QUORUMSCOPE_CONSOLE ?? 'http://127.0.0.1:4600'

export default defineConfig({
  publicDir: 'app/public',
  plugins: [react()],
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
          proxy.on('error', (_error, _request, response) => {
            if ('writeHead' in response && !response.headersSent) {
              response.writeHead(503, { 'content-type': 'application/json' })
              response.end(JSON.stringify({ code: 'CON_UNREACHABLE', message: 'The console is not answering.' }))
            }
          })
        },
      },
    },
  },
})
