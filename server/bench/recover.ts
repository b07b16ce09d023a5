/**
 * `bench recover`: a verified recovery held against hashing the same frames from memory in the same process, its memory and
 * its pauses; one batch of 64 MiB; forged tails, which must be refused in time (spec partition.md §6.3–6.6).
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { EngineError } from '../../shared/bytes/errors.ts'
import type { Hash } from '../../shared/bytes/hash.ts'
import { defaultEntry } from '../cluster/launcher.ts'
import { writeForgedHeaders, writeForgedMessages, writeWhole } from './recover-files.ts'
import type { Recovery, WorkerReport } from './recover-worker.ts'
import { bootstrapInterval, median, rounded, spreadOf } from './statistics.ts'
import { type Finding, runSuite, type SuiteOptions, type SuiteReport } from './suite.ts'

const MIB = 2 ** 20
const OF_HASHING_MIN = 0.5
const ABOVE_IDLE_MAX_MIB = 256
const PAUSE_MAX_MS = 100
const REFUSED_WITHIN_MS = 10_000
const LARGE_BATCH_BYTES = 64 * MIB
/** Header of the prepare that a batch travels in: a record is so much smaller than the largest frame. */
const FRAME_HEADER_BYTES = 256
const SPARE_BYTES = 512 * MIB

export interface RecoverOptions extends SuiteOptions {
  readonly mebibytes: number
  readonly rounds: number
}

export function benchRecover(options: RecoverOptions): Promise<SuiteReport> {
  return runSuite('recover', options, async (home, hash) => {
    requireSpace(home, options.mebibytes * MIB)
    const measure = (write: (root: string) => void, rounds: number, hashing: boolean) =>
      inDirectory(home, options, write, rounds, hashing)

    options.say(`${options.mebibytes} MiB of messages of 1 KiB, 100 a batch`)
    let written = 0
    const whole = await measure(
      root => {
        written = writeWhole(root, hash, options.mebibytes * MIB, 100, 1024)
      },
      options.rounds,
      true,
    )
    const speeds = whole.recoveries.map(({ ms }, round) => rounded(whole.hashMs[round]! / ms, 3))
    const interval = bootstrapInterval(speeds)
    const ratio = rounded(median(speeds), 3)
    const findings: Finding[] = [
      {
        name: 'speed',
        ok: ratio >= OF_HASHING_MIN && allThere(whole.recoveries, written),
        text: `recovery runs at ${ratio} of hashing its frames from memory (${speeds.join(', ')}; at least ${OF_HASHING_MIN}): ${rate(options.mebibytes, whole.recoveries)} MiB/s`,
      },
      // A process that has hashed and recovered before holds memory that it has not given back.
      ...resources('1 KiB messages', whole.recoveries.slice(0, 1)),
    ]

    options.say('one batch of 64 MiB')
    const large = await measure(root => oneLargeBatch(root, hash), options.rounds, false)
    findings.push(...resources('one batch of 64 MiB', large.recoveries))
    findings.push({
      name: 'one batch of 64 MiB, whole',
      ok: allThere(large.recoveries, 2),
      text: times(large.recoveries),
    })

    const forgeries = [
      ['headers', (root: string) => writeForgedHeaders(root, hash, LARGE_BATCH_BYTES)],
      ['small messages', (root: string) => writeForgedMessages(root, hash, LARGE_BATCH_BYTES)],
    ] as const
    const forged: object[] = []
    for (const [name, write] of forgeries) {
      options.say(`a forged tail of 64 MiB: ${name}`)
      const { recoveries } = await measure(write, 1, false)
      const [{ ms, refusal, longestPauseMs }] = recoveries as [Recovery]
      forged.push({ case: `forged tail, ${name}`, recoveries })
      findings.push({
        name: `forged tail, ${name}`,
        ok: refusal === 'UnverifiedResidue' && ms <= REFUSED_WITHIN_MS && longestPauseMs <= PAUSE_MAX_MS,
        text: `${refusal ?? 'opened'} after ${rounded(ms / 1000)} s (at most ${REFUSED_WITHIN_MS / 1000} s), longest pause ${rounded(longestPauseMs, 1)} ms`,
      })
    }
    const arms = [{ case: '1 KiB messages', ...whole }, { case: 'one batch of 64 MiB', ...large }, ...forged]
    return { findings, arms, ratio, interval, ceiling: 1 }
  })
}

function oneLargeBatch(root: string, hash: Hash): void {
  // Two messages: one alone may not be so long.
  writeWhole(root, hash, LARGE_BATCH_BYTES, 2, (LARGE_BATCH_BYTES - FRAME_HEADER_BYTES - 256 - 2 * 48) / 2)
}

const allThere = (recoveries: readonly Recovery[], written: number): boolean =>
  recoveries.every(({ messages, refusal }) => refusal === undefined && messages === String(written))

const times = (recoveries: readonly Recovery[]): string => {
  const { min, median: middle, max } = spreadOf(recoveries.map(({ ms }) => ms))
  return `${Math.round(middle)} ms (${Math.round(min)} to ${Math.round(max)})`
}

const rate = (mebibytes: number, recoveries: readonly Recovery[]): string => {
  const { min, median: middle, max } = spreadOf(recoveries.map(({ ms }) => mebibytes / (ms / 1000)))
  return `${Math.round(middle)} (${Math.round(min)} to ${Math.round(max)})`
}

export function resources(name: string, recoveries: readonly Recovery[]): Finding[] {
  const memory = Math.max(...recoveries.map(({ aboveIdleMib }) => aboveIdleMib))
  const pause = Math.max(...recoveries.map(({ longestPauseMs }) => longestPauseMs))
  return [
    {
      name: `memory, ${name}`,
      ok: memory <= ABOVE_IDLE_MAX_MIB,
      text: `${Math.round(memory)} MiB above idle at most (${ABOVE_IDLE_MAX_MIB} MiB allowed)`,
    },
    {
      name: `pauses, ${name}`,
      ok: pause <= PAUSE_MAX_MS,
      text: `the event loop stood still for ${rounded(pause, 1)} ms at most (${PAUSE_MAX_MS} ms allowed)`,
    },
  ]
}

/** @throws EngineError NoSpace */
export function requireSpace(home: string, bytes: number, stat = statfsSync(home)): void {
  const free = stat.bavail * stat.bsize
  if (free >= bytes + SPARE_BYTES) return
  throw new EngineError(
    'NoSpace',
    `${home} has ${Math.round(free / MIB)} MiB free, ${(bytes + SPARE_BYTES) / MIB} are needed`,
    {
      path: home,
      advice: 'free some, or name another place with --directory',
    },
  )
}

async function inDirectory(
  home: string,
  { entry = defaultEntry() }: SuiteOptions,
  write: (root: string) => void,
  rounds: number,
  hashing: boolean,
): Promise<WorkerReport> {
  const root = mkdtempSync(join(home, 'data-'))
  try {
    write(root)
    const args = [
      ...entry.args,
      'bench',
      'recover-worker',
      root,
      '--rounds',
      String(rounds),
      ...(hashing ? ['--hash'] : []),
    ]
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: MIB })
    return JSON.parse(stdout)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}
