/**
 * Which two events of a space-time diagram are the two ends of one message. Certain: the frame's place on its connection,
 * which both ends count alike. Where the events carry no such mark the sender's end is concluded from what the receiver
 * says (who sent it, which view), and the message says that it is a guess. Pure.
 */
import type { EventEnvelope } from '../../shared/inspection/envelope.ts'
import { viewOf } from '../data/event-query.ts'
import type { RingEvent } from '../data/ring.ts'

export interface Message {
  readonly from: number
  readonly to: number
  readonly name: string
  /** Undefined: that end is not known, the message is drawn as a stub at the other one. */
  readonly sent: RingEvent | undefined
  readonly received: RingEvent | undefined
  /** `frame`: the same frame at both ends. `concluded`: by sender, view and kind. `alone`: only one end is known. */
  readonly by: 'frame' | 'concluded' | 'alone'
  /** What a link proxy did with it. */
  readonly fate?: 'held' | 'lost' | 'doubled' | 'released'
}

interface Rule {
  readonly name: string
  /** Events of the sender after which this message leaves, in the same group. */
  readonly after: readonly string[]
  /** The sender's event must be about the same view. */
  readonly sameView: boolean
}
/** Kinds come from nodes and from files: `constructor` is a kind that nothing is known of. */
type ByKind<T> = Readonly<Record<string, T | undefined>>
function byKind<T>(entries: Readonly<Record<string, T>>): ByKind<T> {
  return Object.assign(Object.create(null) as Record<string, T>, entries)
}
/** What a receiver's event says of the message that led to it. */
const RULES: ByKind<Rule> = byKind({
  // Both wait until the view is durable at the sender.
  start_view_change_received: {
    name: 'StartViewChange',
    after: ['superblock_durable', 'view_change_started'],
    sameView: true,
  },
  do_view_change_received: {
    name: 'DoViewChange',
    after: ['superblock_durable', 'start_view_change_received', 'view_change_started'],
    sameView: true,
  },
  view_adopted: { name: 'StartView', after: ['view_started', 'superblock_durable'], sameView: true },
  prepare_acked: { name: 'PrepareOk', after: [], sameView: false },
  transfer_offered: { name: 'TransferOffer', after: ['transfer_served'], sameView: false },
  transfer_served: { name: 'TransferRequest', after: ['transfer_requested'], sameView: false },
})
const FRAME_NAMES: ByKind<string> = byKind({
  start_view_change_sent: 'StartViewChange',
  start_view_change_received: 'StartViewChange',
  do_view_change_sent: 'DoViewChange',
  do_view_change_received: 'DoViewChange',
  start_view_sent: 'StartView',
  view_adopted: 'StartView',
  prepare_acked: 'PrepareOk',
  heartbeat_sent: 'Commit',
  heartbeat_received: 'Commit',
  forward_sent: 'Forward',
  forward_taken: 'Forward',
  forward_accepted: 'ForwardResult',
  forward_refused: 'ForwardResult',
  forward_answered: 'ForwardResult',
})
const FATES: ByKind<NonNullable<Message['fate']>> = byKind({
  link_frame_dropped: 'lost',
  link_frame_held: 'held',
  link_frame_released: 'released',
  link_frame_doubled: 'doubled',
})

/** A sender's end that is only concluded is looked for this far back; what was held longer keeps one end. */
const BACK_MS = 3_000
/** Clocks of two nodes may differ by so much before an order concluded from them is not believed. */
const SKEW_MS = 5

/** The ends of a connection's direction, from its name `from>to#tag`. */
export function endsOf(link: NonNullable<EventEnvelope['link']>): { from: number; to: number } | undefined {
  const match = /^(\d+)>(\d+)#/.exec(link.id)
  return match ? { from: Number(match[1]), to: Number(match[2]) } : undefined
}

/** Messages of `events` (in order of arrival), in order of the event that tells of them. */
export function matchMessages(events: readonly RingEvent[]): readonly Message[] {
  const messages: Message[] = []
  const frames = new Map<string, { sent?: RingEvent; received?: RingEvent; fate?: RingEvent }>()
  const byNode = new Map<number, RingEvent[]>()
  for (const event of events) {
    const own = byNode.get(event.node)
    if (own) own.push(event)
    else byNode.set(event.node, [event])
    if (!event.link) {
      const fate = FATES[event.kind]
      if (fate) messages.push(alone(event, fate))
      continue
    }
    const key = `${event.link.id}:${event.link.ordinal}`
    const frame = frames.get(key) ?? {}
    // The last word of the link counts: a frame that was held and let go was let go.
    if (FATES[event.kind]) frame.fate = event
    else if (event.link.dir === 'in') frame.received ??= event
    else frame.sent ??= event
    frames.set(key, frame)
  }
  for (const { sent, received, fate } of frames.values()) {
    const told = (received ?? sent ?? fate)!
    const ends = endsOf(told.link!)
    if (!ends) continue
    const fateWord = fate && FATES[fate.kind]
    messages.push({
      ...ends,
      name: FRAME_NAMES[told.kind] ?? String((fate ?? told).data.command ?? told.kind),
      sent: sent ?? fate,
      received,
      by: sent && received ? 'frame' : 'alone',
      ...(fateWord && { fate: fateWord }),
    })
  }
  for (const event of events) {
    const rule = event.link ? undefined : RULES[event.kind]
    const from = event.data.peer
    if (!rule || typeof from !== 'number' || from === event.node) continue
    const sent = senderOf(event, rule, byNode.get(from) ?? [])
    messages.push({
      from,
      to: event.node,
      name: rule.name,
      sent,
      received: event,
      by: sent ? 'concluded' : 'alone',
    })
  }
  return messages.sort((a, b) => toldAt(a) - toldAt(b))
}

const toldAt = (message: Message): number => (message.received ?? message.sent)!.ordinal

function alone(event: RingEvent, fate: NonNullable<Message['fate']>): Message {
  const { from, to, command } = event.data
  return {
    from: Number(from),
    to: Number(to),
    name: String(command),
    sent: event,
    received: undefined,
    by: 'alone',
    fate,
  }
}

/** The last event of the sender after which it may have sent this, not after it was received. */
function senderOf(received: RingEvent, rule: Rule, events: readonly RingEvent[]): RingEvent | undefined {
  if (rule.after.length === 0) return undefined
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index]!
    if (event.wallMs > received.wallMs + SKEW_MS) continue
    if (received.wallMs - event.wallMs > BACK_MS) return undefined
    if (event.group !== received.group || !rule.after.includes(event.kind)) continue
    if (rule.sameView && viewOf(event) !== viewOf(received)) continue
    return event
  }
  return undefined
}

export interface Related {
  readonly event: RingEvent
  /** `told`: the node names its cause. `frame`: the same frame. `guess`: it fits by view or op in the same group. */
  readonly by: 'told' | 'frame' | 'guess'
}
const RELATED_MAX = 4
/** Further apart than this, the same view says little. */
const NEAR_MS = 10_000

/** What led to an event and what it led to, the certain before the guessed, at most four each. */
export function relatedTo(
  event: RingEvent,
  events: readonly RingEvent[],
  messages: readonly Message[],
): { readonly causes: readonly Related[]; readonly effects: readonly Related[] } {
  const causes: Related[] = []
  const effects: Related[] = []
  const add = (list: Related[], found: RingEvent | undefined, by: Related['by']): void => {
    if (found && found !== event && list.length < RELATED_MAX && !list.some(item => item.event === found))
      list.push({ event: found, by })
  }
  const sameBoot = events.filter(item => item.node === event.node && item.boot === event.boot)
  if (event.cause !== undefined)
    add(
      causes,
      sameBoot.find(item => item.seq === event.cause),
      'told',
    )
  for (const item of sameBoot) if (item.cause === event.seq) add(effects, item, 'told')
  for (const sure of [true, false]) {
    const by = sure ? 'frame' : 'guess'
    for (const message of messages) {
      if ((message.by === 'frame') !== sure) continue
      if (message.received === event) add(causes, message.sent, by)
      if (message.sent === event) add(effects, message.received, by)
    }
  }
  const at = sameBoot.indexOf(event)
  add(
    causes,
    sameBoot.slice(0, at).findLast(item => belongs(event, item)),
    'guess',
  )
  add(
    effects,
    sameBoot.slice(at + 1).find(item => belongs(event, item)),
    'guess',
  )
  return { causes, effects }
}

/** The same group, near in time, and about the same op or view. */
const belongs = (a: RingEvent, b: RingEvent): boolean =>
  a.group === b.group &&
  a.group !== 'node' &&
  Math.abs(a.wallMs - b.wallMs) <= NEAR_MS &&
  ((a.op !== undefined && a.op === b.op) || (viewOf(a) !== undefined && viewOf(a) === viewOf(b)))
