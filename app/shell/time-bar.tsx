/** The foot of every screen: the last minute as events, how live what is shown is, and the way to stop it. */
import { memo } from 'react'
import { kindSpec } from '../../shared/inspection/kinds.ts'
import { useCell } from '../data/cell.ts'
import type { RingEvent } from '../data/ring.ts'
import {
  asOf,
  connection,
  paused,
  realNow,
  resumeView,
  ring,
  scrubTo,
  shown,
  stepMoment,
  togglePause,
  viewNow,
} from '../data/store.ts'
import { clock, clockShort, duration, grouped } from '../ui/format.ts'
import { Glyph, type GlyphName } from '../ui/glyph.tsx'
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
        <StepButton glyph="first" name="Back to the last change of view or process" run={() => stepMoment(-1, true)} />
        <StepButton glyph="prev" name="Step back one event" run={() => stepMoment(-1, false)} />
        <button
          className="iconbtn"
          type="button"
          aria-label={frozen === undefined ? 'Pause view' : 'Resume view'}
          title={frozen === undefined ? 'Pause view' : 'Resume view'}
          onClick={togglePause}
        >
          <Glyph name={frozen === undefined ? 'pause' : 'play'} />
        </button>
        <StepButton glyph="next" name="Step forward one event" run={() => stepMoment(1, false)} />
        <StepButton glyph="last" name="On to the next change of view or process" run={() => stepMoment(1, true)} />
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

function StepButton(props: { glyph: GlyphName; name: string; run: () => void }) {
  return (
    <button type="button" className="iconbtn" aria-label={props.name} title={props.name} onClick={props.run}>
      <Glyph name={props.glyph} />
    </button>
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
  const past = useCell(asOf)
  const waits = ring.next - props.since
  if (past !== undefined) {
    return (
      <>
        <span className="num ink-1" data-testid="as-of" data-at-ms={past.atMs}>
          as of {clock(past.atMs)}
        </span>
        <span className="micro ink-3">{duration(now - past.atMs)} ago</span>
        <button type="button" className="btn small main-act" onClick={resumeView}>
          Go live
        </button>
      </>
    )
  }
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
  const frozen = useCell(paused)
  const past = useCell(asOf)
  const liveEdge = useCell(viewNow, bucketOf)
  const liveUntil = useCell(shown, state => state.until)
  // The strip stays where it was paused; the head moves over it.
  const edge = frozen === undefined ? liveEdge : bucketOf(frozen.atMs)
  const until = frozen === undefined ? liveUntil : frozen.events
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
    // biome-ignore lint/a11y/useKeyWithClickEvents: the step buttons and their keys do the same
    // biome-ignore lint/a11y/noStaticElementInteractions: the picture is the pointer's shortcut only
    <div
      className="stripbox"
      title="Click to go to a moment"
      onClick={event => {
        const box = event.currentTarget.getBoundingClientRect()
        scrubTo(fromMs + ((event.clientX - box.left) / box.width) * WINDOW_MS)
      }}
    >
      {past !== undefined && past.atMs >= fromMs && (
        <span className="playhead" style={{ left: `${((past.atMs - fromMs) / WINDOW_MS) * 100}%` }} />
      )}
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
