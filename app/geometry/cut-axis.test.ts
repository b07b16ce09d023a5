import { describe, expect, it } from 'vitest'
import { axisTicks, cutAxis, momentAt, placeOf, quietOf, tickStep, tickWords } from './cut-axis.ts'

const box = { startPx: 100, endPx: 500, cutPx: 40 }

describe('an axis of time with cuts', () => {
  it('stays whole and to scale when nothing is quiet', () => {
    const axis = cutAxis([0, 2, 4], { ...box, ...quietOf([0, 2, 4]) })
    expect(axis.cuts).toEqual([])
    expect([0, 1, 2, 4].map(ms => placeOf(axis, ms))).toEqual([100, 200, 300, 500])
  })

  it('cuts a timeout out of a forward and keeps one scale on both sides', () => {
    const moments = [0, 0.2, 1.2, 8.8, 5000]
    const axis = cutAxis(moments, { ...box, ...quietOf(moments) })
    expect(axis.cuts).toHaveLength(1)
    const [before, after] = axis.stretches
    const scale = (stretch: typeof before) => (stretch!.toPx - stretch!.fromPx) / (stretch!.toMs - stretch!.fromMs)
    expect(scale(before)).toBeCloseTo(scale(after), 9)
    expect(placeOf(axis, 5000)).toBeCloseTo(500, 9)
  })

  it('hides nothing that it does not account for: stretches and cuts add up to the whole', () => {
    const moments = [0, 1, 2, 900, 901, 5000, 5001]
    const axis = cutAxis(moments, { ...box, quietMs: 100, marginMs: 3 })
    const sum = [...axis.stretches, ...axis.cuts].reduce((all, item) => all + item.toMs - item.fromMs, 0)
    expect(axis.cuts).toHaveLength(2)
    expect(sum).toBeCloseTo(5001, 9)
  })

  it('keeps the order of moments, also across cuts', () => {
    const moments = [0, 1, 700, 703, 90_000]
    const axis = cutAxis(moments, { ...box, quietMs: 50, marginMs: 1 })
    const places = moments.map(ms => placeOf(axis, ms))
    expect([...places].sort((a, b) => a - b)).toEqual(places)
    for (const ms of moments) expect(momentAt(axis, placeOf(axis, ms))).toBeCloseTo(ms, 6)
    expect(momentAt(axis, (axis.cuts[0]!.fromPx + axis.cuts[0]!.toPx) / 2)).toBeUndefined()
  })

  it('stands a single moment at the start', () => {
    const axis = cutAxis([7], { ...box, ...quietOf([7]) })
    expect(placeOf(axis, 7)).toBe(100)
    expect(axisTicks(axis, 50)).toEqual([])
  })

  it('puts ticks at round times, apart from each other', () => {
    expect(tickStep(1, 60)).toBe(100)
    expect(tickStep(50, 60)).toBe(2)
    const axis = cutAxis([0, 8], { ...box, ...quietOf([0, 8]) })
    const ticks = axisTicks(axis, 60)
    expect(ticks.map(tick => tick.ms)).toEqual([0, 2, 4, 6, 8])
    for (const [index, tick] of ticks.entries())
      if (index > 0) expect(tick.px - ticks[index - 1]!.px).toBeGreaterThan(59)
  })

  it('writes ticks so that no two are alike, and none is another moment', () => {
    const moments = [0, 0.02, 0.08, 4913.05, 4913.1]
    const axis = cutAxis(moments, { ...box, endPx: 700, ...quietOf(moments) })
    const ticks = axisTicks(axis, 64)
    const words = ticks.map(tickWords)
    expect(new Set(words).size).toBe(words.length)
    for (const [index, word] of words.entries())
      expect(Number(word.replace(/[ ,ms]/g, ''))).toBeCloseTo(ticks[index]!.ms, 6)
    expect(tickWords({ ms: 4912.96, stepMs: 0.02 })).toBe('4,912.96 ms')
    expect(tickWords({ ms: 2000, stepMs: 500 })).toBe('2,000 ms')
  })
})
