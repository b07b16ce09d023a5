import { describe, expect, it } from 'vitest'
import type { RingEvent } from '../../data/ring.ts'
import type { NowWords } from '../../ui/now.tsx'
import { type Still, timelineSituation } from './situation.ts'
import type { Timeline } from './use-timeline.ts'

const GROUP: NowWords = {
  tone: 'good',
  glyph: 'ok',
  colour: 'ok',
  label: 'Metadata group',
  what: 'node-1 leads view 1.',
  why: 'the group says so',
  next: 'a heartbeat is due',
}
const event = (kind: string, wallMs: number, data: RingEvent['data'] = {}): RingEvent => ({
  ordinal: 0,
  node: 1,
  boot: 'b',
  seq: 1,
  wallMs,
  receivedMs: wallMs,
  plane: 'metadata',
  group: '0',
  kind,
  fact: true,
  gap: false,
  view: 1,
  op: undefined,
  commit: undefined,
  logView: undefined,
  cause: undefined,
  link: undefined,
  data,
})
const ADOPTED = event('view_adopted', 5_000)
const drawn = { events: [ADOPTED], found: undefined, made: ADOPTED, nodes: [0, 1, 2] }
const words = (given: Partial<Pick<Timeline, 'events' | 'found' | 'made' | 'nodes'>>, still?: Still, text = '') =>
  timelineSituation(GROUP, { ...drawn, ...given }, { text }, still)

describe('the first sentence of the timeline', () => {
  it('says what the group is, the event that made it so, and what the group expects next', () => {
    expect(words({})).toMatchObject({
      label: 'Metadata group',
      what: GROUP.what,
      why: expect.stringMatching(/^node-1: .*view 1.*, \d\d:\d\d:05/),
      next: GROUP.next,
    })
    expect(words({ made: undefined }).why).toBe(GROUP.why)
  })

  it('says so where nothing is drawn or found', () => {
    expect(words({ events: [] }).next).toMatch(/^No event of these kinds.*take in more kinds/)
    expect(words({ found: new Set() }, undefined, 'view:9').next).toMatch(/^None of 1 event is found by "view:9"/)
    expect(words({ found: new Set([0]) }).next).toBe(GROUP.next)
    // Nobody was heard yet: it is waited for, not searched.
    expect(words({ events: [], nodes: [] }).next).toBe(GROUP.next)
  })

  it('tells what came next at a moment of the past, and never what was expected', () => {
    const at = { atMs: 6_000, recorded: false }
    const past = words({}, { ...at, later: event('view_change_started', 7_500) })
    expect(past.label).toMatch(/^Metadata group, as of \d\d:\d\d:06/)
    expect(past.next).toMatch(/^After this moment, 1\.5 s later: node-1: /)
    expect(words({}, { ...at, later: undefined }).next).toMatch(/has come since\. Go live/)
    expect(words({}, { ...at, later: undefined, recorded: true }).next).toMatch(/^The recording has no later event/)
    expect(words({}, { ...at, later: undefined, recorded: true, more: true }).next).toMatch(
      /there is more of it: read on/,
    )
    // The clock of a node may be behind.
    expect(words({}, { ...at, later: event('view_change_started', 5_900) }).next).toMatch(/^After this moment: node-1/)
  })
})
