/** The metadata log on disk: its slots, what a checkpoint frees, its entries, and the chosen one to the byte. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { WalScanSnapshot } from '../../../shared/inspection/logs.ts'
import type { WalSnapshot } from '../../../shared/inspection/snapshots.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { operationName } from '../../../shared/protocol/operations.ts'
import { queries } from '../../data/queries.ts'
import type { Search } from '../../search.ts'
import { Age, useNowSeconds } from '../../ui/age.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { bytes, count, grouped, timestamp, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { EntryPane } from './entry-pane.tsx'
import { type CellLook, RingLegend, RingPicture } from './ring-picture.tsx'
import { walSituation } from './situation.ts'
import { SlotField } from './slot-field.tsx'
import { brokenParents, countStates, SLOT_STATES, SLOT_WORDS, type Slot, type SlotState, slotsOf } from './slots.ts'
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

export function Metadata(props: { id: number; running: boolean; search: Search<'wal'>; change: Change }) {
  const { id, running, search, change } = props
  const answer = useQuery({ ...queries.wal(id), enabled: running })
  const scanning = useQuery(queries.walScan(id))
  const wal = answer.data?.reporter.node === id ? answer.data : undefined
  const scan = scanning.data?.reporter.node === id ? scanning.data : undefined
  const slots = useMemo(() => (wal ? slotsOf(wal, scan) : []), [wal, scan])
  const broken = useMemo(() => brokenParents(wal?.entries ?? []), [wal])
  const entries = useMemo(() => [...(wal?.entries ?? [])].sort((a, b) => (BigInt(a.op) < BigInt(b.op) ? 1 : -1)), [wal])
  if (!wal) {
    if (answer.error)
      return (
        <Problem error={answer.error} what={`node-${id} did not show its log`} retry={() => void answer.refetch()} />
      )
    if (!running) return <p className="note">node-{id} does not run, so its log cannot be asked for.</p>
    return <Skeleton what="the write-ahead log" rows={12} />
  }
  const slot = search.slot === undefined ? undefined : Number(search.slot)
  const op = search.op ?? (slot === undefined ? entries[0]?.op : undefined)
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
      <Now words={walSituation(id, wal, slots, scan, broken)} />
      <div className="wl-top">
        <Pane
          title="Ring by slot"
          label={`slot = op mod ${grouped(wal.slots)}; the outlined slot takes op ${grouped(BigInt(wal.lastOp) + 1n)}`}
          testId="wal-slots"
          actions={
            <>
              <span className="push" />
              <SlotField count={wal.slots} value={at} onChange={choose} />
              <Age atMs={msOf(wal.reporter.takenWallUs)} by={`node-${id}`} />
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
          wal={wal}
          scan={scan}
          error={scanning.error}
          busy={scanning.isFetching}
          onScan={() => void scanning.refetch()}
          running={running}
        />
      </div>
      <div className="wl-low">
        <Pane title="Entries" label={`${count(entries.length, 'entry', 'entries')}, newest first`} testId="wal-entries">
          <Entries
            rows={entries}
            slots={wal.slots}
            selected={op}
            broken={broken}
            onSelect={chosen => change({ op: chosen, slot: undefined })}
          />
        </Pane>
        {op !== undefined && wal.entries.some(entry => entry.op === op) ? (
          <EntryPane
            node={id}
            op={op}
            running={running}
            field={search.field}
            onField={field => change({ field, op })}
          />
        ) : (
          <Pane title={at === undefined ? 'Entry' : `Slot ${grouped(at)}`} testId="wal-entry">
            <p className="note">{at === undefined || !slots[at] ? 'Choose a slot.' : titleOf(slots[at]!)}</p>
          </Pane>
        )}
      </div>
    </>
  )
}

function titleOf({ slot, op, round, state }: Slot): string {
  const what = op === undefined ? '' : `, op ${grouped(op)}${round === undefined ? '' : ` (round ${grouped(round)})`}`
  return `slot ${grouped(slot)}${what}: ${state}, ${SLOT_WORDS[state]}`
}

function Entries(props: {
  rows: WalSnapshot['entries']
  slots: number
  selected: string | undefined
  broken: ReadonlySet<string>
  onSelect: (op: string) => void
}) {
  const count = BigInt(props.slots)
  return (
    <DataTable
      name="entries of the write-ahead log"
      testId="wal"
      rows={props.rows}
      rowKey={entry => entry.op}
      selected={props.selected}
      onSelect={entry => props.onSelect(entry.op)}
      empty="No stream, topic or session was ever recorded."
      columns={[
        { id: 'op', head: 'op', align: 'n', data: entry => BigInt(entry.op) },
        { id: 'slot', head: 'slot', align: 'n', data: entry => Number(BigInt(entry.op) % count) },
        { id: 'round', head: 'round', align: 'n', data: entry => BigInt(entry.op) / count },
        {
          id: 'operation',
          head: 'Operation',
          data: entry => operationName(entry.operation) ?? `operation ${entry.operation}`,
        },
        { id: 'view', head: 'view', align: 'n', data: entry => entry.view, cell: entry => `v${entry.view}` },
        { id: 'checksum', head: 'Checksum', align: 'm', data: entry => entry.checksum },
        {
          id: 'parent',
          head: 'Parent',
          align: 'm',
          data: entry => entry.parent,
          cell: entry =>
            props.broken.has(entry.op) ? (
              <span className="differs" title="not the checksum of the op before">
                {entry.parent}
              </span>
            ) : (
              entry.parent
            ),
        },
        { id: 'positionBytes', head: 'position', align: 'n', data: entry => entry.positionBytes },
        { id: 'lengthBytes', head: 'bytes', align: 'n', data: entry => entry.lengthBytes },
        {
          id: 'client',
          head: 'client',
          align: 'm',
          data: entry => entry.client,
          cell: entry => <Short text={entry.client} />,
        },
        { id: 'request', head: 'request', align: 'n', data: entry => BigInt(entry.request) },
        {
          id: 'timestampUs',
          head: 'Timestamp',
          align: 'm',
          data: entry => BigInt(entry.timestamp),
          cell: entry => timestamp(entry.timestamp),
        },
      ]}
    />
  )
}

const Short = ({ text }: { text: string }) => (
  <span title={text}>{text.length > 8 ? `${text.slice(0, 8)}…` : text}</span>
)

function CheckpointPane(props: {
  wal: WalSnapshot
  scan: WalScanSnapshot | undefined
  error: unknown
  busy: boolean
  running: boolean
  onScan: () => void
}) {
  const { wal, scan } = props
  const { checkpoint } = wal
  const now = useNowSeconds()
  const free = wal.freeSlots
  return (
    <Pane title="Checkpoint" testId="wal-checkpoint">
      <div className="pane-body">
        <dl className="kv">
          <dt>snapshot covers up to</dt>
          <dd>{checkpoint ? `op ${grouped(checkpoint.pairedOp)}` : 'not known'}</dd>
          <dt>applied</dt>
          <dd>op {grouped(wal.appliedOp)}</dd>
          <dt>known committed</dt>
          <dd>op {grouped(wal.commitMax)}</dd>
          <dt>last op</dt>
          <dd>op {grouped(wal.lastOp)}</dd>
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
          ) : (
            'No checkpoint in this life of the node: nothing was freed yet.'
          )}
        </p>
        <div className="row">
          <button
            type="button"
            className="btn small"
            onClick={props.onScan}
            aria-disabled={props.busy || !props.running}
            data-testid="wal-verify"
          >
            {props.busy ? 'Reading the file' : 'Verify the file'}
          </button>
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
