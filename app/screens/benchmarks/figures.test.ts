import { describe, expect, it } from 'vitest'
import { type BenchRun, benchReport } from '../../../shared/inspection/bench.ts'
import { benchSituation, figuresOf, ratiosOf, scaleEnd, stepsOf } from './figures.ts'

const report = benchReport.parse({
  ok: true,
  findings: [{ name: 'gain', ok: true, text: 'x' }],
  arms: [
    {
      case: '5 ms',
      ratios: [3.9, 4.2],
      ratio: 4.05,
      interval: [3.9, 4.2],
      syncsMatch: true,
      arms: [
        { name: 'one', latencyMs: { p50: 5.1 } },
        { name: 'eight', latencyMs: { p50: 9 } },
      ],
    },
    { name: 'a kill', p95: 12, ceiling: 500, ratio: 0.024 },
  ],
})

describe('the figures of a benchmark', () => {
  it('are every leaf of what was printed, by arm, and no other', () => {
    expect(figuresOf(report)).toEqual([
      { arm: '5 ms', name: 'ratios', value: '3.9, 4.2' },
      { arm: '5 ms', name: 'ratio', value: '4.05' },
      { arm: '5 ms', name: 'interval', value: '3.9, 4.2' },
      { arm: '5 ms', name: 'syncsMatch', value: 'true' },
      { arm: '5 ms', name: 'arms one.latencyMs.p50', value: '5.1' },
      { arm: '5 ms', name: 'arms eight.latencyMs.p50', value: '9' },
      { arm: 'a kill', name: 'p95', value: '12' },
      { arm: 'a kill', name: 'ceiling', value: '500' },
      { arm: 'a kill', name: 'ratio', value: '0.024' },
    ])
  })

  it('have a spread where pairs were run, drawn on a scale that has 1 on it', () => {
    expect(ratiosOf(report)).toEqual([{ name: '5 ms', ratios: [3.9, 4.2], ratio: 4.05, interval: [3.9, 4.2] }])
    expect(scaleEnd(ratiosOf(report))).toBeGreaterThan(4.2)
    expect(scaleEnd([])).toBeGreaterThan(1)
  })

  it('come step by step: each in its words, and of the one under way how much is done', () => {
    expect(stepsOf(['probing the disk', 'a: one against eight', '  pair 1/10, one: 5 batches/s'])).toEqual([
      { words: 'probing the disk', count: undefined },
      { words: 'a: one against eight', count: { done: 1, of: 10 } },
    ])
    expect(stepsOf(['start 1 of 3', 'start 2 of 3', 'facts for 5 s'])).toEqual([
      { words: 'start', count: { done: 1, of: 3 } },
      { words: 'facts for 5 s', count: undefined },
    ])
    expect(stepsOf(['forced: this machine is busy, load 12/2', ''])).toEqual([
      { words: 'forced: this machine is busy, load 12/2', count: undefined },
    ])
    expect(stepsOf([])).toEqual([])
  })

  it('are told with what they are worth: refused, cancelled, out of bounds, forced', () => {
    const run = (more: Partial<BenchRun>): BenchRun => ({
      id: '0123456789ab',
      suite: 'produce',
      size: 'quick',
      force: false,
      command: '',
      state: 'done',
      startedWallUs: '0',
      tookMs: 5000,
      expectedMs: null,
      lines: [],
      report,
      error: null,
      ...more,
    })
    const said = (more: Partial<BenchRun>) => benchSituation(run(more)).what
    expect(said({})).toBe('bench produce, quick: every figure is within its bounds.')
    expect(said({ report: { ...report, ok: false, findings: [{ name: 'gain', ok: false, text: '' }] } })).toBe(
      'bench produce, quick: gain out of bounds.',
    )
    expect(said({ state: 'refused', report: null })).toBe('Nothing was measured: the machine is busy.')
    expect(said({ state: 'cancelled', report: null })).toBe('bench produce, quick was cancelled.')
    expect(benchSituation(run({ report: { ...report, forced: true } })).why).toContain('forced')
    expect(benchSituation(undefined).what).toBe('Nothing was measured here yet.')
  })
})
