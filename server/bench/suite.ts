/** What every suite that measures a node has in common: a quiet machine, a directory of its own, and its report. */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import type { LaunchEntry } from '../cluster/launcher.ts'
import { type Machine, type MachineState, machine, requireQuiet } from './machine.ts'
import { rounded } from './statistics.ts'

export interface SuiteOptions {
  /** Measure on a busy machine too. */
  readonly force: boolean
  /** Below which the directories are made: the disk that is measured. Default: that of temporary files. */
  readonly directory?: string
  readonly say: (line: string) => void
  readonly entry?: LaunchEntry
}

/** One thing that was held against what is asked of it. */
export interface Finding {
  readonly name: string
  readonly ok: boolean
  /** With figures and their units. */
  readonly text: string
}

export interface SuiteReport {
  readonly suite: string
  readonly ok: boolean
  readonly findings: readonly Finding[]
  readonly arms: readonly object[]
  readonly ratio?: number
  readonly interval?: readonly [number, number]
  readonly ceiling?: number
  readonly machine: Machine
  readonly before: MachineState
  readonly loadAfter: number
  readonly forced: boolean
}

export type SuiteResult = Omit<SuiteReport, 'suite' | 'ok' | 'machine' | 'before' | 'loadAfter' | 'forced'>

/** @throws EngineError MachineBusy, and whatever `work` throws; the directory goes in any case. */
export async function runSuite(
  suite: string,
  options: SuiteOptions,
  work: (home: string, hash: Hash) => Promise<SuiteResult>,
): Promise<SuiteReport> {
  const before = requireQuiet(options.force, options.say)
  const home = mkdtempSync(join(options.directory ?? tmpdir(), 'quorumscope-bench-'))
  // A measurement may be ended at any moment; what it wrote can be a gibibyte.
  const tidy = () => rmSync(home, { recursive: true, force: true })
  const exit = () => process.exit(1)
  process.once('exit', tidy).once('SIGINT', exit).once('SIGTERM', exit)
  try {
    const result = await work(home, await createHash())
    return {
      suite,
      ok: result.findings.every(({ ok }) => ok),
      ...result,
      machine: machine(),
      before,
      loadAfter: rounded(loadavg()[0]!),
      forced: options.force,
    }
  } finally {
    tidy()
    process.off('exit', tidy).off('SIGINT', exit).off('SIGTERM', exit)
  }
}

export const within = (value: number, low: number, high: number): boolean => value >= low && value <= high
