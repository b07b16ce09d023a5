import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesQuery, parseQuery } from './event-query.ts'
import type { RingEvent } from './ring.ts'

const event = (over: Partial<RingEvent> = {}): RingEvent => ({
  ordinal: 0,
  node: 1,
  boot: 'b',
  seq: 5,
  wallMs: 0,
  receivedMs: undefined,
  plane: 'metadata',
  group: '0',
  kind: 'do_view_change_received',
  fact: true,
  gap: false,
  view: 6,
  logView: undefined,
  op: 1030n,
  commit: undefined,
  cause: undefined,
  link: undefined,
  data: { view: 7, logView: 6, peer: 2 },
  ...over,
})
const finds = (text: string, over: Partial<RingEvent> = {}): boolean => matchesQuery(parseQuery(text), event(over))

describe('the search line of events', () => {
  it('takes kinds by name, part, pattern and the short names of frames', () => {
    for (const text of [
      'kind:do_view_change_received',
      'kind:view_change',
      'kind:do_*',
      'kind:dvc',
      'kind:svc|dvc',
      'kind:vote',
    ])
      expect({ text, found: finds(text) }).toEqual({ text, found: true })
    expect(finds('kind:svc')).toBe(false)
    expect(finds('kind:*_sent')).toBe(false)
  })

  it('compares the view that the event is about, and ops to the digit', () => {
    expect([finds('view:7'), finds('view:6')]).toEqual([true, false])
    const big = 18_446_744_073_709_551_615n
    expect([finds(`op:${big}`, { op: big }), finds(`op:${big}`, { op: big - 1n })]).toEqual([true, false])
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: big }), fc.bigInt({ min: 0n, max: big }), (op, wanted) => {
        expect(finds(`op>=${wanted}`, { op })).toBe(op >= wanted)
        expect(finds(`op<${wanted}`, { op })).toBe(op < wanted)
      }),
    )
    expect(finds('op>=0', { op: undefined })).toBe(false)
  })

  it('finds what the console says of a node under that node', () => {
    const exit = { node: 255, kind: 'process_exited', data: { node: 2 } }
    expect([finds('node:n2', exit), finds('node:console', exit), finds('node:1', exit)]).toEqual([true, true, false])
  })

  it('asks for all terms, and for words of the event', () => {
    expect([finds('dvc'), finds('counted node:1'), finds('counted node:2')]).toEqual([false, true, false])
  })

  it('names what it cannot read, keeps the rest, and never throws', () => {
    expect(parseQuery('nod:1 op>x kind:vote').problems).toHaveLength(2)
    expect(finds('nod:1 op>x kind:vote')).toBe(true)
    fc.assert(fc.property(fc.string(), text => typeof finds(text) === 'boolean'))
  })
})
