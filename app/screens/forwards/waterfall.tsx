/** One forward as lanes over time: client, origin, primary; the axis leaves out what is only waiting, and says how much. */
import { useLayoutEffect, useRef, useState } from 'react'
import type { ForwardChain } from '../../../shared/inspection/forwards.ts'
import { axisTicks, cutAxis, placeOf, quietOf, tickWords } from '../../geometry/cut-axis.ts'
import { type Hops, hopsOf } from '../../geometry/hops.ts'
import { duration } from '../../ui/format.ts'
import type { StateColour } from '../../ui/glyph.tsx'
import { OUTCOME_LOOK, originHeard, reasonWords } from './evidence.ts'

const LEFT = 112
const RIGHT = 84
const ROW = 40
const TOP = 30
const BAR = 18
const LANES = 3
const HEIGHT = TOP + LANES * ROW + 6
const CUT = 44

export function Waterfall(props: { chain: ForwardChain; now: number }) {
  const { chain } = props
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(760)
  useLayoutEffect(() => {
    if (!box.current) return
    const observer = new ResizeObserver(entries => setWidth(Math.max(300, Math.floor(entries[0]!.contentRect.width))))
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  const hops = hopsOf(chain)
  return (
    <div className="wfbox" ref={box}>
      <Picture chain={chain} hops={hops} width={width} now={props.now} />
    </div>
  )
}

function Picture({ chain, hops, width, now }: { chain: ForwardChain; hops: Hops; width: number; now: number }) {
  const at = (step: string): number | undefined => hops.steps.find(item => item.step === step)?.atMs
  const waits = chain.state === 'waiting' ? Math.max(0, now - Number(chain.wallUs) / 1000) : undefined
  const endMs = hops.totalMs ?? waits ?? hops.steps.at(-1)?.atMs ?? 0
  const moments = [...hops.steps.map(step => step.atMs), endMs].sort((a, b) => a - b)
  const axis = cutAxis(moments, { startPx: LEFT, endPx: width - RIGHT, cutPx: CUT, ...quietOf(moments) })
  const x = (ms: number): number => Math.round(placeOf(axis, ms) * 10) / 10
  const y = (lane: number): number => TOP + lane * ROW
  const ticks = axisTicks(axis, 64)
  const parked = at('parked')
  const sent = at('sent')
  const taken = at('taken')
  const decided = at('accepted') ?? at('refused')
  const answered = at('answered')
  const lost = at('lost')
  const unsent = at('unsent')
  const look = OUTCOME_LOOK[chain.state]
  const heard = originHeard(chain)
  const words = hops.steps.map(step => `${step.step} at ${step.atMs.toFixed(3)} ms on node-${step.node}`).join(', ')
  const originEnd = answered ?? lost ?? unsent ?? endMs
  // Too near to the left edge to end there.
  const left = x(originEnd) - 12 - (chain.reason?.length ?? 0) * 6.4 < LEFT
  const workEnd = decided ?? (taken === undefined ? undefined : endMs)
  return (
    <svg
      className="wfs"
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={`Hops of forward ${chain.nonce}: ${words}`}
    >
      {ticks.map(tick => (
        <g key={tick.px}>
          <path d={`M${tick.px} 20V${HEIGHT - 4}`} className="hair" />
          <text className="d s l" x={tick.px} y="13" textAnchor="middle">
            {tickWords(tick)}
          </text>
        </g>
      ))}
      <Lane y={y(0)} name="client" note={`connection ${chain.client}`} />
      <Lane y={y(1)} name={`node-${chain.origin}`} note="origin" />
      <Lane y={y(2)} name={`node-${chain.primary}`} note="primary" />
      {heard ? (
        <Bar edge={LEFT} from={x(0)} to={x(endMs)} y={y(0)} className="wf" words="waits for an answer" />
      ) : (
        <text className="s l" x={x(0)} y={y(1) + 13}>
          node-{chain.origin} does not tell of its end
        </text>
      )}
      {(parked !== undefined || sent !== undefined) && (
        <Bar
          edge={width}
          from={x(parked ?? sent ?? 0)}
          to={x(originEnd)}
          y={y(1)}
          className="wf parked"
          words="parked under its nonce"
        />
      )}
      {taken !== undefined && workEnd !== undefined && (
        <Bar
          edge={width}
          from={x(taken)}
          to={x(workEnd)}
          y={y(2)}
          className={`wf work${decided === undefined ? ' open' : ''}`}
          words={
            decided === undefined
              ? 'taken, no decision told'
              : at('refused') === undefined
                ? 'taken, answered'
                : chain.atPrimary === 'unknown'
                  ? 'taken, given up'
                  : 'taken, refused'
          }
        />
      )}
      {axis.cuts.map(cut => (
        <g key={cut.fromPx}>
          <rect x={cut.fromPx} y="20" width={cut.toPx - cut.fromPx} height={HEIGHT - 24} className="cutbox" />
          <path d={`M${cut.fromPx} 20V${HEIGHT - 4}M${cut.toPx} 20V${HEIGHT - 4}`} className="gapline" />
          <text
            className="s k"
            transform={`translate(${(cut.fromPx + cut.toPx) / 2 + 4} ${(HEIGHT + 16) / 2}) rotate(-90)`}
            textAnchor="middle"
          >
            {duration(cut.toMs - cut.fromMs)} hidden
          </text>
        </g>
      ))}
      {sent !== undefined && taken !== undefined && (
        <path d={`M${x(sent)} ${y(1) + BAR}L${x(taken)} ${y(2)}`} className="wfa" />
      )}
      {sent !== undefined && taken === undefined && (
        <>
          <path d={`M${x(sent)} ${y(1) + BAR}l10 12`} className="wfa lost" />
          <Mark name="unknown" colour="none" x={x(sent) + 12} y={y(1) + BAR + 15} />
          <text className="s k halo" x={x(sent) + 24} y={y(2) + 14}>
            {answered === undefined
              ? 'nobody reports its arrival'
              : `node-${chain.primary} answered, and does not tell of its end now`}
          </text>
        </>
      )}
      {unsent !== undefined && (
        <>
          <Mark name="drop" colour="danger" x={x(unsent)} y={y(1) + BAR + 12} />
          <text className="s k halo" x={x(unsent) + 14} y={y(2) + 4}>
            not sent
          </text>
        </>
      )}
      {decided !== undefined && answered !== undefined && (
        <path d={`M${x(decided)} ${y(2)}L${x(answered)} ${y(1) + BAR}`} className="wfa" />
      )}
      {decided !== undefined && lost !== undefined && (
        <Mark name="drop" colour="danger" x={x(decided) + 8} y={y(1) + BAR + 12} />
      )}
      {heard && (
        <>
          <path
            d={`M${x(0)} ${y(0) + BAR}V${y(1)}M${x(originEnd)} ${y(1)}L${x(endMs)} ${y(0) + BAR}`}
            className="wfa"
          />
          <Mark name={look.glyph} colour={look.colour} x={x(endMs)} y={y(0) + BAR / 2} seat />
          <text className="s b halo" x={x(endMs) + 13} y={y(0) + 13}>
            {chain.status === undefined ? look.word : `status ${chain.status}`}
          </text>
        </>
      )}
      {chain.reason !== undefined && chain.state !== 'accepted' && (
        <text
          className="s k halo"
          x={left ? LEFT : x(originEnd) - 12}
          y={y(1) + BAR + 14}
          textAnchor={left ? 'start' : 'end'}
        >
          {reasonWords(chain.reason)}
        </text>
      )}
    </svg>
  )
}

function Lane(props: { y: number; name: string; note: string }) {
  return (
    <>
      <text className="k" x="0" y={props.y + 8}>
        {props.name}
      </text>
      <text className="s l" x="0" y={props.y + 21}>
        {props.note}
      </text>
    </>
  )
}

/** Words stand inside their bar when there is room, else beside it; where there is neither, the table has them. */
function Bar(props: { from: number; to: number; edge: number; y: number; className: string; words: string }) {
  const width = Math.max(2, props.to - props.from)
  const long = props.words.length * 6.4 + 14
  const inside = width > long
  const beside = props.to + 14 + long < props.edge
  return (
    <>
      <rect x={props.from} y={props.y} width={width} height={BAR} className={props.className} />
      {(inside || beside) && (
        <text className="s k halo" x={inside ? props.from + 6 : props.to + 14} y={props.y + 13}>
          {props.words}
        </text>
      )}
    </>
  )
}

function Mark(props: { name: string; colour: StateColour; x: number; y: number; seat?: boolean }) {
  return (
    <>
      {props.seat && <circle cx={props.x} cy={props.y} r="9" className="seat" />}
      <use
        href={`#glyph-${props.name}`}
        x={props.x - 8}
        y={props.y - 8}
        width="16"
        height="16"
        className={`s-${props.colour}`}
      />
    </>
  )
}
