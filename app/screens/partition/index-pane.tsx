/** The sparse index of the segment: its entries in the lens, and what becomes of an offset that is looked up in it. */
import { bytes, count, grouped } from '../../ui/format.ts'
import { Pane } from '../../ui/pane.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { TableExport } from '../../ui/table-export.tsx'
import type { PartitionScreenState } from './use-partition.ts'

export function IndexPane({ state }: { state: PartitionScreenState }) {
  const { index, floor, offset, found, batches, segment, node, lens, chain } = state
  const first = chain?.segments.reduce<bigint | undefined>(
    (least, item) => (least === undefined || BigInt(item.startOffset) < least ? BigInt(item.startOffset) : least),
    undefined,
  )
  const below = offset !== undefined && first !== undefined && offset < first
  const held = index?.startOffset === segment?.startOffset ? index : undefined
  const entries = held?.entries ?? []
  const near = entries.filter(entry => entry.positionBytes >= lens.from && entry.positionBytes < lens.from + lens.span)
  const before = entries.filter(entry => entry.positionBytes < lens.from).at(-1)
  const shown = [...(before ? [before] : []), ...near].slice(-60)
  const scan = floor && found ? found.positionBytes + found.lengthBytes - floor.entry.positionBytes : undefined
  const scanned =
    floor && found && batches
      ? batches.batches.filter(
          item => item.positionBytes >= floor.entry.positionBytes && item.positionBytes <= found.positionBytes,
        ).length
      : undefined
  return (
    <Pane
      title="Index"
      label={`${count(held?.total ?? 0, 'entry', 'entries')}, ${bytes((held?.total ?? 0) * 24)} on node-${node}`}
      testId="index"
      actions={
        <span className="push">
          <TableExport
            name="index entries"
            rows={entries}
            columns={[
              { id: 'number', data: entry => entry.number },
              { id: 'offset', data: entry => BigInt(entry.offset) },
              { id: 'timestampUs', data: entry => BigInt(entry.timestamp) },
              { id: 'position', data: entry => entry.positionBytes },
            ]}
          />
        </span>
      }
    >
      <p className="note lookup" data-testid="lookup">
        {offset === undefined ? (
          'Type an offset above: it resolves to the last entry that is not beyond it.'
        ) : below ? (
          <>
            <span className="num ink-1">{grouped(offset)}</span> is below the first offset that node-{node} holds,{' '}
            <span className="num ink-1">{grouped(first ?? 0)}</span>.
          </>
        ) : floor === undefined ? (
          <>
            <span className="num ink-1">{grouped(offset)}</span> has no entry at or before it: a read scans from the
            start of the segment.
          </>
        ) : (
          <>
            <span className="num ink-1">{grouped(offset)}</span> resolves to entry{' '}
            <span className="num ink-1">{floor.entry.number}</span>, valid to{' '}
            <span className="num ink-1">
              {floor.validTo === undefined ? 'the end of the log' : grouped(floor.validTo)}
            </span>
            .{' '}
            {found && scan !== undefined ? (
              <>
                A read scans <span className="num ink-1">{bytes(scan)}</span> in{' '}
                {count(scanned ?? 1, 'batch', 'batches')} from byte{' '}
                <span className="num ink-1">{grouped(floor.entry.positionBytes)}</span>.
              </>
            ) : (
              'It lies in no batch on this disk.'
            )}
          </>
        )}
      </p>
      <Scroll name="Index entries">
        <table className="table">
          <thead>
            <tr>
              <th scope="col" className="n">
                #
              </th>
              <th scope="col" className="n">
                offset
              </th>
              <th scope="col" className="n">
                position
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(entry => (
              <tr key={entry.number} aria-selected={entry.number === floor?.entry.number}>
                <td className="n">{grouped(entry.number)}</td>
                <td className="n">{grouped(entry.offset)}</td>
                <td className="n">{grouped(entry.positionBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {held && held.matching > 0 && (
          <p className="note micro" data-testid="index-shown">
            Shown {grouped(shown.length)} of {grouped(held.matching)} in this window
            {entries.length < held.matching &&
              `; one in ${grouped(Math.ceil(held.matching / entries.length))} was read`}
            {shown.length < held.matching && '. Narrow the window to see each'}.
          </p>
        )}
        {index && index.trailingBytes > 0 && (
          <p className="note micro">{bytes(index.trailingBytes)} at the end of the file are no whole entry.</p>
        )}
        {held?.total === 0 && <p className="note">No entry yet: each round of the flusher writes one.</p>}
      </Scroll>
    </Pane>
  )
}
