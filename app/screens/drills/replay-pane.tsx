/**
 * A run that has ended, moment by moment: who served, what was done, told and found. It opens at the moment that decided the
 * verdict; where it stands is in the address.
 */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { pauseText } from '../../../shared/drills/picture.ts'
import type { DrillReplay } from '../../../shared/inspection/drills.ts'
import { drillQueries } from '../../data/drills.ts'
import { duration, visible } from '../../ui/format.ts'
import { Glyph, type GlyphName } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { factLook } from '../../ui/states.ts'
import type { DrillView } from './drill-screen.tsx'
import { Files } from './files-pane.tsx'
import { LedgerNow } from './ledger-now.tsx'
import { NodesNow } from './nodes-now.tsx'

type Moment = DrillReplay['moments'][number]

/** Rows in front of the present one and behind it. */
const BEFORE = 7
const AFTER = 4
/** Playing: a moment stands this long, and a pause of the run as long as it was, within bounds. */
const STAND_MS = 350
const PAUSE_MAX_MS = 1_200

export function ReplayPane({ view, run }: { view: DrillView; run: number }) {
  const { data, error, refetch } = useQuery(drillQueries.replay(run))
  const close = () => view.choose({ at: undefined })
  return (
    <Pane
      title="Replay"
      label={`run ${run}, as it was recorded`}
      testId="drill-replay"
      actions={
        <button type="button" className="btn small quiet push" onClick={close}>
          Close
        </button>
      }
    >
      {error && !data && <Problem error={error} what="This run cannot be replayed." retry={() => void refetch()} />}
      {!data && !error && <Skeleton what="the recording" rows={6} />}
      {data && data.moments.length === 0 && <p className="drill-prose">Nothing was recorded.</p>}
      {data && data.moments.length > 0 && <Replay view={view} replay={data} />}
    </Pane>
  )
}

function Replay({ view, replay }: { view: DrillView; replay: DrillReplay }) {
  const { moments, decisive, nodes, omitted } = replay
  const wanted = view.search.at === 'decisive' || view.search.at === undefined ? decisive : Number(view.search.at)
  const at = Math.min(wanted, moments.length - 1)
  const go = (to: number): void => {
    const next = Math.max(0, Math.min(moments.length - 1, to))
    view.choose({ at: next === decisive ? 'decisive' : String(next) })
  }
  const [playing, setPlaying] = usePlaying(moments, at, go)
  const region = useRef<HTMLDivElement>(null)
  useEffect(() => {
    region.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  const moment = moments[at]!
  const rows = moments.slice(Math.max(0, at - BEFORE), at + AFTER + 1)
  const first = Math.max(0, at - BEFORE)
  const step = (to: number) => {
    setPlaying(false)
    go(to)
  }
  return (
    <div>
      <div className="replay-bar" ref={region}>
        <Move name="First moment" glyph="first" onAct={() => step(0)} />
        <Move name="Previous moment" glyph="prev" onAct={() => step(at - 1)} />
        <Move
          name={playing ? 'Stop' : 'Play'}
          glyph={playing ? 'pause' : 'play'}
          onAct={() => {
            if (!playing && at === moments.length - 1) go(0)
            setPlaying(!playing)
          }}
        />
        <Move name="Next moment" glyph="next" onAct={() => step(at + 1)} />
        <Move name="Last moment" glyph="last" onAct={() => step(moments.length - 1)} />
        <input
          type="range"
          className="replay-range"
          aria-label="Moment"
          aria-valuetext={`${at + 1} of ${moments.length}: ${moment.text}`}
          min={0}
          max={moments.length - 1}
          value={at}
          onChange={({ target }) => step(Number(target.value))}
        />
        <span className="num replay-where" data-testid="replay-at">
          {at + 1} of {moments.length}, {duration(moment.atMs)}
        </span>
        <button type="button" className="btn small" aria-pressed={at === decisive} onClick={() => step(decisive)}>
          The decisive moment
        </button>
      </div>
      <div className="replay" style={{ '--lanes': nodes } as React.CSSProperties}>
        <div className="replay-row replay-head" aria-hidden="true">
          <span />
          <span />
          {Array.from({ length: nodes }, (_, node) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: nodes are their numbers
            <span key={node} className="replay-name">
              {node}
            </span>
          ))}
          <span className="label">{nodes > 1 ? 'nodes, and what happened' : 'node, and what happened'}</span>
        </div>
        <ol aria-label="Moments">
          {rows.map((row, index) => (
            <Row
              // biome-ignore lint/suspicious/noArrayIndexKey: moments keep their places
              key={first + index}
              moment={row}
              pause={pauseText(row.atMs - (moments[first + index - 1]?.atMs ?? row.atMs))}
              now={first + index === at}
              decisive={first + index === decisive}
              onPick={() => step(first + index)}
            />
          ))}
        </ol>
      </div>
      <p className="sr" role="status">
        {moment.text}
      </p>
      <NodesNow replay={replay} at={at} />
      <Files replay={replay} at={at} />
      <LedgerNow replay={replay} at={at} />
      {omitted > 0 && (
        <p className="drill-prose small">{omitted} more were not kept: this run told more than is kept of one.</p>
      )}
    </div>
  )
}

function Row(props: { moment: Moment; pause: string; now: boolean; decisive: boolean; onPick: () => void }) {
  const { moment, pause, now, decisive } = props
  const { states, node, is, text } = moment
  const look = lookOf(moment)
  return (
    <li
      className="replay-row"
      data-is={is}
      data-now={now}
      data-decisive={decisive}
      aria-current={now ? 'step' : undefined}
      data-testid={decisive ? 'replay-decisive' : undefined}
    >
      <span className="num replay-pause">{pause}</span>
      <span className="replay-mark">{node === undefined && <Glyph name={look.glyph} state={look.colour} />}</span>
      {states.map((state, lane) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: nodes are their numbers
        <span key={lane} className="replay-lane" data-state={state} title={`node-${lane}: ${state}`}>
          {lane === node && <Glyph name={look.glyph} state={look.colour} />}
        </span>
      ))}
      <button type="button" className="replay-text" onClick={props.onPick}>
        {node !== undefined && <span className="sr">node-{node}: </span>}
        {visible(text)}
        {decisive && <span className="chip plain">this decides</span>}
      </button>
    </li>
  )
}

function Move(props: { name: string; glyph: GlyphName; onAct: () => void }) {
  return (
    <button type="button" className="iconbtn small" aria-label={props.name} title={props.name} onClick={props.onAct}>
      <Glyph name={props.glyph} />
    </button>
  )
}

function lookOf({ is, tone, states, node, text }: Moment) {
  if (is === 'step') return { glyph: 'play', colour: 'none' } as const
  if (is === 'life' && node !== undefined) {
    const state = states[node]
    if (state === 'running') return { glyph: 'backup', colour: 'backup' } as const
    return state === 'paused'
      ? ({ glyph: 'stopped', colour: 'change' } as const)
      : ({ glyph: 'down', colour: 'danger' } as const)
  }
  return factLook({ kind: is === 'finding' ? '' : text, tone })
}

/** Goes on by itself while it plays; ends with the last moment. */
function usePlaying(moments: readonly Moment[], at: number, go: (to: number) => void) {
  const [playing, setPlaying] = useState(false)
  useEffect(() => {
    if (!playing) return
    const next = moments[at + 1]
    if (!next) {
      setPlaying(false)
      return
    }
    const wait = Math.min(PAUSE_MAX_MS, Math.max(STAND_MS, next.atMs - moments[at]!.atMs))
    const timer = setTimeout(() => go(at + 1), wait)
    return () => clearTimeout(timer)
  })
  return [playing, setPlaying] as const
}
