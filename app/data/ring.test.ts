import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EventEnvelope } from '../../shared/inspection/envelope.ts'
import { EventRing } from './ring.ts'

const event = (seq: number, over: Partial<EventEnvelope> = {}): EventEnvelope => ({
  v: 1,
  node: 0,
  boot: 'b0',
  seq,
  monoUs: seq,
  wallUs: String(1_764_000_000_000_000n + BigInt(seq) * 1000n),
  plane: 'partition',
  group: '1',
  kind: 'prepare',
  class: 'flow',
  data: {},
  ...over,
})

describe('EventRing', () => {
  it('holds exactly the newest events in order, and answers nothing for what it lost', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 150 }), (capacity, pushes) => {
        const ring = new EventRing(capacity)
        for (let seq = 1; seq <= pushes; seq++) ring.push(event(seq, { node: seq % 3, kind: `k${seq % 5}` }), 0)
        expect(ring.next).toBe(pushes)
        expect(ring.next - ring.first).toBe(Math.min(capacity, pushes))
        for (let ordinal = 0; ordinal < pushes + 2; ordinal++) {
          const found = ring.at(ordinal)
          if (ordinal < ring.first || ordinal >= pushes) expect(found).toBeUndefined()
          else {
            expect(found).toMatchObject({
              ordinal,
              seq: ordinal + 1,
              node: (ordinal + 1) % 3,
              kind: `k${(ordinal + 1) % 5}`,
            })
          }
        }
      }),
    )
  })

  it('keeps 64-bit ops exact and tells "no op" from op 0', () => {
    const ring = new EventRing(4)
    ring.push(event(1, { op: '18446744073709551615', commit: '0', view: 0 }), 0)
    ring.push(event(2), 0)
    expect(ring.at(0)).toMatchObject({ op: 18446744073709551615n, commit: 0n, view: 0 })
    expect(ring.at(1)).toMatchObject({ op: undefined, commit: undefined, view: undefined })
  })

  it('has a hole end with the first event behind it, however late it was told of', () => {
    const ring = new EventRing(8)
    const at = (seq: number, ms: number) => event(seq, { receivedWallUs: String(ms * 1000) })
    ring.push(at(1, 1_000), 0)
    ring.push({ v: 1, node: 255, boot: 'r', kind: 'gap', fromSeq: 2, toSeq: 9, reason: 'console_restarted' }, 5_000)
    expect(ring.momentAt(1)).toBe(5_000)
    ring.push(at(10, 4_000), 0)
    ring.push(at(11, 3_000), 0)
    expect([0, 1, 2].map(ordinal => ring.momentAt(ordinal))).toEqual([1_000, 4_000, 4_000])
  })

  it('does not leak op or view of the event whose slot it reuses', () => {
    const ring = new EventRing(1)
    ring.push(event(1, { op: '7', view: 3, data: { a: 1 } }), 0)
    ring.push(event(2), 0)
    expect(ring.at(1)).toMatchObject({ op: undefined, view: undefined, data: {} })
  })

  it('finds what is rare among any traffic, newest first, back to a moment and up to an ordinal', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 60 }), fc.integer({ min: 1, max: 60 }), (rare, from) => {
        const ring = new EventRing(32)
        rare.forEach((one, index) => {
          ring.push(event(index + 1, { kind: one ? 'process_exited' : `forward_${index % 3}` }), 0)
        })
        const fromMs = 1_764_000_000_000 + from
        const expected = rare
          .map((one, index) => ({ one, seq: index + 1 }))
          .slice(-32)
          .filter(item => item.one && item.seq >= from)
          .reverse()
          .map(item => item.seq)
        expect(ring.since(fromMs, ['process_exited', 'never_seen']).map(item => item.seq)).toEqual(expected)
        const until = Math.max(ring.first, ring.next - 3)
        expect(ring.since(fromMs, ['process_exited'], until).every(item => item.ordinal < until)).toBe(true)
      }),
    )
  })

  it('finds what came before an event that is told late', () => {
    const ring = new EventRing(8)
    const at = (seq: number, kind: string, wallMs: number, toldMs: number) =>
      event(seq, { kind, wallUs: String(wallMs * 1000), receivedWallUs: String(toldMs * 1000) })
    ring.push(at(1, 'process_exited', 100_000, 100_000), 0)
    ring.push(at(2, 'prepare', 10_000, 101_000), 0)
    expect(ring.since(90_000, ['process_exited'])).toHaveLength(1)
    expect([...ring.histogram(90_000, 110_000, 2)]).toEqual([0, 1])
  })

  it('keeps a gap as a fact that says what is missing', () => {
    const ring = new EventRing(4)
    ring.push({ v: 1, node: 2, boot: 'b', kind: 'gap', fromSeq: 10, toSeq: 41, reason: 'ring_overflow' }, 5000)
    expect(ring.since(0, ['gap'])[0]).toMatchObject({ gap: true, node: 2, seq: 10, wallMs: 5000, data: { toSeq: 41 } })
  })

  it('counts every event of the window in exactly one bucket', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 9999 }), { maxLength: 80 }),
        fc.integer({ min: 1, max: 50 }),
        (times, buckets) => {
          const ring = new EventRing(100)
          const sorted = [...times].sort((a, b) => a - b)
          sorted.forEach((ms, index) => {
            ring.push(event(index + 1, { wallUs: String(ms * 1000) }), 0)
          })
          const counts = ring.histogram(2000, 8000, buckets)
          const sum = counts.reduce((total, count) => total + count, 0)
          expect(sum).toBe(sorted.filter(ms => ms >= 2000 && ms < 8000).length)
        },
      ),
    )
  })

  it('keeps which frame an event belongs to and what led to it, and forgets them with the slot', () => {
    const ring = new EventRing(2)
    ring.push(
      event(7, { cause: 4, logView: 3, receivedWallUs: '5000', link: { id: '0>1#a', ordinal: 9, dir: 'in' } }),
      0,
    )
    expect(ring.at(0)).toMatchObject({
      cause: 4,
      logView: 3,
      receivedMs: 5,
      link: { id: '0>1#a', ordinal: 9, dir: 'in' },
    })
    ring.push(event(8, { link: { id: '0>1#a', ordinal: 1, dir: 'out' } }), 0)
    ring.push(event(9), 0)
    expect(ring.at(1)?.link?.dir).toBe('out')
    const plain = ring.at(2)
    expect([plain?.cause, plain?.logView, plain?.receivedMs, plain?.link]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('gives the newest events of a kind, oldest first, and says how many it left out', () => {
    const ring = new EventRing(10)
    for (let seq = 1; seq <= 14; seq++) ring.push(event(seq, { kind: seq % 2 ? 'odd' : 'even' }), 0)
    const { events, more } = ring.newestWhere(kind => kind === 'even', 3, 13)
    expect(events.map(item => item.seq)).toEqual([8, 10, 12])
    expect(more).toBe(1)
  })
})
