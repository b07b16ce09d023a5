/** The foot of every screen: the last minute as events, how live what is shown is, and the way to stop it. */
import { memo } from 'react'
import { kindSpec } from '../../shared/inspection/kinds.ts'
import { useCell } from '../data/cell.ts'
import type { RingEvent } from '../data/ring.ts'
import { connection, paused, realNow, resumeView, ring, shown, togglePause, viewNow } from '../data/store.ts'
import { clock, clockShort, duration, grouped } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { factLook } from '../ui/states.ts'

const WINDOW_MS = 60_000
const BUCKET_MS = 250
const BUCKETS = WINDOW_MS / BUCKET_MS
const STRIP_WIDTH = 960
const BASE_Y = 26
const BAR_MAX = 22
/** Marks closer than this many pixels would lie on each other; the newest stays. */
const MARK_GAP = 14

export function TimeBar() {
  const frozen = useCell(paused)
  const link = useCell(connection)
  return (
    <section className="timebar" aria-label="Time">
      <div className="transport">
        <button
          className="iconbtn"
          type="button"
          aria-label={frozen === undefined ? 'Pause view' : 'Resume view'}
          title={frozen === undefined ? 'Pause view' : 'Resume view'}
          onClick={togglePause}
        >
          <Glyph name={frozen === undefined ? 'pause' : 'play'} />
        </button>
      </div>
      <Strip />
      <div className="where" data-testid="live-age">
        {frozen === undefined ? (
          <LiveAge lost={link.state === 'lost'} />
        ) : (
          <PausedAge atMs={frozen.atMs} since={frozen.events} />
        )}
      </div>
    </section>
  )
}

function LiveAge(props: { lost: boolean }) {
  const now = useCell(viewNow)
  return (
    <>
      <span className="num ink-1">{clock(now)}</span>
      <Glyph name={props.lost ? 'drop' : 'ok'} state={props.lost ? 'danger' : 'ok'} />
      <span className="micro ink-3 live-word">{props.lost ? 'not live' : 'live'}</span>
    </>
  )
}

function PausedAge(props: { atMs: number; since: number }) {
  const now = useCell(realNow)
  useCell(shown)
  const waits = ring.next - props.since
  return (
    <>
      <span className="num ink-1">{clock(props.atMs)}</span>
      <span className="micro ink-3">
        paused, {duration(now - props.atMs)} behind, {grouped(waits)} events wait
      </span>
      <button type="button" className="btn small main-act" onClick={resumeView}>
        Go live
      </button>
    </>
  )
}

const bucketOf = (now: number): number => Math.floor(now / BUCKET_MS)

/** Bars count events of all nodes; glyphs are facts of weight. Drawn anew once a bucket, four times a second. */
const Strip = memo(function Strip() {
  const edge = useCell(viewNow, bucketOf)
  const until = useCell(shown, state => state.until)
  const toMs = (edge + 1) * BUCKET_MS
  const fromMs = toMs - WINDOW_MS
  const counts = ring.histogram(fromMs, toMs, BUCKETS, until)
  let most = 8
  for (const count of counts) most = Math.max(most, count)
  let path = ''
  let total = 0
  counts.forEach((count, index) => {
    if (count === 0) return
    total += count
    const height = 1.5 + (count / most) * (BAR_MAX - 1.5)
    path += `M${((index + 0.5) / BUCKETS) * STRIP_WIDTH} ${BASE_Y}v${-Math.round(height * 10) / 10}`
  })
  return (
    <div className="stripbox">
      <svg
        className="strip"
        viewBox={`0 0 ${STRIP_WIDTH} 40`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${grouped(total)} events in the last minute`}
      >
        <path d={path} className="bars" vectorEffect="non-scaling-stroke" />
        <path d={`M0 ${BASE_Y + 0.5}H${STRIP_WIDTH}`} className="rule" vectorEffect="non-scaling-stroke" />
      </svg>
      {weighty(fromMs, toMs, until).map(({ event, share }) => {
        const look = factLook({ kind: event.kind, tone: kindSpec(event.kind)?.tone ?? 'plain' })
        return (
          <span
            key={event.ordinal}
            className="fact"
            style={{ left: `${share * 100}%` }}
            title={`${event.kind.replaceAll('_', ' ')} ${clock(event.wallMs)}`}
          >
            <Glyph name={look.glyph} state={look.colour} />
          </span>
        )
      })}
      <span className="tick" style={{ left: 0 }}>
        {clockShort(fromMs)}
      </span>
      <span className="tick" style={{ right: 0 }}>
        {clockShort(toMs)}
      </span>
    </div>
  )
})

const WEIGHT: Readonly<Record<string, number>> = {
  process_exited: 5,
  gap: 4,
  node_silent: 3,
  process_paused: 3,
  process_started: 2,
  process_resumed: 2,
  load_stalled: 2,
  view_started: 1,
  view_change_started: 1,
}

/** Marks of weight, the gravest first: a lighter one that would lie on it is left to the log. */
function weighty(fromMs: number, toMs: number, until: number): { event: RingEvent; share: number }[] {
  const marks: { event: RingEvent; share: number }[] = []
  const found = ring
    .newestFacts(400, until)
    .filter(event => event.wallMs >= fromMs && event.wallMs < toMs && WEIGHT[event.kind] !== undefined)
  found.sort((a, b) => WEIGHT[b.kind]! - WEIGHT[a.kind]! || b.ordinal - a.ordinal)
  for (const event of found) {
    const share = (event.wallMs - fromMs) / WINDOW_MS
    if (marks.some(mark => Math.abs(mark.share - share) * STRIP_WIDTH < MARK_GAP)) continue
    marks.push({ event, share })
  }
  return marks
}
