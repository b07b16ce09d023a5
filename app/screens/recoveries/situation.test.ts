import { describe, expect, it } from 'vitest'
import type { Recovery } from '../../data/recoveries.ts'
import { recoverySituation } from './situation.ts'

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
    expect(said({ stalled: undefined })).toMatch(/Writes went on while node-0 ended.*led no group/)
  })

  it('puts a lost message above everything', () => {
    const ledger = { run: '1', sent: 9, acked: 9, unknown: 0, readBack: 8, lost: 1, duplicate: 0, verdict: 'lost' }
    expect(recoverySituation(run({ ledger: ledger as never }), NOW)).toMatchObject({
      tone: 'bad',
      what: expect.stringContaining('1 acknowledged message not found'),
    })
  })
})
