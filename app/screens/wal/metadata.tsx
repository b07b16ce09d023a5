/** The metadata log on disk: its slots, what a checkpoint frees, its entries, and the chosen one to the byte. */
import { useQuery } from '@tanstack/react-query'
import { useId, useMemo } from 'react'
import { DIRECTORY_BOOT, type WalScanSnapshot } from '../../../shared/inspection/logs.ts'
import type { WalSnapshot } from '../../../shared/inspection/snapshots.ts'
import { msOf, type NodeView } from '../../../shared/inspection/view.ts'
import { operationName } from '../../../shared/protocol/operations.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { processWords, showsSlots } from '../../data/slots.ts'
import { asOf } from '../../data/store.ts'
import type { Search } from '../../search.ts'
import { Age, useNowSeconds, useStale } from '../../ui/age.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { bytes, count, grouped, timestamp, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { inspectCommand } from '../superblocks/unasked.tsx'
import { EntryPane } from './entry-pane.tsx'
import { type CellLook, RingLegend, RingPicture } from './ring-picture.tsx'
import { nextOf, notShown, walSituation } from './situation.ts'
import { SlotField } from './slot-field.tsx'
import {
  brokenParents,
  countStates,
  type LogRow,
  logRows,
  SLOT_STATES,
  SLOT_WORDS,
  type Slot,
  type SlotState,
  slotsOf,
  unsealedHeaders,
} from './slots.ts'
import type { Change } from './wal-screen.tsx'

const LOOKS: Readonly<Record<SlotState, CellLook>> = {
  free: 'empty',
  freed: 'freed',
  writing: 'writing',
  prepared: 'prepared',
  committed: 'committed',
  applied: 'filled',
  checkpointed: 'covered',
  hole: 'hole',
  faulty: 'faulty',
}

export function Metadata(props: { node: NodeView; search: Search<'wal'>; change: Change }) {
  const { node, search, change } = props
  const { id } = node
  const asked = showsSlots(node)
  const now = useNowSeconds()
  const answer = useQuery({ ...queries.wal(id), enabled: asked })
  const wal = answer.data?.reporter.node === id ? answer.data : undefined
  const scanning = useQuery({ ...queries.walScan(id), enabled: asked && wal?.reporter.boot === DIRECTORY_BOOT })
  // A scan of an earlier life says nothing of the file as it is now.
  const scan = scanning.data && scanning.data.reporter.boot === wal?.reporter.boot ? scanning.data : undefined
  const slots = useMemo(() => (wal ? slotsOf(wal, scan) : []), [wal, scan])
  const broken = useMemo(() => brokenParents(wal?.entries ?? []), [wal])
  const rows = useMemo(() => logRows(slots, wal?.entries ?? []), [slots, wal])
  const takenMs = wal && msOf(wal.reporter.takenWallUs)
  const stale = useStale(takenMs) ? 'stale' : ''
  const label = `Write-ahead log of node-${id}`
  if (!wal || takenMs === undefined) {
    const error = answer.error
    return (
      <>
        <Now
          words={
            error
              ? {
                  ...notShown(node, label, error.message, nextOf(error)),
                  what: `node-${id} did not show its log.`,
                }
              : asked
                ? { ...notShown(node, label, 'Its log is being read.', 'The ring shows each entry in its slot.') }
                : notShown(
                    node,
                    label,
                    'Its log cannot be asked for now, and the page has no earlier answer of it.',
                    'The file itself can be read in its directory.',
                  )
          }
        />
        <section className="pane wl-alone" aria-label={label}>
          {error ? (
            <Problem error={error} what={`node-${id} did not show its log`} retry={() => void answer.refetch()} />
          ) : asked ? (
            <Skeleton what="the write-ahead log" rows={12} />
          ) : (
            <p className="note row">
              <span>
                node-{id} {processWords(node)}.
              </span>
              {node.process && (
                <CopyButton
                  text={inspectCommand(node.process.dataDirectory)}
                  label="Copy the command that reads its files"
                  className="btn small"
                />
              )}
            </p>
          )}
        </section>
      </>
    )
  }
  const slot = search.slot === undefined ? undefined : Number(search.slot)
  const op = search.op ?? (slot === undefined ? rows.find(row => row.entry)?.entry?.op : undefined)
  const at = slot ?? (op === undefined ? undefined : Number(BigInt(op) % BigInt(wal.slots)))
  const choose = (index: number): void => {
    const chosen = slots[index]!
    const held = wal.entries.some(entry => BigInt(entry.op) === chosen.op)
    change({ slot: String(index), op: held ? String(chosen.op) : undefined })
  }
  const counts = countStates(slots)
  const pointer = wal.lastOp === '0' ? 0 : Number((BigInt(wal.lastOp) + 1n) % BigInt(wal.slots))
  return (
    <>
      <Now words={walSituation(node, wal, slots, scan, broken, Math.max(0, now - takenMs))} />
      <div className="wl-top">
        <Pane
          title="Ring by slot"
          className={stale}
          label={`slot = op mod ${grouped(wal.slots)}; the outlined slot takes op ${grouped(BigInt(wal.lastOp) + 1n)}`}
          testId="wal-slots"
          actions={
            <>
              <span className="push" />
              <SlotField count={wal.slots} value={at} onChange={choose} />
              <Age atMs={takenMs} by={readBy(wal, id)} />
            </>
          }
        >
          <RingPicture
            name={`Ring of ${wal.slots} slots: ${SLOT_STATES.filter(state => counts.has(state))
              .map(state => `${counts.get(state)} ${state}`)
              .join(', ')}; the entries are listed below`}
            cells={slots.map(item => ({ state: LOOKS[item.state], title: titleOf(item) }))}
            selected={at}
            pointer={pointer}
            onSelect={choose}
          />
          <RingLegend
            items={SLOT_STATES.filter(state => counts.has(state)).map(state => ({
              look: LOOKS[state],
              words: state,
              title: SLOT_WORDS[state],
              count: counts.get(state)!,
            }))}
          />
        </Pane>
        <CheckpointPane
          node={node}
          wal={wal}
          scan={scan}
          holes={counts.get('hole') ?? 0}
          className={stale}
          error={scanning.error}
          busy={scanning.isFetching}
          onScan={() => void scanning.refetch()}
        />
      </div>
      <div className="wl-low">
        <Pane
          title="Entries"
          label={`${count(wal.entries.length, 'entry', 'entries')}, newest first`}
          className={stale}
          testId="wal-entries"
          actions={<Age atMs={takenMs} by={readBy(wal, id)} push />}
        >
          <Entries
            rows={rows}
            selected={op}
            broken={broken}
            onSelect={row => change({ op: String(row.op), slot: undefined })}
          />
        </Pane>
        {op !== undefined && wal.entries.some(entry => entry.op === op) ? (
          <EntryPane
            node={id}
            op={op}
            asked={asked}
            words={processWords(node)}
            field={search.field}
            onField={field => change({ field, op })}
          />
        ) : op !== undefined && slots[at ?? -1]?.op !== BigInt(op) ? (
          <Pane title={`Op ${grouped(op)}`} testId="wal-entry">
            <p className="note" role="status" data-testid="op-gone">
              node-{id} does not hold op {grouped(op)}, which the address names:{' '}
              {BigInt(op) > BigInt(wal.lastOp)
                ? `its log ends with op ${grouped(wal.lastOp)}.`
                : 'a checkpoint has freed its slot, or the list here does not go back so far.'}
            </p>
          </Pane>
        ) : (
          <Pane title={at === undefined ? 'Entry' : `Slot ${grouped(at)}`} testId="wal-entry">
            <p className="note">{at === undefined || !slots[at] ? 'Choose a slot.' : titleOf(slots[at]!)}</p>
          </Pane>
        )}
      </div>
    </>
  )
}

/** Who has said it: the node, or nobody, and its files were read. */
const readBy = (wal: WalSnapshot, id: number): string =>
  wal.reporter.boot === DIRECTORY_BOOT ? `directory of node-${id}` : `node-${id}`

function titleOf({ slot, op, round, state }: Slot): string {
  const what = op === undefined ? '' : `, op ${grouped(op)}${round === undefined ? '' : ` (round ${grouped(round)})`}`
  return `slot ${grouped(slot)}${what}: ${state}, ${SLOT_WORDS[state]}`
}

/** The ring as a table. */
function Entries(props: {
  rows: readonly LogRow[]
  selected: string | undefined
  broken: ReadonlySet<string>
  onSelect: (row: LogRow) => void
}) {
  return (
    <DataTable
      name="entries of the write-ahead log"
      testId="wal"
      rows={props.rows}
      rowKey={row => String(row.op)}
      selected={props.selected}
      onSelect={props.onSelect}
      empty="No stream, topic or session was ever recorded."
      columns={[
        { id: 'op', head: 'op', align: 'n', data: row => row.op },
        { id: 'slot', head: 'slot', align: 'n', data: row => row.slot },
        { id: 'round', head: 'round', align: 'n', data: row => row.round },
        {
          id: 'state',
          head: 'State',
          data: row => row.state,
          cell: row => <span title={SLOT_WORDS[row.state]}>{row.state}</span>,
        },
        {
          id: 'operation',
          head: 'Operation',
          data: ({ entry }) => entry && (operationName(entry.operation) ?? `operation ${entry.operation}`),
        },
        {
          id: 'view',
          head: 'view',
          align: 'n',
          data: row => row.entry?.view,
          cell: ({ entry }) => entry && `v${entry.view}`,
        },
        { id: 'checksum', head: 'Checksum', align: 'm', data: row => row.entry?.checksum },
        {
          id: 'parent',
          head: 'Parent',
          align: 'm',
          data: row => row.entry?.parent,
          cell: ({ entry }) =>
            entry && props.broken.has(entry.op) ? (
              <span className="differs" title="not the checksum of the op before">
                {entry.parent}
              </span>
            ) : (
              entry?.parent
            ),
        },
        { id: 'positionBytes', head: 'position', align: 'n', data: row => row.entry?.positionBytes },
        { id: 'lengthBytes', head: 'bytes', align: 'n', data: row => row.entry?.lengthBytes },
        {
          id: 'client',
          head: 'client',
          align: 'm',
          data: row => row.entry?.client,
          cell: ({ entry }) => entry && <Short text={entry.client} />,
        },
        { id: 'request', head: 'request', align: 'n', data: ({ entry }) => entry && BigInt(entry.request) },
        {
          id: 'timestampUs',
          head: 'Timestamp',
          align: 'm',
          data: ({ entry }) => entry && BigInt(entry.timestamp),
          cell: ({ entry }) => entry && timestamp(entry.timestamp),
        },
      ]}
    />
  )
}

const Short = ({ text }: { text: string }) => (
  <span title={text}>{text.length > 8 ? `${text.slice(0, 8)}…` : text}</span>
)

function CheckpointPane(props: {
  node: NodeView
  wal: WalSnapshot
  scan: WalScanSnapshot | undefined
  holes: number
  className: string
  error: unknown
  busy: boolean
  onScan: () => void
}) {
  const { node, wal, scan } = props
  const { checkpoint } = wal
  const now = useNowSeconds()
  const why = useId()
  const past = useCell(asOf) !== undefined
  const free = wal.freeSlots
  const ofDirectory = wal.reporter.boot === DIRECTORY_BOOT
  const blocked = past
    ? 'The file of that moment was not kept; go live to read it as it is now.'
    : showsSlots(node)
      ? undefined
      : `node-${node.id} ${processWords(node)}: its log cannot be asked for.`
  return (
    <Pane
      title="Checkpoint"
      className={props.className}
      testId="wal-checkpoint"
      actions={<Age atMs={msOf(wal.reporter.takenWallUs)} by={readBy(wal, node.id)} push />}
    >
      <div className="pane-body">
        <dl className="kv">
          <dt>snapshot covers up to</dt>
          <dd>op {grouped(checkpoint?.pairedOp ?? wal.snapshotOp)}</dd>
          {!ofDirectory && (
            <>
              <dt>applied</dt>
              <dd>op {grouped(wal.appliedOp)}</dd>
            </>
          )}
          <dt>known committed</dt>
          <dd>op {grouped(wal.commitMax)}</dd>
          <dt>last op</dt>
          <dd>op {grouped(wal.lastOp)}</dd>
          <dt>holes</dt>
          <dd>{grouped(props.holes)}</dd>
          <dt title="Entries that an older build never sealed: no checksum proves them">unsealed</dt>
          <dd>{grouped(scan?.unsealed ?? unsealedHeaders(wal.entries))}</dd>
          <dt>file</dt>
          <dd>{bytes(wal.sizeBytes)}</dd>
          {free !== undefined && (
            <>
              <dt>free slots</dt>
              <dd>
                {grouped(free)} of {grouped(wal.slots)}
              </dd>
            </>
          )}
          {checkpoint && (
            <>
              <dt>next one at</dt>
              <dd>{grouped(checkpoint.marginSlots)} free</dd>
              <dt>in this life</dt>
              <dd>
                {grouped(checkpoint.finished)} finished, {grouped(checkpoint.failed)} failed
              </dd>
            </>
          )}
        </dl>
        {free !== undefined && (
          <span className="progress" aria-hidden="true">
            <i style={{ width: `${((wal.slots - free) / wal.slots) * 100}%` }} />
          </span>
        )}
        <p className="note wal-freed" data-testid="wal-freed">
          {checkpoint?.freed ? (
            <>
              The last checkpoint took <b>{count(checkpoint.freed.entries, 'entry', 'entries')}</b> off the log, ops{' '}
              {grouped(checkpoint.freed.fromOp)} to {grouped(checkpoint.freed.toOp)}, {bytes(checkpoint.freed.bytes)}.
              The entry at its own op stays: a DoViewChange must carry it.
            </>
          ) : ofDirectory ? (
            'What checkpoints have freed, no file tells.'
          ) : (
            'No checkpoint in this life of the node: nothing was freed yet.'
          )}
        </p>
        <div className="row">
          <button
            type="button"
            className="btn small"
            onClick={() => {
              if (!props.busy && blocked === undefined) props.onScan()
            }}
            aria-disabled={props.busy || blocked !== undefined}
            aria-describedby={blocked === undefined ? undefined : why}
            title={blocked}
            data-testid="wal-verify"
          >
            {props.busy ? 'Reading the file' : 'Verify the file'}
          </button>
          {blocked !== undefined && (
            <span id={why} className="sr">
              {blocked}
            </span>
          )}
          {node.process && (
            <CopyButton
              text={inspectCommand(node.process.dataDirectory)}
              label="Copy as command"
              icon
              className="iconbtn small"
            />
          )}
          {scan && <Age atMs={msOf(scan.reporter.takenWallUs)} by="read" />}
        </div>
        {props.error !== null && <Problem error={props.error} what="The file could not be scanned" />}
        {scan && (
          <p className="small" data-testid="wal-scan" data-end={scan.end}>
            <Glyph name={scan.end === 'clean' ? 'ok' : 'fail'} state={scan.end === 'clean' ? 'ok' : 'danger'} />{' '}
            {count(scan.entries, 'entry', 'entries')} verified in {bytes(scan.fileBytes)}
            {scan.unsealed > 0 && `, ${count(scan.unsealed, 'entry', 'entries')} without a seal`};{' '}
            {scan.problem
              ? `${scan.problem.check} at byte ${grouped(scan.problem.positionBytes)}: ${visible(scan.problem.message)}`
              : 'it ends clean'}
            {now - msOf(scan.reporter.takenWallUs) > 60_000 && '. The log has moved on since.'}
          </p>
        )}
      </div>
    </Pane>
  )
}
