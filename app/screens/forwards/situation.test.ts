import { expect, it } from 'vitest'
import type { ForwardChain, ForwardsAnswer } from '../../../shared/inspection/forwards.ts'
import { forwardChain } from '../../../shared/inspection/testing/forward-chain.ts'
import type { Divergence } from '../../planes.ts'
import { forwardsSituation } from './situation.ts'

const chain = (nonce: string, state: ForwardChain['state']): ForwardChain => forwardChain({ nonce, state })
const answer = (...states: ForwardChain['state'][]): ForwardsAnswer => ({
  forwards: states.map((state, index) => chain(`a${index}`, state)),
  nodes: [{ node: 0, parked: 0, total: states.length }],
})
const led: Divergence = { metadata: { node: 0, view: 0 }, elsewhere: [], led: 1 }
const what = (of: ForwardsAnswer | undefined, error?: unknown) => forwardsSituation(of, error, undefined, led).what

it('says nothing of forwards before it has an answer, and nothing after a failure', () => {
  expect(what(undefined)).toBe('The forwards are being read.')
  expect(what(undefined, new Error('x'))).toBe('The forwards are not known.')
  expect(what(answer())).toBe('No write was forwarded yet.')
  expect(what({ forwards: [], nodes: [{ node: 0, error: 'down' }] })).toBe('No node tells of its forwards now.')
})

it('calls all answered only when nobody waits', () => {
  expect(what(answer('accepted', 'accepted'))).toBe('All 2 forwarded writes were answered.')
  expect(what(answer('accepted', 'waiting', 'waiting'))).toBe('2 of 3 forwarded writes still wait for an answer.')
  expect(what(answer('refused', 'waiting'))).toBe('1 forward of 2 refused, each answered at once; 1 still wait.')
  expect(what(answer('unknown', 'waiting'))).toBe('1 write of 2 ended with outcome unknown.')
})

it('tells a cluster without a partition from one without a primary', () => {
  const why = (divergence: Divergence) => forwardsSituation(answer(), undefined, undefined, divergence).why
  expect(why({ ...led, led: 0 })).toContain('No partition has a primary now, or there is none yet')
  expect(why({ metadata: undefined, elsewhere: [], led: 0 })).toContain('The metadata group has no primary now')
})
