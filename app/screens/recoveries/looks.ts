import type { MarkName, Recovery } from '../../../shared/inspection/recoveries.ts'
import type { Look } from '../../ui/states.ts'

export const MARK_LOOK: Readonly<Record<MarkName, Look>> = {
  noticed: { glyph: 'change', colour: 'change', word: 'Silence noticed' },
  elected: { glyph: 'primary', colour: 'primary', word: 'New primary' },
  acknowledged: { glyph: 'acked', colour: 'ok', word: 'First acknowledgement' },
  started: { glyph: 'recover', colour: 'recover', word: 'Started or resumed' },
  rejoined: { glyph: 'backup', colour: 'backup', word: 'Rejoined the view' },
  caughtUp: { glyph: 'ok', colour: 'ok', word: 'Caught up' },
}
export const FLAG_WORDS: Readonly<Record<MarkName, string>> = {
  noticed: 'noticed',
  elected: 'new primary',
  acknowledged: 'first ack',
  started: 'up again',
  rejoined: 'rejoined',
  caughtUp: 'caught up',
}

/** Why nothing is said of the load of a run: a tab that was opened after it knows its marks and not its ledger. */
export const withoutLedger = (run: Recovery): string =>
  run.stalled === undefined && run.marks.acknowledged === undefined ? 'No load seen' : 'Load not seen here'

/** Seconds to the millisecond. */
export const secondsText = (ms: number): string => (ms / 1000).toFixed(3)
