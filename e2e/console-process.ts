import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const entry = fileURLToPath(new URL('../dist/server/quorumscope.js', import.meta.url))

export interface ConsoleProcess {
  /** Address of the page, with the operator's token in its fragment. */
  readonly url: string
  readonly origin: string
  readonly token: string
  readonly directory: string
  readonly child: ChildProcess
  /** GET of the API, parsed. */
  get(path: string): Promise<unknown>
  post(path: string, body?: unknown): Promise<{ status: number; json: unknown }>
  /** Clean stop: ends the console and its nodes, removes the data. */
  stop(): Promise<void>
}

/** Starts the built console on a free port with a fresh data directory and resolves when it says where it serves. */
export async function startConsole(args: readonly string[] = [], directory?: string): Promise<ConsoleProcess> {
  const data = directory ?? mkdtempSync(join(tmpdir(), 'quorumscope-e2e-'))
  const child = spawn(process.execPath, [entry, 'console', '--port', '0', '--data', data, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      const match = /(http:\/\/\S+#token=\S+)/.exec(output)
      if (match) resolve(match[1]!)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', code => reject(new Error(`the console ended with ${code} before it served:\n${output}`)))
  })
  const [origin, fragment] = url.split('/#') as [string, string]
  const token = fragment.replace('token=', '')
  const headers = { authorization: `Bearer ${token}` }
  return {
    url,
    origin,
    token,
    directory: data,
    child,
    get: async path => (await fetch(origin + path, { headers })).json(),
    post: async (path, body = {}) => {
      const response = await fetch(origin + path, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
        body: JSON.stringify(body),
      })
      return { status: response.status, json: await response.json() }
    },
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise(resolve => child.once('exit', resolve))
        child.kill('SIGTERM')
        await ended
      }
      if (directory === undefined) rmSync(data, { recursive: true, force: true })
    },
  }
}
