/**
 * The segment chain of every node to scale, and under it a lens on some bytes of one segment: index entries above,
 * batches below, one row a node. What is drawn is what each node reported; a copy that is behind ends earlier.
 */
import { useLayoutEffect, useRef, useState } from 'react'
import type { BatchesSnapshot, IndexSnapshot, PartitionSnapshot } from '../../../shared/inspection/snapshots.ts'
import { chainLayout, lensMarks, lensX, niceTicks } from '../../geometry/chain.ts'
import type { IndexEntry } from '../../geometry/lookup.ts'
import { bytes, bytesShort, count, grouped } from '../../ui/format.ts'
import type { Look } from '../../ui/states.ts'
import type { OffsetPlace } from './offset-place.ts'

type Batch = BatchesSnapshot['batches'][number]

export interface ChainNode {
  readonly id: number
  readonly look: Look
  readonly partition: PartitionSnapshot | undefined
  readonly batches: BatchesSnapshot | undefined
  readonly stale: boolean
}
export interface ChainPictureProps {
  readonly nodes: readonly ChainNode[]
  /** The node looked through. */
  readonly chosen: number
  readonly segment: string
  readonly index: IndexSnapshot | undefined
  /** An offset that is looked up, with its floor and what a read scans from there. */
  readonly lookup?:
    | {
        readonly offset: bigint
        readonly floor: IndexEntry
        readonly place: Extract<OffsetPlace, { kind: 'found' }>
      }
    | undefined
  readonly lens: { readonly from: number; readonly span: number }
  readonly batch: number | undefined
  readonly onSegment: (startOffset: string) => void
  readonly onBatch: (batch: Batch) => void
}

const LEFT = 86
const ROW = 22
const ROW_GAP = 4
const HEAD = 22
const BATCH_HEIGHT = 27
const BATCH_GAP = 5
/** Half of the line of the index, with room for the words over it and the scan under it. */
const INDEX_ROOM = 22
/** A batch narrower than this shares a bar with its neighbours. */
const MARK_MIN = 3
/** Width of one digit of the data face at 11 px. */
const DIGIT = 6.7

export function ChainPicture(props: ChainPictureProps) {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(1100)
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const observer = new ResizeObserver(entries => setWidth(Math.max(300, Math.floor(entries[0]!.contentRect.width))))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const right = width - 12
  const layout = chainLayout(
    props.nodes.map(node => ({ node: node.id, segments: node.partition?.segments ?? [] })),
    LEFT,
    right,
    props.segment,
  )
  const chainBottom = HEAD + props.nodes.length * (ROW + ROW_GAP)
  const lensTop = chainBottom + 22
  const indexY = lensTop + INDEX_ROOM + 2
  const rowsTop = indexY + INDEX_ROOM
  const rowsBottom = rowsTop + props.nodes.length * (BATCH_HEIGHT + BATCH_GAP)
  const height = rowsBottom + 20
  const column = layout.columns.find(item => item.startOffset === props.segment)
  const { from, span } = props.lens
  return (
    <div className="chainbox" ref={box}>
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing whose segments and batches are buttons of their own */}
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        className="chain"
        role="group"
        aria-label={summaryOf(props)}
      >
        <defs>
          <pattern id="hatch-danger" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
            <path d="M0 0V6" className="hatchline" />
          </pattern>
        </defs>
        {layout.older.columns > 0 && (
          <text className="s l" x={LEFT} y={14}>
            {grouped(layout.older.columns)} older, {bytesShort(layout.older.bytes)}
          </text>
        )}
        {layout.newer.columns > 0 && (
          <text className="s l" x={right} y={14} textAnchor="end">
            {grouped(layout.newer.columns)} newer, {bytesShort(layout.newer.bytes)}
          </text>
        )}
        {layout.columns.map((item, index) => (
          <ColumnHead
            key={item.startOffset}
            column={item}
            room={(layout.columns[index + 1]?.x ?? right) - item.x}
            active={layout.newer.columns === 0 && index === layout.columns.length - 1}
          />
        ))}
        {props.nodes.map((node, row) => (
          <NodeChain
            key={node.id}
            {...props}
            node={node}
            y={HEAD + row * (ROW + ROW_GAP)}
            layout={layout}
            right={right}
          />
        ))}
        {column && (
          <LensLines
            column={column}
            pixelsPerByte={layout.pixelsPerByte}
            lens={props.lens}
            top={chainBottom - ROW_GAP}
            bottom={lensTop}
            right={right}
          />
        )}
        <rect x={LEFT} y={lensTop} width={right - LEFT} height={rowsBottom - lensTop} className="lensbox" />
        <text className="k" x={6} y={indexY}>
          Index
        </text>
        <text className="s l" x={6} y={indexY + 14}>
          24 B each
        </text>
        <IndexMarks index={props.index} lookup={props.lookup} lens={props.lens} y={indexY} right={right} />
        {props.nodes.map((node, row) => (
          <BatchRow key={node.id} {...props} node={node} y={rowsTop + row * (BATCH_HEIGHT + BATCH_GAP)} right={right} />
        ))}
        <text className="s l" x={6} y={rowsBottom + 16}>
          byte position
        </text>
        {niceTicks(from, span, 6).map(tick => {
          const x = lensX(tick, from, span, LEFT, right)
          return x > right - 30 || x < LEFT + 30 ? null : (
            <g key={tick}>
              <path className="edge" d={`M${x} ${rowsBottom}v4`} />
              <text className="d s l" x={x} y={rowsBottom + 16} textAnchor="middle">
                {grouped(tick)}
              </text>
            </g>
          )
        })}
      </svg>
    </div>
  )
}

function summaryOf(props: ChainPictureProps): string {
  const words = props.nodes.map(node => {
    const segments = node.partition?.segments ?? []
    const size = segments.reduce((sum, segment) => sum + segment.sizeBytes, 0)
    return node.partition
      ? `node-${node.id} ${count(segments.length, 'segment')}, ${bytes(size)}`
      : `node-${node.id} no report`
  })
  return `Segment chain to scale: ${words.join('; ')}`
}

type Column = ReturnType<typeof chainLayout>['columns'][number]

/** Start offset and size over each column, as much of it as there is room for. */
function ColumnHead(props: { column: Column; room: number; active: boolean }) {
  const { column } = props
  const number = grouped(column.startOffset)
  const words = props.active ? `active, ${bytesShort(column.bytes)}` : bytesShort(column.bytes)
  const numberWidth = number.length * DIGIT
  if (props.room < numberWidth + 2) return null
  return (
    <>
      <text className="d s k" x={column.x + 2} y={14}>
        {number}
      </text>
      {props.room > numberWidth + words.length * 6.2 + 12 && (
        <text className="s l" x={column.x + numberWidth + 9} y={14}>
          {words}
        </text>
      )}
    </>
  )
}

function NodeChain(
  props: ChainPictureProps & { node: ChainNode; y: number; layout: ReturnType<typeof chainLayout>; right: number },
) {
  const { node, y, layout } = props
  const chosen = node.id === props.chosen
  const bars = layout.bars.filter(bar => bar.node === node.id)
  const end = bars.at(-1)
  return (
    <g className={node.stale ? 'is-stale' : undefined}>
      <use
        href={`#glyph-${node.look.glyph}`}
        x={6}
        y={y + 5}
        width={13}
        height={13}
        className={`s-${node.look.colour}`}
      />
      <text className={chosen ? 'b' : 'k'} x={24} y={y + 16}>
        node-{node.id}
      </text>
      {!node.partition && (
        <text className="s l" x={LEFT + 8} y={y + 15}>
          no report: nothing is said of its files
        </text>
      )}
      {layout.older.width > 0 && (
        <path d={`M${LEFT + 4} ${y + ROW / 2}h${layout.older.width - 10}`} className="cut-band" />
      )}
      {layout.newer.width > 0 && (
        <path d={`M${props.right - 4} ${y + ROW / 2}h${10 - layout.newer.width}`} className="cut-band" />
      )}
      {layout.columns.map(column => {
        const bar = bars.find(item => layout.columns[item.column] === column)
        const sealed = bar?.sealed === true
        const selected = column.startOffset === props.segment
        const room = column.roomWidth > 0
        if (!node.partition) return null
        if (!bar)
          return (
            <rect
              key={column.startOffset}
              x={column.x}
              y={y}
              width={Math.max(1, column.width)}
              height={ROW}
              className="missing"
            />
          )
        const label = `node-${node.id}, segment ${grouped(column.startOffset)}, ${sealed ? 'sealed' : 'active'}, ${bytes(bar.sizeBytes)}${bar.missingBytes > 0 ? `, ${bytes(bar.missingBytes)} shorter than the longest` : ''}`
        return (
          // biome-ignore lint/a11y/useSemanticElements: a button inside an SVG is a group with the role of one
          <g
            key={column.startOffset}
            role="button"
            tabIndex={0}
            aria-label={label}
            aria-pressed={selected && chosen}
            className="seg-bar"
            data-testid={`segment-${node.id}-${column.startOffset}`}
            onClick={() => props.onSegment(column.startOffset)}
            onKeyDown={event => {
              if (event.key === 'Enter' || event.key === ' ') {
                event.preventDefault()
                props.onSegment(column.startOffset)
              }
            }}
          >
            <title>{label}</title>
            {room && <rect x={column.x} y={y} width={column.width + column.roomWidth} height={ROW} className="room" />}
            {bar.missingBytes > 0 && (
              <rect
                x={bar.x + bar.width}
                y={y}
                width={Math.max(1, column.width - bar.width)}
                height={ROW}
                className="missing"
              />
            )}
            <rect
              x={bar.x}
              y={y}
              width={Math.max(1, bar.width)}
              height={ROW}
              className={`${sealed ? 'sealed' : 'active'}${chosen && selected ? ' sel' : ''}`}
            />
            {sealed && column.width > 130 && (
              <text className={`s ${chosen && selected ? 'inv' : 'l'}`} x={bar.x + 8} y={y + 16}>
                {bar.missingBytes > 0
                  ? `${bytes(bar.missingBytes)} short`
                  : sealedWords(node.partition, column.startOffset)}
              </text>
            )}
          </g>
        )
      })}
      {end && !end.sealed && layout.newer.columns === 0 && (
        <EndWords column={layout.columns[end.column]!} bar={end} y={y} right={props.right} />
      )}
    </g>
  )
}

const sealedWords = (partition: PartitionSnapshot | undefined, start: string): string => {
  const segment = partition?.segments.find(item => item.startOffset === start)
  return segment ? `sealed, ${count((BigInt(segment.endOffset) - BigInt(start) + 1n).toString(), 'message')}` : 'sealed'
}

/** Behind the end of the active bar: how many bytes, how far behind; and whether the room is to scale. */
function EndWords(props: {
  column: Column
  bar: ReturnType<typeof chainLayout>['bars'][number]
  y: number
  right: number
}) {
  const { column, bar, y, right } = props
  const x = column.x + column.width + 8
  const size = bytes(bar.sizeBytes)
  const behind = bar.missingBytes > 0 ? `${bytesShort(bar.missingBytes)} behind` : 'as long as any'
  const room = right - x
  const spare = room > size.length * DIGIT + behind.length * 6.2 + 10
  if (room < size.length * DIGIT) return null
  return (
    <>
      <text className="d s k halo" x={x} y={y + 16}>
        {size}
      </text>
      {spare && (
        <text className="s l halo" x={x + size.length * DIGIT + 9} y={y + 16}>
          {behind}
        </text>
      )}
    </>
  )
}

function LensLines(props: {
  column: Column
  pixelsPerByte: number
  lens: { from: number; span: number }
  top: number
  bottom: number
  right: number
}) {
  const { column, lens } = props
  const start = column.x + lens.from * props.pixelsPerByte
  const end = Math.min(column.x + column.width, column.x + (lens.from + lens.span) * props.pixelsPerByte)
  return (
    <>
      <path className="inkline" strokeWidth={2} d={`M${start} ${props.top}H${Math.max(start + 2, end)}`} />
      <path
        className="lens"
        d={`M${start} ${props.top}L${LEFT} ${props.bottom}M${Math.max(start + 2, end)} ${props.top}L${props.right} ${props.bottom}`}
      />
    </>
  )
}

function IndexMarks(props: {
  index: IndexSnapshot | undefined
  lookup: ChainPictureProps['lookup']
  lens: { from: number; span: number }
  y: number
  right: number
}) {
  const { index, lookup, lens, y, right } = props
  const floor = lookup?.floor
  const entries = (index?.entries ?? []).filter(
    entry => entry.positionBytes >= lens.from && entry.positionBytes < lens.from + lens.span,
  )
  const step = Math.max(1, Math.ceil(entries.length / 400))
  let wordsEnd = LEFT
  const place = (position: number): number =>
    Math.min(right, Math.max(LEFT, lensX(position, lens.from, lens.span, LEFT, right)))
  const shown = floor && floor.positionBytes >= lens.from && floor.positionBytes < lens.from + lens.span
  const said = lookup
    ? `${grouped(lookup.floor.number)}: ${grouped(lookup.floor.offset)}, the floor of ${grouped(lookup.offset)}`
    : ''
  const floorX = shown ? place(floor.positionBytes) : LEFT
  // Where there is no room behind the entry, its words end at it.
  const turned = floorX + said.length * DIGIT + 12 > right
  const floorWords = !shown
    ? { from: Number.POSITIVE_INFINITY, end: Number.NEGATIVE_INFINITY }
    : turned
      ? { from: floorX - said.length * DIGIT - 12, end: floorX }
      : { from: floorX, end: floorX + said.length * DIGIT + 12 }
  return (
    <>
      <path className="rule" d={`M${LEFT} ${y}H${right}`} />
      {lookup && (
        <ScanMark
          lookup={lookup}
          from={place(lookup.place.fromBytes)}
          end={place(scanEnd(lookup))}
          y={y}
          right={right}
        />
      )}
      {shown && (
        <g data-testid="floor-mark">
          <title>
            entry {floor.number}, the floor of {grouped(lookup.offset)}: offset {grouped(floor.offset)} at byte{' '}
            {grouped(floor.positionBytes)}
          </title>
          <path className="entry floor" d={`M${floorX} ${y - 11}v22`} />
          <circle className="entrydot" cx={floorX} cy={y} r={5} />
          <text
            className="d s b halo"
            x={turned ? floorX - 4 : floorX + 4}
            y={y - 12}
            textAnchor={turned ? 'end' : 'start'}
          >
            {said}
          </text>
        </g>
      )}
      {entries
        .filter((entry, position) => position % step === 0 && entry.number !== floor?.number)
        .map(entry => {
          const x = lensX(entry.positionBytes, lens.from, lens.span, LEFT, right)
          const words = `${grouped(entry.number)}: ${grouped(entry.offset)}`
          const end = x + words.length * DIGIT + 16
          const fits = x + 6 > wordsEnd && end - 4 < right && (end < floorWords.from || x > floorWords.end)
          if (fits) wordsEnd = end
          return (
            <g key={entry.number}>
              <title>
                entry {entry.number}: offset {grouped(entry.offset)} at byte {grouped(entry.positionBytes)}
              </title>
              <path className="entry" d={`M${x} ${y - 9}v18`} />
              <circle className="entrydot" cx={x} cy={y} r={3.5} />
              {fits && (
                <text className="d s k halo" x={x + 3} y={y - 12}>
                  {words}
                </text>
              )}
            </g>
          )
        })}
      {index && entries.length === 0 && !shown && (
        <text className="s l" x={LEFT + 8} y={y - 5}>
          {index.total === 0 ? 'no entry in this segment yet: one comes with each write' : 'no entry in this window'}
        </text>
      )}
    </>
  )
}

const scanEnd = ({ place }: NonNullable<ChainPictureProps['lookup']>): number => place.fromBytes + place.scanBytes

/** What a read goes through, to scale: from the floor to the end of the batch that holds the offset. */
function ScanMark(props: {
  lookup: NonNullable<ChainPictureProps['lookup']>
  from: number
  end: number
  y: number
  right: number
}) {
  const { from, end, y, right } = props
  const { scanBytes, batches } = props.lookup.place
  const words = `a read scans ${bytes(scanBytes)}${batches === undefined ? '' : `, ${count(batches, 'batch', 'batches')}`}`
  const room = words.length * 6.2 + 8
  return (
    <g data-testid="scan-mark">
      <title>{words}</title>
      <path className="scan" d={`M${from} ${y + 8}v8M${from} ${y + 12}H${Math.max(from + 2, end)}m0 -4v8`} />
      {end + room < right ? (
        <text className="s l halo" x={end + 6} y={y + 16}>
          {words}
        </text>
      ) : (
        from - room > LEFT && (
          <text className="s l halo" x={from - 6} y={y + 16} textAnchor="end">
            {words}
          </text>
        )
      )}
    </g>
  )
}

function BatchRow(props: ChainPictureProps & { node: ChainNode; y: number; right: number }) {
  const { node, y, right, lens } = props
  const chosen = node.id === props.chosen
  const held = node.batches?.batches ?? []
  const marks = lensMarks(
    held,
    batch => ({ position: batch.positionBytes, length: batch.lengthBytes }),
    { from: lens.from, span: lens.span, left: LEFT, right },
    MARK_MIN,
  )
  const x = (position: number): number =>
    Math.min(right, Math.max(LEFT, lensX(position, lens.from, lens.span, LEFT, right)))
  const segment = node.partition?.segments.find(item => item.startOffset === props.segment)
  const size = segment?.sizeBytes ?? 0
  const longest = Math.max(
    0,
    ...props.nodes.map(
      other => other.partition?.segments.find(item => item.startOffset === props.segment)?.sizeBytes ?? 0,
    ),
  )
  const journal = node.partition && segment && !segment.sealed ? node.partition.journal : undefined
  const journalEnd = journal ? size + journal.bytes : size
  const focusable = chosen
    ? (marks.find(mark => mark.items.some(item => item.positionBytes === props.batch)) ?? marks[0])
    : undefined
  const go = (position: number, by: number): void => {
    const next = held[held.findIndex(item => item.positionBytes === position) + by]
    if (next) props.onBatch(next)
  }
  return (
    <g className={node.stale ? 'is-stale' : undefined}>
      <text className={chosen ? 'b' : 'k'} x={6} y={y + 14}>
        node-{node.id}
      </text>
      <text className="s l" x={6} y={y + 27}>
        .log
      </text>
      {journal && journal.bytes > 0 && x(journalEnd) > x(size) && (
        <g>
          <title>
            in memory of node-{node.id}, not written: {count(journal.batches, 'batch', 'batches')},{' '}
            {bytes(journal.bytes)}
          </title>
          <rect x={x(size)} y={y} width={x(journalEnd) - x(size)} height={BATCH_HEIGHT} className="b ram" />
          {x(journalEnd) - x(size) > 190 && (
            <text className="s l" x={x(size) + 8} y={y + 19}>
              in memory: {count(journal.batches, 'batch', 'batches')}, not written
            </text>
          )}
        </g>
      )}
      {node.partition && longest > journalEnd && x(longest) > x(journalEnd) && (
        <rect x={x(journalEnd)} y={y} width={x(longest) - x(journalEnd)} height={BATCH_HEIGHT} className="b none">
          <title>
            missing on node-{node.id}: {bytes(longest - journalEnd)}
          </title>
        </rect>
      )}
      {marks.map(mark => {
        const first = mark.items[0]!
        const alone = mark.items.length === 1
        const bad = mark.items.some(item => item.verdict !== 'valid')
        const picked = chosen && mark.items.some(item => item.positionBytes === props.batch)
        const offset = grouped(first.baseOffset)
        const label = alone
          ? `batch ${offset}, ${count(first.messages, 'message')}, ${bytes(first.lengthBytes)} at ${grouped(first.positionBytes)}, ${VERDICTS[first.verdict]}`
          : `${mark.items.length} batches from ${offset}`
        const shape = (
          <>
            <title>{label}</title>
            <rect
              x={mark.x + 0.5}
              y={y + 0.5}
              width={Math.max(1, mark.width - 1.5)}
              height={BATCH_HEIGHT - 1}
              className={`b ${picked ? 'picked' : bad ? 'bad' : chosen ? 'whole' : 'peer'}${alone ? '' : ' many'}`}
            />
            {alone && mark.width > offset.length * DIGIT + 2 && (
              <text
                className={`d s ${picked ? 'inv' : bad ? 'k halo' : 'l'}`}
                x={mark.x + mark.width / 2}
                y={y + 19}
                textAnchor="middle"
              >
                {offset}
              </text>
            )}
          </>
        )
        if (!chosen) return <g key={first.positionBytes}>{shape}</g>
        return (
          // biome-ignore lint/a11y/useSemanticElements: a button inside an SVG is a group with the role of one
          <g
            key={first.positionBytes}
            role="button"
            tabIndex={mark === focusable ? 0 : -1}
            aria-label={label}
            aria-pressed={picked}
            className="batch-mark"
            data-testid={`batch-${first.positionBytes}`}
            ref={element => {
              // Arrows move the choice, and the focus goes with it.
              if (picked && element && document.activeElement?.classList.contains('batch-mark')) element.focus()
            }}
            onClick={() => props.onBatch(first)}
            onKeyDown={event => {
              if (event.key === 'ArrowRight') go(first.positionBytes, 1)
              else if (event.key === 'ArrowLeft') go(first.positionBytes, -1)
              else if (event.key === 'Enter' || event.key === ' ') props.onBatch(first)
              else return
              event.preventDefault()
            }}
          >
            {shape}
          </g>
        )
      })}
    </g>
  )
}

export const VERDICTS: Readonly<Record<Batch['verdict'], string>> = {
  valid: 'checksums agree',
  bad_checksum: 'checksum differs',
  bad_layout: 'not a batch',
}
