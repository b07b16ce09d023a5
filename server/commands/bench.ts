import { writeFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { EngineError } from '../../shared/bytes/errors.ts'
import type { Arm } from '../bench/harness.ts'
import type { SuiteOptions, SuiteReport } from '../bench/suite.ts'

/** `bench SUITE [--json]`. Exit 0 when every figure is within its bounds, 1 when not, or when nothing was measured. */
export function registerBench(program: Command): void {
  const bench = program.command('bench').description('measure, and print the figures with their spread')
  bench
    .command('events')
    .description('age of a fact when a reader of the console has it, at 500 facts a second; kill to reader')
    .option('--seconds <n>', 'how long to measure facts', count, 20)
    .option('--kills <n>', 'how often to kill a backup', count, 10)
    .option('--json', 'print one JSON object', false)
    .action(async (options: { seconds: number; kills: number; json: boolean }) => {
      const { benchEvents } = await import('../bench/events.ts')
      print(await benchEvents({ ...options, say }), options.json)
    })
  bench
    .command('page')
    .description(
      'what a person waits for in the page: start, first content, facts, clicks, kills, steps in time; its heap',
    )
    .option('--starts <n>', 'how often to start', count, 5)
    .option('--seconds <n>', 'how long to measure facts', count, 20)
    .option('--kills <n>', 'how often to kill a backup', count, 10)
    .option('--json', 'print one JSON object', false)
    .action(async (options: { starts: number; seconds: number; kills: number; json: boolean }) => {
      const { benchPage } = await import('../bench/page.ts')
      print(await benchPage({ ...options, say }), options.json)
    })
  registerPersist(bench)
  registerProduce(bench)
  registerRecover(bench)
  registerPartitions(bench)
}

interface Common {
  readonly json: boolean
  readonly force: boolean
  readonly directory?: string
}

/** A suite that measures nodes of its own on a quiet machine. */
const suite = (bench: Command, name: string, description: string): Command =>
  bench
    .command(name)
    .description(description)
    .option('--directory <path>', 'where to write while measuring: this is the disk that is measured')
    .option('--force', 'measure on a busy machine too; the report says so', false)
    .option('--json', 'print one JSON object', false)

const shared = ({ force, directory }: Common): SuiteOptions => ({
  force,
  say,
  ...(directory !== undefined && { directory }),
})

function registerPersist(bench: Command): void {
  suite(bench, 'persist', 'log and index written together against one after the other, group commit off in both')
    .option('--pairs <n>', 'pairs of runs', count, 8)
    .option('--seconds <n>', 'how long to measure each run', count, 30)
    .option('--warm-up <n>', 'seconds that do not count', count, 5)
    .option('--only <case...>', 'disk, equal, unequal, one-producer, same-arms, no-sync, many-partitions; default all')
    .option('--samples <file>', 'write every latency of every run there, as JSON')
    .action(
      async (
        options: Common & { pairs: number; seconds: number; warmUp: number; only?: string[]; samples?: string },
      ) => {
        const { benchPersist, PERSIST_CASES } = await import('../bench/persist.ts')
        const unknown = options.only?.find(name => !PERSIST_CASES.includes(name))
        if (unknown !== undefined) bench.error(`error: ${unknown} is none of ${PERSIST_CASES.join(', ')}`)
        const samples: { arm: string; latenciesMs: readonly number[] }[] = []
        await report(options, () =>
          benchPersist({
            ...shared(options),
            pairs: options.pairs,
            seconds: options.seconds,
            warmSeconds: options.warmUp,
            ...(options.only && { only: options.only }),
            keep: (arm, { latenciesMs }) => options.samples !== undefined && samples.push({ arm, latenciesMs }),
          }),
        )
        if (options.samples !== undefined) writeFileSync(options.samples, JSON.stringify(samples))
      },
    )
}

function registerProduce(bench: Command): void {
  suite(bench, 'produce', 'group commit: eight producers against one, and one with it against one without')
    .option('--pairs <n>', 'pairs of runs', count, 4)
    .option('--seconds <n>', 'how long to measure each run', count, 10)
    .option('--warm-up <n>', 'seconds that do not count', count, 3)
    .action(async (options: Common & { pairs: number; seconds: number; warmUp: number }) => {
      const { benchProduce } = await import('../bench/produce.ts')
      const { pairs, seconds, warmUp: warmSeconds } = options
      await report(options, () => benchProduce({ ...shared(options), pairs, seconds, warmSeconds }))
    })
}

function registerRecover(bench: Command): void {
  suite(
    bench,
    'recover',
    'a verified recovery against hashing the same frames from memory; large batches, forged tails',
  )
    .option('--mebibytes <n>', 'size of the partition', count, 1024)
    .option('--rounds <n>', 'recoveries of each directory', count, 4)
    .action(async (options: Common & { mebibytes: number; rounds: number }) => {
      const { benchRecover } = await import('../bench/recover.ts')
      const { mebibytes, rounds } = options
      await report(options, () => benchRecover({ ...shared(options), mebibytes, rounds }))
    })
  bench
    .command('recover-worker <directory>', { hidden: true })
    .option('--rounds <n>', 'recoveries', count, 1)
    .option('--hash', 'hash the frames from memory in between', false)
    .action(async (directory: string, options: { rounds: number; hash: boolean }) => {
      const { recoverInProcess } = await import('../bench/recover-worker.ts')
      process.stdout.write(`${JSON.stringify(await recoverInProcess(directory, options.rounds, options.hash))}\n`)
    })
}

function registerPartitions(bench: Command): void {
  suite(bench, 'partitions', 'many partitions on one node: boot, and what it costs to do nothing')
    .option('--partitions <n>', 'how many', count, 2000)
    .option('--seconds <n>', 'how long to watch the idle node', count, 20)
    .action(async (options: Common & { partitions: number; seconds: number }) => {
      const { benchPartitions } = await import('../bench/partitions.ts')
      const { partitions, seconds } = options
      await report(options, () => benchPartitions({ ...shared(options), partitions, seconds }))
    })
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)

async function report({ json }: Common, run: () => Promise<SuiteReport>): Promise<void> {
  try {
    const result = await run()
    process.stdout.write(json ? `${JSON.stringify(result)}\n` : asText(result))
    process.exitCode = result.ok ? 0 : 1
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    const { code, message, context } = error
    if (json) process.stdout.write(`${JSON.stringify({ ok: false, error: { code, message } })}\n`)
    else say(`${code}: ${message}${context.advice === undefined ? '' : `; ${context.advice}`}`)
    process.exitCode = 1
  }
}

function asText({ findings, machine, before, loadAfter, forced }: SuiteReport): string {
  const { cores, cpu, memoryMib, platform, kernel, node, threadPoolSize } = machine
  const lines = findings.map(({ name, ok, text }) => `${ok ? 'ok    ' : 'FAILED'} ${name}: ${text}`)
  const where = `${cores} cores (${cpu}), ${memoryMib} MiB, ${platform} ${kernel}, node ${node}, ${threadPoolSize} threads for files`
  const when = `load ${before.load} before and ${loadAfter} after, jitter ${before.jitter}${forced ? ', forced' : ''}`
  return `${[...lines, `machine: ${where}`, `measured at: ${when}`].join('\n')}\n`
}

function print(result: { readonly arms: readonly Arm[]; readonly ok: boolean }, json: boolean): void {
  if (json) process.stdout.write(`${JSON.stringify(result)}\n`)
  else {
    for (const arm of result.arms) {
      const rate = arm.perSecond === undefined ? '' : ` at ${arm.perSecond}/s`
      process.stdout.write(
        `${arm.ratio <= 1 ? 'ok    ' : 'FAILED'} ${arm.name}${rate}: p50 ${arm.p50} ${arm.unit}, p95 ${arm.p95}, p99 ${arm.p99}, max ${arm.max} (${arm.count} samples, ceiling ${arm.ceiling} ${arm.unit} at p95${arm.ceilingP50 === undefined ? '' : `, ${arm.ceilingP50} at p50`})\n`,
      )
    }
  }
  process.exitCode = result.ok ? 0 : 1
}

function count(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('a whole number from 1 to 9999')
  return Number(text)
}
