/**
 * How far the clocks of the nodes are from the console's, as far as it can be told without asking them: an event can't
 * arrive before it happened, so the shortest way of one, by both clocks, is the difference of the clocks and a little delay.
 * Below what a short way takes nothing is claimed. Pure.
 */
import { duration } from '../ui/format.ts'

/** Longer than the shortest way from a node to its console ever is, on a machine that is not stuck. */
const WAY_MS = 50

export interface ClockWords {
  readonly words: string
  /** Some clock is off: an order of events of different nodes by their clocks is not to be believed. */
  readonly off: boolean
}

/** @param ways by node, as `EventRing.shortestWays` has them @returns undefined where no node was heard */
export function clockWords(ways: ReadonlyMap<number, number>): ClockWords | undefined {
  if (ways.size === 0) return undefined
  const off = [...ways].filter(([, way]) => way > WAY_MS || way <= -1).sort(([a], [b]) => a - b)
  if (off.length === 0)
    return { words: `clocks agree within ${Math.max(1, Math.ceil(Math.max(...ways.values())))} ms`, off: false }
  return {
    words: off
      .map(([node, way]) =>
        way < 0
          ? `node-${node}'s clock is ahead by ${duration(-way)} or more`
          : `node-${node}'s clock is behind by up to ${duration(way)}`,
      )
      .join(', '),
    off: true,
  }
}
