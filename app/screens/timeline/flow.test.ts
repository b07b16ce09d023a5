import { describe, expect, it } from 'vitest'
import type { RingEvent } from '../../data/ring.ts'
import { flowShare } from './flow.ts'

const AT = Date.UTC(2026, 10, 30, 6, 15)
let ordinal = 0
const event = (fact: boolean, data: RingEvent['data'] = {}): RingEvent => ({
  ordinal: ordinal++,
  node: 0,
  boot: 'b',
  seq: ordinal,
  wallMs: AT,
  receivedMs: AT,
  plane: 'metadata',
  group: '0',
  kind: 'op_committed',
  fact,
  gap: false,
  view: 0,
  logView: 0,
  op: 1n,
  commit: undefined,
  cause: undefined,
  link: undefined,
  data,
})
const all = { why: undefined, groups: 1, of: 1 }
const sampled = () => event(false, { sampledOneIn: 64 })

describe('how much of the everyday traffic is drawn', () => {
  it('is not told where none is', () => {
    expect(flowShare([event(true)], all)).toBeUndefined()
    expect(flowShare([], all)).toBeUndefined()
  })

  it('is all of it only where no event says otherwise', () => {
    expect(flowShare([event(true), event(false)], all)).toEqual({
      words: 'every prepare and acknowledgement shown',
      partial: false,
    })
  })

  it('is a sample up to the last event that says so, with the reason where it stays one', () => {
    const now = flowShare([sampled(), event(false)], all)
    expect(now?.partial).toBe(true)
    expect(now?.words).toMatch(/: 1 in 64 shown up to \d\d:15:00\.000, all since$/)
    expect(flowShare([event(false), sampled()], { ...all, why: 'a viewer' })?.words).toMatch(
      / 1 in 64 shown \(a viewer\)$/,
    )
  })

  it('counts what was above the ceiling of a node, and groups that are not asked for', () => {
    const above = flowShare([event(false), event(false, { leftOutBefore: 1200 })], all)
    expect(above).toEqual({
      words: "every prepare and acknowledgement shown, 1,200 above the nodes' ceiling left out",
      partial: true,
    })
    expect(flowShare([event(false)], { why: undefined, groups: 8, of: 40 })).toEqual({
      words: 'every prepare and acknowledgement of 8 of 40 groups shown',
      partial: true,
    })
  })
})
