import { describe, expect, it } from 'vitest'
import type { ForwardChain } from '../../shared/inspection/forwards.ts'
import { hopsOf } from './hops.ts'

type Step = ForwardChain['steps'][number]
const step = (name: Step['step'], node: number, monoUs: number, wallUs: number): Step => ({
  step: name,
  node,
  monoUs,
  wallUs: String(wallUs),
  seq: monoUs,
})
const chain = (steps: Step[]): ForwardChain => ({
  nonce: 'a1',
  group: '0',
  operation: 160,
  client: '4',
  origin: 1,
  primary: 0,
  state: 'accepted',
  wallUs: steps[0]?.wallUs ?? '0',
  matched: true,
  steps,
})

describe('a forwarded write on one clock', () => {
  it('splits the measured travel evenly, whatever the clocks of the two machines say', () => {
    const hops = hopsOf(
      chain([
        step('received', 1, 1_000, 5_000_000),
        step('sent', 1, 1_100, 5_000_100),
        step('taken', 0, 900_000, 4_000_000),
        step('accepted', 0, 900_400, 4_000_400),
        step('answered', 1, 2_100, 5_001_100),
      ]),
    )
    expect(hops.travelMs).toBeCloseTo(0.6, 9)
    expect(hops.totalMs).toBeCloseTo(1.1, 9)
    expect(hops.steps.map(item => Math.round(item.atMs * 1000))).toEqual([0, 100, 400, 800, 1100])
  })

  it('never lets a frame arrive before it was sent', () => {
    const hops = hopsOf(
      chain([
        step('received', 1, 0, 9_000_000),
        step('sent', 1, 300, 9_000_300),
        step('taken', 0, 77, 8_000_000),
        step('lost', 1, 5_000_000, 14_000_000),
      ]),
    )
    expect(hops.travelMs).toBeUndefined()
    expect(hops.steps.find(item => item.step === 'taken')!.atMs).toBeCloseTo(0.3, 9)
    expect(hops.totalMs).toBe(5_000)
  })

  it('begins with the primary when the origin no longer tells', () => {
    const hops = hopsOf(chain([step('taken', 0, 500, 1), step('accepted', 0, 900, 2)]))
    expect(hops.steps.map(item => item.atMs)).toEqual([0, 0.4])
    expect(hops.totalMs).toBeUndefined()
  })
})
