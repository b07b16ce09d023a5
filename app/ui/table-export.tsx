/** The way out of every table: CSV or JSON of all its rows as they are filtered, also of those that are not drawn. */
import { Download } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { announce } from '../data/notices.ts'
import { sourceKind } from '../data/store.ts'
import { count } from './format.ts'
import { type Datum, fileName, type TableFile, toCsv, toJson } from './table-file.ts'

export interface ExportColumn<R> {
  /** Name in the file. */
  readonly id: string
  readonly data: (row: R) => Datum
}

export function TableExport<R>(props: {
  /** What the rows are: "partitions". */
  name: string
  rows: readonly R[]
  columns: readonly ExportColumn<R>[]
  className?: string
}) {
  const { name, rows, columns } = props
  const save = (kind: 'csv' | 'json'): void => {
    const atMs = Date.now()
    const file: TableFile = {
      name,
      columns: columns.map(column => column.id),
      rows: rows.map(row => columns.map(column => column.data(row))),
    }
    const text =
      kind === 'csv'
        ? toCsv(file)
        : toJson(file, { address: location.pathname + location.search, atMs, source: sourceKind.get() })
    download(new Blob([text], { type: kind === 'csv' ? 'text/csv' : 'application/json' }), fileName(name, atMs, kind))
    announce(`${count(rows.length, 'row')} saved as ${kind.toUpperCase()}`)
  }
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>
        <button
          type="button"
          className={props.className ?? 'iconbtn small'}
          aria-label={`Save ${name} as a file`}
          title={`Save ${name} as a file`}
        >
          <Download aria-hidden="true" />
        </button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          {(['csv', 'json'] as const).map(kind => (
            <DropdownMenu.Item key={kind} className="menu-item" onSelect={() => save(kind)}>
              <span className="menu-label">{kind.toUpperCase()}</span>
              <span className="menu-hint">{count(rows.length, 'row')} as filtered</span>
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

function download(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser has taken its copy by the next turn.
  setTimeout(() => URL.revokeObjectURL(address), 0)
}

/** Under a table: how many rows there are as filtered, and the way out. */
export function TableFoot<R>(props: { name: string; rows: readonly R[]; columns: readonly ExportColumn<R>[] }) {
  return (
    <div className="table-foot">
      <span className="label">{count(props.rows.length, 'row')}</span>
      <TableExport {...props} className="iconbtn small push" />
    </div>
  )
}
