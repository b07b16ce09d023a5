/** The same events as rows: the twin of the diagram. */

import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef } from 'react'
import { viewOf } from '../../data/event-query.ts'
import { momentOf } from '../../data/lane-states.ts'
import type { RingEvent } from '../../data/ring.ts'
import { groupName } from '../../names.ts'
import { clock, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Spacer } from '../../ui/spacer.tsx'
import { type ExportColumn, TableFoot } from '../../ui/table-export.tsx'
import { eventLook, laneName, messageWords, reporterWords, wordsFor } from './looks.ts'
import type { Timeline } from './use-timeline.ts'

const ROW = 26

export function EventsTable(props: { timeline: Timeline; onSelect: (event: RingEvent) => void }) {
  const { timeline } = props
  const box = useRef<HTMLElement>(null)
  // A query narrows the rows; the diagram keeps the rest for context.
  const events = timeline.found ? timeline.events.filter(event => timeline.found!.has(event.ordinal)) : timeline.events
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 10,
    initialRect: { width: 800, height: 400 },
  })
  const items = rows.getVirtualItems()
  const before = items[0]?.start ?? 0
  const after = items.length > 0 ? rows.getTotalSize() - items.at(-1)!.end : 0
  return (
    <Scroll ref={box} name="Events">
      <table className="table" data-testid="events-table">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Node</th>
            <th scope="col">Told by</th>
            <th scope="col">Event</th>
            <th scope="col">Group</th>
            <th scope="col" className="n">
              View
            </th>
            <th scope="col" className="n">
              Op
            </th>
            <th scope="col">Message</th>
          </tr>
        </thead>
        <tbody>
          <Spacer height={before} />
          {items.map(item => {
            const event = events[item.index]!
            const look = eventLook(event)
            const chosen = event.ordinal === timeline.selected?.ordinal
            const message = timeline.messages.find(one => (one.received ?? one.sent)?.ordinal === event.ordinal)
            return (
              <tr
                key={event.ordinal}
                className="pick"
                aria-selected={chosen}
                data-testid="event-row"
                data-kind={event.kind}
                onClick={() => props.onSelect(event)}
              >
                <td className="m">
                  <button type="button" className="pick-btn link" aria-pressed={chosen}>
                    {clock(momentOf(event))}
                  </button>
                </td>
                <td>{laneName(event)}</td>
                <td>{reporterWords(event)}</td>
                <td className="ellipsis">
                  <Glyph name={look.glyph} state={look.colour} /> {wordsFor(event)}
                </td>
                <td className="m">{groupName(event.group)}</td>
                <td className="n">{viewOf(event) ?? ''}</td>
                <td className="n">{event.op === undefined ? '' : grouped(event.op)}</td>
                <td>
                  {message &&
                    `${messageWords(message)}${message.by === 'concluded' ? ', sender concluded' : message.by === 'alone' ? ', one end known' : ''}`}
                </td>
              </tr>
            )
          })}
          <Spacer height={after} />
        </tbody>
      </table>
      {events.length === 0 && <p className="note">No event shown fits the search.</p>}
      <TableFoot name="events" rows={events} columns={EVENT_COLUMNS} />
    </Scroll>
  )
}

const EVENT_COLUMNS: readonly ExportColumn<RingEvent>[] = [
  { id: 'time', data: event => new Date(momentOf(event)).toISOString() },
  { id: 'node', data: laneName },
  { id: 'boot', data: event => event.boot },
  { id: 'seq', data: event => event.seq },
  { id: 'kind', data: event => event.kind },
  { id: 'words', data: wordsFor },
  { id: 'group', data: event => event.group },
  { id: 'view', data: event => event.view },
  { id: 'op', data: event => event.op },
  { id: 'commit', data: event => event.commit },
]
