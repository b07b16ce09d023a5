import { expect, it } from 'vitest'
import type { ForwardChain } from '../../../shared/inspection/forwards.ts'
import { forwardChain } from '../../../shared/inspection/testing/forward-chain.ts'
import { evidenceOf } from './evidence.ts'

type Name = ForwardChain['steps'][number]['step']
const chain = (state: ForwardChain['state'], ...names: Name[]): ForwardChain => chainOf(state, undefined, names)
const chainOf = (
  state: ForwardChain['state'],
  atPrimary: ForwardChain['atPrimary'],
  names: readonly Name[],
): ForwardChain =>
  forwardChain({
    state,
    matched: names.includes('taken') && names.includes('received'),
    ...(atPrimary && { atPrimary, primaryReason: 'the group changed its view' }),
    steps: names.map((step, index) => ({ step, node: 0, wallUs: '1', monoUs: index, seq: index + 1 })),
  })

it('an unknown outcome stays unknown until the primary tells how it ended', () => {
  expect(evidenceOf(chain('unknown', 'received', 'parked', 'sent', 'lost')).tone).toBe('unknown')
  expect(evidenceOf(chain('unknown', 'received', 'sent', 'taken', 'lost')).tone).toBe('unknown')
  expect(evidenceOf(chain('unknown', 'received', 'sent', 'taken', 'accepted', 'lost'))).toMatchObject({
    tone: 'warn',
    what: 'Committed, and the client was not told.',
  })
  const late: Name[] = ['received', 'sent', 'taken', 'refused', 'lost']
  expect(evidenceOf(chainOf('unknown', 'refused', late))).toMatchObject({
    tone: 'fail',
    what: 'Not written, and the client was not told.',
  })
})

it('a primary that gave up an op with status 57 has refused nothing: it may be in the log', () => {
  for (const last of ['lost', 'answered'] as const) {
    const found = evidenceOf(chainOf('unknown', 'unknown', ['received', 'sent', 'taken', 'refused', last]))
    expect(found).toMatchObject({ tone: 'unknown', what: 'Still unknown.' })
    expect(found.why).toContain('the group changed its view')
  }
})

it('a refusal was never written, whether it left its origin or not', () => {
  expect(evidenceOf(chain('refused', 'received', 'sent', 'taken', 'refused', 'answered')).why).toContain(
    'node-0 refused',
  )
  expect(evidenceOf(chain('refused', 'received', 'unsent')).why).toContain('never left')
})

it('says when nobody tells what the client was told', () => {
  expect(evidenceOf(chain('accepted', 'taken', 'accepted')).why).toContain('whether its client was told is not known')
  expect(evidenceOf(chain('accepted', 'received', 'sent', 'taken', 'accepted', 'answered')).why).not.toContain(
    'not known',
  )
})
