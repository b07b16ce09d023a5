/**
 * Both ways of a link on the ring, each on its sender's right-hand side: what passes as moving dashes, what is held as its
 * glyphs before a closed gate, what is cut as a cross. Nothing moves when the view is paused or motion is reduced.
 */
import type { LinkStatus } from '../../../shared/inspection/links.ts'
import { useCell } from '../../data/cell.ts'
import { paused } from '../../data/store.ts'
import type { Point, RingLink } from '../../geometry/ring.ts'
import { count, grouped } from '../../ui/format.ts'
import { density, faultWords, frameGlyph, ringWords, wayName } from './links.ts'
import type { Links } from './use-links.ts'

/** The two ways stand this far from the middle line. */
const ASIDE = 7
const GLYPH = 13
const GATE_GLYPHS_MAX = 3

export default function LinkWays({ link, links }: { link: RingLink; links: Links }) {
  const find = (from: number, to: number): LinkStatus | undefined =>
    links.links.find(way => way.from === from && way.to === to)
  const there = find(link.from, link.to)
  const back = find(link.to, link.from)
  const { along } = link
  return (
    <>
      {there && <Way way={there} a={link.a} b={link.b} along={along} rate={links.rates.get(wayName(there))} />}
      {back && (
        <Way
          way={back}
          a={link.b}
          b={link.a}
          along={{ x: -along.x, y: -along.y }}
          rate={links.rates.get(wayName(back))}
        />
      )}
    </>
  )
}

function Way(props: { way: LinkStatus; a: Point; b: Point; along: Point; rate: number | undefined }) {
  const { way, along, rate } = props
  const still = useCell(paused, value => value !== undefined)
  const side = { x: -along.y * ASIDE, y: along.x * ASIDE }
  const at = (share: number): Point => ({
    x: props.a.x + (props.b.x - props.a.x) * share + side.x,
    y: props.a.y + (props.b.y - props.a.y) * share + side.y,
  })
  const gate = at(0.42)
  const words = faultWords(way)
  const short = ringWords(way)
  const cut = way.faults.some(fault => fault.fault === 'cut' && !fault.commands)
  const gated = way.heldFrames.length > 0 || (way.connected && way.faults.some(fault => fault.fault === 'hold'))
  const flow = cut ? 'none' : density(rate ?? 0)
  const from = at(0.02)
  const to = at(0.98)
  const rateWords = rate === undefined ? 'rate not known' : `${grouped(Math.round(rate))} frames a second`
  const held = way.heldFrames.length > 0 ? [`${count(way.heldFrames.length, 'frame')} held`] : []
  const label = `node-${way.from} to node-${way.to}: ${[rateWords, ...words, ...held].join(', ')}`
  const turn = (Math.atan2(along.y, along.x) * 180) / Math.PI
  return (
    <g data-testid={`ring-way-${way.from}-${way.to}`} data-held={way.heldFrames.length}>
      <title>{label}</title>
      {flow !== 'none' && (
        <path d={`M${from.x} ${from.y}L${to.x} ${to.y}`} className={`flow ${flow}${still ? ' still' : ''}`} />
      )}
      {gated && (
        <>
          <path
            d={`M${gate.x - along.y * 8} ${gate.y + along.x * 8}L${gate.x + along.y * 8} ${gate.y - along.x * 8}`}
            className="gate"
          />
          {way.heldFrames.slice(0, GATE_GLYPHS_MAX).map((frame, index) => {
            const back = 11 + index * (GLYPH - 1)
            const x = gate.x - along.x * back
            const y = gate.y - along.y * back
            return (
              <g key={frame.number} transform={`rotate(${turn} ${x} ${y})`}>
                <rect x={x - 7} y={y - 7} width="14" height="14" className="seat" />
                <use
                  href={`#glyph-${frameGlyph(frame.command)}`}
                  x={x - GLYPH / 2}
                  y={y - GLYPH / 2}
                  width={GLYPH}
                  height={GLYPH}
                  className="s-change"
                />
              </g>
            )
          })}
          {way.heldFrames.length > 0 && (
            <text
              className="s k halo"
              x={gate.x + side.x * 2.2}
              y={gate.y + side.y * 2.2 + 4}
              textAnchor={side.x > 2 ? 'start' : side.x < -2 ? 'end' : 'middle'}
            >
              {grouped(way.heldFrames.length)} held
            </text>
          )}
        </>
      )}
      {cut && <use href="#glyph-drop" x={gate.x - 7} y={gate.y - 7} width="14" height="14" className="s-danger" />}
      {short !== undefined && !cut && !gated && (
        <text
          className="s k halo"
          x={gate.x + side.x * 2}
          y={gate.y + side.y * 2 + 4}
          textAnchor={side.x > 2 ? 'start' : side.x < -2 ? 'end' : 'middle'}
        >
          {short}
        </text>
      )}
    </g>
  )
}
