/** What the ring and the links pane say of the links, computed from two answers of their proxies. Pure. */

import { type HeldFrame, type LinkStatus, type LinksAnswer, VOTES_HOLD } from '../../../shared/inspection/links.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import type { GlyphName } from '../../ui/glyph.tsx'

export const wayName = (way: Pick<LinkStatus, 'from' | 'to'>): string => `${way.from}>${way.to}`

/** Frames a second on every way between two answers; a way whose counter went back (another console) has none. */
export function linkRates(before: LinksAnswer | undefined, now: LinksAnswer): ReadonlyMap<string, number> {
  const rates = new Map<string, number>()
  if (!before) return rates
  const seconds = (msOf(now.takenWallUs) - msOf(before.takenWallUs)) / 1000
  if (seconds <= 0) return rates
  for (const way of now.links) {
    const old = before.links.find(item => item.from === way.from && item.to === way.to)
    if (old && way.counters.frames >= old.counters.frames)
      rates.set(wayName(way), (way.counters.frames - old.counters.frames) / seconds)
  }
  return rates
}

/** Spec ui.md §3.4: single frames can be followed up to 30 a second, pulses up to 200, above that only a number is true. */
export function density(perSecond: number): 'none' | 'frames' | 'pulses' | 'counter' {
  if (perSecond <= 0) return 'none'
  return perSecond <= 30 ? 'frames' : perSecond <= 200 ? 'pulses' : 'counter'
}

export const holdsVotes = (links: readonly LinkStatus[]): boolean =>
  links.some(way => way.faults.some(fault => fault.fault === 'hold' && fault.name === VOTES_HOLD))

export interface HeldOnWay extends HeldFrame {
  readonly from: number
  readonly to: number
  /** Frames of one way and hold leave in order: only the oldest can go next. */
  readonly first: boolean
}

/** All frames that wait at a gate, the one that waits longest first. */
export function heldFrames(links: readonly LinkStatus[]): HeldOnWay[] {
  const all: HeldOnWay[] = []
  for (const way of links) {
    const seen = new Set<string>()
    for (const frame of way.heldFrames) {
      all.push({ ...frame, from: way.from, to: way.to, first: !seen.has(frame.hold) })
      seen.add(frame.hold)
    }
  }
  return all.sort((a, b) => msOf(a.sinceWallUs) - msOf(b.sinceWallUs) || a.number - b.number)
}

/** Repeats of one frame, as its sender sends them until it is answered: one row, with how many and since when. */
export interface HeldRow {
  readonly frame: HeldOnWay
  readonly times: number
}
export function heldRows(held: readonly HeldOnWay[]): HeldRow[] {
  const rows = new Map<string, { frame: HeldOnWay; times: number }>()
  for (const frame of held) {
    const key = frame.first
      ? `${frame.from} ${frame.to} ${frame.number}`
      : [frame.from, frame.to, frame.command, frame.view, frame.group].join(' ')
    const row = rows.get(key)
    if (row) row.times++
    else rows.set(key, { frame, times: 1 })
  }
  return [...rows.values()].sort((a, b) => Number(b.frame.first) - Number(a.frame.first))
}

/** How many frames at the head of a way speak of a view that its own sender has left: nobody counts them any more. */
export function staleAhead(way: LinkStatus, hold: string): number {
  const frames = way.heldFrames.filter(frame => frame.hold === hold)
  const newest = new Map<string, number>()
  for (const frame of frames) newest.set(frame.group ?? '', Math.max(frame.view, newest.get(frame.group ?? '') ?? 0))
  const at = frames.findIndex(frame => frame.view >= newest.get(frame.group ?? '')!)
  return at === -1 ? frames.length : at
}

const GLYPHS: Readonly<Partial<Record<string, GlyphName>>> = {
  Prepare: 'prepare',
  PrepareOk: 'prepareok',
  Commit: 'commit',
  StartViewChange: 'svc',
  DoViewChange: 'dvc',
  StartView: 'sv',
  StateChunk: 'transfer',
  StateTransferTarget: 'transfer',
  RequestStateTransfer: 'transfer',
}
export const frameGlyph = (command: string): GlyphName => GLYPHS[command] ?? 'request'

/** Faults of one way in words, gravest first. */
export function faultWords(way: LinkStatus): string[] {
  const order = { cut: 0, hold: 1, delay: 2, double: 3 }
  return [...way.faults]
    .sort((a, b) => order[a.fault] - order[b.fault])
    .map(fault => {
      if (fault.fault === 'delay')
        return `delayed ${fault.ms} ms${fault.jitterMs > 0 ? ` and up to ${fault.jitterMs} more` : ''}`
      const which = fault.commands ? ` ${fault.commands.join(', ')}` : ''
      const next = fault.left === undefined ? '' : `, the next ${fault.left}`
      return fault.fault === 'cut'
        ? `cut${which}${next}`
        : fault.fault === 'hold'
          ? `holds${which}${next}`
          : `doubles${which}${next}`
    })
}

/** The first fault of a way in so few letters that they have room on the ring; nothing of a way that is not there. */
export function ringWords(way: LinkStatus): string | undefined {
  if (!way.connected) return undefined
  const short = way.faults.map(fault =>
    'commands' in fault && fault.commands
      ? {
          ...fault,
          commands: fault.commands.length > 2 ? [`${fault.commands.length} kinds`] : fault.commands.map(initials),
        }
      : fault,
  )
  return faultWords({ ...way, faults: short })[0]
}

/** `SVC` of `StartViewChange`. */
export const initials = (command: string): string => command.replace(/[^A-Z]/g, '') || command
