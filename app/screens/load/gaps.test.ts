import { describe, expect, it } from 'vitest'
import { type LoadState, loadSettings, loadState } from '../../../shared/inspection/api.ts'
import type { Fact } from '../../../shared/inspection/view.ts'
import { isValid, loadForm, setPolicy, settingsOf } from './form.ts'
import { chartPoints, isAlone, loadGaps } from './gaps.ts'
import { loadSituation } from './situation.ts'

const START = 1_000_000
const loadOf = (acked: readonly number[], more: Partial<LoadState> = {}): LoadState =>
  loadState.parse({
    state: 'running',
    run: 'r',
    settings: loadSettings.parse({}),
    startedWallUs: '0',
    stoppedWallUs: null,
    takenWallUs: '0',
    ledger: Object.fromEntries(
      [
        'sent',
        'acked',
        'unknown',
        'refused',
        'inFlight',
        'readBack',
        'lost',
        'duplicate',
        'unknownFound',
        'refusedFound',
        'corrupt',
      ].map(name => [name, 0]),
    ),
    latency: null,
    seconds: acked.map((count, index) => ({
      atMs: START + index * 1000,
      sent: 200,
      acked: count,
      unknown: count === 0 ? 10 : 0,
      refused: 0,
      p50Ms: null,
      p99Ms: null,
    })),
    connections: [],
    partitions: [],
    verdict: { kind: 'none', words: 'nothing acknowledged yet' },
    lastError: null,
    ...more,
  })
const fact = (kind: string, second: number): Fact =>
  ({ kind, atMs: START + second * 1000, words: `${kind} then`, number: second, data: {} }) as never as Fact

describe('the gap at a kill', () => {
  it('G46 is every whole second without an acknowledgement between two with one, and names the fault in front of it', () => {
    const facts = [fact('process_exited', 1.8), fact('view_started', 4.5)]
    const gaps = loadGaps(loadOf([200, 150, 0, 0, 0, 90, 200, 200]), facts)
    expect(gaps).toMatchObject([
      { fromMs: START + 2000, toMs: START + 5000, open: false, unknown: 30, cause: facts[0], elected: facts[1] },
    ])
  })

  it('is not blamed on a start-up that failed meanwhile', () => {
    const failed = { ...fact('process_exited', 1.9), data: { was: 'starting' } }
    const [gap] = loadGaps(loadOf([200, 150, 0, 0, 0, 90, 200, 200]), [fact('process_exited', 1.8), failed])
    expect(gap!.cause?.number).toBe(1.8)
  })

  it('is open while nothing comes, and never made of the second that is not over', () => {
    expect(loadGaps(loadOf([200, 0, 0, 0]), [])).toMatchObject([
      { fromMs: START + 1000, toMs: START + 3000, open: true },
    ])
    expect(loadGaps(loadOf([200, 200, 0]), [])).toEqual([])
  })

  it('is not the silence before the first acknowledgement, nor that behind the last of a load that ended', () => {
    expect(loadGaps(loadOf([0, 0, 200, 200]), [])).toEqual([])
    expect(loadGaps(loadOf([200, 0, 0], { state: 'done' }), [])).toEqual([])
  })

  it('is not the pause between two batches of a slow load', () => {
    const settings = loadSettings.parse({ ratePerSecond: 1, batchMessages: 10 })
    const slow = [10, ...Array<number>(9).fill(0), 10, 0]
    expect(loadGaps(loadOf(slow, { settings }), [])).toEqual([])
    expect(loadGaps(loadOf([10, ...Array<number>(25).fill(0), 10, 0], { settings }), [])).toHaveLength(1)
  })
})

describe('the points of the chart', () => {
  it('G46 leave a gap where a second is missing, and know a point that stands alone', () => {
    const load = loadOf([200, 0, 150, 200, 200])
    const seconds = load.seconds.filter((_, index) => index !== 1)
    const points = chartPoints({ ...load, seconds })
    expect(points.map(point => [(point.at - START) / 1000, point.acked, point.sent])).toEqual([
      [0, 200, 200],
      [1, undefined, undefined],
      [2, 150, 200],
      [3, 200, 200],
    ])
    expect(points.map((_, index) => isAlone(points, index, 'acked'))).toEqual([true, false, false, false])
    expect(chartPoints({ ...load, seconds: load.seconds.slice(0, 1) })).toEqual([])
    expect(chartPoints({ ...load, seconds: [] })).toEqual([])
  })
})

describe('the first sentence of the load screen', () => {
  it('says the gravest thing first: what was lost, then an open gap, then the rate', () => {
    const open = loadOf([200, 0, 0, 0])
    const lost = loadOf([200, 0, 0, 0], { ledger: { ...open.ledger, lost: 2 } })
    expect(loadSituation(lost, loadGaps(lost, [])).what).toBe('2 acknowledged messages lost.')
    const words = loadSituation(open, loadGaps(open, [fact('process_paused', 0.9)]))
    expect([words.what, words.why]).toEqual(['Nothing has been acknowledged for 2.0 s.', 'process_paused then.'])
    expect(loadSituation(loadOf([200, 200, 200]), []).what).toBe(
      '200 messages a second are acknowledged, of 200 asked.',
    )
    expect(loadSituation(undefined, []).what).toBe('No load runs.')
  })
})

describe('the form of the load', () => {
  it('asks for what was typed, and for nothing while a field is out of its range', () => {
    const form = loadForm.get()
    expect(settingsOf(form)).toEqual(loadSettings.parse({}))
    expect(settingsOf({ ...form, messageBytes: '31' })).toBeUndefined()
    expect(settingsOf({ ...form, ratePerSecond: '1e3' })).toBeUndefined()
    expect(settingsOf({ ...form, topic: '' })).toBeUndefined()
    expect(isValid({ ...form, topic: 'a\u0000b' }, 'topic')).toBe(false)
    expect(settingsOf({ ...form, segmentMib: '1', topic: '<b>' })).toMatchObject({
      segmentSizeBytes: 2 ** 20,
      topic: '<b>',
    })
  })

  it('the other policy gets a topic of its own, unless one was typed', () => {
    setPolicy('eager')
    expect(loadForm.get().topic).toBe('eager')
    loadForm.set(form => ({ ...form, topic: 'mine' }))
    setPolicy('default')
    expect(loadForm.get()).toMatchObject({ topic: 'mine', policy: 'default' })
  })
})
