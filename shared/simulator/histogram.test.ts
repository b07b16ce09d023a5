/** Whether a swarm came by enough: the judgement of `sim --seeds`. */
import { describe, expect, test } from 'vitest'
import { type Histogram, histogram, SEEDS_JUDGED_MIN, shortfalls } from './histogram.ts'
import { REQUIRED_MARKS } from './marks.ts'

const ALL = Object.fromEntries(REQUIRED_MARKS.map(mark => [mark, 1]))

/** A swarm in which `rare` of the seeds come by every mark and the others by none. */
const swarm = (seeds: number, rare: number): Histogram =>
  histogram(Array.from({ length: seeds }, (_, seed) => ({ marks: seed < rare ? ALL : {} })))

describe('what a swarm came by', () => {
  test('is enough at the least share of each kind, and not below it', () => {
    expect(shortfalls(swarm(1_000, 300))).toEqual([])
    expect(shortfalls(swarm(1_000, 299))).toEqual(['crash and restart in 29.9 % of the seeds, at least 30.0 %'])
    expect(shortfalls(swarm(1_000, 19)).map(each => each.split(' in ')[0])).toEqual([
      'crash and restart',
      'view_started',
      'checkpoint_finished',
      'transfer_installed',
    ])
  })

  test('must include every required mark', () => {
    const seeds = Array.from({ length: SEEDS_JUDGED_MIN }, () => {
      const { 'world.rot': _, ...marks } = ALL
      return { marks }
    })
    expect(shortfalls(histogram(seeds))).toEqual(['world.rot in no seed'])
    expect(shortfalls(histogram([...seeds, { marks: ALL }]))).toEqual([])
  })

  test('is not judged by a few seeds', () => {
    expect(shortfalls(swarm(SEEDS_JUDGED_MIN - 1, 0))).toEqual([])
    expect(shortfalls(swarm(SEEDS_JUDGED_MIN, 0))).not.toEqual([])
  })

  test('a crash without a restart does not count as one', () => {
    const { 'world.restart': _, ...marks } = ALL
    const found = shortfalls(histogram(Array.from({ length: 600 }, () => ({ marks }))))
    expect(found).toEqual(['crash and restart in 0.0 % of the seeds, at least 30.0 %', 'world.restart in no seed'])
  })
})
