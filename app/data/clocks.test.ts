import { describe, expect, it } from 'vitest'
import { clockWords } from './clocks.ts'
import { EventRing } from './ring.ts'

const T0 = 1_764_000_000_000
const us = (ms: number): string => Math.round(ms * 1000).toString()

/** Events of nodes whose clocks are off by `offMs`, each some time on its way. */
function heard(offMs: readonly number[], waysMs: readonly number[] = [3, 40, 900]): EventRing {
  const ring = new EventRing(100)
  let seq = 0
  for (const way of waysMs)
    offMs.forEach((off, node) => {
      seq++
      ring.push(
        {
          v: 1,
          node,
          boot: 'b',
          seq,
          monoUs: 0,
          wallUs: us(T0 + seq + off),
          receivedWallUs: us(T0 + seq + way),
          plane: 'node',
          group: 'node',
          kind: 'booted',
          class: 'fact',
          data: {},
        },
        0,
      )
    })
  // What the console tells of itself, and what it lost, say nothing of a node's clock.
  ring.push({ v: 1, node: 0, boot: 'b', kind: 'gap', fromSeq: 1, toSeq: 2, reason: 'ring_overflow' }, T0 - 1e6)
  return ring
}
const said = (...args: Parameters<typeof heard>) => clockWords(heard(...args).shortestWays())

describe('clocks of the nodes beside the console', () => {
  it('are told to agree as far as the shortest way shows', () => {
    expect(said([0, 0, 0])).toEqual({ words: 'clocks agree within 3 ms', off: false })
    expect(clockWords(new Map())).toBeUndefined()
  })

  it('are named where one is ahead or behind, each by how much', () => {
    expect(said([0, 800, 0])).toEqual({ words: "node-1's clock is ahead by 797 ms or more", off: true })
    expect(said([0, -2_000, 900])?.words).toBe(
      "node-1's clock is behind by up to 2.0 s, node-2's clock is ahead by 897 ms or more",
    )
  })

  it('are not called off by the part of a millisecond that a clock does not show', () => {
    expect(said([0, 3.4, 0])).toEqual({ words: 'clocks agree within 3 ms', off: false })
    expect(said([0, 4, 0])).toEqual({ words: "node-1's clock is ahead by 1 ms or more", off: true })
  })

  it('are not called off because some events came late', () => {
    expect(said([0, 0], [900, 2, 700])?.off).toBe(false)
  })

  it('are those of the moment: what came later says nothing', () => {
    const ring = heard([0], [40])
    const until = ring.next
    ring.push(
      { ...ring.at(0)!, v: 1, monoUs: 0, wallUs: us(T0 + 5_000), receivedWallUs: us(T0), class: 'fact' } as never,
      0,
    )
    expect(clockWords(ring.shortestWays(until))?.off).toBe(false)
    expect(clockWords(ring.shortestWays())?.off).toBe(true)
  })
})
