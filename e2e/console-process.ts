import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

export interface ConsoleSetup {
  /** Of a console that ran before; a fresh one when absent, which goes with the console. */
  readonly directory?: string
  /** Of every node, by the name of its environment: `IGGY_CLUSTER_HEARTBEAT_TIMEOUT`. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Starts the built console on a free port and resolves when it says where it serves. */
export async function startConsole(
  args: readonly string[] = [],
  { directory, settings }: ConsoleSetup = {},
): Promise<ConsoleProcess> {
  const data = directory ?? mkdtempSync(join(tmpdir(), 'quorumscope-e2e-'))
  // Nodes are started in the directory of their cluster, and look there for what their environment lacks.
  if (settings) {
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    writeFileSync(join(data, '.env'), lines.join(''))
  }
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
