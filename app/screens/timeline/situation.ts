/**
 * The first sentence of the timeline: what the chosen group is at the moment that is shown, which event made it so, and
 * what comes next. At a moment of the past the next event is known, and is told instead of what was expected. Pure.
 */
import { momentOf } from '../../data/lane-states.ts'
import type { RingEvent } from '../../data/ring.ts'
import { clock, count, duration, visible } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'
import { reporterWords, wordsFor } from './looks.ts'
import type { Timeline } from './use-timeline.ts'

/** A view that stands still. */
export interface Still {
  readonly atMs: number
  /** Of the kinds that are drawn, the first event behind the moment. */
  readonly later: RingEvent | undefined
  /** Behind its end a recording has nothing. */
  readonly recorded: boolean
  /** But only a part of it is held at a time, and this is not its last. */
  readonly more?: boolean
}

/**
 * @param group what is said of the group at the moment that is shown
 * @param still undefined while the view moves on with the cluster
 */
export function timelineSituation(
  group: NowWords,
  timeline: Pick<Timeline, 'events' | 'found' | 'made' | 'nodes'>,
  search: { readonly text: string },
  still: Still | undefined,
): NowWords {
  const { made } = timeline
  return {
    ...group,
    label: still === undefined ? group.label : `${group.label}, as of ${clock(still.atMs)}`,
    why: made === undefined ? group.why : `${told(made)}, ${clock(momentOf(made))}.`,
    // Before anybody was heard there is nothing to search or to kill.
    next:
      timeline.nodes.length === 0
        ? group.next
        : still
          ? after(still)
          : (nothingDrawn(timeline, search.text) ?? group.next),
  }
}

function after({ atMs, later, recorded, more }: Still): string {
  if (later) {
    const ms = momentOf(later) - atMs
    // A node's clock may be behind the console's, by which the moment is named.
    return `After this moment${ms > 0 ? `, ${duration(ms)} later` : ''}: ${told(later)}.`
  }
  if (recorded && more) return 'What is held of the recording ends here, and there is more of it: read on.'
  return recorded
    ? 'The recording has no later event of these kinds. Step back by event, message, tick or view change.'
    : 'No event of these kinds has come since. Go live to follow, or step back by event, message, tick or view change.'
}

function nothingDrawn({ events, found }: Pick<Timeline, 'events' | 'found'>, text: string): string | undefined {
  if (events.length === 0)
    return 'No event of these kinds has reached this tab: take in more kinds, or kill the primary on the cluster screen.'
  if (found?.size === 0)
    return `None of ${count(events.length, 'event')} is found by "${visible(text)}": widen it, or take in more kinds.`
  return undefined
}

/** `node-1: adopted view 3`, without the stop at the end. */
const told = (event: RingEvent): string => `${reporterWords(event)}: ${wordsFor(event).replace(/\.$/, '')}`
