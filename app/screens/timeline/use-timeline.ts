/** The events of the timeline as of the moment that is shown, and everything computed from them. */
import { useMemo } from 'react'
import { replicaIds } from '../../../shared/inspection/belief.ts'
import { CONSOLE_NODE } from '../../../shared/inspection/envelope.ts'
import type { ClusterView } from '../../../shared/inspection/view.ts'
import { useCell } from '../../data/cell.ts'
import { type ClockWords, clockWords } from '../../data/clocks.ts'
import { type EventQuery, foundIn, kindsAsked, parseQuery } from '../../data/event-query.ts'
import { isStateKind, type LastWord, momentOf, type StateBar, stateBars } from '../../data/lane-states.ts'
import type { RingEvent } from '../../data/ring.ts'
import { asOf, ring, type Shown, shown, viewNow } from '../../data/store.ts'
import { useSampled } from '../../data/use-sampled.ts'
import { type Message, matchMessages } from '../../geometry/messages.ts'
import { METADATA } from '../../names.ts'
import type { Search } from '../../search.ts'
import { familiesOf, familyOf } from './families.ts'

/** Events arrive in frames; a picture that moves more often cannot be read, and a large one costs more to lay out. */
const REDRAW_MS = 300
const REDRAW_LARGE_MS = 1_500
/** The bars of all lanes come from few events. */
const STATE_EVENTS_MAX = 20_000
export const NEWEST = ['200', '1000', '5000'] as const

export interface Timeline {
  readonly group: string
  readonly nodes: readonly number[]
  /** Oldest first. */
  readonly events: readonly RingEvent[]
  /** Earlier ones that fit too and are not shown. */
  readonly more: number
  readonly messages: readonly Message[]
  readonly bars: readonly StateBar[]
  readonly query: EventQuery
  /** Ordinals that the search line finds; undefined: it asks for nothing. */
  readonly found: ReadonlySet<number> | undefined
  /** Those are the newest: more of them, or more events than were looked at, are held. */
  readonly foundMore: boolean
  readonly selected: RingEvent | undefined
  /** The newest event by which the group, or the process of a node, came to be what it is. */
  readonly made: RingEvent | undefined
  /** What is drawn ends in front of this ordinal. */
  readonly until: number
  readonly asOfMs: number | undefined
  /** How far the clocks by which all this is drawn are from each other. */
  readonly clocks: ClockWords | undefined
}

export function useTimeline(search: Search<'timeline'>): Timeline {
  const now = useCell(shown)
  const large = search.newest !== undefined || search.q !== undefined
  const settled = useSampled(now, large ? REDRAW_LARGE_MS : REDRAW_MS)
  // Into the past at once: what is shown must never be later than what the time bar says.
  const state: Shown = now.until < settled.until ? now : settled
  const moment = useCell(asOf)
  const { view, until } = state
  const group = search.group ?? METADATA
  const query = useMemo(() => parseQuery(search.q ?? ''), [search.q])
  const shownPart = useMemo(() => {
    const families = new Set(familiesOf(search.kinds))
    const limit = Number(search.newest ?? NEWEST[0])
    const nodes = replicaIds(view)
    const inGroup = (of: string): boolean => group === 'all' || of === group || of === 'node'
    const isShown = (kind: string): boolean => families.has(familyOf(kind))
    const span = {
      fromMs: Number(search.from ?? Number.NEGATIVE_INFINITY),
      toMs: Number(search.to ?? Number.POSITIVE_INFINITY),
    }
    const context = ring.newestWhere((kind, of) => inGroup(of) && isShown(kind), limit, until, span)
    const { more } = context
    // A kind that is asked for by name is found whether its family is shown or not, and however far back it is held.
    const asked = kindsAsked(query)
    const held =
      query.terms.length === 0
        ? undefined
        : ring.newestWhere((kind, of) => inGroup(of) && (asked?.has(kind) ?? isShown(kind)), SEARCHED_MAX, until, span)
    const matches = held && foundIn(held, query, limit)
    const newest = matches === undefined ? context.events : unionOf(context.events, matches.events)
    const beats = families.has('flow') && !families.has('beats') ? beatsOf(newest, until) : []
    const events = beats.length === 0 ? newest : [...newest, ...beats].sort((a, b) => a.ordinal - b.ordinal)
    const stateGroup = group === 'all' ? METADATA : group
    const states = ring.newestWhere(
      (kind, of, node) => isStateKind(kind) && (of === stateGroup || node === CONSOLE_NODE),
      STATE_EVENTS_MAX,
      until,
    ).events
    const first = events.length > 0 ? Math.min(...events.map(momentOf)) - 1000 : 0
    const last = events.length > 0 ? Math.max(...events.map(momentOf)) + 1000 : 0
    const bars = stateBars(states, nodes, node => lastWord(view, stateGroup, node), first, last)
    const clocks = clockWords(ring.shortestWays(until))
    return {
      nodes,
      events,
      more,
      bars,
      clocks,
      made: states.at(-1),
      messages: matchMessages(events),
      found: matches && new Set(matches.events.map(({ ordinal }) => ordinal)),
      foundMore: matches?.more ?? false,
    }
  }, [view, until, group, query, search.kinds, search.newest, search.from, search.to])
  const key = parseKey(search.sel)
  const held = key && ring.find(key.node, key.boot, key.seq, until)
  // The ring makes an object for every answer: the one in the picture is what its messages point at.
  const selected = held && (shownPart.events.find(event => event.ordinal === held.ordinal) ?? held)
  return { ...shownPart, until, group, query, selected, asOfMs: moment && viewNow.get() }
}

/** Events that a search looks at, the newest: some ten milliseconds. */
const SEARCHED_MAX = 20_000

/** Both, each event once, oldest first. */
function unionOf(some: readonly RingEvent[], others: readonly RingEvent[]): readonly RingEvent[] {
  const held = new Map([...some, ...others].map(event => [event.ordinal, event]))
  return [...held.values()].sort((a, b) => a.ordinal - b.ordinal)
}

/** Heartbeats whose sender's end is looked for: some seconds of a busy group. */
const BEATS_MAX = 200
/**
 * The sender's ends of heartbeats that are drawn at their receivers because they had news there: who sends one can't know
 * that, and its end is of another kind.
 */
function beatsOf(events: readonly RingEvent[], until: number): readonly RingEvent[] {
  const drawn = new Set(events.flatMap(event => (event.kind === 'frame_received' ? (frameOf(event) ?? []) : [])))
  if (drawn.size === 0) return []
  return ring
    .newestWhere(kind => kind === 'heartbeat_sent', BEATS_MAX, until)
    .events.filter(event => drawn.has(frameOf(event) ?? ''))
}
const frameOf = ({ link }: RingEvent): string | undefined => link && `${link.id}:${link.ordinal}`

/** The first event behind what is drawn that the timeline of this address would draw too. */
export function nextOf(search: Search<'timeline'>, until: number): RingEvent | undefined {
  const families = new Set(familiesOf(search.kinds))
  const group = search.group ?? METADATA
  const ordinal = ring.nearest(
    until,
    1,
    (kind, _fact, _framed, of) => (group === 'all' || of === group || of === 'node') && families.has(familyOf(kind)),
  )
  return ordinal === undefined ? undefined : ring.at(ordinal)
}

function lastWord(view: ClusterView, group: string, node: number): LastWord | undefined {
  const process = view.nodes.get(node)?.process?.state
  if (process === 'stopped' || process === 'crashed' || process === 'refused') return { state: 'down', view: undefined }
  const cell = view.groups.get(group)?.replicas.get(node)
  if (!cell) return undefined
  if (process === 'paused') return { state: 'paused', view: cell.view }
  if (cell.status === 'normal') return { state: cell.role, view: cell.view }
  return { state: cell.status === 'view_change' ? 'change' : 'recover', view: cell.view }
}

/** Names an event for the address: its reporter, the life it was in, and its number there. */
export const keyOf = (event: RingEvent): string => `${event.node}.${event.boot}.${event.seq}`
function parseKey(text: string | undefined): { node: number; boot: string; seq: number } | undefined {
  const match = text === undefined ? null : /^(\d+)\.(.+)\.(\d+)$/.exec(text)
  return match ? { node: Number(match[1]), boot: match[2]!, seq: Number(match[3]) } : undefined
}
