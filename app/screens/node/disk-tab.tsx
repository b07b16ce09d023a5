/** The files of a node: what the last boot found changed since the boot before, and what has changed since. */
import { useQuery } from '@tanstack/react-query'
import type { FileChange, FileRow, FileState } from '../../../shared/inspection/files.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { queries } from '../../data/queries.ts'
import { Age } from '../../ui/age.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { bytesShort, clockShort, count, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { State } from '../../ui/state.tsx'
import { CHANGE_LOOK, changeWords, isChanged, sinceBefore, sinceLast } from './disk.ts'

export function DiskTab(props: { id: number; only: boolean; onOnly: (only: boolean) => void }) {
  const { id, only, onOnly } = props
  const answer = useQuery(queries.files(id))
  const data = answer.data?.node === id ? answer.data : undefined
  if (!data)
    return answer.error ? (
      <Problem
        error={answer.error}
        what={`The files of node-${id} are not known`}
        retry={() => void answer.refetch()}
      />
    ) : (
      <Skeleton what="the files" rows={8} />
    )
  const rows = only ? data.rows.filter(row => isChanged(row, data)) : data.rows
  const size = (column: 'bootBefore' | 'lastBoot' | 'now', head: string): Column<FileRow> => ({
    id: `${column}Bytes`,
    head,
    align: 'n',
    data: row => row[column]?.sizeBytes,
    cell: row => <Size of={row[column]} />,
  })
  const change = (columnId: string, head: string, of: (row: FileRow) => FileChange | undefined): Column<FileRow> => ({
    id: columnId,
    head,
    data: of,
    cell: row => {
      const what = of(row)
      return what === undefined ? '' : <State look={CHANGE_LOOK[what]} />
    },
  })
  return (
    <Scroll name={`Files of node-${id}`} className="nd-scroll">
      <div className="pane-head sub">
        <h2>Disk</h2>
        <span className="label">
          {count(data.files, 'file')}, {bytesShort(data.bytes)} in <code>{visible(data.dataDirectory)}</code>
          {data.leftOut > 0 && `; ${grouped(data.leftOut)} left out: no plain files, or too many`}
        </span>
        <Age atMs={msOf(data.takenWallUs)} by="read by the console" push />
      </div>
      <p className="note small" data-testid="disk-changes">
        {changeWords(data)}
      </p>
      <div className="row nd-only">
        <label className="row check">
          <input type="checkbox" checked={only} onChange={event => onOnly(event.target.checked)} />
          Only what changed
        </label>
        {data.rows.length < data.total && (
          <span className="label">
            {grouped(data.rows.length)} of {grouped(data.total)}, changed ones first
          </span>
        )}
      </div>
      <DataTable
        name={`files of node-${id}`}
        testId="files"
        rows={rows}
        rowKey={row => row.path}
        rowData={row => ({ 'data-path': row.path, 'data-change': sinceBefore(row, data) })}
        empty={
          <>
            <Glyph name="absent" />{' '}
            {only ? 'Nothing changed.' : 'The directory is empty: the node has never booted, or was wiped.'}
          </>
        }
        columns={[
          {
            id: 'path',
            head: 'File',
            names: true,
            data: row => row.path,
            cell: row => <span className="nd-path">{visible(row.path)}</span>,
          },
          // Of a boot that nobody saw there is nothing to show.
          ...(data.bootBeforeWallMs === null ? [] : [size('bootBefore', `boot ${clockShort(data.bootBeforeWallMs)}`)]),
          ...(data.lastBootWallMs === null ? [] : [size('lastBoot', `boot ${clockShort(data.lastBootWallMs)}`)]),
          ...(data.bootBeforeWallMs === null
            ? []
            : [change('sinceBefore', 'between them', row => sinceBefore(row, data))]),
          size('now', 'now'),
          ...(data.lastBootWallMs === null ? [] : [change('sinceLast', 'since', row => sinceLast(row, data))]),
          {
            id: 'modified',
            head: 'written',
            data: row => (row.now ? new Date(row.now.modifiedWallMs).toISOString() : undefined),
            cell: row => (row.now ? clockShort(row.now.modifiedWallMs) : ''),
          },
        ]}
      />
    </Scroll>
  )
}

function Size({ of }: { of: FileState | null }) {
  return of === null ? <span className="ink-3">absent</span> : grouped(of.sizeBytes)
}
