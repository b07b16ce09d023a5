/** How a whole node looks in a list: its standing in the metadata group, unless its process says something stronger. */
import { standingOf } from '../../shared/inspection/belief.ts'
import type { ClusterView } from '../../shared/inspection/view.ts'
import { METADATA } from '../names.ts'
import { type Look, processLook, standingLook } from '../ui/states.ts'

export interface NodeLook extends Look {
  /** A word or two for the end of the line: why it is down, or its view. */
  readonly note: string
}

export function nodeLook(view: ClusterView, id: number, nowMs: number): NodeLook {
  const process = view.nodes.get(id)?.process
  const cell = view.groups.get(METADATA)?.replicas.get(id)
  if (process && process.state !== 'running') {
    return { ...processLook[process.state], note: endWord(process.exit, process.state) }
  }
  const standing = standingOf(view, METADATA, id, nowMs)
  const note = standing.kind === 'behind' && standing.gap > 0n ? `-${standing.gap}` : cell ? `v${cell.view}` : ''
  return { ...standingLook[standing.kind], note }
}

function endWord(
  exit: { status: number | null; signal: string | null; requested: string | null } | null,
  state: string,
): string {
  if (!exit || state === 'starting' || state === 'paused') return state === 'starting' ? 'boots' : 'held'
  if (exit.requested === 'kill') return 'killed'
  if (exit.requested === 'terminate') return 'stopped'
  return exit.status === null ? (exit.signal ?? 'ended') : `exit ${exit.status}`
}
