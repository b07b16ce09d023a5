/** The record that a pair of slots stands for, and which of several is the newest. Pure. */
import type { Row } from './looks.ts'

/** The winner, or the only whole slot of a pair without one. */
export function recordOf(row: Row | undefined): Row['block']['slots'][number] | undefined {
  const block = row?.block
  return block?.slots.find(slot => slot.slot === block.winner) ?? block?.slots.find(slot => slot.state === 'valid')
}

const FIELDS = ['view', 'logView', 'commitMax', 'offsetFrontier'] as const

/** The pair with the highest view, then log view, then progress; any pair where none has a record. */
export function newestRecord(rows: readonly Row[]): Row | undefined {
  const keyOf = (row: Row): bigint[] => {
    const fields = recordOf(row)?.fields
    return FIELDS.map(name => (fields?.[name] === undefined ? -1n : BigInt(fields[name])))
  }
  return [...rows].sort((a, b) => {
    const [left, right] = [keyOf(a), keyOf(b)]
    const at = left.findIndex((value, index) => value !== right[index])
    return at < 0 ? 0 : left[at]! > right[at]! ? -1 : 1
  })[0]
}
