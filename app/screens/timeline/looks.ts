import { CONSOLE_NODE } from '../../../shared/inspection/envelope.ts'
import { kindSpec } from '../../../shared/inspection/kinds.ts'
import { wordsOfRing } from '../../data/event-query.ts'
import { aboutOf, type LaneState } from '../../data/lane-states.ts'
import type { RingEvent } from '../../data/ring.ts'
import type { Message } from '../../geometry/messages.ts'
import { visible } from '../../ui/format.ts'
import { factLook, type Look } from '../../ui/states.ts'

export const LANE_LOOK: Readonly<Record<LaneState, Look>> = {
  primary: { glyph: 'primary', colour: 'primary', word: 'Primary' },
  backup: { glyph: 'backup', colour: 'backup', word: 'Backup' },
  change: { glyph: 'change', colour: 'change', word: 'View change' },
  recover: { glyph: 'recover', colour: 'recover', word: 'Recovering' },
  down: { glyph: 'down', colour: 'danger', word: 'Down' },
  paused: { glyph: 'stopped', colour: 'change', word: 'Paused' },
  unknown: { glyph: 'unknown', colour: 'none', word: 'Not told' },
}

const OWN: Readonly<Record<string, Pick<Look, 'glyph' | 'colour'>>> = {
  process_started: { glyph: 'recover', colour: 'recover' },
  prepare_queued: { glyph: 'prepare', colour: 'backup' },
  prepare_acked: { glyph: 'prepareok', colour: 'backup' },
  frame_sent: { glyph: 'request', colour: 'backup' },
  frame_received: { glyph: 'request', colour: 'backup' },
  heartbeat_sent: { glyph: 'request', colour: 'backup' },
  heartbeat_received: { glyph: 'request', colour: 'backup' },
  frame_dropped: { glyph: 'drop', colour: 'danger' },
  link_frame_dropped: { glyph: 'drop', colour: 'danger' },
  link_frame_held: { glyph: 'lock', colour: 'change' },
  superblock_due: { glyph: 'lock', colour: 'change' },
}
export const eventLook = (event: RingEvent): Pick<Look, 'glyph' | 'colour'> =>
  OWN[event.kind] ?? factLook({ kind: event.kind, tone: kindSpec(event.kind)?.tone ?? 'plain' })

export const wordsFor = (event: RingEvent): string => visible(wordsOfRing(event))
export const nodeName = (node: number): string => (node === CONSOLE_NODE ? 'console' : `node-${node}`)
export const reporterWords = (event: RingEvent): string => nodeName(event.node)
export const laneName = (event: RingEvent): string => nodeName(aboutOf(event))

/** How the line of a message looks: votes, the start of a view, and the rest. */
export const lineClass = (message: Message): string => {
  const kind = /ViewChange/.test(message.name) ? ' c' : message.name === 'StartView' ? ' p' : ''
  return `m${kind}${message.by === 'concluded' ? ' guess' : ''}${message.fate === 'lost' ? ' lost' : ''}`
}
export const messageWords = (message: Message): string =>
  `${visible(message.name)}, node-${message.from} to node-${message.to}`
