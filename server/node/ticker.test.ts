import { describe, expect, test } from 'vitest'
import { CATCH_UP_TICKS_MAX, startTicker } from './ticker.ts'

/** A clock and a timer moved by hand; `run(ms)` lets time pass and fires the timer when it is due, `late` later. */
function byHand(onTick?: () => void) {
  let us = 0
  let pending: { run: () => void; atUs: number } | undefined
  const ticks: number[] = []
  const stalls: { lateMs: number; skipped: number }[] = []
  const stop = startTicker({
    monoMicros: () => us,
    onTick: () => {
      ticks.push(us / 1000)
      onTick?.()
    },
    onStall: stall => stalls.push(stall),
    setTimer: (run, ms) => {
      pending = { run, atUs: us + ms * 1000 }
      return () => {
        pending = undefined
      }
    },
  })
  const run = (ms: number, lateMs = 0): void => {
    const end = us + ms * 1000
    while (pending && pending.atUs + lateMs * 1000 <= end) {
      const { run, atUs } = pending
      pending = undefined
      us = Math.max(us, atUs + lateMs * 1000)
      run()
    }
    us = Math.max(us, end)
  }
  return { ticks, stalls, stop, run, armed: () => pending !== undefined }
}

describe('ticks of 10 ms', () => {
  test('come a hundred a second', () => {
    const { ticks, run, stalls } = byHand()
    run(1000)
    expect(ticks).toHaveLength(100)
    expect(stalls).toEqual([])
  })

  test('do not drift when every timer is late', () => {
    const { ticks, run, stalls } = byHand()
    run(10_000, 3)
    expect(ticks.length).toBeGreaterThanOrEqual(999)
    expect(stalls).toEqual([])
  })

  test('that a late timer owes are made up for', () => {
    const { ticks, run, stalls } = byHand()
    run(20)
    run(75, 55)
    const owed = ticks.length
    run(5)
    expect(owed).toBeGreaterThanOrEqual(8)
    expect(stalls).toEqual([])
  })

  test('of a long sleep are forgiven, and it is said how many', () => {
    const { ticks, run, stalls } = byHand()
    run(100)
    expect(ticks).toHaveLength(10)
    run(30_010, 30_000)
    expect(ticks).toHaveLength(10 + CATCH_UP_TICKS_MAX)
    expect(stalls).toEqual([{ lateMs: 30_000, skipped: 3001 - CATCH_UP_TICKS_MAX }])
    run(100)
    // Afterwards the pace is the old one again.
    expect(ticks.length).toBeLessThanOrEqual(10 + CATCH_UP_TICKS_MAX + 11)
    expect(ticks.length).toBeGreaterThanOrEqual(10 + CATCH_UP_TICKS_MAX + 9)
  })

  test('end with stop, also from within a tick', () => {
    let stopNow: () => void = () => {}
    const one = byHand(() => stopNow())
    stopNow = one.stop
    one.run(50, 40)
    expect(one.ticks).toHaveLength(1)
    expect(one.armed()).toBe(false)
  })
})
