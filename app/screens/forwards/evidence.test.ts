import { expect, it } from 'vitest'
import type { ForwardChain } from '../../../shared/inspection/forwards.ts'
import { evidenceOf } from './evidence.ts'

type Name = ForwardChain['steps'][number]['step']
const chain = (state: ForwardChain['state'], ...names: Name[]): ForwardChain => ({
  nonce: 'ab',
  group: '0',
  operation: 160,
  client: '1',
  origin: 1,
  primary: 0,
  state,
  wallUs: '1',
  matched: names.includes('taken') && names.includes('received'),
  steps: names.map((step, index) => ({ step, node: 0, wallUs: '1', monoUs: index, seq: index + 1 })),
})

it('an unknown outcome stays unknown until the primary tells how it ended', () => {
  expect(evidenceOf(chain('unknown', 'received', 'parked', 'sent', 'lost')).tone).toBe('unknown')
  expect(evidenceOf(chain('unknown', 'received', 'sent', 'taken', 'lost')).tone).toBe('unknown')
  expect(evidenceOf(chain('unknown', 'received', 'sent', 'taken', 'accepted', 'lost'))).toMatchObject({
    tone: 'warn',
    what: 'Committed, and the client was not told.',
  })
  expect(evidenceOf(chain('unknown', 'received', 'sent', 'taken', 'refused', 'lost')).tone).toBe('fail')
})

it('a refusal was never written, whether it left its origin or not', () => {
  expect(evidenceOf(chain('refused', 'received', 'sent', 'taken', 'refused', 'answered')).why).toContain(
    'node-0 refused',
  )
  expect(evidenceOf(chain('refused', 'received', 'unsent')).why).toContain('never left')
})
