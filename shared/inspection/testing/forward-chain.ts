/** A forward as the console joins it, for tests of what is said about it: from node 1 to node 0, of which no step was told. */
import type { ForwardChain } from '../forwards.ts'

export const forwardChain = (over: Partial<ForwardChain>): ForwardChain => ({
  nonce: 'ab',
  group: '0',
  operation: 160,
  client: '1',
  origin: 1,
  primary: 0,
  state: 'accepted',
  wallUs: '1',
  matched: true,
  steps: [],
  ...over,
})
