/** What two ends say of their link, where that is worth a word. Pure. */
import type { Look } from '../../ui/states.ts'

/** @param one, other whether that end is connected; undefined when it is not heard. Undefined when both are. */
export function linkLook(one: boolean | undefined, other: boolean | undefined): Look | undefined {
  if (one === true && other === true) return undefined
  if (one === undefined && other === undefined) return { glyph: 'unknown', colour: 'none', word: 'not reported' }
  // An end that is not heard may well hold its connection: a process that is held does.
  if (one === true || other === true)
    return one === undefined || other === undefined
      ? { glyph: 'unknown', colour: 'none', word: 'one end says so' }
      : { glyph: 'drop', colour: 'change', word: 'ends differ' }
  return { glyph: 'drop', colour: 'danger', word: 'no link' }
}
