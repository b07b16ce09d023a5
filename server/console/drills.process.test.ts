import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { type DrillRunAnswer, drillRun, drillsAnswer } from '../../shared/inspection/drills.ts'
import { buildEntry } from '../cluster/testing/build-entry.ts'
import { drillDirectory } from '../drills/left-run.ts'
import { findProcess } from '../node/process-identity.ts'

let built: Awaited<ReturnType<typeof buildEntry>>
let directory: string
/** Every process that was seen here; none may be left. */
const pids = new Set<number>()

beforeAll(async () => {
  built = await buildEntry()
})
afterAll(() => built.remove())
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'console-drills-'))
})
afterEach(() => {
  const left = [...pids].filter(pid => findProcess(pid) !== undefined)
  for (const pid of left) process.kill(pid, 'SIGKILL')
  pids.clear()
  rmSync(directory, { recursive: true, force: true })
  expect(left).toEqual([])
})

interface Started {
  readonly child: ChildProcess
  readonly output: () => string
  request(path: string, body?: object): Promise<unknown>
  /** Opens a stream of the API and leaves it open until the signal. */
  follow(path: string, signal: AbortSignal): Promise<void>
}

async function start(): Promise<Started> {
  const args = [...built.entry.args, 'console', '--nodes', '1', '--data', directory, '--port', '0']
  const child = spawn(process.execPath, args)
  pids.add(child.pid!)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  const place = () => /(http:\/\/[^/]+)\/#token=(\S+)/.exec(output)
  await within(() => expect(place()).not.toBeNull())
  const [, url, token] = place()!
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    child,
    output: () => output,
    request: async (path, body) => {
      const key = String(Math.random())
      const post = body && { method: 'POST', body: JSON.stringify(body) }
      const response = await fetch(url + path, { headers: { ...headers, 'idempotency-key': key }, ...post })
      return response.json()
    },
    follow: async (path, signal) => {
      const response = await fetch(url + path, { headers, signal })
      expect(response.status).toBe(200)
    },
  }
}

const within = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 30_000, interval: 50 })

async function end({ child }: Started, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/**
 * Starts D18 on a real node and holds it before its third step.
 * @param closed it is watched all the while, and then whoever watched it goes away
 * @returns the pid of the node
 */
async function heldInTheMiddle(running: Started, closed = false): Promise<number> {
  const order = { drill: 'D18', world: 'real', stepwise: true, watched: closed }
  const { run } = drillRun.parse(await running.request('/api/drills/runs', order))
  const page = new AbortController()
  if (closed) await running.follow(`/api/drills/runs/${run}/watch`, page.signal)
  const waits = (step: number): Promise<DrillRunAnswer> =>
    within(async () => {
      const now = drillRun.parse(await running.request(`/api/drills/runs/${run}`))
      expect(now.steps[step]!.state).toBe('waiting')
      return now
    })
  for (const step of [0, 1]) {
    await waits(step)
    await running.request(`/api/drills/runs/${run}/next`, {})
  }
  await waits(2)
  const file = readFileSync(join(drillDirectory(directory), 'cluster.json'), 'utf8')
  const { pid } = JSON.parse(file).nodes[0].process as { pid: number }
  pids.add(pid)
  expect(findProcess(pid)).toBeDefined()
  if (closed) {
    page.abort()
    await within(async () => {
      const { state, error } = drillRun.parse(await running.request(`/api/drills/runs/${run}`))
      expect([state, error]).toEqual(['cancelled', expect.stringContaining('Nobody watched it')])
    })
  }
  return pid
}

async function noteNodes(running: Started): Promise<void> {
  const { nodes } = (await running.request('/api/clusters/current')) as { nodes: { pid: number | null }[] }
  for (const { pid } of nodes) if (pid !== null) pids.add(pid)
}

it('a console that was killed in the middle of a drill leaves nothing behind the next start, which says so', async () => {
  const first = await start()
  const pid = await heldInTheMiddle(first)
  await noteNodes(first)
  await end(first, 'SIGKILL')
  expect(findProcess(pid)).toBeDefined()

  const second = await start()
  expect(second.output()).toContain(`(pid ${pid}) were ended`)
  expect(findProcess(pid)).toBeUndefined()
  expect(existsSync(drillDirectory(directory))).toBe(false)
  expect(drillsAnswer.parse(await second.request('/api/drills')).cleaned).toContain(String(pid))

  // whose page is closed ends, without anybody having said so
  const closed = await heldInTheMiddle(second, true)
  expect(findProcess(closed)).toBeUndefined()
  expect(existsSync(drillDirectory(directory))).toBe(false)

  // and one that is asked to end takes its drill along
  const again = await heldInTheMiddle(second)
  await noteNodes(second)
  await end(second, 'SIGTERM')
  expect(findProcess(again)).toBeUndefined()
  expect(existsSync(drillDirectory(directory))).toBe(false)
})
