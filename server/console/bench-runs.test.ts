import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BenchRuns, benchArguments, outcomeOf } from './bench-runs.ts'

/** Prints what the command would, by its suite; `page` never ends by itself. */
const SCRIPT = `
process.stderr.write('  pair 1/2, a: 10 batches/s\\n  pair 2/2, b: 20 batches/s\\n')
const suite = process.argv[3]
if (suite === 'page') { process.on('SIGTERM', () => process.exit(1)); setInterval(() => {}, 1000) }
else if (suite === 'persist') { console.log(JSON.stringify({ ok: false, error: { code: 'MachineBusy', message: 'this machine is busy' } })); process.exitCode = 1 }
else if (suite === 'recover') { process.stderr.write('Error: it broke\\n'); process.exitCode = 7 }
else { console.log(JSON.stringify({ suite, ok: false, findings: [{ name: 'gain', ok: false, text: 'too little' }], arms: [{ case: '5 ms', ratio: 2 }], ratio: 2, interval: [1.5, 2.5] })); process.exitCode = 1 }
`
let directory: string
let bench: BenchRuns
const make = () => new BenchRuns(directory, { args: [join(directory, 'command.mjs')] })
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quorumscope-bench-runs-'))
  writeFileSync(join(directory, 'command.mjs'), SCRIPT)
  bench = make()
})
afterEach(async () => {
  await bench.close()
  rmSync(directory, { recursive: true, force: true })
})
const order = (suite: 'persist' | 'produce' | 'recover' | 'page') => ({ suite, size: 'quick', force: false }) as const
const ended = (id: string) =>
  vi.waitFor(() => {
    const run = bench.list().runs.find(one => one.id === id)!
    expect(run.state).not.toMatch(/running|cancelling/)
    return run
  }, 20_000)

describe('benchmarks of the console', () => {
  it('tell what the command printed: its lines, its findings, its ratio with the spread', async () => {
    const run = await ended(bench.start(order('produce')).id)
    expect(run).toMatchObject({
      state: 'done',
      command: 'npm run -s quorumscope -- bench produce --pairs 2 --seconds 2 --warm-up 1 --json',
      lines: ['  pair 1/2, a: 10 batches/s', '  pair 2/2, b: 20 batches/s'],
      report: { ok: false, ratio: 2, interval: [1.5, 2.5], findings: [{ name: 'gain', ok: false }] },
      error: null,
    })
  })

  it('tell the refusal on a busy machine as such, with no figures', async () => {
    expect(await ended(bench.start(order('persist')).id)).toMatchObject({
      state: 'refused',
      report: null,
      error: { code: 'MachineBusy', message: 'this machine is busy' },
    })
  })

  it('tell a command that broke by its status and last words', async () => {
    const run = await ended(bench.start(order('recover')).id)
    expect(run).toMatchObject({ state: 'failed', report: null, error: { code: 'NoReport' } })
    expect(run.error!.message).toContain('status 7')
    expect(run.error!.message).toContain('it broke')
  })

  it('are one at a time, and end when they are cancelled or the console stops', async () => {
    const { id } = bench.start(order('page'))
    expect(() => bench.start(order('produce'))).toThrow(expect.objectContaining({ code: 'CON_BENCH_RUNNING' }))
    expect(() => bench.cancel('000000000000')).toThrow(expect.objectContaining({ code: 'CON_BENCH_NOT_RUNNING' }))
    await vi.waitFor(() => expect(bench.list().runs[0]!.lines).toHaveLength(2), 20_000)
    expect(bench.cancel(id).state).toBe('cancelling')
    expect((await ended(id)).state).toBe('cancelled')
    bench.start(order('page'))
    await bench.close()
    expect(bench.list().runs.map(run => run.state)).toEqual(['cancelled', 'cancelled'])
    expect(() => bench.start(order('produce'))).toThrow(expect.objectContaining({ code: 'CON_STOPPING' }))
  })

  it('are there again after a restart of the console, a torn line of the history apart', async () => {
    const run = await ended(bench.start(order('produce')).id)
    appendFileSync(join(directory, 'bench-runs.jsonl'), '{"id":"abc')
    bench = make()
    expect(bench.list().runs).toEqual([run])
    expect(bench.start(order('produce')).expectedMs).toBe(run.tookMs)
  })

  it('ask for the real options of the command, and for force only where it has that', () => {
    expect(benchArguments({ suite: 'persist', size: 'full', force: true })).toEqual([
      'bench',
      'persist',
      '--force',
      '--json',
    ])
    expect(benchArguments({ suite: 'page', size: 'quick', force: true })).not.toContain('--force')
  })

  it('never take output that is no report for one', () => {
    const run = { state: 'running' as const, lines: [] }
    expect(outcomeOf(run, '', 0).state).toBe('failed')
    expect(outcomeOf(run, '{"ok":"yes"}', 0).state).toBe('failed')
    expect(outcomeOf(run, '{"ok":true,"arms":[]}', 0).state).toBe('done')
  })
})
