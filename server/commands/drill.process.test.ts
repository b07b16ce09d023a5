/** Real drills by command: however the command ends, nothing of them is left, at the latest behind the next start. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { buildEntry } from '../cluster/testing/build-entry.ts'
import { processesUnder } from '../drills/testing/processes.ts'
import { findProcess } from '../node/process-identity.ts'

let built: Awaited<ReturnType<typeof buildEntry>>
/** Everything temporary of a command is in here. */
let directory: string
const children: ChildProcess[] = []

beforeAll(async () => {
  built = await buildEntry()
})
afterAll(() => built.remove())
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'drill-command-'))
})
afterEach(async () => {
  // Commands first: behind them nobody starts nodes.
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const left = processesUnder(directory)
  for (const pid of left) process.kill(pid, 'SIGKILL')
  rmSync(directory, { recursive: true, force: true })
  expect(left).toEqual([])
})

interface Command {
  readonly pid: number
  readonly out: () => string
  readonly errors: () => string
  kill(signal: NodeJS.Signals): void
  /** Its status, or the signal that it died of; by then all that it said is there. */
  ended: Promise<number | string>
}

const drillRun = (...args: string[]): Command => command('drill', 'run', ...args, '--real')

function command(...args: string[]): Command {
  // A command ends whatever its process still holds; nodes inherit nothing of this.
  const held = '--import=data:text/javascript,setInterval(()=>{},1e9)'
  const env = { ...process.env, TMPDIR: directory, NODE_OPTIONS: held }
  const child = spawn(process.execPath, [...built.entry.args, ...args], { env })
  children.push(child)
  const text = { out: '', errors: '' }
  child.stdout.on('data', chunk => (text.out += chunk))
  child.stderr.on('data', chunk => (text.errors += chunk))
  return {
    pid: child.pid!,
    out: () => text.out,
    errors: () => text.errors,
    kill: signal => void child.kill(signal),
    ended: once(child, 'close').then(([status, signal]) => (status ?? signal) as number | string),
  }
}

const within = <T>(check: () => T): Promise<T> => vi.waitFor(check, { timeout: 30_000, interval: 5 })
/** Where the command with this pid keeps its run. */
const placeOf = ({ pid }: Command): string => {
  const roof = readdirSync(directory).find(name => name.startsWith('quorumscope-drills-'))
  return join(directory, roof ?? '', `command-${pid}`)
}
/** Resolves once so many nodes of the run have a process. */
const nodesOf = (command: Command, count: number): Promise<number[]> =>
  within(() => {
    const pids = processesUnder(placeOf(command))
    expect(pids).toHaveLength(count)
    return pids
  })
/** Stands still: what it was about to start is there with its command line, and nothing more will be. */
async function halted(command: Command): Promise<number[]> {
  command.kill('SIGSTOP')
  await within(() => expect(findProcess(command.pid)?.condition).toBe('stopped'))
  return processesUnder(placeOf(command))
}

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('at %s it ends its nodes, removes its files, and says nothing of the drill', async (signal, status) => {
  const command = drillRun('D10', 'D18', '--json')
  await nodesOf(command, 3)
  command.kill(signal)
  expect(await command.ended).toBe(status)
  expect(JSON.parse(command.out())).toEqual({ ok: false, stopped: signal, runs: [] })
  expect(readdirSync(directory)).toEqual([])
})

it('what one that was killed has left is ended by the next start, that and nothing else, and it says so', async () => {
  // Its own start is over by then: it must not be the one that cleans up. It stands still, and so its nodes stay for as long
  // as the others take.
  const living = drillRun('D14')
  await nodesOf(living, 3)
  const others = await halted(living)
  expect(others).toHaveLength(3)
  const killed = drillRun('D10')
  // As early as can be: the nodes do not hold the locks of their directories yet.
  await within(() => expect(processesUnder(placeOf(killed))).not.toEqual([]))
  const left = await halted(killed)
  killed.kill('SIGKILL')
  expect(await killed.ended).toBe('SIGKILL')
  expect(left).not.toEqual([])

  const next = drillRun('D18')
  expect(await next.ended).toBe(0)
  expect(next.out()).toContain('D18  The same number twice: pass')
  expect(next.errors()).toContain(`the command with pid ${killed.pid} ended`)
  const named = /\(pid ([\d, ]+)\)/.exec(next.errors())?.[1]?.split(', ').map(Number) ?? []
  expect(named.sort()).toEqual(left.sort())
  expect(processesUnder(placeOf(killed))).toEqual([])
  expect(existsSync(placeOf(killed))).toBe(false)
  expect(processesUnder(placeOf(living)).sort()).toEqual(others.sort())

  living.kill('SIGTERM')
  living.kill('SIGCONT')
  expect(await living.ended).toBe(143)
  expect(readdirSync(directory)).toEqual([])
})

it('a console that starts after it ends what a killed command has left, and says so in the terminal and on its page', async () => {
  const killed = drillRun('D10')
  const left = await nodesOf(killed, 3)
  killed.kill('SIGKILL')
  expect(await killed.ended).toBe('SIGKILL')

  const console = command('console', '--nodes', '1', '--data', join(directory, 'cluster'), '--port', '0')
  const url = await within(() => {
    const [, found] = /^Quorumscope {2}(\S+)$/m.exec(console.out()) ?? []
    expect(found).toBeDefined()
    return new URL(found!)
  })
  const words = `the command with pid ${killed.pid} ended`
  expect(console.out()).toContain(words)
  expect(processesUnder(placeOf(killed))).toEqual([])
  for (const pid of left) expect(console.out()).toContain(String(pid))
  const answer = await fetch(`${url.origin}/api/drills`)
  expect(((await answer.json()) as { cleaned: string }).cleaned).toContain(words)

  console.kill('SIGTERM')
  expect(await console.ended).toBe(0)
  expect(readdirSync(directory)).toEqual(['cluster'])
})
