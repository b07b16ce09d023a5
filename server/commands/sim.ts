import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { SeedResult } from '../../shared/simulator/swarm.ts'

/** `again`: the fingerprint of its second run, when there was one. */
type RunResult = SeedResult & { readonly again?: string }

interface SimOptions {
  readonly seed?: bigint
  readonly seeds?: readonly [bigint, bigint]
  readonly jobs: number
  readonly profile: string
  readonly ruleOff: readonly string[]
  readonly ignore: readonly string[]
  readonly until?: number
  readonly script?: string
  readonly minimise: boolean
  readonly twice: boolean
  readonly json: boolean
  /** Set by the command itself for its children: this process runs every nth seed and prints one line of JSON for each. */
  readonly slice?: readonly [number, number]
}

/** Ends of the command. A seed that breaks safety outweighs one that only comes to no end. */
const STATUS = { passed: 0, unsafe: 1, usage: 2, stuck: 3, undetermined: 4 } as const
/** Events between two turns of the host's event loop, for signals and pipes. */
const EVENTS_PER_TURN = 4_096
/**
 * Most of what an event makes is garbage after it; with room for it, little of that is ever copied. Many a boot finds a file
 * missing, and nobody reads where that error was made.
 */
const CHILD_FLAGS = ['--max-semi-space-size=32', '--stack-trace-limit=0']

/**
 * `sim`: exit 0 when every seed passed; 1 when one broke a promise, or a long swarm came by too little; 2 on wrong usage;
 * 3 when all that failed only did not come to rest; 4 when a seed that was run twice had two histories.
 */
export function registerSim(program: Command): void {
  program
    .command('sim')
    .description('run the replicas in a simulated world that fails, one history for each seed')
    .option('--seed <n>', 'one seed', seedNumber)
    .option('--seeds <a..b>', 'a range of seeds', seedRange)
    .option('--jobs <n>', 'processes', jobCount, 1)
    .option('--profile <name>', 'what may go wrong', 'swarm')
    .option('--rule-off <rule>', 'break this rule of the protocol', (rule, rules: string[]) => [...rules, rule], [])
    .option('--ignore <checker>', 'pass over what this checker finds', (one, all: string[]) => [...all, one], [])
    .option('--until <event>', 'stop at this event, and say what was seen last', jobCount)
    .option('--script <file>', 'faults from this file instead of those that the seed draws')
    .option('--minimise', 'look for the fewest faults with which the seed still fails', false)
    .option('--twice', 'run each seed twice, and fail when the two differ', false)
    .option('--json', 'print one JSON object', false)
    .addOption(new Option('--slice <i/n>').argParser(slice).hideHelp())
    .action(async (options: SimOptions) => {
      process.exitCode = await runSim(options)
    })
}

async function runSim(options: SimOptions): Promise<number> {
  const [{ RULE_CODES, RULE_NAMES, ruleOf }, { PROFILES }] = await Promise.all([
    import('../../shared/protocol/rules.ts'),
    import('../../shared/simulator/profile.ts'),
  ])
  if (!(PROFILES as readonly string[]).includes(options.profile)) {
    process.stderr.write(`no profile is named ${options.profile}; profiles are ${PROFILES.join(', ')}\n`)
    return STATUS.usage
  }
  const unknown = options.ruleOff.filter(rule => ruleOf(rule) === undefined)
  if (unknown.length > 0) {
    const rules = RULE_NAMES.map(name => `${RULE_CODES[name]} ${name}`).join(', ')
    process.stderr.write(`no rule is named ${unknown.join(', ')}; rules are ${rules}\n`)
    return STATUS.usage
  }
  const range = options.seeds ?? [options.seed ?? 1n, options.seed ?? 1n]
  const results: RunResult[] = []
  const started = performance.now()
  if (options.slice) {
    await runHere(options, range, result => process.stdout.write(`${JSON.stringify(result)}\n`))
    return 0
  }
  const header = headerText(options, range)
  if (!options.json) process.stdout.write(header)
  const done = (result: RunResult) => {
    results.push(result)
    if (options.json) return
    if (result.verdict === 'fail' || range[0] === range[1]) process.stdout.write(resultText(result, options))
    else if (results.length % 50 === 0)
      process.stderr.write(
        `${results.length} seeds, ${results.filter(each => each.verdict === 'fail').length} failed\n`,
      )
  }
  if (range[0] !== range[1]) await runInChildren(options, done)
  else await runHere(options, range, done)
  results.sort((a, b) => (BigInt(a.seed) < BigInt(b.seed) ? -1 : 1))
  const failed = results.filter(result => result.verdict === 'fail')
  const { histogram, histogramText, shortfalls } = await import('../../shared/simulator/histogram.ts')
  const shares = histogram(results)
  // Only the swarm promises to come by everything.
  const short = options.profile === 'swarm' ? shortfalls(shares) : []
  const twofold = results.filter(result => result.again !== undefined && result.again !== result.fingerprint)
  if (options.json) {
    const seeds = results.map(({ drawn, faults, last, ...rest }) =>
      rest.verdict === 'fail' ? { ...rest, faults, last, command: command(rest.seed, options) } : rest,
    )
    const ok = failed.length + short.length + twofold.length === 0
    process.stdout.write(`${JSON.stringify({ ok, seeds, histogram: shares, shortfalls: short })}\n`)
  } else {
    const seconds = (performance.now() - started) / 1_000
    if (results.length > 1) process.stdout.write(histogramText(shares))
    const weakened = results.flatMap(result => result.weakened ?? [])
    if (results.length > 1 && weakened[0])
      process.stdout.write(
        `claims weakened to "${weakened[0].claim}" in ${weakened.length} of ${results.length} seeds; not asked there: ${weakened[0].notAsked.join(', ')}\n`,
      )
    for (const each of short) process.stdout.write(`too seldom: ${each}\n`)
    for (const { seed, fingerprint, again } of twofold)
      process.stdout.write(`seed ${seed} has two histories: fingerprints ${fingerprint} and ${again}\n`)
    process.stdout.write(
      `${results.length - failed.length} passed, ${failed.length} failed in ${seconds.toFixed(1)} s` +
        `${failed.length > 0 ? `: ${failed.map(result => result.seed).join(', ')}` : ''}\n${header}`,
    )
  }
  const isStuck = ({ violations }: SeedResult) => violations.every(({ checker }) => checker === 'core-liveness')
  if (failed.some(result => !isStuck(result)) || short.length > 0) return STATUS.unsafe
  if (twofold.length > 0) return STATUS.undetermined
  return failed.length > 0 ? STATUS.stuck : STATUS.passed
}

async function runHere(
  options: SimOptions,
  [first, last]: readonly [bigint, bigint],
  done: (result: RunResult) => void,
): Promise<void> {
  const [{ createHash }, { runSeed }, { minimise }, { ruleOf }, { readFile }] = await Promise.all([
    import('../../shared/bytes/hash.ts'),
    import('../../shared/simulator/swarm.ts'),
    import('../../shared/simulator/minimise.ts'),
    import('../../shared/protocol/rules.ts'),
    import('node:fs/promises'),
  ])
  const hash = await createHash()
  // What `nextTick` runs comes behind every promise that can settle, without a turn of the event loop.
  let events = 0
  const breathe = () =>
    new Promise<void>(resolve => {
      if (++events % EVENTS_PER_TURN === 0) setImmediate(resolve)
      else process.nextTick(resolve)
    })
  const rules = Object.fromEntries(options.ruleOff.map(rule => [ruleOf(rule)!, false]))
  const script = options.script === undefined ? {} : { faults: JSON.parse(await readFile(options.script, 'utf8')) }
  const [index, count] = options.slice ?? [0, 1]
  for (let seed = first + BigInt(index); seed <= last; seed += BigInt(count)) {
    const wanted = {
      seed,
      hash,
      breathe,
      rules,
      ignore: options.ignore,
      profile: options.profile as SeedResult['profile'],
      ...(options.until !== undefined && { until: options.until }),
      ...script,
    }
    const result = await runSeed(wanted)
    if (options.twice) {
      done({ ...result, again: (await runSeed(wanted)).fingerprint })
      continue
    }
    done(options.minimise && result.verdict === 'fail' ? await minimise(wanted, result) : result)
  }
}

async function runInChildren(options: SimOptions, done: (result: RunResult) => void): Promise<void> {
  const rest = process.argv.slice(2).filter(argument => argument !== '--json')
  const children = Array.from({ length: options.jobs }, async (_, index) => {
    const child = spawn(
      process.execPath,
      [...process.execArgv, ...CHILD_FLAGS, process.argv[1]!, ...rest, '--slice', `${index}/${options.jobs}`],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const ended = new Promise<number>(resolve => child.once('exit', code => resolve(code ?? 1)))
    for await (const line of createInterface({ input: child.stdout })) if (line !== '') done(JSON.parse(line))
    const code = await ended
    if (code !== 0) throw new Error(`a process of the simulator ended with status ${code}`)
  })
  await Promise.all(children)
}

function resultText(result: SeedResult, options: SimOptions): string {
  const lines = [
    `seed ${result.seed}: ${result.verdict}, ${result.drawn.nodes} nodes, ${(result.virtualMs / 1_000).toFixed(1)} virtual seconds, ` +
      `${result.committed} ops committed, ${result.events} events, fingerprint ${result.fingerprint}`,
    ...result.violations.map(
      ({ checker, node, message }) => `  ${checker}: ${node === undefined ? '' : `node ${node}: `}${message}`,
    ),
  ]
  if (result.weakened) lines.push(`  ${weakenedText(result.weakened)}`)
  if (result.verdict === 'fail') {
    lines.push(`  again: ${command(result.seed, options)}`, `  faults: ${JSON.stringify(result.faults)}`)
  }
  if (result.last && (options.seed !== undefined || options.until !== undefined))
    lines.push(...result.last.map(line => `    ${line}`))
  return `${lines.join('\n')}\n`
}

/** A pass of such a run says less than another one's. */
function weakenedText({ claim, fromMs, node, path, notAsked }: NonNullable<SeedResult['weakened']>): string {
  const from = `from ${(fromMs / 1_000).toFixed(1)} s on, when node ${node} lost what a sync of ${path} had covered`
  return `claims weakened to "${claim}" ${from}; not asked since: ${notAsked.join(', ')}`
}

/** The first line of a run and its last: what it was, and how to have it again. */
function headerText(options: SimOptions, [first, last]: readonly [bigint, bigint]): string {
  const seeds = first === last ? `seed ${first}` : `seeds ${first}..${last}`
  const again =
    first === last ? command(`${first}`, options) : `${command(`${first}..${last}`, options)} --jobs ${options.jobs}`
  return `${seeds}, profile ${options.profile}, node ${process.version}: ${again}\n`
}

function command(seed: string, options: SimOptions): string {
  const seeds = seed.includes('..') ? `--seeds ${seed}` : `--seed ${seed}`
  const rules = options.ruleOff.map(rule => ` --rule-off ${rule}`).join('')
  const profile = options.profile === 'swarm' ? '' : ` --profile ${options.profile}`
  const script = options.script === undefined ? '' : ` --script ${options.script}`
  return `npm run -s quorumscope -- sim ${seeds}${profile}${rules}${script}`
}

function seedNumber(text: string): bigint {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('a seed is a number')
  return BigInt(text)
}

function seedRange(text: string): [bigint, bigint] {
  const match = /^(\d+)\.\.(\d+)$/.exec(text)
  if (!match || BigInt(match[1]!) > BigInt(match[2]!)) throw new InvalidArgumentError('a range is written 1..2000')
  return [BigInt(match[1]!), BigInt(match[2]!)]
}

function jobCount(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('a whole number from 1 on')
  return value
}

function slice(text: string): [number, number] {
  const [index, count] = text.split('/').map(Number)
  return [index ?? 0, count ?? 1]
}
