/** A verdict is computed from evidence: nothing missing passes, nothing altered is believed. */
import { describe, expect, test } from 'vitest'
import { type EvidenceItem, requirements, verdictOf } from './evidence.ts'
import type { Scenario } from './language.ts'

const scenario: Scenario = {
  id: 'X',
  title: 'x',
  cluster: { nodes: 1 },
  steps: [
    { do: 'start', nodes: 'all' },
    { do: 'waitFor', what: 'it runs', until: { process: 0, state: 'running' }, withinMs: 1_000 },
    {
      do: 'repeat',
      times: 2,
      steps: [{ do: 'request', client: 'c', call: { request: 'ping' } }],
    },
    { do: 'request', client: 'c', call: { request: 'ping' }, background: true, as: 'p' },
  ],
  verdict: [
    { what: 'one boot', that: { event: { kind: 'booted' }, atMost: 1, atLeast: 1 } },
    { what: 'it still runs', that: { all: [{ process: 0, state: 'running' }, { not: { event: { kind: 'died' } } }] } },
  ],
}
const running = { of: 'process', node: 0, state: 'running' } as const
const evidence: readonly EvidenceItem[] = [
  { key: '1', atMs: 5, found: { is: 'reading', reading: running, tookMs: 5 } },
  { key: '2.0.0', atMs: 6, found: { is: 'answer', answer: 'ok' } },
  { key: '2.1.0', atMs: 7, found: { is: 'answer', answer: 'ok' } },
  { key: 'v0', atMs: 8, found: { is: 'reading', reading: { of: 'events', count: 1 }, tookMs: 0 } },
  {
    key: 'v1',
    atMs: 8,
    found: {
      is: 'reading',
      reading: { of: 'parts', parts: [running, { of: 'parts', parts: [{ of: 'events', count: 0 }] }] },
      tookMs: 0,
    },
  },
  { key: 'checkers', atMs: 9, found: { is: 'checkers', looked: 12, violations: [] } },
]

test('what a scenario needs is named step by step, turn by turn', () => {
  expect(requirements(scenario, true).map(({ key }) => key)).toEqual(evidence.map(({ key }) => key))
  expect(verdictOf(scenario, evidence, true).verdict).toBe('pass')
})

test.each(evidence)('without the item $key nothing passes', ({ key }) => {
  const rest = evidence.filter(item => item.key !== key)
  expect(verdictOf(scenario, rest, true).verdict).toBe('unknown')
})

describe('altered evidence is judged as it stands', () => {
  const altered = (key: string, found: EvidenceItem['found']) =>
    verdictOf(
      scenario,
      evidence.map(item => (item.key === key ? { ...item, found } : item)),
      true,
    )

  test.each([
    ['1', { is: 'reading', reading: running, tookMs: 1_001 }, 'fail'],
    ['1', { is: 'reading', reading: { ...running, state: 'crashed', exit: 74 }, tookMs: 5 }, 'fail'],
    ['1', { is: 'reading', reading: { of: 'events', count: 1 }, tookMs: 5 }, 'unknown'],
    ['1', { is: 'answer', answer: 'ok' }, 'unknown'],
    ['2.1.0', { is: 'answer', answer: 'Disconnected' }, 'fail'],
    ['2.1.0', { is: 'answer', answer: 'none' }, 'fail'],
    ['v0', { is: 'reading', reading: { of: 'events', count: 2 }, tookMs: 0 }, 'fail'],
    ['v0', { is: 'cannot', why: 'gone' }, 'unknown'],
    ['v1', { is: 'reading', reading: { of: 'parts', parts: [running] }, tookMs: 0 }, 'unknown'],
    ['checkers', { is: 'checkers', looked: 0, violations: [] }, 'unknown'],
    ['checkers', { is: 'checkers', looked: 9, violations: [{ checker: 'agreement', message: 'two' }] }, 'fail'],
  ] as const)('%s: %o is %s', (key, found, verdict) => {
    expect(altered(key, found).verdict).toBe(verdict)
  })

  test('a failed step ends the story: what follows is not missed', () => {
    const short = [{ ...evidence[0]!, found: { is: 'reading', reading: running, tookMs: 2_000 } } as EvidenceItem]
    const { verdict, findings } = verdictOf(scenario, short, true)
    expect(verdict).toBe('fail')
    expect(findings).toHaveLength(1)
  })

  test('an action that could not be done leaves the verdict open', () => {
    const { verdict, findings } = verdictOf(
      scenario,
      [{ key: '0', atMs: 0, found: { is: 'cannot', why: 'node 0 has a process' } }],
      false,
    )
    expect(verdict).toBe('unknown')
    expect(findings).toEqual([{ key: '0', step: 'start', verdict: 'unknown', seen: 'node 0 has a process', atMs: 0 }])
  })
})
