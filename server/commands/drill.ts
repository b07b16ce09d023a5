import { type Command, InvalidArgumentError } from 'commander'
import type { Hash } from '../../shared/bytes/hash.ts'
import type { Drill } from '../../shared/drills/contract.ts'
import type { DrillRun, OpenWorlds } from '../../shared/drills/run.ts'
import { endWith } from './end.ts'

interface RunOptions {
  readonly real: boolean
  readonly broken: boolean
  readonly seed?: string
  readonly seeds?: number
  readonly json: boolean
}

const BOOK_FOLDER = 'docs/drills'
/** Exit status of a process that ends by a signal of its own will. */
const STOPPED = { SIGINT: 130, SIGTERM: 143 } as const
/** A terminal and npm may both send it: two within this time are one. */
const ONE_PRESS_MS = 500

/** `drill`: exit 0 when every run went as it must, 1 when one did not, 2 on wrong usage, 130 or 143 when it was stopped. */
export function registerDrill(program: Command): void {
  const drill = program.command('drill').description('crash drills: a fault, what follows from it, and a verdict')
  drill
    .command('list', { isDefault: true })
    .description('all drills and what they teach')
    .option('--json', 'print one JSON object', false)
    .action(async (options: { json: boolean }) => {
      const { DRILLS } = await import('../../shared/drills/library.ts')
      if (options.json) {
        const drills = DRILLS.map(({ id, title, teaches, lesson, worlds, broken }) => ({
          id,
          title,
          teaches,
          lesson,
          worlds,
          rule: broken.rule,
        }))
        process.stdout.write(`${JSON.stringify({ ok: true, drills })}\n`)
        return
      }
      for (const { id, title, teaches, worlds } of DRILLS)
        process.stdout.write(`${id}  ${title.padEnd(34)} ${worlds.join(', ').padEnd(10)} ${teaches}\n`)
    })
  drill
    .command('book')
    .description('write the drill book anew: a page and a picture for each drill')
    .option('--out <dir>', 'folder that is written', BOOK_FOLDER)
    .action(async ({ out }: { out: string }) => {
      await writeBook(out)
    })
  drill
    .command('run <id...>')
    .description('run drills by id, all of them, or a script of the scenario language (FILE.json) in the simulator')
    .option('--sim', 'in the simulator (the default)')
    .option('--real', 'on real processes; a drill for the simulator only is passed over', false)
    .option('--broken', 'with the rule of the drill switched off: passes when the named checker objects', false)
    .option('--seed <n>', 'of the simulated world', seedNumber)
    .option('--seeds <n>', 'this many seeds, from 1 on', seedCount)
    .option('--json', 'print one JSON object', false)
    .action(async (ids: string[], options: RunOptions & { sim?: boolean }) => {
      endWith(await run(ids, options))
    })
}

async function run(ids: readonly string[], options: RunOptions & { sim?: boolean }): Promise<number> {
  const [{ createHash }, { DRILLS, drillOf }, { drillWorlds }, { endLeftCommands, takeCommandDirectory }] =
    await Promise.all([
      import('../../shared/bytes/hash.ts'),
      import('../../shared/drills/library.ts'),
      import('../drills/worlds.ts'),
      import('../drills/command-runs.ts'),
    ])
  const unknown = ids.filter(id => id !== 'all' && drillOf(id) === undefined && !isScript(id))
  const scripts = ids.filter(isScript)
  const usage =
    scripts.length > 0 && (ids.length > 1 || options.real || options.broken)
      ? 'a script is run by itself, in the simulator'
      : unknown.length > 0
        ? `no drill is named ${unknown.join(', ')}; drill list names them all`
        : options.real && (options.broken || options.sim || options.seed !== undefined || options.seeds !== undefined)
          ? '--sim, --broken, --seed and --seeds belong to the simulator, not to --real'
          : undefined
  if (usage !== undefined) {
    process.stderr.write(`${usage}\n`)
    return 2
  }
  if (scripts.length > 0) {
    const { runScripts } = await import('./drill-script.ts')
    return runScripts(scripts[0]!, seedsOf(options), options.json)
  }
  for (const said of await endLeftCommands()) process.stderr.write(`${said}\n`)
  const wanted = ids.includes('all') ? DRILLS : ids.map(id => drillOf(id)!)
  const hash = await createHash()
  // In the simulator a signal may end the process as it stands.
  const stop = options.real ? stopBySignal() : undefined
  const own = options.real ? takeCommandDirectory() : undefined
  try {
    return await runAll(wanted, options, { hash, open: drillWorlds(hash, own && { directory: own.runs }), stop })
  } finally {
    own?.release()
    stop?.dispose()
  }
}

async function writeBook(out: string): Promise<void> {
  const [{ mkdirSync, writeFileSync }, { createHash }, { DRILLS }, { runDrill }, { bookOf }, { drillWorlds }] =
    await Promise.all([
      import('node:fs'),
      import('../../shared/bytes/hash.ts'),
      import('../../shared/drills/library.ts'),
      import('../../shared/drills/run.ts'),
      import('../../shared/drills/book.ts'),
      import('../drills/worlds.ts'),
    ])
  const hash = await createHash()
  const told = []
  for (const drill of DRILLS)
    told.push({ drill, run: await runDrill(drill, { world: 'sim' }, drillWorlds(hash), { hash }) })
  mkdirSync(out, { recursive: true })
  const files = bookOf(told)
  for (const [name, text] of files) writeFileSync(`${out}/${name}`, text)
  process.stdout.write(`${files.size} files in ${out}\n`)
}

interface Means {
  readonly hash: Hash
  readonly open: OpenWorlds
  readonly stop: Stop | undefined
}

async function runAll(drills: readonly Drill[], options: RunOptions, { hash, open, stop }: Means): Promise<number> {
  const { runDrill } = await import('../../shared/drills/run.ts')
  const world = options.real ? 'real' : 'sim'
  const runs: DrillRun[] = []
  const started = performance.now()
  const cancelled = () => stop?.signal !== undefined
  for (const drill of drills) {
    if (!drill.worlds.includes(world)) {
      if (!options.json) process.stdout.write(`${drill.id}  passed over: it runs in the simulator only\n`)
      continue
    }
    for (const seed of seedsOf(options)) {
      if (cancelled()) break
      const began = performance.now()
      const choice = { world, broken: options.broken, ...(seed && { seed }) } as const
      const one = await runDrill(drill, choice, open, { hash, cancelled })
      // A story that was broken off says nothing.
      if (cancelled()) break
      runs.push(one)
      if (!options.json) process.stdout.write(runText(drill, one, performance.now() - began))
    }
  }
  const wrong = runs.filter(({ asExpected }) => !asExpected)
  const stopped = stop?.signal
  if (options.json) {
    const ok = wrong.length === 0 && stopped === undefined
    process.stdout.write(`${JSON.stringify({ ok, ...(stopped && { stopped }), runs })}\n`)
  } else {
    const seconds = ((performance.now() - started) / 1_000).toFixed(1)
    const early = stopped ? `, stopped by ${stopped}` : ''
    process.stdout.write(`${runs.length - wrong.length} passed, ${wrong.length} failed in ${seconds} s${early}\n`)
  }
  return stopped ? STOPPED[stopped] : wrong.length === 0 ? 0 : 1
}

interface Stop {
  readonly signal: keyof typeof STOPPED | undefined
  dispose(): void
}

/** The first signal ends the run, its nodes with it; a second one ends this process at once, and the next start tidies up. */
function stopBySignal(): Stop {
  let signal: Stop['signal']
  let firstMs = 0
  const heard = (name: NodeJS.Signals): void => {
    if (signal === undefined) {
      signal = name as keyof typeof STOPPED
      firstMs = performance.now()
      process.stderr.write('stopping: the nodes of this run are ended; once more to leave them to the next start\n')
    } else if (performance.now() - firstMs > ONE_PRESS_MS) process.exit(STOPPED[signal])
  }
  process.on('SIGINT', heard).on('SIGTERM', heard)
  return {
    get signal() {
      return signal
    },
    dispose: () => {
      process.off('SIGINT', heard).off('SIGTERM', heard)
    },
  }
}

const isScript = (id: string): boolean => id.endsWith('.json')

function seedsOf({ seed, seeds }: RunOptions): readonly (string | undefined)[] {
  if (seeds !== undefined) return Array.from({ length: seeds }, (_, index) => String(index + 1))
  return [seed]
}

function runText({ id, title, broken }: Drill, run: DrillRun, wallMs: number): string {
  const seconds = `${(wallMs / 1_000).toFixed(1)} s`
  const head = `${id}  ${title}${run.broken ? `, ${broken.rule} off` : ''}: ${run.verdict}${run.world === 'sim' ? `, seed ${run.seed}` : ''}, ${seconds}\n`
  const red = run.findings.filter(({ verdict }) => verdict !== 'pass')
  const lines = red.map(({ step, verdict, seen }) => `     ${verdict}: ${step}: ${seen}\n`)
  const missed = run.broken && !run.asExpected ? [`     ${broken.noticedBy} has not noticed\n`] : []
  return [head, ...(run.broken && run.asExpected ? [`     noticed by ${broken.noticedBy}\n`] : lines), ...missed].join(
    '',
  )
}

function seedNumber(text: string): string {
  if (!/^\d{1,19}$/.test(text)) throw new InvalidArgumentError('a seed is a number')
  return text
}

function seedCount(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('how many seeds is a number from 1 on')
  return count
}
