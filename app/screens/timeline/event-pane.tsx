/** The selected event: every field, who told it and when, what led to it and what it led to, each with how that is known. */
import { useMemo } from 'react'
import { kindSpec } from '../../../shared/inspection/kinds.ts'
import { momentOf } from '../../data/lane-states.ts'
import type { RingEvent } from '../../data/ring.ts'
import { type Related, relatedTo } from '../../geometry/messages.ts'
import { groupName } from '../../names.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { clock, count, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { eventLook, laneName, messageWords, reporterWords, wordsFor } from './looks.ts'
import type { Timeline } from './use-timeline.ts'

const LISTED_MAX = 60
const BY_WORDS: Readonly<Record<Related['by'], string>> = {
  told: 'the node says so',
  frame: 'the same frame at both ends',
  guess: 'a guess: it fits by view or op in the same group',
}

/** Fields by which a node says that not every event of everyday traffic is here. */
const SHARES: Readonly<Record<string, readonly [string, (value: number) => string]>> = {
  sampledOneIn: ['of a sample', value => `1 in ${grouped(value)} is told: nobody watched the group`],
  leftOutBefore: ['left out before it', value => `${count(value, 'event')} above the ceiling of the node`],
}

export function EventPane(props: {
  timeline: Timeline
  asked: string | undefined
  onSelect: (event: RingEvent) => void
  /** The stretch that is shown begins, or ends, with an event. */
  onBound: (end: 'from' | 'to', event: RingEvent) => void
}) {
  const { timeline } = props
  const event = timeline.selected
  return (
    <section className="pane p-ev" aria-label="Selected event" data-testid="event">
      {event ? (
        <Details event={event} timeline={timeline} onSelect={props.onSelect} onBound={props.onBound} />
      ) : (
        <>
          <div className="pane-head">
            <h2>No event selected</h2>
          </div>
          <p className="note">
            {props.asked === undefined
              ? 'Choose a mark, or enter the diagram and press an arrow key. Up and down go by time, left and right by node.'
              : timeline.asOfMs === undefined
                ? 'The event of this address is not held by this tab (any more, or yet).'
                : 'The event of this address is not held, or had not happened by the moment that is shown.'}
          </p>
        </>
      )}
      <Listed timeline={timeline} onSelect={props.onSelect} />
    </section>
  )
}

function Details(props: {
  event: RingEvent
  timeline: Timeline
  onSelect: (event: RingEvent) => void
  onBound: (end: 'from' | 'to', event: RingEvent) => void
}) {
  const { event, timeline } = props
  const look = eventLook(event)
  const related = useMemo(
    () => relatedTo(event, timeline.events, timeline.messages),
    [event, timeline.events, timeline.messages],
  )
  const message = timeline.messages.find(item => item.received === event || item.sent === event)
  const inPicture = timeline.events.some(item => item.ordinal === event.ordinal)
  const took =
    message?.by === 'frame' && message.sent && message.received
      ? message.received.wallMs - message.sent.wallMs
      : undefined
  const common: Record<string, unknown> = {
    view: event.view,
    logView: event.logView,
    op: event.op,
    commit: event.commit,
    node: event.node,
    group: event.group,
  }
  const rows: [string, string | undefined][] = [
    ['kind', visible(event.kind)],
    ['at', clock(momentOf(event))],
    ['told by', `${reporterWords(event)}, ${clock(event.wallMs)}`],
    ['reached the console', event.receivedMs === undefined ? 'not told' : clock(event.receivedMs)],
    ['its number, boot', `${grouped(event.seq)}, ${visible(event.boot).slice(0, 8)}`],
    ['group', groupName(event.group)],
    ['view', event.view?.toString()],
    ['log_view', event.logView?.toString()],
    ['op', event.op === undefined ? undefined : grouped(event.op)],
    ['commit', event.commit === undefined ? undefined : grouped(event.commit)],
    // A field that the event names for itself stands beside the envelope's only where the two differ.
    ...Object.entries(event.data)
      .filter(([name, value]) => String(value) !== String(common[name]) && !Object.hasOwn(SHARES, name))
      .map(([name, value]): [string, string] => [
        common[name] === undefined ? visible(name) : `${name}, of the event`,
        visible(String(value)),
      ]),
    [
      'frame',
      event.link &&
        `${visible(event.link.id)}, ${event.link.dir === 'in' ? 'received' : 'sent'} as number ${grouped(event.link.ordinal)}`,
    ],
    ...Object.entries(SHARES).flatMap(([name, words]): [string, string][] => {
      const value = event.data[name]
      return typeof value === 'number' ? [[words[0], words[1](value)]] : []
    }),
    ['on the way', took === undefined ? undefined : `${took.toFixed(3)} ms, by the clocks of both nodes`],
  ]
  return (
    <>
      <div className="pane-head">
        <Glyph name={look.glyph} state={look.colour} />
        <h2 data-testid="event-kind" data-kind={event.kind}>
          {laneName(event)}
        </h2>
        <span className="push row">
          <CopyButton text={location.href} label="Copy link" />
        </span>
      </div>
      <Scroll name="Selected event" className="ev-body">
        <p className="small ink-1">{wordsFor(event)}</p>
        <p className="row">
          <button type="button" className="btn small" onClick={() => props.onBound('from', event)}>
            From here
          </button>
          <button type="button" className="btn small" onClick={() => props.onBound('to', event)}>
            To here
          </button>
        </p>
        {!inPicture && <p className="note">Not in the picture: its kind, its group or its age is left out.</p>}
        <dl className="kv">
          {rows.map(
            ([name, value]) =>
              value !== undefined && (
                <div key={name} className="contents">
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ),
          )}
        </dl>
        {message && (
          <p className="small" data-testid="event-message" data-by={message.by}>
            <b>{messageWords(message)}.</b>{' '}
            {message.by === 'frame'
              ? 'Both ends name the same frame on the same connection.'
              : message.by === 'concluded'
                ? 'No frame number is told for it: the sender’s end is concluded from the receiver’s words, and is drawn dashed.'
                : 'Only one end of it is told, so it is drawn as a stub.'}
          </p>
        )}
        <RelatedList title="Caused by" list={related.causes} onSelect={props.onSelect} />
        <RelatedList title="Led to" list={related.effects} onSelect={props.onSelect} />
      </Scroll>
    </>
  )
}

function RelatedList(props: { title: string; list: readonly Related[]; onSelect: (event: RingEvent) => void }) {
  return (
    <>
      <h3>{props.title}</h3>
      {props.list.length === 0 && <p className="small ink-3">Nothing in the picture.</p>}
      <ul className="links small">
        {props.list.map(({ event, by }) => {
          const look = eventLook(event)
          return (
            <li key={event.ordinal} data-testid="related" data-by={by}>
              <button type="button" className="link" onClick={() => props.onSelect(event)}>
                <Glyph name={look.glyph} state={look.colour} /> {laneName(event)}: {wordsFor(event)}
              </button>
              <span className="ink-3">{BY_WORDS[by]}</span>
            </li>
          )
        })}
      </ul>
    </>
  )
}

/** Newest first: the way by keyboard to the events that matter. */
function Listed(props: { timeline: Timeline; onSelect: (event: RingEvent) => void }) {
  const { timeline } = props
  const facts = timeline.events
    .filter(event => kindSpec(event.kind)?.class === 'fact' && (timeline.found?.has(event.ordinal) ?? true))
    .sort((a, b) => momentOf(b) - momentOf(a))
    .slice(0, LISTED_MAX)
  return (
    <Pane title="Facts in this window" label={timeline.found ? 'found, newest first' : 'newest first'} className="sub">
      {facts.length === 0 && (
        <p className="note">None: what is drawn here is everyday traffic, or nothing that the search finds.</p>
      )}
      <Scroll name="Facts in this window" className="facts-box">
        <ul className="facts">
          {facts.map(event => {
            const look = eventLook(event)
            return (
              <li key={event.ordinal}>
                <button
                  type="button"
                  aria-current={event.ordinal === timeline.selected?.ordinal}
                  onClick={() => props.onSelect(event)}
                >
                  <Glyph name={look.glyph} state={look.colour} />
                  <span className="line">
                    <b>{laneName(event)}</b> {wordsFor(event)}
                  </span>
                  <span className="num">{clock(momentOf(event)).slice(3)}</span>
                </button>
              </li>
            )
          })}
        </ul>
      </Scroll>
    </Pane>
  )
}
