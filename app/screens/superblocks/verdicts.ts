/**
 * What two slots mean together (spec metadata-storage.md §1.4), as a table for the page: rows slot A, columns slot B. The
 * nodes say their own verdict; this table explains it, and the screen marks a node whose verdict is not the table's.
 */
import type { SuperblocksSnapshot } from '../../../shared/inspection/snapshots.ts'

export type SlotState = SuperblocksSnapshot['groups'][number]['slots'][number]['state']
export type Verdict = SuperblocksSnapshot['groups'][number]['verdict']
export const SLOT_STATES: readonly SlotState[] = ['valid', 'absent', 'corrupt']

export interface Rule {
  readonly verdict: Verdict
  readonly winner: string
}

export function ruleOf(a: SlotState, b: SlotState): Rule {
  if (a === 'corrupt' || b === 'corrupt') return { verdict: 'unreadable', winner: 'none' }
  if (a === 'valid' && b === 'valid') return { verdict: 'present', winner: 'newer, tie A' }
  if (a === 'valid') return { verdict: 'present', winner: 'A' }
  if (b === 'valid') return { verdict: 'present', winner: 'B' }
  return { verdict: 'empty', winner: 'none' }
}

/** Change from one slot's value to another's, where it is a number: `+3`, `equal`, or undefined for what is not counted. */
export function changeOf(from: string | number | undefined, to: string | number | undefined): string | undefined {
  if (from === undefined || to === undefined) return undefined
  if (String(from) === String(to)) return 'equal'
  if (!/^\d{1,20}$/.test(String(from)) || !/^\d{1,20}$/.test(String(to))) return 'differs'
  const difference = BigInt(to) - BigInt(from)
  return difference > 0n ? `+${difference}` : difference.toString()
}
