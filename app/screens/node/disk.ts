/** What the disk tab says of the files of a node. Pure. */
import { changeOf, type FileChange, type FileRow, type FilesAnswer } from '../../../shared/inspection/files.ts'
import { bytesShort, clockShort, count } from '../../ui/format.ts'
import type { Look } from '../../ui/states.ts'

export const CHANGE_LOOK: Readonly<Record<FileChange, Look>> = {
  new: { glyph: 'acked', colour: 'none', word: 'new' },
  grown: { glyph: 'prepared', colour: 'none', word: 'grown' },
  rewritten: { glyph: 'change', colour: 'change', word: 'rewritten' },
  shrunk: { glyph: 'change', colour: 'change', word: 'shrunk' },
  gone: { glyph: 'drop', colour: 'danger', word: 'gone' },
  same: { glyph: 'absent', colour: 'none', word: 'same' },
}

/** Between the last two boots: undefined where one of them was not seen. */
export const sinceBefore = (row: FileRow, answer: FilesAnswer): FileChange | undefined =>
  answer.bootBeforeWallMs === null ? undefined : changeOf(row.bootBefore, row.lastBoot)
/** From the last boot to the moment of the answer. */
export const sinceLast = (row: FileRow, answer: FilesAnswer): FileChange | undefined =>
  answer.lastBootWallMs === null ? undefined : changeOf(row.lastBoot, row.now)

export const isChanged = (row: FileRow, answer: FilesAnswer): boolean =>
  [sinceBefore(row, answer), sinceLast(row, answer)].some(change => change !== undefined && change !== 'same')

const ORDER: readonly FileChange[] = ['gone', 'shrunk', 'rewritten', 'new', 'grown']

/** One sentence on what the last boot found different from the boot before. */
export function changeWords(answer: FilesAnswer): string {
  if (answer.lastBootWallMs === null) return 'No boot of this node was seen by this console yet.'
  const last = clockShort(answer.lastBootWallMs)
  if (answer.bootBeforeWallMs === null)
    return `The boot of ${last} is the first that was seen: there is none before to compare with.`
  const before = clockShort(answer.bootBeforeWallMs)
  const changes = answer.rows.map(row => sinceBefore(row, answer))
  const parts = ORDER.map(change => ({ change, files: changes.filter(one => one === change).length }))
    .filter(({ files }) => files > 0)
    .map(({ change, files }) => `${count(files, 'file')} ${CHANGE_LOOK[change].word}`)
  const grown = answer.rows.reduce(
    (sum, { bootBefore, lastBoot }) => sum + (lastBoot?.sizeBytes ?? 0) - (bootBefore?.sizeBytes ?? 0),
    0,
  )
  const bytes = grown === 0 ? '' : `, ${grown > 0 ? bytesShort(grown) : `-${bytesShort(-grown)}`} in all`
  return parts.length === 0
    ? `The boot of ${last} found every file as the boot of ${before} had found it.`
    : `From the boot of ${before} to that of ${last}: ${parts.join(', ')}${bytes}.`
}
