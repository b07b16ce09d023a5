/**
 * The ops of a partition group that are in memory: prepared, committed and owed to the disk, or settled and kept for repair.
 * No log file stands behind them; what was flushed is in the segments, without op numbers.
 */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { JournalSnapshot } from '../../../shared/inspection/logs.ts'
import { msOf, type NodeView } from '../../../shared/inspection/view.ts'
import { operationName } from '../../../shared/protocol/operations.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { answers } from '../../data/slots.ts'
import { shown } from '../../data/store.ts'
import { groupName } from '../../names.ts'
import type { Search } from '../../search.ts'
import { Age, useNowSeconds, useStale } from '../../ui/age.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { ageText, bytes, bytesShort, count, grouped, timestamp } from '../../ui/format.ts'
import { Now, type NowWords } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { type CellLook, RingLegend, RingPicture } from './ring-picture.tsx'
import { nextOf, notShown } from './situation.ts'
import { SlotField } from './slot-field.tsx'
import type { Change } from './wal-screen.tsx'

type Entry = JournalSnapshot['entries'][number]

const LOOKS: Readonly<Record<Entry['state'], CellLook>> = {
  prepared: 'prepared',
  committed: 'committed',
  settled: 'filled',
}
const WORDS: Readonly<Record<Entry['state'], string>> = {
  prepared: 'held, not applied here: it may still be replaced by a view change',
  committed: 'applied and readable; its bytes are owed to the disk',
  settled: 'on disk, or nothing of it belongs there; kept in memory for repair',
}

export function Journal(props: { node: NodeView; group: string; search: Search<'wal'>; change: Change }) {
  const { node, group, search, change } = props
  const { id } = node
  const running = answers(node)
  const key = useCell(shown, state => state.view.groups.get(group)?.key)
  const at = { stream: String(key?.stream), topic: String(key?.topic), partition: String(key?.partition) }
  const answer = useQuery({ ...queries.journal(id, at), enabled: running && key !== undefined })
  // What is in the memory of a process ends with it; one that is held keeps it.
  const data = running || node.process?.state === 'paused' ? answer.data : undefined
  const entries = useMemo(() => [...(data?.entries ?? [])].reverse(), [data])
  const takenMs = data && msOf(data.reporter.takenWallUs)
  const now = useNowSeconds()
  const stale = useStale(takenMs) ? 'stale' : ''
  const label = `Journal of ${groupName(group)} on node-${id}`
  if (!data || takenMs === undefined) {
    const segments = 'What was flushed lies in its segments: see its partition.'
    const words =
      answer.error && running
        ? {
            ...notShown(node, label, answer.error.message, nextOf(answer.error)),
            what: `node-${id} did not show its journal.`,
          }
        : !running
          ? notShown(
              node,
              label,
              node.process?.state === 'paused'
                ? 'Its journal is in the memory of a process that is held, and the page has no earlier answer of it.'
                : 'A journal is in the memory of its process, and ends with it.',
              segments,
            )
          : key
            ? notShown(node, label, 'Its journal is being read.', 'Ops stand in the order in which they came.')
            : {
                ...notShown(node, label, 'No node that is heard has it.', 'Choose another group.'),
                what: `node-${id} has no group ${groupName(group)}.`,
              }
    return (
      <>
        <Now words={words} />
        <section className="pane wl-alone" aria-label={label}>
          {answer.error && running ? (
            <Problem
              error={answer.error}
              what={`node-${id} did not show its journal`}
              retry={() => void answer.refetch()}
            />
          ) : running && key ? (
            <Skeleton what="the journal" rows={12} />
          ) : (
            <p className="note">{words.why}</p>
          )}
        </section>
      </>
    )
  }
  const chosen = data.entries.findIndex(entry => entry.op === search.op)
  const states = ['prepared', 'committed', 'settled'] as const
  const countOf = (state: Entry['state']): number => data.entries.filter(entry => entry.state === state).length
  return (
    <>
      <Now
        words={
          running
            ? situation(id, data, countOf('prepared'), countOf('committed'))
            : notShown(
                node,
                label,
                `What is shown it said ${ageText(Math.max(0, now - takenMs))} ago.`,
                'Its memory keeps the journal until it goes on, or is killed.',
              )
        }
      />
      <div className="wl-top">
        <Pane
          title="Ops in memory"
          className={stale}
          label={
            data.entries.length === 0
              ? 'none'
              : `${grouped(data.entries[0]!.op)} to ${grouped(data.highestOp)}, oldest first`
          }
          testId="wal-slots"
          actions={
            <>
              <span className="push" />
              {data.entries.length > 0 && (
                <SlotField
                  word="place"
                  count={data.entries.length}
                  value={chosen < 0 ? undefined : chosen}
                  onChange={index => change({ op: data.entries[index]!.op })}
                />
              )}
              <Age atMs={takenMs} by={`node-${id}`} />
            </>
          }
        >
          <RingPicture
            name={`${data.entries.length} ops in memory: ${states.map(state => `${countOf(state)} ${state}`).join(', ')}; they are listed below`}
            cells={data.entries.map(entry => ({
              state: LOOKS[entry.state],
              title: `op ${grouped(entry.op)}: ${entry.state}, ${WORDS[entry.state]}`,
            }))}
            selected={chosen < 0 ? undefined : chosen}
            pointer={undefined}
            onSelect={index => change({ op: data.entries[index]!.op })}
          />
          <RingLegend
            items={states.map(state => ({
              look: LOOKS[state],
              words: state,
              title: WORDS[state],
              count: countOf(state),
            }))}
          />
        </Pane>
        <Pane title="What is kept" className={stale} testId="wal-checkpoint">
          <div className="pane-body">
            <dl className="kv">
              <dt>highest op</dt>
              <dd>{grouped(data.highestOp)}</dd>
              <dt>applied</dt>
              <dd>{grouped(data.appliedOp)}</dd>
              <dt>settled</dt>
              <dd>{grouped(data.settledOp)}</dd>
              <dt>kept for repair</dt>
              <dd>
                {grouped(data.ring.ops)} of {grouped(data.ring.opsMax)}
              </dd>
              <dt>their bytes</dt>
              <dd title={`${bytes(data.ring.bytes)} of ${bytes(data.ring.bytesMax)}`}>
                {bytesShort(data.ring.bytes)} of {bytesShort(data.ring.bytesMax)}
              </dd>
            </dl>
            <p className="note">
              A partition group has no log file and no checkpoint: what is settled is in its segments, without op
              numbers, and the oldest settled op leaves memory first. A restart begins with an empty journal.
            </p>
            {key && (
              <Link
                to="/partitions/$s/$t/$p"
                params={{ s: at.stream, t: at.topic, p: at.partition }}
                search={{ node: String(id) }}
                className="small"
              >
                Segments of {groupName(group)}
              </Link>
            )}
          </div>
        </Pane>
      </div>
      <Pane title="Ops" className={stale} label={`${count(data.held, 'op')} held, newest first`} testId="wal-entries">
        <DataTable
          name="ops of the partition journal"
          testId="wal"
          rows={entries}
          rowKey={entry => entry.op}
          selected={search.op}
          onSelect={entry => change({ op: entry.op })}
          empty="No op of this group is in memory: nothing was written since the node started."
          columns={[
            { id: 'op', head: 'op', align: 'n', data: entry => BigInt(entry.op) },
            { id: 'state', head: 'State', data: entry => entry.state },
            {
              id: 'operation',
              head: 'Operation',
              data: entry => operationName(entry.operation) ?? `operation ${entry.operation}`,
            },
            { id: 'view', head: 'view', align: 'n', data: entry => entry.view, cell: entry => `v${entry.view}` },
            {
              id: 'baseOffset',
              head: 'first offset',
              align: 'n',
              data: entry => (entry.baseOffset === undefined ? null : BigInt(entry.baseOffset)),
            },
            { id: 'messages', head: 'messages', align: 'n', data: entry => entry.messages ?? null },
            { id: 'checksum', head: 'Checksum', align: 'm', data: entry => entry.checksum },
            { id: 'parent', head: 'Parent', align: 'm', data: entry => entry.parent },
            { id: 'lengthBytes', head: 'bytes', align: 'n', data: entry => entry.lengthBytes },
            {
              id: 'timestampUs',
              head: 'Timestamp',
              align: 'm',
              data: entry => BigInt(entry.timestamp),
              cell: entry => timestamp(entry.timestamp),
            },
          ]}
        />
      </Pane>
    </>
  )
}

function situation(id: number, data: JournalSnapshot, prepared: number, owed: number): NowWords {
  const base = {
    label: `Journal of ${groupName(data.group)} on node-${id}`,
    why: 'Partition ops are acknowledged from memory of a majority, or from disk where the topic asks for it; then they are flushed.',
    next: 'The flusher writes log and index together; what is settled leaves memory when the ring is full.',
  } as const
  if (prepared > 0)
    return {
      ...base,
      tone: 'plain',
      glyph: 'prepared',
      colour: 'none',
      what: `${count(prepared, 'op')} prepared and not applied, ${count(owed, 'op')} owed to the disk.`,
    }
  return {
    ...base,
    tone: 'good',
    glyph: 'ok',
    colour: 'ok',
    what:
      owed > 0
        ? `${count(owed, 'committed op')} owed to the disk.`
        : `Everything up to op ${grouped(data.appliedOp)} is settled.`,
  }
}
