/**
 * Corners that the swarm does not draw (spec drills.md §2.2, §2.3, §2.7): each is a draw of the swarm with rates and sizes of
 * its own in their place, and what it varies comes from dice of its own, so that no other history depends on it.
 */
import type { Dice } from './dice.ts'
import type { Focus } from './focus.ts'
import { drawLies, FSYNC_LIE } from './fsync-lie.ts'

export type CornerName = 'fsync-lie'

export const CORNERS: Readonly<Record<CornerName, (dice: Dice) => Focus>> = {
  'fsync-lie': dice => ({ ...FSYNC_LIE, nodes: dice.pick([1, 3, 3, 3, 5]), lies: drawLies(dice) }),
}

export const CORNER_NAMES = Object.freeze(Object.keys(CORNERS) as CornerName[])
