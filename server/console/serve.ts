/**
 * The console as a running program: supervisor, HTTP, load, and a clean end. It serves before the nodes are up, so that
 * their start can be watched, and it leaves only what it was told to leave.
 */
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createHash } from '../../shared/bytes/hash.ts'
import { VIEWER_PREFIX } from '../../shared/inspection/api.ts'
import type { Supervisor } from '../cluster/contract.ts'
import { isLoopback } from './access.ts'
import { buildConsole, type ConsoleApp } from './app.ts'
import { findPage } from './page.ts'

export const DEFAULT_PORT = 4600
/** Beside the nodes of the cluster. */
const RECORDINGS_FOLDER = 'recordings'
export const ROOT = { username: 'iggy', password: 'iggy' } as const

export interface ServeOptions {
  readonly supervisor: Supervisor
  readonly host: string
  /** Undefined: 4600, or any free one when that is taken. */
  readonly port: number | undefined
  readonly readOnly: boolean
  readonly say: (line: string) => void
  /** What was left of a drill, see there. */
  readonly leftDrill?: string | undefined
  readonly tokens: Tokens
  /** See ConsoleOptions. */
  readonly reset?: (nodes: number) => void
}

/** They outlive a run of the console when the cluster is started anew: pages that are open go on. */
export interface Tokens {
  readonly token: string
  readonly viewerToken: string
}
export const newTokens = (): Tokens => ({
  token: randomBytes(24).toString('base64url'),
  viewerToken: VIEWER_PREFIX + randomBytes(24).toString('base64url'),
})

export interface RunningConsole {
  readonly console: ConsoleApp
  /** With the token, when there is one to use. */
  readonly url: string
  /** The same page for those who only look. */
  readonly viewerUrl: string
  readonly port: number
  readonly token: string
  close(): Promise<void>
}

export async function serveConsole(options: ServeOptions): Promise<RunningConsole> {
  const { token, viewerToken } = options.tokens
  const { host, readOnly, supervisor, say } = options
  const console = await buildConsole({
    supervisor,
    hash: await createHash(),
    access: { host, token, viewerToken, readOnly },
    credentials: ROOT,
    page: findPage(),
    recordings: { directory: join(supervisor.status().directory, RECORDINGS_FOLDER) },
    leftDrill: options.leftDrill,
    reset: options.reset,
    onError: error => say(`error: ${error.stack ?? error.message}`),
  })
  try {
    await listen(console, host, options.port)
  } catch (error) {
    await console.close()
    throw error
  }
  const { port } = console.app.server.address() as AddressInfo
  const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  const origin = `http://${shown}:${port}/`
  const url = readOnly ? origin : `${origin}#token=${token}`
  const viewerUrl = `${origin}#token=${viewerToken}`
  return { console, url, viewerUrl, port, token, close: () => console.close() }
}

async function listen({ app }: ConsoleApp, host: string, port: number | undefined): Promise<void> {
  try {
    await app.listen({ host, port: port ?? DEFAULT_PORT })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || port !== undefined) throw error
    await app.listen({ host, port: 0 })
  }
}

/** Off loopback anybody on the network can reach the port: such a console changes nothing unless it is told that it may. */
export const isReadOnly = (host: string, asked: boolean | undefined): boolean => asked ?? !isLoopback(host)
