/**
 * The search line of the timeline: `kind:vote|svc node:1 op>=1030 view:7 leads`. Terms stand beside each other and all of
 * them must hold; a word without a colon is looked for in the kind and the words of the event. What cannot be understood
 * is named and left out, so that a half-typed query still finds something. Pure.
 */
import { CONSOLE_NODE } from '../../shared/inspection/envelope.ts'
import { EVENT_KINDS, wordsOf } from '../../shared/inspection/kinds.ts'
import { Command } from '../../shared/protocol/commands.ts'
import { groupName } from '../names.ts'
import type { RingEvent } from './ring.ts'

const NUMBERS = ['op', 'view', 'commit', 'node', 'seq'] as const
type NumberField = (typeof NUMBERS)[number]
const TEXTS = ['kind', 'group', 'plane'] as const
type TextField = (typeof TEXTS)[number]
type Compare = '=' | '>' | '<' | '>=' | '<='

export type Term =
  | { readonly field: NumberField; readonly compare: Compare; readonly values: readonly bigint[] }
  | { readonly field: TextField; readonly patterns: readonly string[] }
  | { readonly field: 'words'; readonly text: string }

export interface EventQuery {
  readonly terms: readonly Term[]
  /** Terms that were left out, each with what is wrong with it. */
  readonly problems: readonly string[]
}

/**
 * Short names, as the field uses them, of the events that count. A prepare counts for nothing where it is taken, so its frames
 * go by the name too: it is found at the primary that queued it and at the backups that took it. Other frames have their own
 * names: `kind:doviewchange`.
 */
const KIND_ALIASES: Readonly<Record<string, { readonly kind: string; readonly frame?: string }>> = {
  svc: { kind: 'start_view_change_received' },
  dvc: { kind: 'do_view_change_received' },
  sv: { kind: 'view_adopted' },
  vote: { kind: '*_view_change_received' },
  prepare: { kind: 'prepare_queued', frame: 'prepare' },
  prepareok: { kind: 'prepare_acked', frame: 'prepareok' },
  commit: { kind: '*commit*' },
}
/** Frames that replicas send each other, as their events name them, in small letters. */
const FRAME_KINDS = ['frame_sent', 'frame_received', 'heartbeat_sent', 'heartbeat_received'] as const
const FRAMES: ReadonlySet<string> = new Set(Object.keys(Command).map(name => name.toLowerCase()))
const LONGEST = 20

/** Reads a query; never throws. */
export function parseQuery(text: string): EventQuery {
  const terms: Term[] = []
  const problems: string[] = []
  for (const part of text.split(/\s+/).filter(Boolean)) {
    const match = /^([a-z]+)(:|>=|<=|>|<|=)(.*)$/i.exec(part)
    if (!match) {
      terms.push({ field: 'words', text: part.toLowerCase() })
      continue
    }
    const field = match[1]!.toLowerCase()
    const sign = match[2] === ':' ? '=' : (match[2] as Compare)
    const value = match[3]!
    if (value === '') problems.push(`${part}: nothing stands after ${match[2]}`)
    else if (isNumberField(field)) {
      if (value === '*') continue
      const values = value.split('|').map(item => (field === 'node' ? nodeNumber(item) : item))
      if (!values.every(item => /^\d+$/.test(item) && item.length <= LONGEST))
        problems.push(`${part}: ${field} is compared with whole numbers`)
      else if (sign !== '=' && values.length > 1) problems.push(`${part}: one number after ${sign}`)
      else terms.push({ field, compare: sign, values: values.map(BigInt) })
    } else if (isTextField(field)) {
      if (sign !== '=') problems.push(`${part}: ${field} has no order`)
      else {
        const patterns = value.toLowerCase().split('|').filter(Boolean)
        const unknown = field === 'kind' ? patterns.filter(pattern => !isKnownKind(pattern)) : []
        if (unknown.length > 0)
          problems.push(
            `${part}: no kind or frame is called ${unknown.join(' or ')}; try prepare, vote, segment or process`,
          )
        else terms.push({ field, patterns })
      }
    } else problems.push(`${part}: no field is called ${field}; there are ${[...TEXTS, ...NUMBERS].join(', ')}`)
  }
  return { terms, problems }
}

const isNumberField = (name: string): name is NumberField => (NUMBERS as readonly string[]).includes(name)
const isTextField = (name: string): name is TextField => (TEXTS as readonly string[]).includes(name)
/** `1`, `n1` and `node-1` are the same node; `console` is the console. */
const nodeNumber = (text: string): string =>
  text.toLowerCase() === 'console' ? String(CONSOLE_NODE) : text.replace(/^(node-|n)/i, '')

/** Whether all terms hold for an event. A query without terms takes everything. */
export const matchesQuery = (query: EventQuery, event: RingEvent): boolean =>
  query.terms.every(term => holds(term, event))

function holds(term: Term, event: RingEvent): boolean {
  if (term.field === 'words')
    return event.kind.includes(term.text) || wordsOfRing(event).toLowerCase().includes(term.text)
  if (term.field === 'kind') {
    const { command } = event.data
    const frame = typeof command === 'string' ? command.toLowerCase() : undefined
    return term.patterns.some(pattern => isOfKind(pattern, event.kind, frame))
  }
  if ('patterns' in term) {
    const values = term.field === 'plane' ? [event.plane] : [event.group, groupName(event.group)]
    return term.patterns.some(pattern => values.some(value => fits(pattern, value.toLowerCase())))
  }
  // A console's event belongs to the node that it is about as well.
  const own = term.field === 'node' ? [event.node, event.data.node] : [numberOf(term.field, event)]
  return own.some(value => {
    if (typeof value !== 'number' && typeof value !== 'bigint') return false
    return term.values.some(wanted => compares(BigInt(value), term.compare, wanted))
  })
}

/** The view that an event is about stands in its data, where it differs from the one the node is in. */
export const viewOf = (event: RingEvent): number | undefined => {
  const about = event.data.newView ?? event.data.view
  return typeof about === 'number' ? about : event.view
}

function numberOf(field: Exclude<NumberField, 'node'>, event: RingEvent): number | bigint | undefined {
  if (field === 'view') return viewOf(event)
  return field === 'op' ? event.op : field === 'commit' ? event.commit : event.seq
}

function compares(value: bigint, compare: Compare, wanted: bigint): boolean {
  if (compare === '=') return value === wanted
  if (compare === '>') return value > wanted
  if (compare === '<') return value < wanted
  return compare === '>=' ? value >= wanted : value <= wanted
}

/** A kind without a star need only contain the pattern; a frame must be it. */
function isOfKind(pattern: string, kind: string, frame: string | undefined): boolean {
  const alias = Object.hasOwn(KIND_ALIASES, pattern) ? KIND_ALIASES[pattern] : undefined
  if (alias)
    return fits(alias.kind, kind) || (frame !== undefined && alias.frame !== undefined && fits(alias.frame, frame))
  return (
    (pattern.includes('*') ? fits(pattern, kind) : kind.includes(pattern)) ||
    (frame !== undefined && fits(pattern, frame))
  )
}

const isKnownKind = (pattern: string): boolean =>
  Object.hasOwn(KIND_ALIASES, pattern) ||
  Object.keys(EVENT_KINDS).some(kind => isOfKind(pattern, kind, undefined)) ||
  [...FRAMES].some(frame => fits(pattern, frame))

/** Kinds that the query asks for by name; undefined when it asks for none. What is asked for is shown, whatever else is not. */
export function kindsAsked({ terms }: EventQuery): ReadonlySet<string> | undefined {
  const patterns = terms.flatMap(term => (term.field === 'kind' ? term.patterns : []))
  if (patterns.length === 0) return undefined
  return new Set([
    ...Object.keys(EVENT_KINDS).filter(kind => patterns.some(pattern => isOfKind(pattern, kind, undefined))),
    ...(patterns.some(pattern => [...FRAMES].some(frame => isOfKind(pattern, '', frame))) ? FRAME_KINDS : []),
  ])
}

/**
 * The newest that the query finds among what is held, oldest first.
 * @param held oldest first; `more` counts what is held and was not looked at
 * @returns `more`: earlier ones are found, or may be
 */
export function foundIn(
  held: { readonly events: readonly RingEvent[]; readonly more: number },
  query: EventQuery,
  limit: number,
): { readonly events: readonly RingEvent[]; readonly more: boolean } {
  const all = held.events.filter(event => matchesQuery(query, event))
  return { events: all.slice(-limit), more: all.length > limit || held.more > 0 }
}

/** `*` stands for any characters; without one the value must be the pattern. */
function fits(pattern: string, value: string): boolean {
  if (!pattern.includes('*')) return value === pattern
  const parts = pattern.split('*')
  let at = 0
  for (const [index, part] of parts.entries()) {
    const found = index === 0 ? (value.startsWith(part) ? 0 : -1) : value.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return parts.at(-1) === '' || value.endsWith(parts.at(-1)!)
}

/** What a person reads of an event of the ring. */
export const wordsOfRing = (event: RingEvent): string =>
  event.gap
    ? event.data.reason === 'console_restarted'
      ? 'History is missing: the console was started anew'
      : `History is missing from event ${event.seq} to ${String(event.data.toSeq)}: ${String(event.data.reason).replaceAll('_', ' ')}`
    : wordsOf({
        kind: event.kind,
        data: event.data,
        node: event.node,
        op: event.op?.toString(),
        commit: event.commit?.toString(),
        view: event.view,
        logView: event.logView,
      })
