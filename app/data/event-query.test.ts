import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foundIn, kindsAsked, matchesQuery, parseQuery } from './event-query.ts'
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

  it('finds a frame at both of its ends, and the event that its sender tells of it', () => {
    const taken = { node: 2, kind: 'frame_received', op: 901n, data: { command: 'Prepare', peer: 0 } }
    const sent = { node: 2, kind: 'frame_sent', op: 901n, data: { command: 'PrepareOk', peer: 0 } }
    const queued = { node: 0, kind: 'prepare_queued', op: 901n, data: {} }
    const finding = (text: string) => [taken, sent, queued].map(over => finds(text, over))
    expect(finding('kind:prepare')).toEqual([true, false, true])
    expect(finding('kind:prepareok')).toEqual([false, true, false])
    expect(finding('kind:prepare*')).toEqual([true, true, true])
    expect(finding('kind:prepare node:2 op>900')).toEqual([true, false, false])
    expect(finding('kind:prepare node:2 op>901')).toEqual([false, false, false])
    expect(finding('kind:frame_sent|prepare_queued')).toEqual([false, true, true])
    const vote = { kind: 'frame_sent', data: { command: 'StartViewChange' } }
    expect([finds('kind:svc', vote), finds('kind:startviewchange', vote)]).toEqual([false, true])
  })

  it('says which kinds a query names, so that they are looked for though they are not shown', () => {
    const asked = (text: string) => [...(kindsAsked(parseQuery(text)) ?? ['all that is shown'])].sort()
    expect(asked('op>900 node:2')).toEqual(['all that is shown'])
    expect(asked('kind:purge')).toEqual(['partition_purged'])
    expect(asked('kind:prepare op>3')).toEqual([
      'frame_received',
      'frame_sent',
      'heartbeat_received',
      'heartbeat_sent',
      'prepare_queued',
    ])
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

  it('gives the newest that it finds, and says when there are, or may be, earlier ones', () => {
    const held = Array.from({ length: 10 }, (_, at) => event({ ordinal: at, op: BigInt(at % 2 ? at : 1000 + at) }))
    const found = (limit: number, more = 0) => {
      const { events, more: earlier } = foundIn({ events: held, more }, parseQuery('op>900'), limit)
      return [events.map(({ ordinal }) => ordinal), earlier]
    }
    expect(found(9)).toEqual([[0, 2, 4, 6, 8], false])
    expect(found(5)).toEqual([[0, 2, 4, 6, 8], false])
    expect(found(2)).toEqual([[6, 8], true])
    expect(found(9, 3)).toEqual([[0, 2, 4, 6, 8], true])
  })

  it('names what it cannot read, keeps the rest, and never throws', () => {
    expect(parseQuery('nod:1 op>x kind:vote kind:prepre view> kind>3').problems).toEqual([
      'nod:1: no field is called nod; there are kind, group, plane, op, view, commit, node, seq',
      'op>x: op is compared with whole numbers',
      'kind:prepre: no kind or frame is called prepre; try prepare, vote, segment or process',
      'view>: nothing stands after >',
      'kind>3: kind has no order',
    ])
    expect(parseQuery('kind:constructor|__proto__').problems).toHaveLength(1)
    expect(finds('nod:1 op>x kind:vote')).toBe(true)
    fc.assert(fc.property(fc.string(), text => typeof finds(text) === 'boolean'))
  })
})
