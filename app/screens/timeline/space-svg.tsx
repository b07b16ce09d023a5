import { memo } from 'react'
import { type Mark, RULER_PX, type SpaceTime } from '../../geometry/space-time.ts'
import { clock, duration, grouped } from '../../ui/format.ts'
import { eventLook, lineClass, messageWords, wordsFor } from './looks.ts'

/** Room of a letter in the small size, on the safe side. */
export const LETTER_PX = 5.7
const GLYPH = 12
const BAR = 8

export interface PictureProps {
  readonly picture: SpaceTime
  readonly selected: Mark | undefined
  readonly found: ReadonlySet<number> | undefined
  readonly label: string
}

export const SpaceSvg = memo(function SpaceSvg({ picture, selected, found, label }: PictureProps) {
  const { axis, width, height } = picture
  const r = (value: number): number => Math.round(value * 10) / 10
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      {picture.ticks.map(tick => (
        <g key={tick.px}>
          <path d={`M${RULER_PX - 8} ${r(tick.px)}H${width}`} className="hair" />
          <text className="d s l" x={RULER_PX - 12} y={r(tick.px) + 4} textAnchor="end">
            {tickWords(tick.ms)}
          </text>
        </g>
      ))}
      {picture.bars.map(bar =>
        bar.state === 'down' || bar.state === 'unknown' ? (
          <path
            key={`${bar.node}-${bar.fromMs}`}
            d={`M${bar.x} ${r(bar.y1)}V${r(bar.y2)}`}
            className={bar.state === 'down' ? 'deadline' : 'unknownline'}
            data-testid="bar"
            data-node={bar.node}
            data-state={bar.state}
          />
        ) : (
          <rect
            key={`${bar.node}-${bar.fromMs}`}
            x={bar.x - BAR / 2}
            y={r(bar.y1)}
            width={BAR}
            height={Math.max(1, r(bar.y2 - bar.y1))}
            className={`rb ${bar.state}`}
            data-testid="bar"
            data-node={bar.node}
            data-state={bar.state}
            data-view={bar.view}
          />
        ),
      )}
      {axis.cuts.map(cut => (
        <g key={cut.fromPx} data-testid="cut">
          <rect x="0" y={r(cut.fromPx)} width={width} height={r(cut.toPx - cut.fromPx)} className="gapbox" />
          <path d={`M0 ${r(cut.fromPx)}H${width}M0 ${r(cut.toPx)}H${width}`} className="gapline" />
          <text className="s k" x="12" y={r((cut.fromPx + cut.toPx) / 2) + 4}>
            {hiddenWords(cut.toMs - cut.fromMs)}
          </text>
        </g>
      ))}
      {picture.lines.map(line => (
        <g
          key={`${line.message.sent?.ordinal ?? 's'}-${line.message.received?.ordinal ?? 'r'}`}
          data-testid="message"
          data-name={line.message.name}
          data-by={line.message.by}
          data-from={line.message.from}
          data-to={line.message.to}
        >
          <title>{messageWords(line.message)}</title>
          <path
            d={`M${r(line.x1)} ${r(line.y1)}L${r(line.x2)} ${r(line.y2)}`}
            className={`${lineClass(line.message)}${line.stub ? ' stub' : ''}${touches(line, selected) ? ' sel' : ''}`}
          />
          <path d={headPath(line)} className={`${lineClass(line.message)} head`} />
        </g>
      ))}
      {picture.marks.map(mark => (
        <MarkView key={mark.event.ordinal} mark={mark} picture={picture} selected={selected} found={found} />
      ))}
    </svg>
  )
})

export const touches = (line: SpaceTime['lines'][number], selected: Mark | undefined): boolean =>
  selected !== undefined &&
  (line.message.sent?.ordinal === selected.event.ordinal || line.message.received?.ordinal === selected.event.ordinal)

const HEAD = 6
/** The point of an arrow, at the receiver. */
export function headPath({ x1, y1, x2, y2 }: SpaceTime['lines'][number]): string {
  const turn = Math.atan2(y2 - y1, x2 - x1)
  const at = (angle: number): string =>
    `${(x2 - HEAD * Math.cos(turn + angle)).toFixed(1)} ${(y2 - HEAD * Math.sin(turn + angle)).toFixed(1)}`
  return `M${at(0.45)}L${x2.toFixed(1)} ${y2.toFixed(1)}L${at(-0.45)}`
}

export const tickWords = (ms: number): string => clock(ms).slice(3)
/** What a cut hides, to the digit. */
export const hiddenWords = (ms: number): string =>
  `${grouped(Math.round(ms))} ms hidden${ms >= 1000 ? ` (${duration(ms)})` : ''}, nothing of the kinds shown`

export function wordsInLane(mark: Mark, picture: SpaceTime): string {
  const lane = picture.lanes.find(item => item.node === mark.lane)
  const room = Math.floor(((lane?.right ?? 0) - mark.wordsX - 6) / LETTER_PX)
  const words = wordsFor(mark.event)
  return words.length <= room ? words : `${words.slice(0, Math.max(1, room - 1)).trimEnd()}…`
}

function MarkView(props: { mark: Mark } & Omit<PictureProps, 'label'>) {
  const { mark, picture, selected, found } = props
  const look = eventLook(mark.event)
  const isSelected = mark.event.ordinal === selected?.event.ordinal
  const dim = found !== undefined && !found.has(mark.event.ordinal)
  const aside = mark.wordsY !== undefined && Math.abs(mark.wordsY - mark.y) > 6
  return (
    <g
      className={`mk${dim ? ' dim' : ''}${isSelected ? ' sel' : ''}`}
      data-testid="mark"
      data-kind={mark.event.kind}
      data-node={mark.lane}
      data-found={found === undefined ? undefined : !dim}
    >
      <title>{wordsFor(mark.event)}</title>
      <circle cx={mark.x} cy={mark.y} r={isSelected ? 10 : 8} className="seat" />
      <use
        href={`#glyph-${look.glyph}`}
        x={mark.x - GLYPH / 2}
        y={mark.y - GLYPH / 2}
        width={GLYPH}
        height={GLYPH}
        className={`s-${look.colour}`}
      />
      {mark.wordsY !== undefined && (
        <>
          {aside && <path d={`M${mark.x + 6} ${mark.y + 4}L${mark.wordsX - 2} ${mark.wordsY}`} className="leader" />}
          <text className={`s ${isSelected ? 'b' : dim ? 'l' : 'k'} halo`} x={mark.wordsX} y={mark.wordsY + 4}>
            {wordsInLane(mark, picture)}
          </text>
        </>
      )}
    </g>
  )
}
