/**
 * Who may talk to the console (design.md §4). It runs beside the user's browser, so the danger is other pages in it:
 *
 * - DNS rebinding: a foreign name that resolves to this machine. Every request must name, in `Host`, an address that this
 *   console is known by: loopback names, the address it was bound to, and, when bound to every address, any literal
 *   address (a literal cannot be rebound).
 * - Cross-site requests: a foreign page that makes the browser send one. An `Origin` header must be this very console, and
 *   the browser's own `Sec-Fetch-Site` must not say otherwise; only opening the page itself by a link is let through.
 * - Anything else that can reach the port: what changes state needs the token that was printed at start.
 *
 * Beside the operator's token stands a viewer's, to be handed to a class: whoever carries it is told that it only looks,
 * and nothing that changes state takes it. Reading needs neither.
 *
 * A console that may not change anything (`readOnly`) refuses such requests before it looks at the token.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ConsoleError } from './errors.ts'

export interface AccessRules {
  /** What the console was told to bind to. */
  readonly host: string
  readonly token: string
  /** Looks and changes nothing; begins with VIEWER_PREFIX, by which a page knows it. */
  readonly viewerToken?: string
  readonly readOnly: boolean
}

const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '::1'])

export const isLoopback = (host: string): boolean => LOOPBACK_NAMES.has(host) || /^127(\.\d{1,3}){3}$/.test(host)
const isEveryAddress = (host: string): boolean => host === '0.0.0.0' || host === '::'

/** Host name of a `Host` header or an origin, lower case, without port and brackets; undefined when it is malformed. */
export function hostName(authority: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]+))(?::\d{1,5})?$/i.exec(authority)
  const name = match?.[1] ?? match?.[2]
  return name?.toLowerCase()
}

export function mayNameHost(authority: string | undefined, boundTo: string): boolean {
  const name = authority === undefined ? undefined : hostName(authority)
  if (name === undefined) return false
  if (isLoopback(name) || name === boundTo.toLowerCase()) return true
  return isEveryAddress(boundTo) && isIP(name) !== 0
}

/** A page is this console's own when scheme, name and port of its origin are those that the request was sent to. */
export const isOwnOrigin = (origin: string, authority: string | undefined): boolean =>
  authority !== undefined && origin.toLowerCase() === `http://${authority.toLowerCase()}`

const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD'

/** Comparing digests takes the same time wherever the first difference is, and whatever the lengths are. */
const sameSecret = (given: string, expected: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}

/** @throws ConsoleError CON_BAD_HOST, CON_BAD_ORIGIN, CON_READ_ONLY, CON_TOKEN_MISSING, CON_TOKEN_WRONG, CON_VIEWER_ONLY */
export function checkAccess(request: Pick<FastifyRequest, 'method' | 'url' | 'headers'>, rules: AccessRules): void {
  const { host, origin, authorization } = request.headers
  const site = request.headers['sec-fetch-site']
  if (!mayNameHost(host, rules.host)) {
    throw new ConsoleError('CON_BAD_HOST', `This console is not known as ${JSON.stringify(host ?? '')}.`)
  }
  if (origin !== undefined && !isOwnOrigin(origin, host)) {
    throw new ConsoleError('CON_BAD_ORIGIN', `A page of ${JSON.stringify(origin)} may not talk to this console.`)
  }
  const opensPage =
    isSafe(request.method) && request.headers['sec-fetch-mode'] === 'navigate' && !request.url.startsWith('/api/')
  if ((site === 'cross-site' || site === 'same-site') && !opensPage) {
    throw new ConsoleError('CON_BAD_ORIGIN', 'A page of another site may not talk to this console.')
  }
  if (isSafe(request.method)) return
  if (rules.readOnly) throw new ConsoleError('CON_READ_ONLY', 'This console is read-only.')
  const [scheme, given] = authorization?.split(' ') ?? []
  if (scheme?.toLowerCase() !== 'bearer' || !given) {
    throw new ConsoleError('CON_TOKEN_MISSING', 'This request changes something and carries no token.')
  }
  if (rules.viewerToken !== undefined && sameSecret(given, rules.viewerToken))
    throw new ConsoleError('CON_VIEWER_ONLY', 'This is the token of a viewer: it changes nothing.')
  if (!sameSecret(given, rules.token))
    throw new ConsoleError('CON_TOKEN_WRONG', 'The token is not the one of this run.')
}

/** Headers for every answer: nothing of the page may come from elsewhere, be framed, or be guessed into another type. */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const

export function installAccess(app: FastifyInstance, rules: AccessRules): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS)
    checkAccess(request, rules)
  })
}
