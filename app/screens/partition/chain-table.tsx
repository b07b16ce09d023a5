/** The chain as a table: the same numbers as the picture, for reading and copying. */
import { DataTable } from '../../ui/data-table.tsx'
import { grouped } from '../../ui/format.ts'
import type { ChainNode } from './chain-picture.tsx'

export function ChainTable(props: {
  nodes: readonly ChainNode[]
  /** The node looked through, and the segment chosen there. */
  chosen: number
  segment: string | undefined
  onSegment: (startOffset: string) => void
}) {
  const rows = props.nodes.flatMap(node => (node.partition?.segments ?? []).map(segment => ({ node, segment })))
  rows.sort(
    (a, b) =>
      a.segment.startOffset.length - b.segment.startOffset.length ||
      (a.segment.startOffset < b.segment.startOffset
        ? -1
        : a.segment.startOffset > b.segment.startOffset
          ? 1
          : a.node.id - b.node.id),
  )
  const longest = new Map<string, number>()
  for (const { segment } of rows)
    longest.set(segment.startOffset, Math.max(longest.get(segment.startOffset) ?? 0, segment.sizeBytes))
  const behind = ({ segment }: (typeof rows)[number]): number => longest.get(segment.startOffset)! - segment.sizeBytes
  return (
    <div className="chain-table">
      <DataTable
        name="segments"
        testId="chain-table"
        rows={rows}
        rowKey={row => `${row.node.id} ${row.segment.startOffset}`}
        selected={props.segment && `${props.chosen} ${props.segment}`}
        onSelect={row => props.onSegment(row.segment.startOffset)}
        rowClass={row => (row.node.stale ? 'old' : undefined)}
        empty="No node shows a segment."
        columns={[
          {
            id: 'startOffset',
            head: 'start offset',
            align: 'n',
            data: row => BigInt(row.segment.startOffset),
          },
          { id: 'node', head: 'Node', data: row => row.node.id, cell: row => `node-${row.node.id}` },
          {
            id: 'endOffset',
            head: 'last offset',
            align: 'n',
            data: row => (row.segment.empty ? null : BigInt(row.segment.endOffset)),
            cell: row => (row.segment.empty ? 'empty' : grouped(row.segment.endOffset)),
          },
          {
            id: 'sealed',
            head: 'State',
            data: row => row.segment.sealed,
            cell: row => (row.segment.sealed ? 'sealed' : 'active'),
          },
          { id: 'logBytes', head: 'log bytes', align: 'n', data: row => row.segment.sizeBytes },
          {
            id: 'behindBytes',
            head: 'behind longest',
            align: 'n',
            data: behind,
            cell: row => <span className={behind(row) > 0 ? 'differs' : undefined}>{grouped(behind(row))}</span>,
          },
          { id: 'maxBytes', head: 'limit', align: 'n', data: row => row.segment.maxSizeBytes },
          { id: 'indexEntries', head: 'index entries', align: 'n', data: row => row.segment.indexEntries },
        ]}
      />
    </div>
  )
}
