import { describe, expect, it } from 'vitest'
import type { Recovery } from '../../../shared/inspection/recoveries.ts'
import { comparedWith, recoverySituation } from './situation.ts'

const NOW = 1_000_000
const run = (given: Partial<Recovery> = {}): Recovery => ({
  id: 'R-1',
  faultMs: NOW - 8_000,
  toldMs: { 0: NOW - 7_990 },
  nodes: [0],
  how: 'SIGKILL',
  marks: {},
  elections: {},
  stalled: 1_000,
  seconds: [],
  ledger: undefined,
  ...given,
})
const said = (given: Partial<Recovery>) => {
  const { what, why, next } = recoverySituation(run(given), NOW)
  return `${what} ${why} ${next}`
}

describe('runs that are laid side by side', () => {
  it('are the newest, and the chosen one among them, however old it is', () => {
    const runs = [6, 5, 4, 3, 2, 1].map(number => run({ id: `R-${number}` }))
    const ids = (chosen: number) =>
      comparedWith(runs, runs.find(item => item.id === `R-${chosen}`)!).map(item => item.id)
    expect(ids(5)).toEqual(['R-6', 'R-5', 'R-4', 'R-3'])
    expect(ids(1)).toEqual(['R-6', 'R-5', 'R-4', 'R-1'])
  })
})

describe('the first sentence of the recoveries', () => {
  it('teaches where nothing has happened', () => {
    expect(recoverySituation(undefined, NOW)).toMatchObject({ tone: 'plain', what: expect.stringContaining('No node') })
  })

  it('follows a fault from silence to the node that is back, and never says more than was marked', () => {
    expect(said({})).toMatch(/Nothing has been acknowledged since node-0 ended 8\.0 s ago.*Its peers still wait/)
    expect(said({ marks: { noticed: 5_000 } })).toMatch(/noticed after 5\.0 s.*votes of a majority/)
    expect(said({ marks: { noticed: 5_000, elected: 5_200 } })).toMatch(/leads since 5\.2 s.*tries every node/)
    const acked = { noticed: 5_000, elected: 5_200, acknowledged: 5_900 }
    expect(said({ marks: acked })).toMatch(/Acknowledged again 5\.9 s.*5\.0 s of it was silence.*Start node-0 again/)
    expect(said({ marks: { ...acked, started: 7_000 } })).toMatch(/started after 7\.0 s and fetches/)
    expect(said({ marks: { ...acked, started: 7_000, caughtUp: 7_600 } })).toMatch(/caught up after 7\.6 s/)
  })

  it('tells a fault that nobody felt apart from one that stopped the writes', () => {
    const fault = NOW - 8_000
    const seconds = [-2000, -1000, 1000, 2000, 3000].map(after => ({ atMs: fault + after, acked: 200 }))
    expect(said({ stalled: undefined, seconds })).toMatch(
      /Writes went on: 600 acknowledged in the 3\.0 s after node-0 ended.*No group had to elect/,
    )
    expect(said({ stalled: undefined, seconds: seconds.slice(0, 2) })).toMatch(/No write is known to wait since node-0/)
  })

  it('asks to resume what was paused', () => {
    expect(said({ how: 'SIGSTOP', marks: { acknowledged: 10 } })).toMatch(/after node-0 was paused.*Resume node-0 on/)
    expect(said({ how: 'SIGSTOP', marks: { acknowledged: 10, started: 20 } })).toMatch(/node-0 was resumed after/)
  })

  it('says nothing of writes that nobody measured', () => {
    const quiet = said({ stalled: undefined, elections: { 7: 5000 } })
    expect(quiet).toMatch(/node-0 ended; no load wrote then/)
    expect(quiet).not.toMatch(/Writes went on|led no group/)
  })

  it('puts a lost message above everything', () => {
    const ledger = { run: '1', sent: 9, acked: 9, unknown: 0, readBack: 8, lost: 1, duplicate: 0, verdict: 'lost' }
    expect(recoverySituation(run({ ledger: ledger as never }), NOW)).toMatchObject({
      tone: 'bad',
      what: expect.stringContaining('1 acknowledged message not found'),
    })
  })
})
