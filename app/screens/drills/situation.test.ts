import { describe, expect, it } from 'vitest'
import type { DrillRunSummary, DrillsAnswer } from '../../../shared/inspection/drills.ts'
import { drillsSituation } from './situation.ts'

const ran = (given: Partial<DrillRunSummary> = {}): DrillRunSummary => ({
  run: 1,
  drill: 'D03',
  world: 'sim',
  broken: false,
  free: false,
  seed: '7',
  state: 'done',
  verdict: 'pass',
  asExpected: true,
  tookMs: 1_200,
  sweep: null,
  ...given,
})
const drill = (id: string, last: DrillRunSummary | null): DrillsAnswer['drills'][number] => ({
  id,
  title: `drill ${id}`,
  teaches: 'an index is a rumour.',
  lesson: 'disk',
  worlds: ['sim'],
  rule: 'R01',
  last,
})
const said = (lasts: readonly (DrillRunSummary | null)[], active: number | null = null, going?: DrillRunSummary) => {
  const drills = lasts.map((last, at) => drill(`D0${at + 1}`, last))
  const { tone, what, why, next } = drillsSituation({ drills, active }, going)
  return { tone, words: `${what} ${why} ${next}` }
}

describe('the first sentence of the drills', () => {
  it('teaches where nothing was run, and names the first', () => {
    expect(said([null, null])).toEqual({
      tone: 'plain',
      words: expect.stringMatching(/^None of 2 drills was run.*Open D01 drill D01/),
    })
  })

  it('says what runs, and when it waits for a person', () => {
    const going = ran({ run: 4, drill: 'D02', state: 'running', verdict: null, asExpected: null })
    expect(said([null, ran()], 4, going).words).toMatch(
      /^D02 drill D02 is going on\. It shows: an index is a rumour\. It runs now: simulator, seed 7/,
    )
    expect(said([null, ran()], 4, { ...going, state: 'waiting' }).words).toMatch(/waits for you.*Open D02: it goes on/)
    // Which drill it is has not been read yet, or what was read is of another run.
    expect(said([null, ran()], 9, going).words).toMatch(/^Run 9 is going on/)
  })

  it('puts what ended wrongly above what ended well; with its rule off a drill must fail', () => {
    const red = ran({ run: 2, verdict: 'fail', asExpected: false })
    expect(said([ran(), red, null])).toEqual({
      tone: 'bad',
      words: expect.stringMatching(/^1 drill of 3 did not end as it must, last D02.*Fail: run 2.*Open D02/),
    })
    expect(said([ran({ state: 'failed', verdict: null, asExpected: null })]).tone).toBe('bad')
    expect(said([ran({ broken: true, verdict: 'fail', asExpected: true })])).toEqual({
      tone: 'good',
      words: expect.stringMatching(
        /^1 of 1 drill ended as they must.*fail, as it should.*rule off.*Every drill was run/,
      ),
    })
  })

  it('counts a run by hand as no verdict', () => {
    expect(said([ran({ free: true }), null])).toEqual({
      tone: 'plain',
      words: expect.stringMatching(/^0 of 2 drills .*by hand.*D02 drill D02 was not run yet/),
    })
  })
})
