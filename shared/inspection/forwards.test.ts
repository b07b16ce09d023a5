import { expect, it } from 'vitest'
import { joinForwards } from './forwards.ts'
import type { ForwardRecord, ForwardsSnapshot } from './snapshots.ts'

const record = (nonce: number, side: ForwardRecord['side'], state: ForwardRecord['state']): ForwardRecord => ({
  nonce: nonce.toString(16),
  side,
  origin: 1,
  primary: 0,
  group: '0',
  operation: 160,
  client: '1',
  state,
  ...(state !== 'waiting' && { status: state === 'accepted' ? 0 : 57, reason: `${side} says ${state}` }),
  steps: [{ step: side === 'origin' ? 'received' : 'taken', wallUs: String(nonce), monoUs: nonce, seq: nonce }],
})
const snapshot = (node: number, forwards: ForwardRecord[]): ForwardsSnapshot => ({
  reporter: { node, boot: 'b', takenWallUs: '0', takenMonoUs: 0, seq: 0 },
  parked: 0,
  waiting: 0,
  parkedBytes: 0,
  total: forwards.length,
  forwards,
})

it('keeps what the primary says of a forward beside what the client was told', () => {
  const join = (primary: ForwardRecord['state']) =>
    joinForwards([snapshot(1, [record(7, 'origin', 'unknown')]), snapshot(0, [record(7, 'primary', primary)])], 10)[0]
  expect(join('unknown')).toMatchObject({
    state: 'unknown',
    atPrimary: 'unknown',
    primaryReason: 'primary says unknown',
  })
  expect(join('refused')).toMatchObject({ state: 'unknown', atPrimary: 'refused' })
  expect(join('waiting')).toMatchObject({ state: 'unknown', atPrimary: 'waiting', reason: 'origin says unknown' })
  const [alone] = joinForwards([snapshot(1, [record(7, 'origin', 'unknown')])], 10)
  expect(alone).not.toHaveProperty('atPrimary')
})

it('answers the newest, and behind them whatever was not accepted', () => {
  const list = [1, 2, 3, 4, 5, 6].map(nonce => record(nonce, 'origin', nonce % 3 === 1 ? 'unknown' : 'accepted'))
  expect(joinForwards([snapshot(1, list)], 2).map(chain => chain.nonce)).toEqual(['6', '5', '4', '1'])
})
