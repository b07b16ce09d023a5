/**
 * `bench produce`: what group commit is worth. Eight producers in closed loops, ten messages of 1 KB a batch, on an eager
 * topic of a solo node: how many batches one sync carries, how much more they get through than one producer does, and that
 * one producer alone loses nothing by it (design.md §3, Group commit).
 */
import { type ArmSpec, type PairOptions, type Pairs, runPairs } from './paired.ts'
import { type Finding, runSuite, type SuiteOptions, type SuiteReport } from './suite.ts'

const BATCHES_PER_SYNC_MIN = 3.5
const GAIN_MIN = 3.8
/** One producer may be slower by so much before it counts: two equal arms differ by as much. */
const ALONE_MIN = 0.95
const IDLE_MS = 1_000

export interface ProduceOptions extends SuiteOptions {
  readonly pairs: number
  readonly seconds: number
  readonly warmSeconds: number
}

export function benchProduce(options: ProduceOptions): Promise<SuiteReport> {
  return runSuite('produce', options, async (home, hash) => {
    const { say, entry } = options
    const pair: PairOptions = { hash, home, pairs: options.pairs, idleMs: IDLE_MS, say, ...(entry && { entry }) }
    const arm = (producers: number, sync: string, groupCommit: 'on' | 'off' = 'on'): ArmSpec => ({
      name: `${producers} producers, group commit ${groupCommit}, sync ${sync}`,
      measure: [`group-commit=${groupCommit}`, `sync=${sync}`],
      loop: {
        producers,
        batchMessages: 10,
        messageBytes: 1000,
        warmMs: options.warmSeconds * 1000,
        measureMs: options.seconds * 1000,
      },
    })
    const findings: Finding[] = []
    const arms: object[] = []
    const run = async (name: string, first: ArmSpec, second: ArmSpec, judge: (pairs: Pairs) => Finding[]) => {
      say(`${name}: ${first.name} against ${second.name}`)
      const pairs = await runPairs([first, second], pair)
      arms.push({ case: name, ...pairs })
      findings.push(...judge(pairs))
      return pairs
    }
    const gain = await run('5 ms', arm(1, '5'), arm(8, '5'), judgeGain)
    await run('disk', arm(1, 'real'), arm(8, 'real'), pairs => [grouping('disk', pairs)])
    await run('alone', arm(1, '5', 'off'), arm(1, '5'), judgeAlone)
    return { findings, arms, ratio: gain.ratio, interval: gain.interval, ceiling: 8 }
  })
}

function grouping(name: string, { arms, ratio }: Pairs): Finding {
  const [one, eight] = arms
  return {
    name: `grouping, ${name}`,
    ok: eight.batchesPerSync >= BATCHES_PER_SYNC_MIN,
    text: `${eight.batchesPerSync} batches for each sync (at least ${BATCHES_PER_SYNC_MIN}); ${eight.batchesPerSecond.median} batches/s of eight producers, ${one.batchesPerSecond.median} of one, ratio ${ratio}`,
  }
}

export const judgeGain = (pairs: Pairs): Finding[] => [
  grouping('5 ms for each sync', pairs),
  {
    name: 'gain',
    ok: pairs.ratio >= GAIN_MIN,
    text: `5 ms for each sync: eight producers get ${pairs.ratio} times as much through as one (95 % ${pairs.interval[0]} to ${pairs.interval[1]}, at least ${GAIN_MIN})`,
  },
]

export const judgeAlone = (pairs: Pairs): Finding[] => [
  {
    name: 'alone',
    ok: pairs.ratio >= ALONE_MIN,
    text: `one producer, 5 ms for each sync: group commit on over off ${pairs.ratio} (95 % ${pairs.interval[0]} to ${pairs.interval[1]}, at least ${ALONE_MIN})`,
  },
]
