import { describe, expect, test } from 'vitest'
import { Micros } from '../../shared/bytes/units.ts'
import { type EventDraft, eventEnvelope, eventGap } from '../../shared/inspection/envelope.ts'
import { EventRing, FLOW_PER_SECOND_MAX, FLOW_SAMPLE, WATCH_MS } from './event-ring.ts'

class HandClock {
  us = 0
  nowMicros = () => Micros(1_700_000_000_000_000n + BigInt(this.us))
  monoMicros = () => this.us
}

const ring = (capacity = 8) => {
  const clock = new HandClock()
  return { clock, ring: new EventRing({ node: 2, boot: 'b007', clock, capacity }) }
}
const draft = (cls: 'fact' | 'flow' = 'fact', group = '0'): EventDraft => ({
  plane: 'partition',
  group,
  kind: 'persisted',
  class: cls,
  data: { bytes: 5 },
})

describe('the ring', () => {
  test('stamps envelopes that the contract accepts, numbered from 1', () => {
    const { ring: events, clock } = ring()
    clock.us = 42
    expect([events.emit(draft()), events.emit(draft())]).toEqual([1, 2])
    const { events: read, next, gap } = events.read(0, 10)
    expect(gap).toBeUndefined()
    expect(next).toBe(2)
    for (const event of read) expect(eventEnvelope.parse(event)).toEqual(event)
    expect(read[0]).toMatchObject({ node: 2, boot: 'b007', seq: 1, monoUs: 42, wallUs: '1700000000000042' })
  })

  test('names what has left it by a gap, and never leaves a hole unnamed', () => {
    const { ring: events } = ring(8)
    for (let index = 0; index < 20; index++) events.emit(draft())
    const { gap, events: read, next } = events.read(3, 100)
    expect(eventGap.parse(gap)).toMatchObject({ fromSeq: 4, toSeq: 12, reason: 'ring_overflow' })
    expect(read.map(event => event.seq)).toEqual([13, 14, 15, 16, 17, 18, 19, 20])
    expect(next).toBe(20)
    expect(events.read(next, 100)).toEqual({ events: [], next: 20 })
  })

  test('reads in portions that join without loss', () => {
    const { ring: events } = ring(100)
    for (let index = 0; index < 50; index++) events.emit(draft())
    const seen: number[] = []
    for (let cursor = 0; cursor < 50; ) {
      const slice = events.read(cursor, 7)
      seen.push(...slice.events.map(event => event.seq))
      cursor = slice.next
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
  })
})

describe('flow', () => {
  test('costs nothing while nobody reads, and is sampled then', () => {
    const { ring: events } = ring()
    for (let index = 0; index < 1000; index++) expect(events.wantsFlow('0')).toBe(false)
    const stop = events.follow(() => {})
    const wanted = Array.from({ length: 10 * FLOW_SAMPLE }, () => events.wantsFlow('0')).filter(Boolean).length
    expect(wanted).toBe(10)
    stop()
    expect(Array.from({ length: 2 * FLOW_SAMPLE }, () => events.wantsFlow('0')).some(Boolean)).toBe(false)
  })

  test('is complete for a watched group, says so, and a watch ends by itself', () => {
    const { ring: events, clock } = ring(1000)
    events.follow(() => {})
    events.watch('7')
    expect(Array.from({ length: 100 }, () => events.wantsFlow('7')).every(Boolean)).toBe(true)
    events.emit(draft('flow', '7'))
    events.emit(draft('flow', '8'))
    const [watched, sampled] = events.read(0, 10).events
    expect(watched!.data).toEqual({ bytes: 5 })
    expect(sampled!.data).toEqual({ bytes: 5, sampledOneIn: FLOW_SAMPLE })
    clock.us += WATCH_MS * 1000 + 1
    expect(Array.from({ length: FLOW_SAMPLE }, () => events.wantsFlow('7')).filter(Boolean)).toHaveLength(1)
  })

  test('has a ceiling a second, and starts anew in the next', () => {
    const { ring: events, clock } = ring()
    events.follow(() => {})
    events.watch('7')
    const taken = () => Array.from({ length: 2 * FLOW_PER_SECOND_MAX }, () => events.takesFlow()).filter(Boolean).length
    expect(taken()).toBe(FLOW_PER_SECOND_MAX)
    // Whoever asks for a stretch of time is told that the group is watched, however much came of it.
    expect(events.wantsFlow('7')).toBe(true)
    clock.us += 1_000_000
    expect(taken()).toBe(FLOW_PER_SECOND_MAX)
  })

  test('says how many were above the ceiling, with the next one, once', () => {
    const { ring: events, clock } = ring()
    events.follow(() => {})
    events.watch('7')
    for (let index = 0; index < FLOW_PER_SECOND_MAX + 5; index++) events.takesFlow()
    clock.us += 1_000_000
    for (let index = 0; index < 2; index++) if (events.takesFlow()) events.emit(draft('flow', '7'))
    expect(events.read(0, 10).events.map(event => event.data)).toEqual([{ bytes: 5, leftOutBefore: 5 }, { bytes: 5 }])
  })
})

test('counters are exact per group and in sum', () => {
  const { ring: events } = ring()
  events.count('0', 'op_committed')
  events.count('0', 'op_committed', 4)
  events.count('1', 'op_committed', 10)
  expect(events.countersOf('0')).toEqual({ op_committed: 5 })
  expect(events.countersOf()).toEqual({ op_committed: 15 })
  expect(events.countersOf('2')).toEqual({})
})
