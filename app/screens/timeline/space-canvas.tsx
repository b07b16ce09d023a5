import { type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { onFrame } from '../../data/frame.ts'
import { type Mark, RULER_PX } from '../../geometry/space-time.ts'
import { eventLook, lineClass } from './looks.ts'
import { headPath, hiddenWords, type PictureProps, tickWords, touches, wordsInLane } from './space-svg.tsx'

/** Drawn above and below the window, for lines that begin outside it. */
const SLACK_PX = 200

/** The visible part only: the canvas is as high as the window and stays in it, the scroll bar belongs to the picture. */
export function SpaceCanvas(props: PictureProps & { box: RefObject<HTMLElement | null> }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [windowPx, setWindowPx] = useState(600)
  const { box, picture, selected, found } = props
  useLayoutEffect(() => {
    const scroller = box.current
    if (!scroller) return
    const paint = (): void => {
      if (canvas.current) draw(canvas.current, scroller.scrollTop, { picture, selected, found, label: '' })
    }
    const ask = (): void => void onFrame('draw', paint)
    const observer = new ResizeObserver(() => {
      setWindowPx(scroller.clientHeight)
      ask()
    })
    observer.observe(scroller)
    // Its colours are read once a drawing, so another theme is another drawing.
    const theme = new MutationObserver(ask)
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    scroller.addEventListener('scroll', ask, { passive: true })
    paint()
    return () => {
      observer.disconnect()
      theme.disconnect()
      scroller.removeEventListener('scroll', ask)
    }
  }, [box, picture, selected, found])
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={props.label}
      className="stcanvas"
      style={{ width: picture.width, height: Math.min(windowPx, picture.height) }}
    />
  )
}

function draw(canvas: HTMLCanvasElement, scrollTop: number, props: PictureProps): void {
  const { picture, selected, found } = props
  const { clientWidth: width, clientHeight: height } = canvas
  const ratio = window.devicePixelRatio
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
  }
  const context = canvas.getContext('2d')
  if (!context) return
  const style = getComputedStyle(canvas)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const text = `11px ${colour('--font-text')}`
  const data = `11px ${colour('--font-data')}`
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  const top = scrollTop - SLACK_PX
  const bottom = scrollTop + height + SLACK_PX
  const seen = (y1: number, y2 = y1): boolean => Math.max(y1, y2) >= top && Math.min(y1, y2) <= bottom
  context.translate(0, -scrollTop)
  const stroke = (name: string, lineWidth: number, dash: number[], path: () => void): void => {
    context.strokeStyle = colour(name)
    context.lineWidth = lineWidth
    context.setLineDash(dash)
    context.beginPath()
    path()
    context.stroke()
  }
  const line = (x1: number, y1: number, x2: number, y2: number): void => {
    context.moveTo(x1, y1)
    context.lineTo(x2, y2)
  }

  const ticks = picture.ticks.filter(tick => seen(tick.px))
  stroke('--line-1', 1, [], () => {
    for (const tick of ticks) line(RULER_PX - 8, tick.px, width, tick.px)
  })
  context.font = data
  context.fillStyle = colour('--ink-3')
  context.textAlign = 'right'
  for (const tick of ticks) context.fillText(tickWords(tick.ms), RULER_PX - 12, tick.px + 4)
  context.textAlign = 'left'

  for (const bar of picture.bars) {
    if (!seen(bar.y1, bar.y2)) continue
    if (bar.state === 'down' || bar.state === 'unknown')
      stroke(bar.state === 'down' ? '--s-danger-line' : '--line-3', 2, [2, 5], () => line(bar.x, bar.y1, bar.x, bar.y2))
    else {
      context.fillStyle = colour(`--s-${bar.state === 'paused' ? 'change' : bar.state}`)
      context.fillRect(bar.x - 4, bar.y1, 8, bar.y2 - bar.y1)
    }
  }
  context.font = text
  for (const cut of picture.axis.cuts) {
    if (!seen(cut.fromPx, cut.toPx)) continue
    context.fillStyle = colour('--ground-2')
    context.fillRect(0, cut.fromPx, width, cut.toPx - cut.fromPx)
    stroke('--line-3', 1, [1, 3], () => {
      line(0, cut.fromPx, width, cut.fromPx)
      line(0, cut.toPx, width, cut.toPx)
    })
    context.fillStyle = colour('--ink-1')
    context.fillText(hiddenWords(cut.toMs - cut.fromMs), 12, (cut.fromPx + cut.toPx) / 2 + 4)
  }
  for (const item of picture.lines) {
    if (!seen(item.y1, item.y2)) continue
    const words = lineClass(item.message)
    const name = / c\b/.test(words) ? '--s-change-line' : / p\b/.test(words) ? '--s-primary-line' : '--ink-3'
    const chosen = touches(item, selected)
    stroke(chosen ? '--ink-1' : name, chosen ? 3 : 1.4, item.message.by === 'concluded' ? [5, 3] : [], () =>
      line(item.x1, item.y1, item.x2, item.y2),
    )
    context.setLineDash([])
    context.stroke(new Path2D(headPath(item)))
  }
  for (const mark of picture.marks) {
    if (!seen(mark.y)) continue
    const dim = found !== undefined && !found.has(mark.event.ordinal)
    const chosen = mark.event.ordinal === selected?.event.ordinal
    drawMark(context, mark, colour, dim, chosen)
    if (mark.wordsY === undefined) continue
    const words = wordsInLane(mark, picture)
    context.strokeStyle = colour('--ground-1')
    context.lineWidth = 4
    context.setLineDash([])
    context.strokeText(words, mark.wordsX, mark.wordsY + 4)
    context.fillStyle = colour(dim ? '--ink-3' : '--ink-1')
    context.fillText(words, mark.wordsX, mark.wordsY + 4)
  }
}

/** Shapes as in the glyphs, as far as so many of them need telling apart. */
function drawMark(
  context: CanvasRenderingContext2D,
  mark: Mark,
  colour: (name: string) => string,
  dim: boolean,
  chosen: boolean,
): void {
  const look = eventLook(mark.event)
  const { x, y } = mark
  context.fillStyle = colour('--ground-1')
  context.beginPath()
  context.arc(x, y, chosen ? 10 : 7, 0, Math.PI * 2)
  context.fill()
  if (chosen) {
    context.strokeStyle = colour('--select')
    context.lineWidth = 2
    context.setLineDash([])
    context.stroke()
  }
  context.fillStyle = colour(dim || look.colour === 'none' ? '--ink-3' : `--s-${look.colour}`)
  context.beginPath()
  if (look.glyph === 'primary') {
    for (const [dx, dy] of [
      [0, -6],
      [6, 0],
      [0, 6],
      [-6, 0],
    ] as const)
      context.lineTo(x + dx, y + dy)
  } else if (look.glyph === 'change' || look.glyph === 'svc' || look.glyph === 'dvc') {
    context.moveTo(x, y - 5)
    context.lineTo(x + 5, y + 4)
    context.lineTo(x - 5, y + 4)
  } else if (look.glyph === 'backup' || look.glyph === 'request') context.rect(x - 4, y - 4, 8, 8)
  else if (look.glyph === 'commit') context.rect(x - 1.5, y - 5, 3, 10)
  else context.arc(x, y, 4, 0, Math.PI * 2)
  context.fill()
}
