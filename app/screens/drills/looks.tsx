/** How verdicts and runs of drills look: shape, colour, word. */
import type { DrillRunSummary } from '../../../shared/inspection/drills.ts'
import type { Look } from '../../ui/states.ts'

export const verdictLooks: Readonly<Record<'pass' | 'fail' | 'unknown', Look>> = {
  pass: { glyph: 'ok', colour: 'ok', word: 'Pass' },
  fail: { glyph: 'fail', colour: 'danger', word: 'Fail' },
  unknown: { glyph: 'unknown', colour: 'none', word: 'Unknown' },
}

export function runLook({ state, verdict, broken, asExpected, free }: DrillRunSummary): Look {
  if (free && (state !== 'done' || verdict !== 'fail'))
    return state === 'failed'
      ? { ...verdictLooks.unknown, word: 'The run broke' }
      : { glyph: 'stopped', colour: 'none', word: 'By hand' }
  if (state === 'cancelled') return { glyph: 'stopped', colour: 'none', word: 'Cancelled' }
  if (state === 'failed') return { ...verdictLooks.unknown, word: 'The run broke' }
  if (state !== 'done' || verdict === null)
    return { glyph: 'recover', colour: 'recover', word: state === 'waiting' ? 'Waiting' : 'Running' }
  if (!broken) return verdictLooks[verdict]
  return asExpected
    ? { ...verdictLooks.fail, word: 'Fail, as it should' }
    : { ...verdictLooks[verdict], word: `${verdictLooks[verdict].word}, and the checker is silent` }
}

export const worldWords = (run: Pick<DrillRunSummary, 'world' | 'broken' | 'seed' | 'sweep'>): string => {
  const { world, broken, seed, sweep } = run
  if (world === 'real') return 'real processes'
  return `simulator, ${sweep ? `${sweep.total} seeds` : `seed ${seed}`}${broken ? ', rule off' : ''}`
}
