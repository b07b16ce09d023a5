/** The first sentence of the recoveries: how far the chosen one has come, where its time went, and what ends it. Pure. */
import { type Recovery, writesAround } from '../../../shared/inspection/recoveries.ts'
import { count, duration, grouped } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'

const names = (run: Recovery): string => run.nodes.map(node => `node-${node}`).join(', ')

const isPause = (run: Recovery): boolean => run.how === 'SIGSTOP'

/** @param nowMs the moment that is shown */
export function recoverySituation(run: Recovery | undefined, nowMs: number): NowWords {
  if (!run)
    return {
      tone: 'plain',
      glyph: 'absent',
      colour: 'none',
      label: 'Faults',
      what: 'No node has died yet, as far as the console knows.',
      why: 'A stopwatch starts when the process of a node ends or is held.',
      next: 'Start the load on the cluster screen, then kill the primary: each fault gets a stopwatch and a lane here.',
    }
  const { marks } = run
  const label = `${run.id}, ${run.how}`
  const fault = `${names(run)} ${isPause(run) ? 'was paused' : 'ended'}`
  if (run.ledger && run.ledger.lost > 0)
    return {
      tone: 'bad',
      glyph: 'fail',
      colour: 'danger',
      label,
      what: `${count(run.ledger.lost, 'acknowledged message')} not found after ${fault}.`,
      why: 'The reader of the load came past their place and found something else, or nothing.',
      next: 'Keep the data directory: the partition screen shows the bytes that the reader saw.',
    }
  if (run.stalled !== undefined && marks.acknowledged === undefined)
    return {
      tone: 'change',
      glyph: 'change',
      colour: 'change',
      label,
      what: `Nothing has been acknowledged since ${fault} ${duration(nowMs - run.faultMs)} ago.`,
      why:
        marks.noticed === undefined
          ? 'Its peers still wait: silence is a fault only when a heartbeat timer has run out.'
          : marks.elected === undefined
            ? `The silence was noticed after ${duration(marks.noticed)}; a new primary needs the votes of a majority.`
            : `A new primary leads since ${duration(marks.elected)} after the fault; clients have to find it.`,
      next:
        marks.elected === undefined
          ? 'The group elects, or its next view is tried when the timer of the view change runs out.'
          : 'The load tries every node in turn until one takes its write.',
    }
  const silence = marks.noticed === undefined ? undefined : duration(marks.noticed)
  const felt = marks.acknowledged === undefined ? notFelt(run, fault) : undefined
  const back = marks.started === undefined ? 'none' : marks.caughtUp === undefined ? 'behind' : 'whole'
  return {
    tone: back === 'whole' ? 'good' : back === 'behind' ? 'recover' : 'plain',
    glyph: back === 'whole' ? 'ok' : back === 'behind' ? 'recover' : 'acked',
    colour: back === 'behind' ? 'recover' : 'ok',
    label,
    what: felt?.what ?? `Acknowledged again ${duration(marks.acknowledged!)} after ${fault}.`,
    why:
      felt?.why ??
      (silence === undefined
        ? 'No peer told that it missed a heartbeat.'
        : `${silence} of it was silence, until a heartbeat timer ran out; the rest was votes and the way to the new primary.`),
    next:
      back === 'none'
        ? `${isPause(run) ? 'Resume' : 'Start'} ${names(run)}${isPause(run) ? '' : ' again'} on the cluster screen: its way back is timed too.`
        : back === 'behind'
          ? `${names(run)} was ${isPause(run) ? 'resumed' : 'started'} after ${duration(marks.started!)} and fetches what it missed.`
          : `${names(run)} had caught up after ${duration(marks.caughtUp!)}. Kill the primary again and lay the two side by side.`,
  }
}

/** Of a fault that made no write wait: only what the load measured is said of the writes. */
function notFelt(run: Recovery, fault: string): Pick<NowWords, 'what' | 'why'> {
  const writes = writesAround(run)
  if (writes === undefined)
    return {
      what: `${fault}; no load wrote then.`,
      why: 'Without a load nobody measures whether writes went on.',
    }
  if (writes.acked === 0)
    return { what: `No write is known to wait since ${fault}.`, why: 'The load has not told of a whole second since.' }
  return {
    what: `Writes went on: ${grouped(writes.acked)} acknowledged in the ${duration(writes.forMs)} after ${fault}.`,
    why:
      Object.keys(run.elections).length === 0
        ? 'No group had to elect: the others are a majority without it.'
        : `${count(Object.keys(run.elections).length, 'group')} elected, and no write of the load waited long for it.`,
  }
}

/** Runs that are laid side by side. */
const COLUMNS_MAX = 4
/** The newest, and the chosen one among them, however old it is. */
export const comparedWith = (runs: readonly Recovery[], chosen: Recovery): readonly Recovery[] => {
  const newest = runs.slice(0, COLUMNS_MAX)
  return newest.includes(chosen) ? newest : [...newest.slice(0, COLUMNS_MAX - 1), chosen]
}
