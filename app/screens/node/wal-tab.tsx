/** The metadata log of one node, newest first: op, what it does, and the hash chain that binds it to the one before. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef } from 'react'
import { msOf, type NodeView } from '../../../shared/inspection/view.ts'
import { operationName } from '../../../shared/protocol/operations.ts'
import { queries } from '../../data/queries.ts'
import { Age } from '../../ui/age.tsx'
import { bytes, grouped, timestamp } from '../../ui/format.ts'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Spacer } from '../../ui/spacer.tsx'
import { TableExport } from '../../ui/table-export.tsx'

const ROW = 26

export function WalTab({ id, node }: { id: number; node: NodeView }) {
  const running = node.process?.state === 'running'
  const answer = useQuery({ ...queries.wal(id), enabled: running })
  const data = answer.data?.reporter.node === id ? answer.data : undefined
  const entries = useMemo(
    () => [...(data?.entries ?? [])].sort((a, b) => (BigInt(a.op) < BigInt(b.op) ? 1 : -1)),
    [data],
  )
  const box = useRef<HTMLElement>(null)
  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 8,
  })
  if (!data) {
    if (answer.error)
      return (
        <Problem error={answer.error} what={`node-${id} did not show its log`} retry={() => void answer.refetch()} />
      )
    if (!running) return <p className="note">The process does not run, so its log cannot be asked for.</p>
    return <Skeleton what="the write-ahead log" rows={10} />
  }
  const items = rows.getVirtualItems()
  const before = items[0]?.start ?? 0
  const after = items.length > 0 ? rows.getTotalSize() - items.at(-1)!.end : 0
  return (
    <Scroll name="Write-ahead log" className="nd-scroll" ref={box}>
      <div className="pane-head sub">
        <h2>Write-ahead log</h2>
        <span className="label">
          ops {grouped(BigInt(data.snapshotOp) + 1n)} to {grouped(data.lastOp)}, {bytes(data.sizeBytes)}, ring of{' '}
          {grouped(data.slots)} slots
        </span>
        <TableExport
          name={`log of node-${id}`}
          rows={entries}
          columns={[
            { id: 'op', data: entry => BigInt(entry.op) },
            { id: 'operation', data: entry => operationName(entry.operation) ?? entry.operation },
            { id: 'view', data: entry => entry.view },
            { id: 'checksum', data: entry => entry.checksum },
            { id: 'parent', data: entry => entry.parent },
            { id: 'position', data: entry => entry.positionBytes },
            { id: 'bytes', data: entry => entry.lengthBytes },
            { id: 'timestampUs', data: entry => BigInt(entry.timestamp) },
          ]}
        />
        <Link to="/wal/$node" params={{ node: String(id) }} className="small">
          slot by slot, to the byte
        </Link>
        <Age atMs={msOf(data.reporter.takenWallUs)} by={`node-${id}`} push />
      </div>
      {entries.length === 0 ? (
        <p className="note">Empty: no stream, topic or session was ever recorded.</p>
      ) : (
        <table className="table" data-testid="wal">
          <thead>
            <tr>
              <th scope="col" className="n">
                op
              </th>
              <th scope="col">Operation</th>
              <th scope="col" className="n">
                view
              </th>
              <th scope="col">Checksum</th>
              <th scope="col">Parent</th>
              <th scope="col" className="n">
                position
              </th>
              <th scope="col" className="n">
                bytes
              </th>
              <th scope="col">Timestamp</th>
            </tr>
          </thead>
          <tbody>
            <Spacer height={before} />
            {items.map(item => {
              const entry = entries[item.index]!
              const older = entries[item.index + 1]
              const broken =
                older !== undefined && BigInt(older.op) + 1n === BigInt(entry.op) && older.checksum !== entry.parent
              return (
                <tr key={entry.op}>
                  <td className="n">{grouped(entry.op)}</td>
                  <td>{operationName(entry.operation) ?? `operation ${entry.operation}`}</td>
                  <td className="n">v{entry.view}</td>
                  <td className="m">{entry.checksum}</td>
                  <td
                    className={`m${broken ? ' differs' : ''}`}
                    title={broken ? 'not the checksum of the op before' : undefined}
                  >
                    {entry.parent}
                  </td>
                  <td className="n">{grouped(entry.positionBytes)}</td>
                  <td className="n">{grouped(entry.lengthBytes)}</td>
                  <td className="m">{timestamp(entry.timestamp)}</td>
                </tr>
              )
            })}
            <Spacer height={after} />
          </tbody>
        </table>
      )}
    </Scroll>
  )
}
