/** The files of one node at a moment of a run: how long each is, beside the longest that it was, and what has just changed. */
import { useState } from 'react'
import type { DrillReplay } from '../../../shared/inspection/drills.ts'
import { grouped } from '../../ui/format.ts'
import { Scroll } from '../../ui/scroll.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { type ExportColumn, TableFoot } from '../../ui/table-export.tsx'
import { filesAt } from './files.ts'

export function Files({ replay, at }: { replay: DrillReplay; at: number }) {
  const [chosen, setChosen] = useState<number>()
  const lastChange = replay.files.findLast(change => change.at <= at)
  const node = chosen ?? lastChange?.node ?? 0
  const files = filesAt(replay.files, node, at)
  return (
    <div className="replay-files" data-testid="replay-files">
      <div className="replay-bar">
        <h3>Files of node-{node}</h3>
        <span className="label">by now</span>
        {replay.nodes > 1 && (
          <span className="push">
            <Segmented
              name="Files of"
              value={String(node)}
              options={Array.from({ length: replay.nodes }, (_, id) => ({ value: String(id), label: `node-${id}` }))}
              onChange={value => setChosen(Number(value))}
            />
          </span>
        )}
      </div>
      {files.length === 0 ? (
        <p className="drill-prose">It has no files.</p>
      ) : (
        <Scroll name={`Files of node-${node}`}>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">File</th>
                <th scope="col">Length, beside its longest</th>
                <th scope="col" className="n">
                  Bytes
                </th>
                <th scope="col" className="n">
                  Last change
                </th>
              </tr>
            </thead>
            <tbody>
              {files.map(({ path, bytes, longest, change }) => (
                <tr key={path} data-gone={bytes === null} data-changed={change !== undefined}>
                  <th scope="row" className="m" title={path}>
                    {shortPath(path)}
                  </th>
                  <td>
                    <svg className="file-strip" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                      <rect className="was" width="100" height="8" />
                      <rect className="is" width={longest === 0 ? 0 : ((bytes ?? 0) * 100) / longest} height="8" />
                    </svg>
                  </td>
                  <td className="n">{bytes === null ? 'gone' : grouped(bytes)}</td>
                  <td className="n">{change === undefined ? '' : changeWords(change)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <TableFoot name={`files of node-${node}`} rows={files} columns={FILE_COLUMNS} />
        </Scroll>
      )}
    </div>
  )
}

const FILE_COLUMNS: readonly ExportColumn<ReturnType<typeof filesAt>[number]>[] = [
  { id: 'path', data: file => file.path },
  { id: 'bytes', data: file => file.bytes },
  { id: 'longestBytes', data: file => file.longest },
  { id: 'change', data: file => file.change },
]

/** The directory of the one partition of a drill goes without saying; what a segment is named after does not. */
const shortPath = (path: string): string =>
  path.replace(/^streams\/0\/topics\/0\/partitions\/(\d+)\//, 'partition $1/').replace(/0{15,}(?=\d)/, '…')

const changeWords = (change: number | 'new' | 'gone'): string =>
  typeof change === 'string' ? change : `${change > 0 ? '+' : '−'}${grouped(Math.abs(change))}`
