/**
 * Two arms that differ in one switch, run in pairs in the order ABBA, each run on a fresh node in a fresh directory (spec
 * drills.md §4.3). Every run ends with SIGKILL, an ordinary node on the same directory, and a reading of the whole ledger:
 * a run that has lost something has no figures.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hash } from '../../shared/bytes/hash.ts'
import { type LoopOptions, type LoopRun, runLoop, verifyLedger } from './closed-loop.ts'
import { SoloNode, type SoloNodeOptions } from './solo-node.ts'
import {
  bootstrapInterval,
  type LatencyFigures,
  latencyFigures,
  median,
  rounded,
  type Spread,
  spreadOf,
} from './statistics.ts'

/** Above this the process that drives the load is what is measured. */
const CLIENT_UTILIZATION_MAX = 0.8
/** Arms that differ by more in syncs for each batch differ in grouping, and not only in what they are said to. */
const SYNCS_TOLERANCE = 0.02
const EAGER = { enforceFsync: true, messagesRequiredToSave: 1 }

export interface ArmSpec {
  readonly name: string
  /** Switches of `node --measure`. */
  readonly measure: readonly string[]
  readonly loop: LoopOptions
}

export interface ArmFigures {
  readonly name: string
  readonly measure: readonly string[]
  readonly batchesPerSecond: Spread
  readonly messagesPerSecond: Spread
  /** Pooled over the runs. */
  readonly latencyMs: LatencyFigures
  readonly logSyncsPerBatch: number
  readonly indexSyncsPerBatch: number
  readonly batchesPerSync: number
  readonly superblockWrites: number
  /** Medians. */
  readonly clientUtilization: number
  readonly nodeUtilization: number
  readonly verifiedMessages: number
}

export interface Pairs {
  readonly arms: readonly [ArmFigures, ArmFigures]
  /** Second arm over the first, in batches a second, of each pair. */
  readonly ratios: readonly number[]
  readonly ratio: number
  /** 95 %. */
  readonly interval: readonly [number, number]
  /** Median latency of the first arm over that of the second. */
  readonly latencyRatio: number
  /** The arms sync as often for each batch. */
  readonly syncsMatch: boolean
  /** Runs in which this process was the bottleneck. */
  readonly clientBound: number
}

export interface PairOptions {
  readonly hash: Hash
  /** Where the directories of the runs are made. */
  readonly home: string
  readonly pairs: number
  readonly idleMs: number
  readonly say: (line: string) => void
  readonly entry?: SoloNodeOptions['entry']
  /** Gets the raw samples of every run. */
  readonly keep?: (arm: string, run: LoopRun) => void
}

interface Done {
  readonly run: LoopRun
  readonly verified: number
}

export async function runArm(arm: ArmSpec, options: PairOptions): Promise<Done> {
  const { hash, home, entry, keep } = options
  const directory = mkdtempSync(join(home, 'run-'))
  const nodes: SoloNode[] = []
  const start = async (more: Partial<SoloNodeOptions>) => {
    const node = await SoloNode.start({ directory, ...(entry && { entry }), ...more })
    nodes.push(node)
    return node
  }
  try {
    const measured = await start({ measure: arm.measure })
    const run = await runLoop(measured, hash, arm.loop, EAGER)
    await measured.kill()
    const verified = await verifyLedger(await start({}), hash, run.ledger)
    keep?.(arm.name, run)
    return { run, verified }
  } finally {
    for (const node of nodes) await node.kill()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** ABBA: what drifts with time meets both arms alike. */
export const orderOf = (pair: number): readonly [0 | 1, 0 | 1] => (pair % 2 === 0 ? [0, 1] : [1, 0])

export async function runPairs(arms: readonly [ArmSpec, ArmSpec], options: PairOptions): Promise<Pairs> {
  const done: [Done[], Done[]] = [[], []]
  for (let pair = 0; pair < options.pairs; pair++) {
    for (const which of orderOf(pair)) {
      if (done[0].length + done[1].length > 0) await sleep(options.idleMs)
      const result = await runArm(arms[which], options)
      done[which].push(result)
      const { batches, seconds } = result.run
      options.say(
        `  pair ${pair + 1}/${options.pairs}, ${arms[which].name}: ${Math.round(batches / seconds)} batches/s`,
      )
    }
  }
  return judgePairs(arms, done[0], done[1])
}

export function judgePairs(arms: readonly [ArmSpec, ArmSpec], first: readonly Done[], second: readonly Done[]): Pairs {
  const figures = [figuresOf(arms[0], first), figuresOf(arms[1], second)] as const
  const rate = ({ run }: Done) => run.batches / run.seconds
  const ratios = first.map((one, pair) => rounded(rate(second[pair]!) / rate(one), 3))
  const [low, high] = bootstrapInterval(ratios)
  const near = (a: number, b: number) => Math.abs(a - b) <= SYNCS_TOLERANCE * Math.max(a, b)
  return {
    arms: figures,
    ratios,
    ratio: rounded(median(ratios), 3),
    interval: [rounded(low, 3), rounded(high, 3)],
    latencyRatio: rounded(figures[0].latencyMs.p50 / figures[1].latencyMs.p50, 3),
    syncsMatch:
      near(figures[0].logSyncsPerBatch, figures[1].logSyncsPerBatch) &&
      near(figures[0].indexSyncsPerBatch, figures[1].indexSyncsPerBatch),
    clientBound: [...first, ...second].filter(({ run }) => run.clientUtilization > CLIENT_UTILIZATION_MAX).length,
  }
}

export function figuresOf({ name, measure, loop }: ArmSpec, done: readonly Done[]): ArmFigures {
  const runs = done.map(({ run }) => run)
  const sum = (of: (run: LoopRun) => number) => runs.reduce((total, run) => total + of(run), 0)
  const batches = sum(run => run.batches)
  const rates = runs.map(run => rounded(run.batches / run.seconds))
  const latency = latencyFigures(runs.flatMap(run => run.latenciesMs))
  const inMs = Object.fromEntries(Object.entries(latency).map(([key, value]) => [key, rounded(value, 3)]))
  return {
    name,
    measure,
    batchesPerSecond: spreadOf(rates),
    messagesPerSecond: spreadOf(rates.map(rate => rounded(rate * loop.batchMessages))),
    latencyMs: inMs as unknown as LatencyFigures,
    logSyncsPerBatch: rounded(sum(run => run.counts.logSyncs) / batches, 3),
    indexSyncsPerBatch: rounded(sum(run => run.counts.indexSyncs) / batches, 3),
    batchesPerSync: rounded(batches / sum(run => run.counts.logSyncs), 3),
    superblockWrites: sum(run => run.counts.superblockWrites),
    clientUtilization: rounded(median(runs.map(run => run.clientUtilization))),
    nodeUtilization: rounded(median(runs.map(run => run.counts.utilization))),
    verifiedMessages: done.reduce((total, { verified }) => total + verified, 0),
  }
}
