/** The foot of every screen: the last minute as events, how live what is shown is, and the way to stop it. */
import { lazy, memo, Suspense, useState } from 'react'
import { kindSpec } from '../../shared/inspection/kinds.ts'
import { bookmarks } from '../data/bookmarks.ts'
import { useCell } from '../data/cell.ts'
import type { RingEvent } from '../data/ring.ts'
import {
  asOf,
  connection,
  type Moment,
  paused,
  realNow,
  resumeView,
  ring,
  shown,
  togglePause,
  viewNow,
} from '../data/store.ts'
import { addressOf, playing, SPEEDS, STEP_NAMES, type Step, scrubTo, speed, step, togglePlay } from '../data/time.ts'
import { clock, clockShort, duration, grouped } from '../ui/format.ts'
import { Glyph, type GlyphName } from '../ui/glyph.tsx'
import { Picker } from '../ui/picker.tsx'
import { factLook } from '../ui/states.ts'

/** Opened by those who mark moments. */
const Bookmarks = lazy(() => import('./bookmarks.tsx'))

const WINDOW_MS = 60_000
const BUCKET_MS = 250
const BUCKETS = WINDOW_MS / BUCKET_MS
const STRIP_WIDTH = 960
const BASE_Y = 26
const BAR_MAX = 22
/** Marks closer than this many pixels would lie on each other; the newest stays. */
const MARK_GAP = 14

const STEPS: readonly Step[] = ['event', 'message', 'tick']

export function TimeBar() {
  const frozen = useCell(paused)
  const link = useCell(connection)
  const past = useCell(asOf) !== undefined
  const moves = useCell(playing) !== undefined
  const [by, setBy] = useState<Step>('event')
  const middle = past ? (moves ? 'Stop' : 'Play on') : frozen === undefined ? 'Pause view' : 'Resume view'
  return (
    <section className="timebar" aria-label="Time">
      <div className="transport">
        <StepButton glyph="first" name="Back to the last change of view or process" run={() => step(-1, 'turn')} />
        <StepButton glyph="prev" name={`Step back one ${STEP_NAMES[by]}`} run={() => step(-1, by)} />
        <StepButton
          glyph={frozen === undefined || moves ? 'pause' : 'play'}
          name={middle}
          run={past ? togglePlay : togglePause}
        />
        <StepButton glyph="next" name={`Step on one ${STEP_NAMES[by]}`} run={() => step(1, by)} />
        <StepButton glyph="last" name="On to the next change of view or process" run={() => step(1, 'turn')} />
        <Picker
          name={`Step by: ${STEP_NAMES[by]}`}
          value={by}
          shown={<span className="micro">{by}</span>}
          options={STEPS.map(value => ({ value, label: `Step by ${STEP_NAMES[value]}` }))}
          onChange={value => setBy(value as Step)}
          testId="step-by"
        />
      </div>
      <Strip />
      <div className="where" data-testid="live-age">
        {frozen === undefined ? (
          <LiveAge lost={link.state === 'lost'} />
        ) : (
          <PausedAge atMs={frozen.atMs} since={frozen.events} />
        )}
        <BookmarksButton />
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

function BookmarksButton() {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        className="iconbtn"
        aria-label="Bookmarks"
        title="Bookmarks"
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        <Glyph name="flag" />
      </button>
      {open && (
        <Suspense>
          <Bookmarks onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
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
  const past = useCell(asOf)
  if (past !== undefined) return <PastAge moment={past} />
  return (
    <>
      <span className="num ink-1">{clock(props.atMs)}</span>
      <Waiting atMs={props.atMs} since={props.since} />
      <GoLive />
    </>
  )
}

/** How much waits is the one thing here that is of now, and says so. */
function Waiting(props: { atMs: number; since: number }) {
  const now = useCell(realNow)
  return (
    <span className="micro ink-3">
      paused, {duration(now - props.atMs)} behind, {grouped(ring.next - props.since)} events wait
    </span>
  )
}

function PastAge({ moment }: { moment: Moment }) {
  const factor = useCell(speed)
  return (
    <>
      <span
        className="num ink-1"
        data-testid="as-of"
        data-at-ms={moment.atMs}
        data-events={moment.until}
        data-address={addressOf(moment)}
      >
        as of {clock(moment.atMs)}
      </span>
      <Picker
        name={`Speed: ${factor} times`}
        value={String(factor)}
        shown={`${factor}×`}
        options={SPEEDS.map(value => ({ value: String(value), label: `${value}×` }))}
        onChange={value => speed.set(Number(value))}
        testId="speed"
      />
      <GoLive />
    </>
  )
}

const GoLive = () => (
  <button type="button" className="btn small main-act" onClick={resumeView}>
    Go live
  </button>
)

const bucketOf = (now: number): number => Math.floor(now / BUCKET_MS)

/**
 * Bars count events of all nodes; glyphs are facts of weight. Drawn anew once a bucket, four times a second. What is later
 * than the moment that is shown is drawn pale: it is where one may go, and not what was known.
 */
const Strip = memo(function Strip() {
  const frozen = useCell(paused)
  const past = useCell(asOf)
  const liveEdge = useCell(viewNow, bucketOf)
  const liveUntil = useCell(shown, state => state.until)
  const marked = useCell(bookmarks)
  // The strip stays where it was paused, and turns by whole pages once the moment leaves it; the head moves over it.
  const edge = frozen === undefined ? liveEdge : bucketOf(frozen.atMs)
  const until = frozen === undefined ? liveUntil : frozen.events
  const endMs = (edge + 1) * BUCKET_MS
  const pages = past === undefined ? 0 : Math.max(0, Math.floor((endMs - past.atMs - 1) / WINDOW_MS))
  const toMs = endMs - pages * WINDOW_MS
  const fromMs = toMs - WINDOW_MS
  const counts = ring.histogram(fromMs, toMs, BUCKETS, until)
  const share = (ms: number): number => (ms - fromMs) / WINDOW_MS
  const now = past === undefined ? BUCKETS : Math.ceil(share(past.atMs) * BUCKETS)
  let most = 8
  for (const count of counts) most = Math.max(most, count)
  let [path, later] = ['', '']
  let total = 0
  counts.forEach((count, index) => {
    if (count === 0) return
    const height = 1.5 + (count / most) * (BAR_MAX - 1.5)
    const bar = `M${((index + 0.5) / BUCKETS) * STRIP_WIDTH} ${BASE_Y}v${-Math.round(height * 10) / 10}`
    if (index < now) {
      path += bar
      total += count
    } else later += bar
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
      {past !== undefined && <span className="playhead" style={{ left: `${share(past.atMs) * 100}%` }} />}
      <svg
        className="strip"
        viewBox={`0 0 ${STRIP_WIDTH} 40`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${grouped(total)} events in the minute to ${clockShort(past?.atMs ?? toMs)}`}
      >
        <path d={path} className="bars" vectorEffect="non-scaling-stroke" />
        <path d={later} className="bars later" vectorEffect="non-scaling-stroke" />
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
      {marked
        .filter(mark => mark.atMs >= fromMs && mark.atMs < toMs)
        .map(mark => (
          <span key={mark.at} className="bookmark" style={{ left: `${share(mark.atMs) * 100}%` }} title={mark.note} />
        ))}
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
  const found = ring.since(fromMs, Object.keys(WEIGHT), until).filter(event => event.wallMs < toMs)
  found.sort((a, b) => WEIGHT[b.kind]! - WEIGHT[a.kind]! || b.ordinal - a.ordinal)
  for (const event of found) {
    const share = (event.wallMs - fromMs) / WINDOW_MS
    if (marks.some(mark => Math.abs(mark.share - share) * STRIP_WIDTH < MARK_GAP)) continue
    marks.push({ event, share })
  }
  return marks
}
