/** The first sentence of the drills: what runs, else how the last runs ended, what that says, and what to do next. Pure. */
import type { DrillRunSummary, DrillsAnswer } from '../../../shared/inspection/drills.ts'
import { count, duration } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'
import { runLook, worldWords } from './looks.tsx'

type Line = DrillsAnswer['drills'][number]
type Ran = Line & { readonly last: NonNullable<Line['last']> }

/** @param going the run that goes on, once it has been read */
export function drillsSituation(
  { drills, active }: Pick<DrillsAnswer, 'drills' | 'active'>,
  going: DrillRunSummary | undefined,
): NowWords {
  const ran = drills.filter((drill): drill is Ran => drill.last !== null)
  if (active !== null) return runs(active, going?.run === active ? going : undefined, drills)
  const off = ran.filter(isOff).sort((a, b) => b.last.run - a.last.run)
  const first = off[0]
  if (first)
    return {
      tone: 'bad',
      glyph: 'fail',
      colour: 'danger',
      label: 'Drills',
      what: `${count(off.length, 'drill')} of ${drills.length} did not end as it must, last ${nameOf(first)}.`,
      why: `${runLook(first.last).word}: run ${first.last.run}, ${worldWords(first.last)}.`,
      next: `Open ${first.id}: its findings say what was asked and what was found; replay the moment that decided.`,
    }
  const unrun = drills.find(drill => drill.last === null)
  const last = ran.reduce<Ran | undefined>(
    (newest, drill) => (newest && newest.last.run > drill.last.run ? newest : drill),
    undefined,
  )
  if (!last)
    return {
      tone: 'plain',
      glyph: 'absent',
      colour: 'none',
      label: 'Drills',
      what: `None of ${count(drills.length, 'drill')} was run since this console started.`,
      why: 'A drill breaks one thing on purpose, in the simulator or on processes of its own; the live cluster is left alone.',
      next: unrun ? `Open ${nameOf(unrun)}: say first what will follow, then run it.` : 'This console has no drill.',
    }
  const { glyph, colour, word } = runLook(last.last)
  const judged = ran.filter(drill => drill.last.state === 'done' && !drill.last.free && drill.last.asExpected === true)
  return {
    tone: judged.length === 0 ? 'plain' : 'good',
    glyph,
    colour,
    label: 'Drills',
    what: `${judged.length} of ${count(drills.length, 'drill')} ended as they must since this console started.`,
    why: `The last was ${nameOf(last)}: ${word.toLowerCase()}, after ${duration(last.last.tookMs)}, ${worldWords(last.last)}.`,
    next: unrun
      ? `${nameOf(unrun)} was not run yet.`
      : 'Every drill was run: break the rule of one, and see whether its checker notices.',
  }
}

function runs(active: number, run: DrillRunSummary | undefined, drills: readonly Line[]): NowWords {
  const drill = drills.find(line => line.id === run?.drill)
  const waits = run?.state === 'waiting'
  const known = run !== undefined && drill !== undefined
  return {
    tone: 'recover',
    glyph: waits ? 'stopped' : 'recover',
    colour: 'recover',
    label: `Run ${active}`,
    what: known ? `${nameOf(drill)} ${waits ? 'waits for you' : 'is going on'}.` : `Run ${active} is going on.`,
    why: known
      ? `It shows: ${drill.teaches.replace(/\.$/, '')}. It runs now: ${worldWords(run)}.`
      : 'One drill runs at a time.',
    next: waits
      ? `Open ${run.drill}: it goes on with what you do next, or is cancelled there.`
      : 'It ends in a verdict from evidence: pass, fail, or unknown; then another can be started.',
  }
}

/** Runs that nobody cancelled and that had something to show: a red verdict, a silent checker, a run that broke. */
const isOff = ({ last }: Ran): boolean =>
  last.state === 'failed' ||
  (last.state === 'done' && (last.free ? last.verdict === 'fail' : last.asExpected === false))

const nameOf = ({ id, title }: Line): string => `${id} ${title}`
