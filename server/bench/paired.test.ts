import { expect, it } from 'vitest'
import type { LoopRun } from './closed-loop.ts'
import { type ArmSpec, judgePairs, orderOf } from './paired.ts'
import { judge, probeFinding } from './persist.ts'
import { judgeAlone, judgeGain } from './produce.ts'

const arm = (name: string): ArmSpec => ({
  name,
  measure: [],
  loop: { producers: 8, batchMessages: 10, messageBytes: 100, warmMs: 0, measureMs: 0 },
})
const ARMS = [arm('serial'), arm('concurrent')] as const

/** A run of ten seconds. */
function run(batches: number, syncs: number, latencyMs: number, clientUtilization = 0.2) {
  const result: LoopRun = {
    seconds: 10,
    batches,
    latenciesMs: Array.from({ length: batches }, () => latencyMs),
    clientUtilization,
    counts: { logSyncs: syncs, indexSyncs: syncs, superblockWrites: 0, cpuMs: 0, utilization: 0.3 },
    ledger: { built: [], confirmed: [] },
  }
  return { run: result, verified: batches * 10 }
}
const PROBE = { oneMs: 1, serialMs: 2, togetherMs: 1.05, ceiling: 1.9, rounds: 500 }
const wanted = (name: string, expected?: readonly [number, number]) => ({
  name,
  what: name,
  sync: '5',
  arms: ['serial', 'concurrent'] as const,
  producers: 8,
  partitions: 1,
  ...(expected && { expected }),
})

it('the runs of a pair swap places from pair to pair', () => {
  expect([0, 1, 2, 3].flatMap(orderOf)).toEqual([0, 1, 1, 0, 0, 1, 1, 0])
})

it('a ratio is the median of the ratios of the pairs, and bounds decide', () => {
  const pairs = judgePairs(
    ARMS,
    [run(100, 100, 10), run(100, 100, 10), run(50, 50, 10)],
    [run(190, 190, 5), run(180, 180, 5), run(100, 100, 5)],
  )
  expect(pairs).toMatchObject({ ratios: [1.9, 1.8, 2], ratio: 1.9, latencyRatio: 2, syncsMatch: true, clientBound: 0 })
  expect(pairs.arms[0]).toMatchObject({ logSyncsPerBatch: 1, batchesPerSync: 1, verifiedMessages: 2500 })
  expect(judge(wanted('equal', [1.8, 2]), pairs, PROBE).ok).toBe(true)
  expect(judge(wanted('equal', [1.15, 1.35]), pairs, PROBE).ok).toBe(false)
  expect(judge(wanted('same-arms', [0.95, 1.05]), pairs, PROBE).ok).toBe(false)
  expect(judge(wanted('disk'), pairs, PROBE)).toMatchObject({
    ok: true,
    text: expect.stringMatching(/1 of the ceiling/),
  })
  expect(judge(wanted('disk'), pairs, { ...PROBE, ceiling: 2.4 }).ok).toBe(false)
})

it('a gain that comes from fewer syncs is none, and neither is one that the client bounds', () => {
  const grouped = judgePairs(ARMS, [run(100, 100, 10)], [run(190, 150, 5)])
  expect(judge(wanted('equal', [1.8, 2]), grouped, PROBE)).toMatchObject({
    ok: false,
    text: expect.stringMatching(/do not sync alike/),
  })
  const bound = judgePairs(ARMS, [run(100, 100, 10)], [run(190, 190, 5, 0.9)])
  expect(judge(wanted('equal', [1.8, 2]), bound, PROBE)).toMatchObject({
    ok: false,
    text: expect.stringMatching(/bound by the client/),
  })
})

it('a disk that cannot show the effect gets no ratio', () => {
  expect(probeFinding({ ...PROBE, ceiling: 1.1 }).text).toMatch(/^this disk cannot show the effect, no ratio/)
  expect(probeFinding(PROBE).text).not.toMatch(/no ratio/)
})

it('group commit: too few batches a sync, too small a gain and a slower lone producer are failures', () => {
  const good = judgePairs(ARMS, [run(100, 100, 10)], [run(400, 100, 20)])
  expect(judgeGain(good).map(({ ok }) => ok)).toEqual([true, true])
  const poor = judgePairs(ARMS, [run(100, 100, 10)], [run(300, 100, 20)])
  expect(judgeGain(poor).map(({ ok }) => ok)).toEqual([false, false])
  expect(judgeAlone(judgePairs(ARMS, [run(100, 100, 10)], [run(99, 99, 10)]))[0]!.ok).toBe(true)
  expect(judgeAlone(judgePairs(ARMS, [run(100, 100, 10)], [run(80, 80, 10)]))[0]!.ok).toBe(false)
})
