/** The chain as a table: the same numbers as the picture, for reading and copying. */
import { grouped } from '../../ui/format.ts'
import { Scroll } from '../../ui/scroll.tsx'
import type { ChainNode } from './chain-picture.tsx'

export function ChainTable(props: {
  nodes: readonly ChainNode[]
  segment: string | undefined
  onSegment: (startOffset: string) => void
}) {
  const rows = props.nodes.flatMap(node => (node.partition?.segments ?? []).map(segment => ({ node, segment })))
  rows.sort((a, b) => {
    const left = BigInt(a.segment.startOffset)
    const right = BigInt(b.segment.startOffset)
    return left < right ? -1 : left > right ? 1 : a.node.id - b.node.id
  })
  const longest = new Map<string, number>()
  for (const { segment } of rows)
    longest.set(segment.startOffset, Math.max(longest.get(segment.startOffset) ?? 0, segment.sizeBytes))
  return (
    <Scroll name="Segments of all nodes" className="chain-table">
      <table className="table" data-testid="chain-table">
        <thead>
          <tr>
            <th scope="col" className="n">
              start offset
            </th>
            <th scope="col">Node</th>
            <th scope="col" className="n">
              last offset
            </th>
            <th scope="col">State</th>
            <th scope="col" className="n">
              log bytes
            </th>
            <th scope="col" className="n">
              behind longest
            </th>
            <th scope="col" className="n">
              limit
            </th>
            <th scope="col" className="n">
              index entries
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ node, segment }) => {
            const behind = longest.get(segment.startOffset)! - segment.sizeBytes
            return (
              <tr
                key={`${node.id} ${segment.startOffset}`}
                className={`pick${node.stale ? ' old' : ''}`}
                aria-selected={segment.startOffset === props.segment}
                onClick={() => props.onSegment(segment.startOffset)}
              >
                <td className="n">
                  <button type="button" className="pick-btn">
                    {grouped(segment.startOffset)}
                  </button>
                </td>
                <th scope="row">node-{node.id}</th>
                <td className="n">{segment.empty ? 'empty' : grouped(segment.endOffset)}</td>
                <td>{segment.sealed ? 'sealed' : 'active'}</td>
                <td className="n">{grouped(segment.sizeBytes)}</td>
                <td className={`n${behind > 0 ? ' differs' : ''}`}>{grouped(behind)}</td>
                <td className="n">{grouped(segment.maxSizeBytes)}</td>
                <td className="n">{grouped(segment.indexEntries)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </Scroll>
  )
}
