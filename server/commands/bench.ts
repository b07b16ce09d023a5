import { type Command, InvalidArgumentError } from 'commander'
import type { Arm } from '../bench/harness.ts'

/** `bench SUITE [--json]`. Exit 0 when every figure is within its ceiling, 1 when not. */
export function registerBench(program: Command): void {
  const bench = program.command('bench').description('measure, and print the figures with their spread')
  const say = (line: string) => process.stderr.write(`${line}\n`)
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
    .description('start command to settled cluster, fact to pixel at 500 facts a second, kill to pixel')
    .option('--starts <n>', 'how often to start', count, 5)
    .option('--seconds <n>', 'how long to measure facts', count, 20)
    .option('--kills <n>', 'how often to kill a backup', count, 10)
    .option('--json', 'print one JSON object', false)
    .action(async (options: { starts: number; seconds: number; kills: number; json: boolean }) => {
      const { benchPage } = await import('../bench/page.ts')
      print(await benchPage({ ...options, say }), options.json)
    })
}

function print(result: { readonly arms: readonly Arm[]; readonly ok: boolean }, json: boolean): void {
  if (json) process.stdout.write(`${JSON.stringify(result)}\n`)
  else {
    for (const arm of result.arms) {
      const rate = arm.perSecond === undefined ? '' : ` at ${arm.perSecond}/s`
      process.stdout.write(
        `${arm.name}${rate}: p50 ${arm.p50} ms, p95 ${arm.p95} ms, p99 ${arm.p99} ms, max ${arm.max} ms (${arm.count} samples, ceiling ${arm.ceiling} ms at p95)\n`,
      )
    }
  }
  process.exitCode = result.ok ? 0 : 1
}

function count(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('a whole number from 1 to 9999')
  return Number(text)
}
