/** Kinds of events that are shown and left out together. */
import { kindSpec } from '../../../shared/inspection/kinds.ts'
import type { GlyphName, StateColour } from '../../ui/glyph.tsx'

export const FAMILIES = ['elections', 'repair', 'processes', 'disk', 'clients', 'flow', 'beats'] as const
export type Family = (typeof FAMILIES)[number]
/** What a person comes for first; the rest is everyday traffic. */
export const FAMILIES_AT_FIRST: readonly Family[] = ['elections', 'repair', 'processes']

export const FAMILY_LOOK: Readonly<
  Record<Family, { readonly word: string; readonly glyph: GlyphName; readonly colour: StateColour }>
> = {
  elections: { word: 'Elections', glyph: 'change', colour: 'change' },
  repair: { word: 'Repair', glyph: 'recover', colour: 'recover' },
  processes: { word: 'Processes, links', glyph: 'down', colour: 'danger' },
  disk: { word: 'Disk', glyph: 'commit', colour: 'backup' },
  clients: { word: 'Clients', glyph: 'request', colour: 'backup' },
  flow: { word: 'Prepares, commits', glyph: 'prepare', colour: 'backup' },
  beats: { word: 'Heartbeats', glyph: 'request', colour: 'backup' },
}

const REPAIR = /^(repair|transfer|log_left|jump_|truncated|checkpoint)/

export function familyOf(kind: string): Family {
  const spec = kindSpec(kind)
  if (!spec) return 'processes'
  if (kind.startsWith('link_')) return 'processes'
  if (kind.startsWith('heartbeat_') && spec.class === 'flow') return 'beats'
  if (spec.class === 'flow') return 'flow'
  if (spec.source === 'consensus' && spec.routine) return 'elections'
  if (spec.routine || kind === 'request_refused') return 'clients'
  if (REPAIR.test(kind)) return 'repair'
  if (kind === 'recovery_step' || spec.source === 'partition' || kind === 'superblock_failed') return 'disk'
  if (spec.source === 'consensus') return 'elections'
  return spec.source === 'metadata' ? 'clients' : 'processes'
}

/** `elections,repair` of the address; names that are none are left out. */
export const familiesOf = (text: string | undefined): readonly Family[] => {
  if (text === undefined) return FAMILIES_AT_FIRST
  const asked = text.split(',')
  return FAMILIES.filter(family => asked.includes(family))
}
