/** One place that says how a state looks: its shape, its colour and its word. */
import type { ProcessState } from '../../shared/inspection/api.ts'
import {
  type Belief,
  type Liveness,
  type PrimaryVerdict,
  type Standing,
  standingOf,
} from '../../shared/inspection/belief.ts'
import type { ClusterView, Fact } from '../../shared/inspection/view.ts'
import type { GlyphName, StateColour } from './glyph.tsx'

export interface Look {
  readonly glyph: GlyphName
  readonly colour: StateColour
  readonly word: string
}
const look = (glyph: GlyphName, colour: StateColour, word: string): Look => ({ glyph, colour, word })

export const standingLook: Readonly<Record<Standing['kind'], Look>> = {
  primary: look('primary', 'primary', 'Primary'),
  healthy: look('backup', 'backup', 'Backup'),
  behind: look('recover', 'recover', 'Behind'),
  recovering: look('recover', 'recover', 'Recovering'),
  view_change: look('change', 'change', 'View change'),
  tombstoned: look('refused', 'danger', 'Refused'),
  paused: look('stopped', 'change', 'Paused'),
  silent: look('unknown', 'none', 'Silent'),
  down: look('down', 'danger', 'Down'),
  unknown: look('unknown', 'none', 'Not heard'),
}

export const processLook: Readonly<Record<ProcessState, Look>> = {
  starting: look('recover', 'recover', 'Starting'),
  running: look('backup', 'backup', 'Running'),
  paused: look('stopped', 'change', 'Paused'),
  stopped: look('down', 'danger', 'Stopped'),
  crashed: look('down', 'danger', 'Crashed'),
  refused: look('refused', 'danger', 'Refused to boot'),
}

/** A node in a group: what its process does when that is more than running, else how it stands. */
export function nodeState(view: ClusterView, group: string, id: number, nowMs: number): Look {
  const process = view.nodes.get(id)?.process
  return process && process.state !== 'running'
    ? processLook[process.state]
    : standingLook[standingOf(view, group, id, nowMs).kind]
}

export const beliefLook: Readonly<Record<Belief['word'], Look>> = {
  primary: look('primary', 'primary', 'Primary'),
  backup: look('backup', 'backup', 'Backup'),
  candidate: look('change', 'change', 'Candidate'),
  voted: look('change', 'change', 'Voted'),
  no_vote: look('unknown', 'none', 'No vote'),
  recovering: look('recover', 'recover', 'Recovering'),
  silent: look('down', 'danger', 'No link'),
  nothing: look('unknown', 'none', 'Says nothing'),
}

export const livenessWord: Readonly<Record<Liveness, string>> = {
  live: 'live',
  paused: 'paused',
  silent: 'silent',
  down: 'dead',
  unknown: 'not heard',
}

export const verdictLook = (verdict: PrimaryVerdict): Look =>
  verdict.kind === 'primary'
    ? look('ok', 'ok', 'Serving')
    : // Nobody is heard: that says nothing of the group.
      verdict.reason === 'no_reports'
      ? look('unknown', 'none', 'Not known')
      : verdict.reason === 'view_change'
        ? look('change', 'change', 'No primary')
        : look('down', 'danger', 'No primary')

export const factLook = (fact: Pick<Fact, 'kind' | 'tone'>): Pick<Look, 'glyph' | 'colour'> => {
  const known = factGlyphs[fact.kind]
  if (known) return known
  if (fact.tone === 'bad') return { glyph: 'fail', colour: 'danger' }
  if (fact.tone === 'change') return { glyph: 'change', colour: 'change' }
  if (fact.tone === 'good') return { glyph: 'ok', colour: 'ok' }
  return { glyph: 'commit', colour: 'none' }
}
const factGlyphs: Readonly<Record<string, Pick<Look, 'glyph' | 'colour'>>> = {
  gap: { glyph: 'gap', colour: 'none' },
  process_exited: { glyph: 'down', colour: 'danger' },
  process_paused: { glyph: 'stopped', colour: 'change' },
  view_started: { glyph: 'primary', colour: 'primary' },
  view_adopted: { glyph: 'backup', colour: 'backup' },
  probe_started: { glyph: 'recover', colour: 'recover' },
  repair_started: { glyph: 'recover', colour: 'recover' },
  start_view_change_sent: { glyph: 'svc', colour: 'change' },
  do_view_change_sent: { glyph: 'dvc', colour: 'change' },
  start_view_sent: { glyph: 'sv', colour: 'primary' },
  start_view_change_received: { glyph: 'svc', colour: 'change' },
  do_view_change_received: { glyph: 'dvc', colour: 'change' },
}
