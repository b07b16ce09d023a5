/** Acknowledged messages per second over the last two minutes, with the facts that explain its dents. Fetched when needed. */
import { useLayoutEffect, useMemo, useRef, useState } from 'react'
import {
  Area,
  CartesianGrid,
  ComposedChart,
  Line,
  ReferenceArea,
  ReferenceLine,
  ResponsiveContainer,
  XAxis,
  YAxis,
} from 'recharts'
import type { LoadState } from '../../../shared/inspection/api.ts'
import { useCell } from '../../data/cell.ts'
import { shown } from '../../data/store.ts'
import { type PlacedFlag, placeFlags } from '../../geometry/flags.ts'
import { wholeTicks } from '../../geometry/series.ts'
import { clockShort, grouped } from '../../ui/format.ts'
import { type ChartPoint, chartPoints, isAlone, loadGaps } from './gaps.ts'

const SPAN_S = 120
/** One object for ever: recharts measures its ticks anew for each new one. */
const TICK = { fill: 'var(--ink-3)', fontSize: 11 } as const
/** The axis at the left and the margin at the right of the plot. */
const BESIDE_PX = 72
/** Words are placed as if letters had this size: too wide a guess only costs a row. */
const LETTER_PX = 6.6
const EXPLAINS = new Set(['process_exited', 'process_paused', 'process_started', 'process_resumed', 'view_started'])

export default function LoadChart({ load }: { load: LoadState }) {
  const box = useRef<HTMLDivElement>(null)
  const [plotPx, setPlotPx] = useState(440)
  useLayoutEffect(() => {
    if (!box.current) return
    const observer = new ResizeObserver(entries =>
      setPlotPx(Math.max(120, Math.floor(entries[0]!.contentRect.width) - BESIDE_PX)),
    )
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  const facts = useCell(shown, state => state.view.facts)
  const last = load.seconds.at(-1)?.atMs ?? Math.floor(Number(load.takenWallUs) / 1_000_000) * 1000
  const first = last - SPAN_S * 1000
  const points = useMemo(() => chartPoints(load), [load])
  const ticks = useMemo(() => wholeTicks(points.flatMap(point => [point.acked, point.sent])), [points])
  const marks = useMemo(
    () =>
      facts
        .filter(
          fact =>
            EXPLAINS.has(fact.kind) &&
            fact.atMs >= Math.max(first, Number(load.startedWallUs) / 1000) &&
            fact.atMs <= last + 1000 &&
            (fact.kind !== 'view_started' || fact.plane === 'metadata'),
        )
        .slice(-6),
    [facts, first, last, load.startedWallUs],
  )
  const flags = useMemo(
    () =>
      placeFlags(
        marks.map(fact => ({
          x: ((Math.min(fact.atMs, last) - first) / (last - first)) * plotPx,
          width: shortWords(fact.kind, fact.about).length * LETTER_PX,
        })),
        0,
        plotPx,
      ),
    [marks, first, last, plotPx],
  )
  const gaps = useMemo(() => loadGaps(load, facts), [load, facts])
  const isLeft = (flag: PlacedFlag | undefined, atMs: number) =>
    flag !== undefined && flag.left + 0.5 < ((Math.min(atMs, last) - first) / (last - first)) * plotPx
  const acked = points.reduce((sum, point) => sum + (point.acked ?? 0), 0)
  return (
    <div
      ref={box}
      className="loadchart"
      role="img"
      aria-label={`Acknowledged messages per second over the last two minutes, ${grouped(acked)} in all${gaps.map(gap => `; none for ${Math.round((gap.toMs - gap.fromMs) / 1000)} s from ${clockShort(gap.fromMs)} on`).join('')}`}
    >
      <ResponsiveContainer width="100%" height="100%">
        <ComposedChart data={points} margin={{ top: 16, right: 26, bottom: 0, left: 0 }}>
          <CartesianGrid vertical={false} stroke="var(--line-1)" />
          <XAxis
            dataKey="at"
            type="number"
            domain={[first, last]}
            ticks={[first, first + 30_000, first + 60_000, first + 90_000, last]}
            tick={TICK}
            tickFormatter={clockShort}
            tickLine={false}
            minTickGap={24}
            height={18}
          />
          <YAxis
            width={46}
            domain={[0, ticks.at(-1)!]}
            ticks={ticks}
            tickLine={false}
            axisLine={false}
            tick={TICK}
            tickFormatter={(value: number) => grouped(value)}
          />
          {gaps.map(gap => (
            <ReferenceArea
              key={gap.fromMs}
              x1={Math.max(gap.fromMs, first)}
              x2={Math.min(gap.toMs, last)}
              className="chart-gap"
              label={{
                value: `${Math.round((gap.toMs - gap.fromMs) / 1000)} s`,
                position: 'insideBottom',
                fill: 'var(--ink-1)',
                fontSize: 11,
              }}
            />
          ))}
          <Area
            dataKey="acked"
            type="linear"
            isAnimationActive={false}
            dot={<Alone points={points} of="acked" />}
            className="chart-acked"
          />
          <Line dataKey="sent" type="linear" isAnimationActive={false} dot={false} className="chart-sent" />
          {marks.map((fact, index) => (
            <ReferenceLine
              key={fact.number}
              x={Math.min(fact.atMs, last)}
              className={fact.tone === 'bad' ? 'chart-mark bad' : 'chart-mark'}
              label={{
                value: shortWords(fact.kind, fact.about),
                position: isLeft(flags[index], fact.atMs) ? 'insideTopRight' : 'insideTopLeft',
                dy: (flags[index]?.row ?? 0) * 13,
                fill: 'var(--ink-1)',
                fontSize: 11,
              }}
            />
          ))}
        </ComposedChart>
      </ResponsiveContainer>
    </div>
  )
}

/** A second whose neighbours are not known is a point: a line has nothing to join it with. */
function Alone(props: { points: readonly ChartPoint[]; of: 'acked'; index?: number; cx?: number; cy?: number }) {
  const { points, of, index = 0, cx, cy } = props
  if (cx === undefined || cy === undefined || !isAlone(points, index, of)) return <g />
  return <circle cx={cx} cy={cy} r="2" className="chart-point" />
}

function shortWords(kind: string, node: number): string {
  const what: Readonly<Record<string, string>> = {
    process_exited: 'down',
    process_paused: 'paused',
    process_started: 'started',
    process_resumed: 'resumed',
    view_started: 'leads',
  }
  return `node-${node} ${what[kind] ?? kind}`
}
