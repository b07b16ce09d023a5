import { describe, expect, test } from 'vitest'
import type { TimerTicks } from '../consensus/contract.ts'
import { DEFAULT_SETTINGS } from './default-settings.ts'
import { ReadBarrier } from './read-barrier.ts'

const { timers } = DEFAULT_SETTINGS

function behind(over: Partial<TimerTicks> = {}) {
  const group = { pastRecoveryBarrier: false }
  const barrier = new ReadBarrier(group, { ...timers, ...over })
  const told: string[] = []
  const ask = (name: string, tick: number) =>
    barrier.pass(
      tick,
      () => told.push(`${name} read`),
      () => told.push(`${name} refused`),
    )
  return { group, barrier, told, ask }
}

describe('VC-23 a read behind a restart', () => {
  test('VC-23 waits until the held suffix is committed again, in order, and is then served', () => {
    const { group, barrier, told, ask } = behind()
    ask('a', 10)
    ask('b', 11)
    barrier.tick(700)
    expect(told).toEqual([])
    group.pastRecoveryBarrier = true
    barrier.tick(701)
    ask('c', 702)
    expect(told).toEqual(['a read', 'b read', 'c read'])
  })

  test('VC-23 is refused at the deadline and from then on, and served once the barrier is passed all the same', () => {
    const { group, barrier, told, ask } = behind()
    ask('a', 10)
    barrier.tick(barrier.deadlineTick - 1)
    expect(told).toEqual([])
    barrier.tick(barrier.deadlineTick)
    ask('b', barrier.deadlineTick + 1)
    expect(told).toEqual(['a refused', 'b refused'])
    group.pastRecoveryBarrier = true
    ask('c', barrier.deadlineTick + 2)
    expect(told.at(-1)).toBe('c read')
  })

  test('VC-23 has a deadline of three heartbeats or view changes, and of fifteen seconds at least', () => {
    expect(behind({ normalHeartbeat: 100, viewChangeStatus: 100 }).barrier.deadlineTick).toBe(1_500)
    expect(behind({ normalHeartbeat: 900, viewChangeStatus: 100 }).barrier.deadlineTick).toBe(2_700)
    expect(behind({ normalHeartbeat: 100, viewChangeStatus: 800 }).barrier.deadlineTick).toBe(2_400)
  })

  test('VC-23 is refused at once where too many wait already', () => {
    const { told, ask } = behind()
    for (let read = 0; read < 1_025; read++) ask(`${read}`, 1)
    expect(told).toEqual(['1024 refused'])
  })
})
