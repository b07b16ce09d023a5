/** The built page: files of dist/app, and its index for every address that the page itself understands. */
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { ConsoleError } from './errors.ts'

/** Beside the built server in dist/, or below the sources. */
export function findPage(): string | undefined {
  const here = dirname(fileURLToPath(import.meta.url))
  return [join(here, '../app'), join(here, '../../dist/app')].find(directory =>
    existsSync(join(directory, 'index.html')),
  )
}

function staysInside(directory: string, path: string): boolean {
  try {
    const root = realpathSync(directory)
    return realpathSync(join(root, path)).startsWith(root + sep)
  } catch {
    return false
  }
}

/** Built assets carry a hash of their content in their names. */
const ASSET_AGE_MS = 365 * 24 * 3600 * 1000

export async function servePage(app: FastifyInstance, directory: string | undefined): Promise<void> {
  if (directory !== undefined) {
    await app.register(fastifyStatic, {
      root: directory,
      index: false,
      // A link that leads out of the root is as if it were not there.
      allowedPath: path => staysInside(directory, path),
      dotfiles: 'ignore',
      cacheControl: false,
      setHeaders: (reply, path) => {
        reply.setHeader(
          'cache-control',
          path.includes('/assets/') ? `public, max-age=${ASSET_AGE_MS / 1000}, immutable` : 'no-cache',
        )
      },
    })
  }
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0]!
    const opensPage = request.method === 'GET' || request.method === 'HEAD'
    if (!opensPage || path.startsWith('/api/') || path === '/api' || /\.[a-z0-9]+$/i.test(path)) {
      throw new ConsoleError('CON_NOT_FOUND', `There is nothing at ${path}.`)
    }
    if (directory === undefined) throw new ConsoleError('CON_NOT_BUILT', 'The page is not built.')
    return reply.type('text/html; charset=utf-8').header('cache-control', 'no-cache').sendFile('index.html', directory)
  })
}
