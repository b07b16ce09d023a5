import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stateBars } from '../data/lane-states.ts'
import type { RingEvent } from '../data/ring.ts'
import { placeOf } from './cut-axis.ts'
import { markAt, neighbour, spaceTime } from './space-time.ts'

const event = (ordinal: number, node: number, wallMs: number, kind = 'superblock_durable', data = {}): RingEvent => ({
  ordinal,
  node,
  boot: 'b',
  seq: ordinal + 1,
  wallMs,
  receivedMs: undefined,
  plane: 'metadata',
  group: '0',
  kind,
  fact: true,
  gap: false,
  view: undefined,
  logView: undefined,
  op: undefined,
  commit: undefined,
  cause: undefined,
  link: undefined,
  data,
})
const draw = (events: readonly RingEvent[], collapse = true) =>
  spaceTime({ events, messages: [], bars: [], nodes: [0, 1, 2], width: 900, collapse })
const moments = fc.array(fc.tuple(fc.nat(2), fc.nat(20_000)), { minLength: 1, maxLength: 60 })

describe('the space-time picture', () => {
  it('keeps every event, in order of time, at its true place; hidden and shown time add up to all of it', () => {
    fc.assert(
      fc.property(moments, fc.boolean(), (list, collapse) => {
        const picture = draw(
          list.map(([node, at], index) => event(index, node, at)),
          collapse,
        )
        expect(picture.marks).toHaveLength(list.length)
        for (const mark of picture.marks) expect(mark.y).toBeCloseTo(placeOf(picture.axis, mark.event.wallMs), 6)
        const ys = picture.marks.map(mark => mark.y)
        expect(ys).toEqual([...ys].sort((a, b) => a - b))
        const { stretches, cuts } = picture.axis
        const told = [...stretches, ...cuts].reduce((sum, part) => sum + (part.toMs - part.fromMs), 0)
        expect(told).toBeCloseTo(stretches.at(-1)!.toMs - stretches[0]!.fromMs, 6)
        if (!collapse) expect(cuts).toEqual([])
        for (const cut of cuts) expect(cut.toMs).toBeGreaterThan(cut.fromMs)
      }),
    )
  })

  it('lets no words of a lane lie on each other', () => {
    fc.assert(
      fc.property(moments, list => {
        const { marks, lanes } = draw(list.map(([node, at], index) => event(index, node, at % 500)))
        for (const lane of lanes) {
          const words = marks.flatMap(mark =>
            mark.lane === lane.node && mark.wordsY !== undefined ? [mark.wordsY] : [],
          )
          for (let index = 1; index < words.length; index++)
            expect(words[index]! - words[index - 1]!).toBeGreaterThanOrEqual(13.999)
        }
      }),
    )
  })

  it('lets no words lie on a mark of their lane', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60), { minLength: 40, maxLength: 60 }), list => {
        const { marks } = draw(list.map((at, index) => event(index, 0, at)))
        for (const { wordsX, wordsY } of marks)
          for (const mark of marks)
            if (wordsY !== undefined && Math.abs(mark.y - wordsY) < 12) expect(mark.x + 6).toBeLessThan(wordsX)
      }),
    )
  })

  it('lets no words reach into a cut, where other words stand', () => {
    fc.assert(
      fc.property(moments, list => {
        const { marks, axis } = draw(list.map(([node, at], index) => event(index, node, at)))
        for (const { wordsY } of marks)
          for (const cut of axis.cuts)
            expect(wordsY !== undefined && wordsY > cut.fromPx - 5 && wordsY < cut.toPx - 1).toBe(false)
      }),
    )
  })

  it('visits every event by the down key, and goes to the nearest in time of the lane beside', () => {
    const picture = draw([event(0, 0, 0), event(1, 1, 40), event(2, 1, 90), event(3, 0, 100)])
    const seen: number[] = []
    let here = neighbour(picture, undefined, 'down')
    while (here && !seen.includes(here.event.ordinal)) {
      seen.push(here.event.ordinal)
      here = neighbour(picture, here, 'down')
    }
    expect(seen).toEqual([0, 1, 2, 3])
    expect(neighbour(picture, picture.marks[3], 'right')?.event.ordinal).toBe(2)
    expect(neighbour(picture, picture.marks[3], 'left')?.event.ordinal).toBe(3)
    const mark = picture.marks[1]!
    expect(markAt(picture.marks, mark.x + 3, mark.y - 3, 12)).toBe(mark)
    expect(markAt(picture.marks, 1, 1, 0.5)).toBeUndefined()
  })
})

describe('the bars of the lanes', () => {
  const states = (events: readonly RingEvent[], node: number, last: 'primary' | 'backup' | 'down' = 'backup') =>
    stateBars(events, [0, 1, 2], () => ({ state: last, view: 1 }), 0, 100)
      .filter(bar => bar.node === node)
      .map(bar => [bar.state, bar.view, bar.fromMs, bar.toMs])

  it('follow a kill and an election, and begin with the view that was left', () => {
    const events = [
      event(0, 255, 12, 'process_exited', { node: 0, atWallMs: 10 }),
      event(1, 1, 50, 'view_change_started', { oldView: 0, newView: 1 }),
      event(2, 1, 60, 'view_started', { view: 1 }),
    ]
    expect(states(events, 1, 'primary')).toEqual([
      ['backup', 0, 0, 50],
      ['change', 1, 50, 60],
      ['primary', 1, 60, 100],
    ])
    expect(states(events, 0, 'down').at(-1)).toEqual(['down', undefined, 10, 100])
    expect(states(events, 2)).toEqual([['backup', 1, 0, 100]])
  })

  it('say nothing that nobody told, and cover the whole picture without a hole', () => {
    expect(stateBars([], [4], () => undefined, 0, 9)).toEqual([
      { node: 4, state: 'unknown', view: undefined, fromMs: 0, toMs: 9 },
    ])
    const kinds = ['view_started', 'view_adopted', 'process_exited', 'process_started', 'probe_started']
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(120), fc.constantFrom(...kinds))), list => {
        const events = list.map(([at, kind], index) => event(index, 1, at, kind, { view: index }))
        const bars = stateBars(events, [0, 1, 2], () => undefined, 0, 100).filter(bar => bar.node === 1)
        expect(bars[0]!.fromMs).toBe(0)
        expect(bars.at(-1)!.toMs).toBe(100)
        for (let index = 1; index < bars.length; index++) expect(bars[index]!.fromMs).toBe(bars[index - 1]!.toMs)
      }),
    )
  })
})
