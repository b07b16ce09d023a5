/** How slots and verdicts look, and one row of the table: one pair of slots as one node showed it. */
import type { ProcessState } from '../../../shared/inspection/api.ts'
import type { SuperblocksSnapshot } from '../../../shared/inspection/snapshots.ts'
import type { GlyphName, StateColour } from '../../ui/glyph.tsx'
import type { SlotState, Verdict } from './verdicts.ts'

export type BlockGroup = SuperblocksSnapshot['groups'][number]
export interface Row {
  readonly node: number
  readonly block: BlockGroup
  readonly takenMs: number
  readonly stale: boolean
  /** Of the node: a directory is read of one that does not run. */
  readonly process: ProcessState
}

export const SLOT_LOOK: Readonly<Record<SlotState, { glyph: GlyphName; colour: StateColour }>> = {
  valid: { glyph: 'ok', colour: 'ok' },
  absent: { glyph: 'absent', colour: 'none' },
  corrupt: { glyph: 'drop', colour: 'danger' },
}
export const VERDICT_LOOK: Readonly<Record<Verdict, { glyph: GlyphName; colour: StateColour; word: string }>> = {
  present: { glyph: 'ok', colour: 'ok', word: 'Present' },
  empty: { glyph: 'absent', colour: 'none', word: 'Empty' },
  unreadable: { glyph: 'refused', colour: 'danger', word: 'Unreadable' },
}
