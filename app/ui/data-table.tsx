/**
 * A table of data: columns say what a cell holds and, where that is not the same, how it is drawn; so the file that it is
 * saved as has the data and not the drawing. From ROWS_PLAIN rows on only those in sight are in the page.
 */
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { grouped, visible } from './format.ts'
import { Scroll } from './scroll.tsx'
import { Spacer } from './spacer.tsx'
import { type ExportColumn, TableFoot } from './table-export.tsx'

const ROWS_PLAIN = 100
const ROW_PX = 26

export interface Column<R> {
  /** Name in the file. */
  readonly id: string
  readonly head: ReactNode
  /** What the file has; a column of acts has none and is not in it. */
  readonly data?: ExportColumn<R>['data']
  /** `n`: right-aligned digits; `m`: digits from the left, such as addresses and checksums. */
  readonly align?: 'n' | 'm'
  /** Breaks its lines instead of widening the table; only where all rows are drawn. */
  readonly wrap?: boolean
  /** Names the row. */
  readonly names?: true
  readonly cell?: (row: R) => ReactNode
}

export interface DataTableProps<R> {
  /** What the rows are, for the file and for who cannot see: "sessions". */
  readonly name: string
  readonly rows: readonly R[]
  readonly columns: readonly Column<R>[]
  readonly rowKey: (row: R) => string
  readonly empty: ReactNode
  /** Key of the row that is marked. */
  readonly selected?: string | undefined
  /** What a choice does; the first column then holds the button. */
  readonly onSelect?: (row: R) => void
  readonly rowClass?: (row: R) => string | undefined
  /** What a row is found by, beside its words. */
  readonly rowData?: (row: R) => Readonly<Record<`data-${string}`, string | number | boolean | undefined>>
  /** For a file that has more than what is drawn. */
  readonly fileColumns?: readonly ExportColumn<R>[]
  readonly className?: string
  readonly testId?: string
}

export function DataTable<R>(props: DataTableProps<R>) {
  const { rows, columns, name } = props
  const box = useRef<HTMLElement>(null)
  const many = rows.length > ROWS_PLAIN
  const virtual = useVirtualizer({
    count: many ? rows.length : 0,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    // The head stands in the way: a row that is scrolled to must not lie below the edge by its height.
    scrollPaddingEnd: ROW_PX,
  })
  const chosen = props.selected === undefined ? -1 : rows.findIndex(row => props.rowKey(row) === props.selected)
  // Before the box has been measured no row is drawn, and there is nothing to scroll.
  const measured = many && virtual.getVirtualItems().length > 0
  useEffect(() => {
    if (measured && chosen >= 0) virtual.scrollToIndex(chosen, { align: 'auto' })
  }, [measured, chosen, virtual])
  const foot = <TableFoot name={name} rows={rows} columns={props.fileColumns ?? columns.filter(inFile)} />
  if (rows.length === 0)
    return (
      <>
        <p className="note">{props.empty}</p>
        {foot}
      </>
    )
  const items = many ? virtual.getVirtualItems() : []
  const before = items[0]?.start ?? 0
  const after = items.length > 0 ? virtual.getTotalSize() - items.at(-1)!.end : 0
  const drawn = many ? items.map(item => rows[item.index]!) : rows
  return (
    <>
      <Scroll name={`Table of ${name}`} className="table-box" ref={box}>
        <table
          className={`table${props.className ? ` ${props.className}` : ''}`}
          data-testid={props.testId}
          aria-rowcount={rows.length + 1}
        >
          <thead>
            <tr>
              {columns.map(column => (
                <th key={column.id} scope="col" className={column.align === 'n' ? 'n' : undefined}>
                  {column.head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer height={before} />
            {drawn.map((row, at) => {
              const key = props.rowKey(row)
              const picked = key === props.selected
              const classes = [props.onSelect && 'pick', props.rowClass?.(row)].filter(Boolean).join(' ')
              return (
                <tr
                  key={key}
                  aria-rowindex={(many ? items[at]!.index : at) + 2}
                  aria-selected={props.onSelect || picked ? picked : undefined}
                  className={classes || undefined}
                  onClick={props.onSelect && (() => props.onSelect!(row))}
                  {...props.rowData?.(row)}
                >
                  {columns.map((column, index) => {
                    const content = column.cell ? column.cell(row) : asText(column.data?.(row))
                    const Cell = column.names ? 'th' : 'td'
                    return (
                      <Cell
                        key={column.id}
                        scope={column.names && 'row'}
                        className={
                          [column.align, column.wrap && !many && 'wrap'].filter(Boolean).join(' ') || undefined
                        }
                      >
                        {index === 0 && props.onSelect ? (
                          <button type="button" className="pick-btn" aria-pressed={picked}>
                            {content}
                          </button>
                        ) : (
                          content
                        )}
                      </Cell>
                    )
                  })}
                </tr>
              )
            })}
            <Spacer height={after} />
          </tbody>
        </table>
      </Scroll>
      {foot}
    </>
  )
}

const inFile = <R,>(column: Column<R>): column is Column<R> & ExportColumn<R> => column.data !== undefined

const asText = (value: ReturnType<ExportColumn<unknown>['data']>): string =>
  value === null || value === undefined
    ? ''
    : typeof value === 'bigint' || Number.isInteger(value)
      ? grouped(value as bigint)
      : typeof value === 'boolean'
        ? value
          ? 'yes'
          : 'no'
        : visible(String(value))
