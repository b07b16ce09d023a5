/** Whether this machine is quiet enough to measure on, and what it is (spec drills.md §4.3, items 4 and 9). */
import { cpus, loadavg, release, totalmem } from 'node:os'
import { EngineError } from '../../shared/bytes/errors.ts'
import { THREAD_POOL_SIZE } from '../cluster/launcher.ts'
import { percentile, rounded } from './statistics.ts'

/** 1-minute load for each core above which nothing is measured. */
export const LOAD_PER_CORE_MAX = 0.5
/** The same piece of work takes so much longer in a tenth of the cases: somebody else is at work. */
export const JITTER_MAX = 1.25
const ROUNDS = 60

export interface MachineState {
  /** Of the last minute. */
  readonly load: number
  readonly cores: number
  /** p90 over median of the time that one piece of work takes. */
  readonly jitter: number
}

export interface Machine {
  readonly cores: number
  readonly cpu: string
  readonly memoryMib: number
  readonly platform: string
  readonly kernel: string
  readonly node: string
  readonly threadPoolSize: number
}

export const machine = (): Machine => ({
  cores: cpus().length,
  cpu: cpus()[0]?.model ?? 'unknown',
  memoryMib: Math.round(totalmem() / 2 ** 20),
  platform: `${process.platform} ${process.arch}`,
  kernel: release(),
  node: process.version,
  threadPoolSize: THREAD_POOL_SIZE,
})

/** A few milliseconds of arithmetic that nothing can leave out. */
function work(): number {
  let state = 1
  for (let step = 0; step < 2_000_000; step++) state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state
}

export function look(): MachineState {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const beganMs = performance.now()
    work()
    times.push(performance.now() - beganMs)
  }
  // the first rounds are the compiler's
  const sorted = times.slice(ROUNDS / 3).sort((a, b) => a - b)
  const jitter = percentile(sorted, 0.9) / percentile(sorted, 0.5)
  return { load: rounded(loadavg()[0]!), cores: cpus().length, jitter: rounded(jitter) }
}

/** Why nothing should be measured in this state; undefined when all is quiet. */
export function busyReason({ load, cores, jitter }: MachineState): string | undefined {
  const loadMax = LOAD_PER_CORE_MAX * cores
  if (load > loadMax) return `its load of the last minute is ${load}, above ${loadMax} for ${cores} cores`
  if (jitter > JITTER_MAX)
    return `the same work takes ${jitter} times as long now and then, above ${JITTER_MAX}: something else runs`
  return undefined
}

/**
 * The state of the machine before a measurement.
 * @throws EngineError MachineBusy unless `force`
 */
export function requireQuiet(force: boolean, say: (line: string) => void, state = look()): MachineState {
  const busy = busyReason(state)
  if (busy === undefined) return state
  if (!force) {
    throw new EngineError('MachineBusy', `this machine is busy: ${busy}`, {
      advice: 'wait until it is quiet, or measure all the same with --force',
    })
  }
  say(`forced: this machine is busy, ${busy}; the figures are worth less`)
  return state
}
