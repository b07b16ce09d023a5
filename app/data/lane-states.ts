/**
 * In which state every node was at every moment, as bars for the lanes of the timeline: read from what the nodes and the
 * console told, and open where nobody told. Pure.
 */
import { CONSOLE_NODE } from '../../shared/inspection/envelope.ts'
import { viewOf } from './event-query.ts'
import type { RingEvent } from './ring.ts'

export type LaneState = 'primary' | 'backup' | 'change' | 'recover' | 'down' | 'paused' | 'unknown'
export interface StateBar {
  readonly node: number
  readonly state: LaneState
  readonly view: number | undefined
  readonly fromMs: number
  readonly toMs: number
}
/** What a node last said of itself. */
export interface LastWord {
  readonly state: LaneState
  readonly view: number | undefined
}

const STATE_KINDS = new Set([
  'view_change_started',
  'view_started',
  'view_adopted',
  'probe_started',
  'transfer_needed',
  'process_started',
  'process_exited',
  'process_paused',
  'process_resumed',
])
export const isStateKind = (kind: string): boolean => STATE_KINDS.has(kind)

/** When it happened. Of an exit the console knows the moment, and tells it a little later. */
export const momentOf = (event: RingEvent): number =>
  typeof event.data.atWallMs === 'number' ? event.data.atWallMs : event.wallMs
/** The node that an event is about. */
export const aboutOf = (event: RingEvent): number =>
  event.node === CONSOLE_NODE && typeof event.data.node === 'number' ? event.data.node : event.node

interface At {
  state: LaneState
  view: number | undefined
}

/**
 * @param events of one group and of the processes, of the kinds `isStateKind` takes, from as early on as is held
 * @param lastWord what each node says at `toMs`; decides where no event does
 */
export function stateBars(
  events: readonly RingEvent[],
  nodes: readonly number[],
  lastWord: (node: number) => LastWord | undefined,
  fromMs: number,
  toMs: number,
): StateBar[] {
  const bars: StateBar[] = []
  for (const node of nodes) {
    const own = events
      .filter(event => aboutOf(event) === node)
      .sort((a, b) => momentOf(a) - momentOf(b) || a.ordinal - b.ordinal)
    let at: At = before(own[0], nodes.length, node) ?? lastWord(node) ?? { state: 'unknown', view: undefined }
    // A node whose first boot raised nothing is what it says it is, from its start on.
    const settled = own.at(-1)?.kind === 'process_started' ? lastWord(node) : undefined
    let start = fromMs
    let awake = at
    for (const event of own) {
      const moment = momentOf(event)
      if (event.kind === 'process_paused') awake = at
      const next: At =
        event === own.at(-1) && settled && settled.state !== 'down' ? { ...settled } : after(event, at, awake)
      if (next.state === at.state && next.view === at.view) continue
      if (moment > start) {
        bars.push({ node, ...at, fromMs: start, toMs: Math.min(moment, toMs) })
        start = moment
      }
      at = next
      if (moment >= toMs) break
    }
    if (start < toMs) bars.push({ node, ...at, fromMs: start, toMs })
  }
  return bars
}

function before(first: RingEvent | undefined, count: number, node: number): At | undefined {
  if (!first) return undefined
  if (first.kind === 'process_started') return { state: 'down', view: undefined }
  const view = typeof first.data.oldView === 'number' ? first.data.oldView : undefined
  if (view === undefined || first.kind !== 'view_change_started') return { state: 'unknown', view }
  return { state: view % count === node ? 'primary' : 'backup', view }
}

function after(event: RingEvent, at: At, awake: At): At {
  const view = viewOf(event) ?? at.view
  switch (event.kind) {
    case 'view_change_started':
      return { state: 'change', view }
    case 'view_started':
      return { state: 'primary', view }
    case 'view_adopted':
      return { state: 'backup', view }
    case 'probe_started':
    case 'transfer_needed':
      return { state: 'recover', view }
    case 'process_started':
      return { state: 'recover', view: undefined }
    case 'process_exited':
      return { state: 'down', view: undefined }
    case 'process_paused':
      return { state: 'paused', view: at.view }
    default:
      return awake
  }
}
