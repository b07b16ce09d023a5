/** The picture itself: SVG while it is small, a canvas of the visible part beyond that; one geometry, one keyboard. */
import { type KeyboardEvent, type MouseEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { RingEvent } from '../../data/ring.ts'
import { type Mark, markAt, neighbour, type SpaceTime, spaceTime } from '../../geometry/space-time.ts'
import { clock, count } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { LANE_LOOK, nodeName, wordsFor } from './looks.ts'
import { SpaceCanvas } from './space-canvas.tsx'
import { SpaceSvg } from './space-svg.tsx'
import type { Timeline } from './use-timeline.ts'

/** Above this many marks and lines an SVG is slow to build (budget of the interface). */
const SVG_MARKS_MAX = 1500
const KEYS: Readonly<Record<string, Parameters<typeof neighbour>[2]>> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  Home: 'first',
  End: 'last',
}
const REACH_PX = 12
/** So near to its end, a live picture follows. */
const FOLLOW_PX = 60

export function SpacePane(props: {
  timeline: Timeline
  collapse: boolean
  onSelect: (event: RingEvent | undefined) => void
}) {
  const { timeline, collapse } = props
  const box = useRef<HTMLElement>(null)
  const [width, setWidth] = useState(900)
  useLayoutEffect(() => {
    if (!box.current) return
    const observer = new ResizeObserver(entries => setWidth(Math.floor(entries[0]!.contentRect.width)))
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  const picture = useMemo(
    () =>
      spaceTime({
        events: timeline.events,
        messages: timeline.messages,
        bars: timeline.bars,
        nodes: timeline.nodes,
        width,
        collapse,
      }),
    [timeline.events, timeline.messages, timeline.bars, timeline.nodes, width, collapse],
  )
  const selected = timeline.selected && picture.marks.find(mark => mark.event.ordinal === timeline.selected!.ordinal)
  const canvas = picture.marks.length + picture.lines.length > SVG_MARKS_MAX

  const follows = useRef(true)
  // A new picture: keep to its end when we were there and nothing is selected.
  useLayoutEffect(() => {
    const element = box.current
    if (element && follows.current && timeline.selected === undefined && picture.height > 0)
      element.scrollTop = element.scrollHeight
  }, [picture.height, timeline.selected])
  const ordinal = selected?.event.ordinal
  // Only when another event is chosen: a live picture must not be pulled back under the reader's hand.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  useEffect(() => {
    if (ordinal === undefined || !selected) return
    const element = box.current
    if (!element) return
    const head = element.querySelector('.lanes')?.clientHeight ?? 0
    const top = selected.y
    const room = element.clientHeight - head
    if (top - 24 < element.scrollTop || top + 40 > element.scrollTop + room)
      element.scrollTop = Math.max(0, top - room / 2)
  }, [ordinal])

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    if (event.key === 'Escape' && timeline.selected) {
      event.preventDefault()
      props.onSelect(undefined)
      return
    }
    const key = KEYS[event.key]
    if (!key) return
    event.preventDefault()
    event.stopPropagation()
    const { found } = timeline
    // A search narrows what the arrows visit.
    const marks =
      found === undefined
        ? picture.marks
        : picture.marks.filter(mark => found.has(mark.event.ordinal) || mark.event.ordinal === ordinal)
    const next = neighbour({ marks, lanes: picture.lanes }, selected, key)
    if (next) props.onSelect(next.event)
  }
  const onClick = (event: MouseEvent): void => {
    const rect = event.currentTarget.getBoundingClientRect()
    const mark = markAt(picture.marks, event.clientX - rect.left, event.clientY - rect.top, REACH_PX)
    if (mark) props.onSelect(mark.event)
  }
  const summary = summaryOf(picture, timeline)
  return (
    <>
      <section
        ref={box}
        className="scroll stbox"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and its arrows move between events
        tabIndex={0}
        aria-label="Space-time diagram: arrows move between events, Escape ends the selection"
        data-testid="diagram"
        data-renderer={canvas ? 'canvas' : 'svg'}
        onKeyDown={onKeyDown}
        onScroll={event => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget
          follows.current = scrollTop + clientHeight > scrollHeight - FOLLOW_PX
        }}
      >
        <LaneHeads picture={picture} />
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the pointer's way of what the arrows do above */}
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: see above */}
        <div className="st" style={{ width: picture.width, height: picture.height }} onClick={onClick}>
          {canvas ? (
            <SpaceCanvas picture={picture} selected={selected} found={timeline.found} box={box} label={summary} />
          ) : (
            <SpaceSvg picture={picture} selected={selected} found={timeline.found} label={summary} />
          )}
        </div>
      </section>
      <p className="sr" role="status" data-testid="spoken">
        {selected &&
          `${nodeName(selected.event.node)}, ${wordsFor(selected.event)}, ${clock(selected.event.wallMs)}, ${spot(picture, selected)}`}
      </p>
    </>
  )
}

const spot = (picture: SpaceTime, mark: Mark): string =>
  `event ${picture.marks.indexOf(mark) + 1} of ${picture.marks.length}`

/** Who each lane is, and what it is at the end of the picture. */
function LaneHeads({ picture }: { picture: SpaceTime }) {
  return (
    <div className="lanes" style={{ width: picture.width }}>
      {picture.lanes.map(lane => {
        const bar = picture.bars.findLast(item => item.node === lane.node)
        return (
          <span key={lane.node} className="lane" style={{ left: lane.x - 8, maxWidth: lane.right - lane.x }}>
            <b>{nodeName(lane.node)}</b>
            {bar && (
              <span className="nowrap">
                <Glyph name={LANE_LOOK[bar.state].glyph} state={LANE_LOOK[bar.state].colour} />{' '}
                {LANE_LOOK[bar.state].word}
                {bar.view !== undefined && bar.state !== 'down' && ` v${bar.view}`}
              </span>
            )}
          </span>
        )
      })}
    </div>
  )
}

function summaryOf(picture: SpaceTime, timeline: Timeline): string {
  const first = picture.axis.stretches[0]
  const last = picture.axis.stretches.at(-1)
  const joined = picture.lines.filter(line => !line.stub).length
  return `${count(picture.marks.length, 'event')} of ${count(timeline.nodes.length, 'node')} from ${clock(first?.fromMs ?? 0)} to ${clock(last?.toMs ?? 0)}, ${count(joined, 'message')} drawn between lanes. The table has the same events.`
}
