/** One lane a fault: acknowledged messages a second over time, aligned at the fault, with a flag for every mark. */
import { useLayoutEffect, useRef, useState } from 'react'
import { BEFORE_MS, MARKS, type Recovery } from '../../../shared/inspection/recoveries.ts'
import { tickStep } from '../../geometry/cut-axis.ts'
import { placeFlags } from '../../geometry/flags.ts'
import { seriesPath, wholeSeries, wholeTicks } from '../../geometry/series.ts'
import { clockShort, count, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { TableSave } from '../../ui/table-save.tsx'
import { FLAG_WORDS, MARK_LOOK, secondsText, withoutLedger } from './looks.ts'

const TOP = 22
/** The plot ends here, or below its last row of flags; under it is air. */
const BASE_LEAST = 126
const UNDER = 14
const AXIS = 40
const ROW = 21
const FLAG_TOP = 12
const RIGHT = 16
/** The shortest clock; longer recoveries stretch it for all. */
const SHOWN_MS = 30_000
const SHOWN_MAX_MS = 90_000

export function Lanes(props: {
  runs: readonly Recovery[]
  chosen: string | undefined
  now: number
  onChoose: (id: string) => void
}) {
  const box = useRef<HTMLElement>(null)
  const [width, setWidth] = useState(1000)
  useLayoutEffect(() => {
    if (!box.current) return
    const observer = new ResizeObserver(entries => setWidth(Math.floor(entries[0]!.contentRect.width)))
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  const narrow = width < 640
  const plotWidth = Math.max(260, width - (narrow ? 24 : 216))
  const last = Math.max(SHOWN_MS, ...props.runs.flatMap(run => Object.values(run.marks).map(ms => ms * 1.08)))
  const toMs = Math.min(SHOWN_MAX_MS, last)
  const x = (ms: number): number => AXIS + ((ms + BEFORE_MS) / (toMs + BEFORE_MS)) * (plotWidth - AXIS - RIGHT)
  const step = Math.max(1000, tickStep((plotWidth - AXIS - RIGHT) / (toMs + BEFORE_MS), 90))
  const ticks: number[] = []
  for (let at = 0; at <= toMs; at += step) ticks.push(at)
  return (
    <section className="pane lanes" aria-label="Recoveries on one clock" ref={box} data-testid="lanes">
      <div className="lanes-scroll">
        {props.runs.map(run => (
          <article key={run.id} className="lane" data-selected={run.id === props.chosen} data-testid={`lane-${run.id}`}>
            <LaneWords run={run} chosen={run.id === props.chosen} onChoose={() => props.onChoose(run.id)} />
            <Plot run={run} width={plotWidth} x={x} toMs={toMs} now={props.now} />
          </article>
        ))}
      </div>
      <div className="lane axis">
        <span className="row">
          <span className="label">seconds after the fault</span>
          <TableSave
            name="acknowledged a second"
            rows={props.runs.flatMap(run => run.seconds.map(second => ({ run, second })))}
            columns={[
              { id: 'run', data: ({ run }) => run.id },
              { id: 'fault', data: ({ run }) => new Date(run.faultMs).toISOString() },
              { id: 'secondsAfter', data: ({ run, second }) => (second.atMs - run.faultMs) / 1000 },
              { id: 'acknowledged', data: ({ second }) => second.acked },
            ]}
          />
        </span>
        <svg width={plotWidth} height="20" role="presentation">
          {ticks.map(tick => (
            <text key={tick} className="d s l" x={x(tick)} y="13" textAnchor="middle">
              {tick / 1000}
            </text>
          ))}
        </svg>
      </div>
    </section>
  )
}

function LaneWords({ run, chosen, onChoose }: { run: Recovery; chosen: boolean; onChoose: () => void }) {
  const lost = run.ledger?.lost
  return (
    <div className="lane-words">
      <button type="button" className="link strong" aria-pressed={chosen} onClick={onChoose}>
        {run.id}
      </button>{' '}
      <span className="num">{clockShort(run.faultMs)}</span>
      <p>
        {run.nodes.map(node => `node-${node}`).join(', ')} {run.how === 'SIGSTOP' ? 'paused' : 'ended'}
      </p>
      <p className="micro ink-3">
        {run.how}, {count(Object.keys(run.elections).length, 'election')}
      </p>
      <span className="state">
        {lost === undefined ? (
          <>
            <Glyph name="unknown" state="none" />
            {withoutLedger(run)}
          </>
        ) : lost === 0 ? (
          <>
            <Glyph name="ok" state="ok" />
            Nothing lost
          </>
        ) : (
          <>
            <Glyph name="fail" state="danger" />
            {grouped(lost)} lost
          </>
        )}
      </span>
    </div>
  )
}

function Plot(props: { run: Recovery; width: number; x: (ms: number) => number; toMs: number; now: number }) {
  const { run, x, toMs, width } = props
  const shown = run.seconds.filter(
    second => second.atMs - run.faultMs <= toMs && second.atMs - run.faultMs >= -BEFORE_MS,
  )
  const marks = MARKS.filter(name => run.marks[name] !== undefined && run.marks[name]! <= toMs).map(name => ({
    name,
    ms: run.marks[name]!,
    words: `${FLAG_WORDS[name]} ${secondsText(run.marks[name]!)}`,
  }))
  const placed = placeFlags(
    marks.map(item => ({ x: x(item.ms), width: item.words.length * 6.7 + 28 })),
    AXIS,
    width,
  )
  const rows = Math.max(0, ...placed.map(flag => flag.row + 1))
  const base = Math.max(BASE_LEAST, TOP + FLAG_TOP + rows * ROW)
  const series = wholeSeries(shown.map(({ atMs, acked }) => ({ atMs, value: acked })))
  const most = wholeTicks(series.map(({ value }) => value)).at(-1)!
  const y = (acked: number): number => base - (acked / most) * (base - TOP - 6)
  // A second is drawn at its middle.
  const line = seriesPath(series, atMs => x(atMs - run.faultMs + 500), y)
  const outage = run.stalled !== undefined ? Math.min(toMs, run.marks.acknowledged ?? props.now - run.faultMs) : 0
  const words = marks.map(item => item.words).join(', ')
  return (
    <svg
      className="lane-plot"
      width={width}
      height={base + UNDER}
      viewBox={`0 0 ${width} ${base + UNDER}`}
      role="img"
      aria-label={`${run.id}: ${words === '' ? 'no mark yet' : words}, seconds after the fault`}
    >
      {outage > 0 && (
        <rect x={x(0)} y={TOP - 4} width={Math.max(0, x(outage) - x(0))} height={base - TOP + 4} className="outage" />
      )}
      <path d={`M${AXIS} ${y(most)}H${width - RIGHT}`} className="hair" />
      <path d={`M${AXIS} ${base}H${width - RIGHT}`} className="edge" />
      <text className="d s l" x={AXIS - 6} y={y(most) + 4} textAnchor="end">
        {grouped(most)}
      </text>
      <text className="d s l" x={AXIS - 6} y={base + 4} textAnchor="end">
        0
      </text>
      {line === '' ? (
        <text className="s l" x={x(0) + 8} y={base - 8}>
          {withoutLedger(run)}
        </text>
      ) : (
        <path d={line} className="inkline lane-line" />
      )}
      <path d={`M${x(0)} 8V${base}`} className="fault-line" />
      <circle cx={x(0)} cy="9" r="9" className="seat" />
      <use
        href={run.how === 'SIGSTOP' ? '#glyph-stopped' : '#glyph-down'}
        x={x(0) - 8}
        y="1"
        width="16"
        height="16"
        className="s-danger"
      />
      {marks.map((item, index) => {
        const { left, row } = placed[index]!
        const flagWidth = item.words.length * 6.7 + 28
        const top = TOP + FLAG_TOP + row * ROW
        return (
          <g key={item.name}>
            <path d={`M${x(item.ms)} ${TOP}V${base}`} className="mark-line" />
            <rect x={left} y={top} width={flagWidth} height="18" rx="2" className="flag" />
            <use
              href={`#glyph-${MARK_LOOK[item.name].glyph}`}
              x={left + 5}
              y={top + 2.5}
              width="13"
              height="13"
              className={`s-${MARK_LOOK[item.name].colour}`}
            />
            <text className="s k" x={left + 23} y={top + 13}>
              {FLAG_WORDS[item.name]} <tspan className="flag-number">{secondsText(item.ms)}</tspan>
            </text>
          </g>
        )
      })}
    </svg>
  )
}
