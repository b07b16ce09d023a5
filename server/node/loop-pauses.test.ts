import { expect, it } from 'vitest'
import { LoopPauses } from './loop-pauses.ts'

it('counts the time in which the process computed, and not the time in which it waited for a processor', () => {
  let [wall, cpu] = [0, 0]
  const pauses = new LoopPauses({ wallMs: () => wall, cpuMs: () => cpu })
  const turn = (wallMs: number, cpuMs: number): number => {
    wall += wallMs
    cpu += cpuMs
    pauses.turn()
    return pauses.longestMs
  }
  expect(turn(10, 1)).toBe(0)
  // Busy for 50 ms behind the turn that was due.
  expect(turn(60, 55)).toBe(50)
  // Others had the processor.
  expect(turn(500, 20)).toBe(50)
  // Other threads of the process computed as well: no more than the loop was away.
  expect(turn(20, 40)).toBe(50)
  expect(turn(140, 129)).toBe(129)
})
