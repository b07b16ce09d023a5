/** Space and time: a lane for every node, what it was, what it told, and which messages joined them. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { asOf, connection, paused, realNow, shown, sourceKind } from '../../data/store.ts'
import { byGroup, groupName, METADATA, pathName } from '../../names.ts'
import type { Search } from '../../search.ts'
import { useNowSeconds } from '../../ui/age.tsx'
import { clock, count, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Picker } from '../../ui/picker.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { disconnected, situationOf } from '../cluster/situation.ts'
import { EventPane } from './event-pane.tsx'
import { EventsTable } from './events-table.tsx'
import { FAMILIES, FAMILIES_AT_FIRST, FAMILY_LOOK, familiesOf } from './families.ts'
import { flowShare } from './flow.ts'
import { timelineSituation } from './situation.ts'
import { SpacePane } from './space-pane.tsx'
import { useFlowWatch } from './use-flow-watch.ts'
import { keyOf, NEWEST, nextOf, type Timeline, useTimeline } from './use-timeline.ts'
import './timeline.css'

const route = getRouteApi('/timeline')
type Change = (patch: Partial<Record<keyof Search<'timeline'>, string | undefined>>, replace?: boolean) => void

export default function TimelineScreen() {
  const search: Search<'timeline'> = route.useSearch()
  const navigate = useNavigate()
  const timeline = useTimeline(search)
  const asked = useFlowWatch(timeline.group)
  const share = flowShare(timeline.events, asked)
  const change: Change = (patch, replace = false) =>
    void navigate({
      to: '/timeline',
      search: old => ({ ...old, ...patch }) as Search<'timeline'>,
      replace,
      resetScroll: false,
    })
  const collapse = search.quiet !== 'shown'
  const table = search.table === '1'
  return (
    <div className="screen tl">
      <Lead search={search} timeline={timeline} />
      <Bar search={search} timeline={timeline} change={change} />
      <div className="cols">
        <Pane
          title="Space and time"
          label={
            <>
              {timeline.asOfMs !== undefined && <b data-testid="as-of">as of {clock(timeline.asOfMs)} · </b>}
              {timeline.found === undefined
                ? count(timeline.events.length, 'event')
                : `${timeline.foundMore ? 'the newest ' : ''}${grouped(timeline.found.size)} of ${count(timeline.events.length, 'event')} found`}
              {timeline.more > 0 && `, ${grouped(timeline.more)} earlier left out`}
              {timeline.clocks && (
                <>
                  {' · '}
                  <span
                    className={timeline.clocks.off ? 'ink-1' : undefined}
                    data-testid="clocks"
                    data-off={timeline.clocks.off}
                    title="Each event is drawn by the clock of the node that told it. Told from the shortest way of an event to the console, by both clocks."
                  >
                    {timeline.clocks.words}
                  </span>
                </>
              )}
              {share && (
                <>
                  {' · '}
                  <span data-testid="flow-share" data-partial={share.partial}>
                    {share.words}
                  </span>
                </>
              )}
            </>
          }
          className="p-st"
          testId="space-time"
          actions={
            <span className="push row">
              {(search.from ?? search.to) !== undefined && (
                <button
                  type="button"
                  className="chip plain"
                  aria-pressed="true"
                  data-testid="span"
                  title="Show all of the time again"
                  onClick={() => change({ from: undefined, to: undefined })}
                >
                  {search.from === undefined ? '' : `from ${clock(Number(search.from))} `}
                  {search.to === undefined ? '' : `to ${clock(Number(search.to))}`}
                </button>
              )}
              <button
                type="button"
                className="chip plain"
                aria-pressed={collapse}
                onClick={() => change({ quiet: collapse ? 'shown' : undefined })}
              >
                Quiet collapsed
              </button>
              <button
                type="button"
                className="btn small quiet"
                aria-pressed={table}
                onClick={() => change({ table: table ? undefined : '1' })}
              >
                <Glyph name="table" /> {table ? 'Diagram' : 'Table'}
              </button>
            </span>
          }
        >
          {timeline.nodes.length === 0 ? (
            <Skeleton what="events" rows={8} />
          ) : timeline.events.length === 0 ? (
            <div className="empty">
              <Glyph name="absent" state="none" large />
              <p>
                No event of these kinds has reached this tab by the moment that is shown. Take in more kinds above, or
                kill the primary on the cluster screen and come back: its election is drawn here.
              </p>
            </div>
          ) : table ? (
            <EventsTable timeline={timeline} onSelect={event => change({ sel: keyOf(event) })} />
          ) : (
            <SpacePane
              timeline={timeline}
              collapse={collapse}
              onSelect={event => change({ sel: event && keyOf(event) }, true)}
            />
          )}
        </Pane>
        <EventPane
          timeline={timeline}
          asked={search.sel}
          onSelect={event => change({ sel: keyOf(event) })}
          onBound={(end, event) => change({ [end]: event.wallMs.toFixed(3) })}
        />
      </div>
    </div>
  )
}

function Lead({ search, timeline }: { search: Search<'timeline'>; timeline: Timeline }) {
  const view = useCell(shown, state => state.view)
  const link = useCell(connection)
  const still = useCell(paused)
  // While the view stands still, events go on arriving behind it.
  useCell(realNow, wholeSecond)
  const moment = useCell(asOf)
  const now = useNowSeconds()
  const recorded = useCell(sourceKind) !== 'LIVE'
  // What was known of a moment stays true while nobody answers now.
  if (!recorded && moment === undefined && link.state === 'lost') return <Now words={disconnected(link.sinceMs, now)} />
  const more = link.state === 'recorded' ? link.more : undefined
  const later = still && nextOf(search, timeline.until)
  const words = timelineSituation(
    situationOf(view, timeline.group === 'all' ? METADATA : timeline.group, moment?.atMs ?? now),
    timeline,
    { text: search.q ?? '' },
    still && { atMs: moment?.atMs ?? still.atMs, later, recorded, more: more !== undefined },
  )
  return (
    <Now
      words={words}
      act={
        more !== undefined && still && later === undefined ? (
          // Another part of the recording is another page: nothing of the one before may stay.
          <a className="btn small" href={`${location.pathname}${behind(location.search, more)}`}>
            Read on
          </a>
        ) : undefined
      }
    />
  )
}
/** The same address at another moment. */
function behind(search: string, seq: number): string {
  const params = new URLSearchParams(search)
  params.set('at', String(seq))
  return `?${params}`
}
const wholeSecond = (now: number): number => Math.floor(now / 1000)

function Bar(props: { search: Search<'timeline'>; timeline: Timeline; change: Change }) {
  const { search, timeline, change } = props
  const [text, setText] = useState(search.q ?? '')
  useEffect(() => setText(search.q ?? ''), [search.q])
  const keys = useCell(shown, state => state.view.groups)
  const names = useQuery(queries.topics()).data
  const families = familiesOf(search.kinds)
  const label = (id: string): string =>
    id === 'all' ? 'all groups' : [groupName(id), pathName(names, keys.get(id)?.key)].filter(Boolean).join(' ')
  const groups = [...new Set([METADATA, timeline.group, ...keys.keys()])].filter(id => id !== 'all').sort(byGroup)
  const flip = (family: (typeof FAMILIES)[number]): void => {
    const next = FAMILIES.filter(item => (item === family) !== families.includes(item))
    const usual = next.join() === FAMILIES_AT_FIRST.join()
    change({ kinds: usual ? undefined : next.join() })
  }
  return (
    <header className="bar">
      <h1 className="title">Timeline</h1>
      <Picker
        name="Group"
        value={timeline.group}
        shown={label(timeline.group)}
        options={['all', ...groups.slice(0, 500)].map(id => ({ value: id, label: label(id) }))}
        onChange={value => change({ group: value === METADATA ? undefined : value })}
        testId="timeline-group"
      />
      <Picker
        name="Newest"
        value={search.newest ?? NEWEST[0]}
        shown={`newest ${grouped(search.newest ?? NEWEST[0])}`}
        options={NEWEST.map(value => ({ value, label: `newest ${grouped(value)}` }))}
        onChange={value => change({ newest: value === NEWEST[0] ? undefined : value })}
      />
      <label className="field q" data-invalid={timeline.query.problems.length > 0}>
        <span className="label">Find</span>
        <input
          type="search"
          value={text}
          data-testid="find"
          aria-describedby={timeline.query.problems.length > 0 ? 'find-problems' : undefined}
          placeholder="kind:prepare node:2 op>900, kind:vote view:7"
          onChange={event => {
            setText(event.target.value)
            change({ q: event.target.value.trim() === '' ? undefined : event.target.value.slice(0, 255) }, true)
          }}
        />
      </label>
      <span className="row chips">
        {FAMILIES.map(family => (
          <button
            key={family}
            type="button"
            className="chip"
            aria-pressed={families.includes(family)}
            data-testid={`family-${family}`}
            onClick={() => flip(family)}
          >
            <Glyph name={FAMILY_LOOK[family].glyph} state={FAMILY_LOOK[family].colour} />
            {FAMILY_LOOK[family].word}
          </button>
        ))}
      </span>
      {timeline.query.problems.length > 0 && (
        <p className="problems small" id="find-problems" role="status">
          Left out: {timeline.query.problems.join('; ')}
        </p>
      )}
    </header>
  )
}
