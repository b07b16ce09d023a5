/**
 * Slots as cells, in rows that begin at round numbers. A state is told from its shape: filled, outlined, dashed, crossed.
 * One path for each state, so that tens of thousands of slots cost as little as a hundred; the table beside is its twin,
 * and the slot field is the keyboard's way to the same choice.
 */
import { useEffect, useMemo, useRef, useState } from 'react'
import { cellAt, cellCorner, cellGrid, cellsPath } from '../../geometry/cell-grid.ts'

export interface Cell {
  readonly state: CellLook
  readonly title: string
}
export type CellLook =
  | 'empty'
  | 'freed'
  | 'writing'
  | 'prepared'
  | 'committed'
  | 'filled'
  | 'covered'
  | 'hole'
  | 'faulty'

const LOOKS: readonly CellLook[] = [
  'empty',
  'freed',
  'covered',
  'filled',
  'committed',
  'prepared',
  'writing',
  'hole',
  'faulty',
]
const HEIGHT_MAX = 300
/** Room for the slot number in front of a row. */
const LABEL_PX = 46

export function RingPicture(props: {
  name: string
  cells: readonly Cell[]
  selected: number | undefined
  /** Where the next append goes. */
  pointer: number | undefined
  onSelect: (index: number) => void
}) {
  const { cells, selected, pointer } = props
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(640)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(120, Math.floor(entry!.contentRect.width))))
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  const grid = useMemo(() => cellGrid(cells.length, width - LABEL_PX, HEIGHT_MAX), [cells.length, width])
  const paths = useMemo(() => {
    const indices = new Map<CellLook, number[]>(LOOKS.map(look => [look, []]))
    for (const [index, cell] of cells.entries()) indices.get(cell.state)!.push(index)
    return LOOKS.map(look => ({ look, d: cellsPath(grid, indices.get(look)!, grid.pitch > 8 ? 1.5 : 1) }))
  }, [cells, grid])
  const crosses = useMemo(
    () =>
      cells.flatMap((cell, index) => {
        if (cell.state !== 'hole' && cell.state !== 'faulty') return []
        const { x, y } = cellCorner(grid, index)
        const [from, to] = [2.5, grid.pitch - 2.5]
        return [`M${x + from} ${y + from}L${x + to} ${y + to}M${x + to} ${y + from}L${x + from} ${y + to}`]
      }),
    [cells, grid],
  )
  const labelEvery = Math.max(1, Math.ceil(14 / grid.pitch))
  const mark = (index: number | undefined, className: string) => {
    if (index === undefined || index >= cells.length) return null
    const { x, y } = cellCorner(grid, index)
    return <rect x={x - 0.5} y={y - 0.5} width={grid.pitch + 1} height={grid.pitch + 1} className={className} />
  }
  return (
    <div className="wal-ring" ref={box}>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field beside the title is the keyboard's way to the same choice */}
      <svg
        width={LABEL_PX + grid.width + 2}
        height={grid.height + 2}
        role="img"
        aria-label={props.name}
        data-testid="wal-ring"
        onClick={event => {
          const at = event.currentTarget.getBoundingClientRect()
          const index = cellAt(grid, cells.length, event.clientX - at.left - LABEL_PX, event.clientY - at.top - 1)
          if (index !== undefined) props.onSelect(index)
        }}
        onMouseMove={event => {
          const at = event.currentTarget.getBoundingClientRect()
          const index = cellAt(grid, cells.length, event.clientX - at.left - LABEL_PX, event.clientY - at.top - 1)
          box.current!.title = index === undefined ? '' : cells[index]!.title
        }}
      >
        {Array.from({ length: Math.ceil(grid.rows / labelEvery) }, (_, at) => {
          const row = at * labelEvery
          return (
            <text
              key={row}
              x={LABEL_PX - 8}
              y={row * grid.pitch + Math.min(grid.pitch, 14) - 2}
              className="d s l"
              textAnchor="end"
            >
              {row * grid.columns}
            </text>
          )
        })}
        <g transform={`translate(${LABEL_PX} 1)`}>
          {paths.map(({ look, d }) => (
            <path key={look} d={d} className={`cell ${look}`} />
          ))}
          <path d={crosses.join('')} className="cell-cross" />
          {mark(pointer, 'cell-next')}
          {mark(selected, 'cell-on')}
        </g>
      </svg>
    </div>
  )
}

/** What the shapes mean, with how many there are. */
export function RingLegend(props: {
  items: readonly { readonly look: CellLook; readonly words: string; readonly count: number; readonly title?: string }[]
}) {
  return (
    <ul className="wal-legend" aria-label="Slots by state">
      {props.items.map(item => (
        <li key={item.words} title={item.title}>
          <svg width="14" height="14" aria-hidden="true">
            <path d="M2 2h10v10h-10z" className={`cell ${item.look}`} />
            {(item.look === 'hole' || item.look === 'faulty') && (
              <path d="M3.5 3.5L10.5 10.5M10.5 3.5L3.5 10.5" className="cell-cross" />
            )}
          </svg>
          {item.words} <b className="num">{item.count.toLocaleString('en-US')}</b>
        </li>
      ))}
    </ul>
  )
}
