/**
 * Benchmarks as jobs of the console: one at a time, each a process of the real command, so that the console's own work is
 * outside of what is measured and a refusal on a busy machine is the command's own. What ended is kept on disk, a line a run.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type BenchAnswer,
  type BenchRun,
  type BenchSize,
  type BenchSuite,
  benchReport,
  benchRun,
} from '../../shared/inspection/bench.ts'
import { defaultEntry, type LaunchEntry } from '../cluster/launcher.ts'
import { ConsoleError } from './errors.ts'
import { wallUs } from './wall.ts'

/** Runs that are told of, and lines of each. */
const RUNS_MAX = 100
const LINES_MAX = 200
/** A report is some tens of kilobytes; what is longer is none. */
const OUTPUT_MAX = 8 * 2 ** 20
/** A suite tidies up when it is asked to end; it has a node to stop. */
const KILL_AFTER_MS = 10_000

const QUICK: Readonly<Record<BenchSuite, readonly string[]>> = {
  persist: ['--pairs', '2', '--seconds', '2', '--warm-up', '1'],
  produce: ['--pairs', '2', '--seconds', '2', '--warm-up', '1'],
  recover: ['--mebibytes', '64', '--rounds', '2'],
  page: ['--starts', '1', '--seconds', '5', '--kills', '3'],
  partitions: ['--partitions', '200', '--seconds', '5'],
}
/** The page is measured in a browser, which has no force to use. */
const HAS_FORCE: ReadonlySet<BenchSuite> = new Set(['persist', 'produce', 'recover', 'partitions'])
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export interface BenchOrder {
  readonly suite: BenchSuite
  readonly size: BenchSize
  readonly force: boolean
}

export const benchArguments = ({ suite, size, force }: BenchOrder): string[] => [
  'bench',
  suite,
  ...(size === 'quick' ? QUICK[suite] : []),
  ...(force && HAS_FORCE.has(suite) ? ['--force'] : []),
  '--json',
]

interface Active {
  run: BenchRun
  readonly startedMs: number
  readonly child: ChildProcess
  readonly ended: Promise<void>
}

export class BenchRuns {
  readonly #file: string
  readonly #entry: LaunchEntry
  readonly #past: BenchRun[]
  #active: Active | undefined
  #closed = false

  /** @param directory where the history is kept */
  constructor(directory: string, entry: LaunchEntry = defaultEntry()) {
    this.#file = join(directory, 'bench-runs.jsonl')
    this.#entry = entry
    this.#past = readHistory(this.#file)
  }

  list(): BenchAnswer {
    const active = this.#active
    const runs = [...this.#past].reverse()
    return { runs: (active ? [this.#now(active), ...runs] : runs).slice(0, RUNS_MAX) }
  }

  /** @throws ConsoleError CON_BENCH_RUNNING, CON_STOPPING */
  start(order: BenchOrder): BenchRun {
    if (this.#closed) throw new ConsoleError('CON_STOPPING', 'The console is stopping.')
    if (this.#active) throw new ConsoleError('CON_BENCH_RUNNING', `A benchmark, ${this.#active.run.suite}, is running.`)
    const args = benchArguments(order)
    const run: BenchRun = {
      id: randomBytes(6).toString('hex'),
      ...order,
      command: `npm run -s quorumscope -- ${args.join(' ')}`,
      state: 'running',
      startedWallUs: wallUs(),
      tookMs: 0,
      expectedMs:
        this.#past.findLast(past => past.suite === order.suite && past.size === order.size && past.state === 'done')
          ?.tookMs ?? null,
      lines: [],
      report: null,
      error: null,
    }
    const browser = BROWSERS.find(path => existsSync(path))
    const child = spawn(process.execPath, [...this.#entry.args, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...(browser !== undefined && { PLAYWRIGHT_CHROMIUM_PATH: browser }), ...process.env },
    })
    let output = ''
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
      if (output.length < OUTPUT_MAX) output += chunk
    })
    let partial = ''
    child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (partial + chunk).split('\n')
      partial = lines.pop()!.slice(-1000)
      run.lines.push(...lines.map(line => line.slice(0, 500)))
      if (run.lines.length > LINES_MAX) run.lines.splice(0, run.lines.length - LINES_MAX)
    })
    const ended = new Promise<void>(resolve => {
      child.once('error', error => run.lines.push(error.message))
      child.once('close', status => {
        this.#end(output, status)
        resolve()
      })
    })
    this.#active = { run, startedMs: performance.now(), child, ended }
    return this.#now(this.#active)
  }

  /** Ends it; what it wrote goes with it. @throws ConsoleError CON_BENCH_NOT_RUNNING */
  cancel(id: string): BenchRun {
    const active = this.#active
    if (active?.run.id !== id) throw new ConsoleError('CON_BENCH_NOT_RUNNING', `Benchmark ${id} does not run.`)
    active.run.state = 'cancelling'
    active.child.kill('SIGTERM')
    const timer = setTimeout(() => active.child.kill('SIGKILL'), KILL_AFTER_MS)
    void active.ended.then(() => clearTimeout(timer))
    return this.#now(active)
  }

  /** Ends what runs, and resolves when its process is gone. */
  async close(): Promise<void> {
    this.#closed = true
    const active = this.#active
    if (!active) return
    this.cancel(active.run.id)
    await active.ended
  }

  #now({ run, startedMs }: Active): BenchRun {
    return { ...run, lines: [...run.lines], tookMs: Math.round(performance.now() - startedMs) }
  }

  #end(output: string, status: number | null): void {
    const run = this.#now(this.#active!)
    this.#active = undefined
    const ended: BenchRun = { ...run, ...outcomeOf(run, output, status) }
    this.#past.push(ended)
    if (this.#past.length > RUNS_MAX) this.#past.shift()
    try {
      mkdirSync(join(this.#file, '..'), { recursive: true })
      appendFileSync(this.#file, `${JSON.stringify(ended)}\n`)
    } catch {
      // A full disk costs the history of this run, not the run.
    }
  }
}

/** What the printed text says, and nothing beside it: no report, no figures. */
export function outcomeOf(
  run: Pick<BenchRun, 'state' | 'lines'>,
  output: string,
  status: number | null,
): Pick<BenchRun, 'state' | 'report' | 'error'> {
  if (run.state === 'cancelling') return { state: 'cancelled', report: null, error: null }
  const said = parse(output)
  const refused = benchError(said)
  if (refused) return { state: refused.code === 'MachineBusy' ? 'refused' : 'failed', report: null, error: refused }
  const report = benchReport.safeParse(said)
  if (report.success) return { state: 'done', report: report.data, error: null }
  const last = run.lines
    .filter(line => line.trim() !== '')
    .slice(-3)
    .join(' ')
  return {
    state: 'failed',
    report: null,
    error: { code: 'NoReport', message: `It ended with status ${status ?? 'none'} and no report. ${last}`.trim() },
  }
}

function parse(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}

function benchError(said: unknown): { code: string; message: string } | undefined {
  const { error } = (said ?? {}) as { error?: { code?: unknown; message?: unknown } }
  return typeof error?.code === 'string' && typeof error.message === 'string'
    ? { code: error.code, message: error.message }
    : undefined
}

/** A line that cannot be read is passed over: the console was killed while it wrote it. */
function readHistory(file: string): BenchRun[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return []
  }
  return text
    .split('\n')
    .flatMap(line => {
      const parsed = benchRun.safeParse(parse(line))
      return parsed.success ? [parsed.data] : []
    })
    .slice(-RUNS_MAX)
}
