/**
 * How much of the everyday traffic is drawn, in words: nodes tell all of it for a group that somebody watches and else a
 * sample, and an event of a sample says so. Pure.
 */
import { momentOf } from '../../data/lane-states.ts'
import type { RingEvent } from '../../data/ring.ts'
import { clock, grouped } from '../../ui/format.ts'

export interface FlowShare {
  readonly words: string
  /** Whether something is left out. */
  readonly partial: boolean
}

/** What this tab asks the nodes for. */
export interface FlowAsked {
  /** Why it may not ask at all. */
  readonly why: string | undefined
  /** Of how many groups it asks, and how many there are. */
  readonly groups: number
  readonly of: number
}

/**
 * @param events what is drawn, oldest first
 * @returns undefined where no event of everyday traffic is drawn
 */
export function flowShare(events: readonly RingEvent[], { why, groups, of }: FlowAsked): FlowShare | undefined {
  let [flow, oneIn, leftOut] = [0, 0, 0]
  let lastSampled: RingEvent | undefined
  for (const event of events) {
    if (event.fact) continue
    flow++
    const { sampledOneIn, leftOutBefore } = event.data
    if (typeof leftOutBefore === 'number') leftOut += leftOutBefore
    if (typeof sampledOneIn !== 'number') continue
    oneIn = Math.max(oneIn, sampledOneIn)
    lastSampled = event
  }
  if (flow === 0) return undefined
  const above = leftOut === 0 ? '' : `, ${grouped(leftOut)} above the nodes' ceiling left out`
  if (!lastSampled) {
    const some = groups < of ? ` of ${grouped(groups)} of ${grouped(of)} groups` : ''
    return { words: `every prepare and acknowledgement${some} shown${above}`, partial: leftOut > 0 || groups < of }
  }
  const complete = events.findLast(event => !event.fact) !== lastSampled
  const until = complete ? ` up to ${clock(momentOf(lastSampled))}, all since` : why ? ` (${why})` : ''
  return { words: `prepares and acknowledgements: 1 in ${grouped(oneIn)} shown${until}${above}`, partial: true }
}
