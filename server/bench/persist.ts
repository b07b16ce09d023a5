/**
 * `bench persist`: what it is worth that log and index are written and synced together (spec drills.md §4.3). Group commit
 * is off in both arms, or it would hide the persist behind the grouping. The real disk is held against its own ceiling; on
 * disks of known speed the ratio is known; and where there is nothing to gain there must be no gain.
 */
import type { LoopRun } from './closed-loop.ts'
import { CEILING_MIN, type DiskProbe, probeDisk } from './disk-probe.ts'
import { type ArmSpec, type PairOptions, type Pairs, runArm, runPairs } from './paired.ts'
import { latencyFigures, rounded } from './statistics.ts'
import { type Finding, runSuite, type SuiteOptions, type SuiteReport, within } from './suite.ts'

const OF_CEILING_MIN = 0.85
const IDLE_MS = 3_000
/** Of a disk of known speed: nothing there depends on the disk, so less is needed. */
const KNOWN_PAIRS_MAX = 2
const KNOWN_SECONDS_MAX = 6
const KNOWN_IDLE_MS = 500
/** Share of the measured capacity at which latency is taken from when a batch was due. */
const OPEN_LOOP_SHARE = 0.7

interface Case {
  readonly name: string
  readonly what: string
  readonly sync: string
  readonly arms: readonly [Halves, Halves]
  readonly producers: number
  readonly partitions: number
  /** Bounds of the ratio; absent: it is only told. */
  readonly expected?: readonly [number, number]
  /** What the bounds are about; default throughput. */
  readonly of?: 'latency'
}

type Halves = 'serial' | 'concurrent'

const BOTH = ['serial', 'concurrent'] as const
const CASES: readonly Case[] = [
  { name: 'disk', what: 'this disk', sync: 'real', arms: BOTH, producers: 8, partitions: 1 },
  { name: 'equal', what: '5 ms for each sync', sync: '5', arms: BOTH, producers: 8, partitions: 1, expected: [1.8, 2] },
  {
    name: 'unequal',
    what: '8 ms for a sync of the log, 2 ms for one of the index',
    sync: '8/2',
    arms: BOTH,
    producers: 8,
    partitions: 1,
    expected: [1.15, 1.35],
  },
  {
    name: 'one-producer',
    what: '5 ms for each sync, one producer: latency',
    sync: '5',
    arms: BOTH,
    producers: 1,
    partitions: 1,
    expected: [1.7, 2.05],
    of: 'latency',
  },
  {
    name: 'same-arms',
    what: 'control, both arms concurrent',
    sync: '5',
    arms: ['concurrent', 'concurrent'],
    producers: 8,
    partitions: 1,
    expected: [0.95, 1.05],
  },
  {
    name: 'no-sync',
    what: 'control, syncs do nothing',
    sync: 'none',
    arms: BOTH,
    producers: 8,
    partitions: 1,
    expected: [0.85, 1.25],
  },
  {
    name: 'many-partitions',
    what: 'control, 64 producers on 64 partitions of this disk: it saturates',
    sync: 'real',
    arms: BOTH,
    producers: 64,
    partitions: 64,
  },
]
export const PERSIST_CASES: readonly string[] = CASES.map(({ name }) => name)

export interface PersistOptions extends SuiteOptions {
  readonly pairs: number
  readonly seconds: number
  readonly warmSeconds: number
  /** Default: all. */
  readonly only?: readonly string[]
  readonly keep?: (arm: string, run: LoopRun) => void
}

const armOf = (wanted: Case, halves: Halves, options: PersistOptions): ArmSpec => ({
  name: `${wanted.name}: ${halves}`,
  measure: [`persist=${halves}`, 'group-commit=off', `sync=${wanted.sync}`],
  loop: {
    producers: wanted.producers,
    partitions: wanted.partitions,
    batchMessages: 10,
    messageBytes: 100,
    warmMs: options.warmSeconds * 1000,
    measureMs: options.seconds * 1000,
  },
})

export function benchPersist(options: PersistOptions): Promise<SuiteReport> {
  return runSuite('persist', options, async (home, hash) => {
    const { say, entry, keep } = options
    say('probing the disk: one file, two in sequence, two together')
    const probe = await probeDisk(home)
    const findings: Finding[] = [probeFinding(probe)]
    const arms: object[] = []
    let disk: Pairs | undefined
    for (const wanted of CASES.filter(({ name }) => options.only?.includes(name) ?? true)) {
      const real = wanted.sync === 'real'
      if (real && probe.ceiling < CEILING_MIN) continue
      say(`${wanted.name}: ${wanted.what}`)
      const own = real ? options : known(options)
      const pair: PairOptions = {
        hash,
        home,
        pairs: own.pairs,
        idleMs: real ? IDLE_MS : KNOWN_IDLE_MS,
        say,
        ...(entry && { entry }),
        ...(keep && { keep }),
      }
      const [a, b] = wanted.arms
      const specs = [armOf(wanted, a, own), armOf(wanted, b, own)] as const
      const pairs = await runPairs(specs, pair)
      arms.push({ case: wanted.name, ...pairs })
      findings.push(judge(wanted, pairs, probe))
      if (wanted.name !== 'disk') continue
      disk = pairs
      const open = await openLoop(specs[1], pairs, pair)
      arms.push(open)
      findings.push({ name: 'open-loop', ok: true, text: open.text })
    }
    return {
      findings,
      arms,
      ceiling: rounded(probe.ceiling, 3),
      ...(disk && { ratio: disk.ratio, interval: disk.interval }),
    }
  })
}

const known = (options: PersistOptions): PersistOptions => ({
  ...options,
  pairs: Math.min(options.pairs, KNOWN_PAIRS_MAX),
  seconds: Math.min(options.seconds, KNOWN_SECONDS_MAX),
  warmSeconds: Math.min(options.warmSeconds, 2),
})

export function probeFinding({ oneMs, serialMs, togetherMs, ceiling }: DiskProbe): Finding {
  const figures = `one sync ${oneMs.toFixed(2)} ms, two in sequence ${serialMs.toFixed(2)} ms, two together ${togetherMs.toFixed(2)} ms: ceiling ${ceiling.toFixed(2)}`
  const text = ceiling < CEILING_MIN ? `this disk cannot show the effect, no ratio: ${figures}` : figures
  return { name: 'probe', ok: true, text }
}

export function judge(wanted: Case, pairs: Pairs, probe: DiskProbe): Finding {
  const { ratio, interval, latencyRatio, syncsMatch, clientBound } = pairs
  const shown = wanted.of === 'latency' ? latencyRatio : ratio
  const of = wanted.name === 'disk' ? `, ${rounded(ratio / probe.ceiling)} of the ceiling` : ''
  const bounds = wanted.expected ? `, expected ${wanted.expected[0]} to ${wanted.expected[1]}` : ''
  const [a, b] = pairs.arms
  const syncs = `syncs for each batch, log and index: ${a.logSyncsPerBatch}/${a.indexSyncsPerBatch} against ${b.logSyncsPerBatch}/${b.indexSyncsPerBatch}`
  const good =
    wanted.name === 'disk'
      ? ratio >= OF_CEILING_MIN * probe.ceiling && interval[0] > 1
      : wanted.expected === undefined || within(shown, ...wanted.expected)
  const problems = [
    ...(syncsMatch ? [] : ['the arms do not sync alike']),
    ...(clientBound === 0 ? [] : [`${clientBound} runs were bound by the client`]),
  ]
  return {
    name: wanted.name,
    ok: good && problems.length === 0,
    text: [
      `${wanted.what}: ratio ${shown} (95 % ${interval[0]} to ${interval[1]})${of}${bounds}`,
      `p50 ${a.latencyMs.p50} ms against ${b.latencyMs.p50} ms; ${syncs}`,
      ...problems,
    ].join('; '),
  }
}

/** Closed loops hide a queue that they cannot build; this row counts from when each batch was due. */
async function openLoop(arm: ArmSpec, pairs: Pairs, options: PairOptions) {
  const pace = OPEN_LOOP_SHARE * pairs.arms[1].batchesPerSecond.median
  const { run } = await runArm({ ...arm, name: 'disk: open loop', loop: { ...arm.loop, pace } }, options)
  const latencyMs = latencyFigures(run.latenciesMs)
  const { p50, p99, max } = latencyMs
  const text = `open loop at ${Math.round(pace)} batches/s, ${OPEN_LOOP_SHARE * 100} % of capacity, from when a batch was due: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, max ${max.toFixed(2)} ms`
  return { case: 'open-loop', pace, latencyMs, text }
}
