/** The sparse index of the segment: its entries in the lens, and what becomes of an offset that is looked up in it. */
import type { IndexEntry } from '../../geometry/lookup.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { bytes, count, grouped } from '../../ui/format.ts'
import { Pane } from '../../ui/pane.tsx'
import type { PartitionScreenState } from './use-partition.ts'

const FILE_COLUMNS = [
  { id: 'number', data: (entry: Entry) => entry.number },
  { id: 'offset', data: (entry: Entry) => BigInt(entry.offset) },
  { id: 'timestampUs', data: (entry: Entry) => (entry.timestamp === undefined ? null : BigInt(entry.timestamp)) },
  { id: 'position', data: (entry: Entry) => entry.positionBytes },
]
type Entry = IndexEntry & { readonly timestamp?: string }

export function IndexPane({ state }: { state: PartitionScreenState }) {
  const { index, floor, segment, node, lens } = state
  const held = index?.startOffset === segment?.startOffset ? index : undefined
  const entries = held?.entries ?? []
  const near = entries.filter(entry => entry.positionBytes >= lens.from && entry.positionBytes < lens.from + lens.span)
  const before = entries.filter(entry => entry.positionBytes < lens.from).at(-1)
  const shown = [...(before ? [before] : []), ...near]
  // The floor is listed even where every n-th entry was read.
  const listed: readonly Entry[] =
    floor && held && !shown.some(entry => entry.number === floor.entry.number)
      ? [floor.entry, ...shown].sort((a, b) => a.number - b.number)
      : shown
  return (
    <Pane
      title="Index"
      label={
        held ? `${count(held.total, 'entry', 'entries')}, ${bytes(held.total * 24)} on node-${node}` : `of node-${node}`
      }
      testId="index"
    >
      <p className="note lookup" data-testid="lookup">
        <Words state={state} />
      </p>
      {held && (
        <DataTable
          name="index entries"
          rows={listed}
          rowKey={entry => String(entry.number)}
          selected={floor && String(floor.entry.number)}
          empty={held.total === 0 ? 'No entry yet: each round of the flusher writes one.' : 'No entry in this window.'}
          columns={[
            { id: 'number', head: '#', align: 'n', data: entry => entry.number },
            { id: 'offset', head: 'offset', align: 'n', data: entry => BigInt(entry.offset) },
            { id: 'position', head: 'position', align: 'n', data: entry => entry.positionBytes },
          ]}
          fileColumns={FILE_COLUMNS}
        />
      )}
      {held && held.matching > 0 && (
        <p className="note micro" data-testid="index-shown">
          Shown {grouped(shown.length)} of {grouped(held.matching)} in this window
          {entries.length < held.matching && `; one in ${grouped(Math.ceil(held.matching / entries.length))} was read`}
          {shown.length < held.matching && '. Narrow the window to see each'}.
        </p>
      )}
      {index && index.trailingBytes > 0 && (
        <p className="note micro">{bytes(index.trailingBytes)} at the end of the file are no whole entry.</p>
      )}
    </Pane>
  )
}

/** From the offset to what a read of it does, or why there is nothing to read. */
function Words({ state }: { state: PartitionScreenState }) {
  const { floor, looked, offset, node, place } = state
  if (offset === undefined || !place)
    return 'Type an offset above: it resolves to the last entry that is not beyond it.'
  const wanted = <Num of={offset} />
  switch (place.kind) {
    case 'below':
      return (
        <>
          {wanted} is below the earliest offset that node-{node} holds, <Num of={place.earliest} />: it was removed, or
          never here.
        </>
      )
    case 'beyond':
      return (
        <>
          {wanted} is beyond the end: the next message of node-{node} gets <Num of={place.next} />.
        </>
      )
    case 'memory':
      return (
        <>
          {wanted} is only in the memory of node-{node}: its files hold what is below <Num of={place.persisted} />.
        </>
      )
    case 'gap':
      return (
        <>
          {wanted} lies in a gap: no segment of node-{node} holds what is after <Num of={place.last} /> and before{' '}
          <Num of={place.next} />. A read goes on there.
        </>
      )
    default:
      break
  }
  if (!looked)
    return (
      <>
        The index of node-{node} has not said what it knows of {wanted}.
      </>
    )
  const scan =
    place.kind === 'found' ? (
      <>
        A read scans <span className="num ink-1">{bytes(place.scanBytes)}</span>
        {place.batches !== undefined && ` in ${count(place.batches, 'batch', 'batches')}`} from byte{' '}
        <Num of={place.fromBytes} />.
      </>
    ) : place.kind === 'nowhere' ? (
      'It lies in no batch on this disk.'
    ) : (
      'Its batch is not among those listed.'
    )
  return floor === undefined ? (
    <>
      {wanted} has no entry at or before it: a read scans from the start of the segment. {scan}
    </>
  ) : (
    <>
      {wanted} resolves to entry <Num of={floor.entry.number} />, valid to{' '}
      <span className="num ink-1">{floor.validTo === undefined ? 'the end of the log' : grouped(floor.validTo)}</span>.{' '}
      {scan}
    </>
  )
}

const Num = ({ of }: { of: bigint | number }) => <span className="num ink-1">{grouped(of)}</span>
