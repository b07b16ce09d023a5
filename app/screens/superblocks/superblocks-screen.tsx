/** Both slots of every group on every node, what they mean together and why; bytes below. Absent is a legal answer. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef } from 'react'
import { msOf } from '../../../shared/inspection/view.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { answers as answersNow, processWords, showsSlots } from '../../data/slots.ts'
import { shown } from '../../data/store.ts'
import { useEach } from '../../data/use-each.ts'
import { useReplicaIds } from '../../data/use-replica-ids.ts'
import { byGroup, groupName, METADATA, pathName } from '../../names.ts'
import type { Search } from '../../search.ts'
import { Age, STALE_MS, useNowSeconds } from '../../ui/age.tsx'
import { ageText, count, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Spacer } from '../../ui/spacer.tsx'
import { processLook } from '../../ui/states.ts'
import { type ExportColumn, TableFoot } from '../../ui/table-export.tsx'
import { type Row, SLOT_LOOK, VERDICT_LOOK } from './looks.ts'
import { newestRecord } from './records.ts'
import { superblocksSituation } from './situation.ts'
import { SlotPane } from './slot-pane.tsx'
import { Unasked } from './unasked.tsx'
import { WhyPane } from './why-pane.tsx'
import './superblocks.css'

const route = getRouteApi('/superblocks')
export default function SuperblocksScreen() {
  const search: Search<'superblocks'> = route.useSearch()
  const navigate = useNavigate()
  const nodes = useCell(shown, state => state.view.nodes)
  const ids = useReplicaIds()
  const now = useNowSeconds()
  const answers = useEach(ids, queries.superblocks, id => showsSlots(nodes.get(id)))
  const rows = useMemo(() => {
    const list: Row[] = []
    for (const answer of answers) {
      if (!answer.data) continue
      const takenMs = msOf(answer.data.reporter.takenWallUs)
      for (const block of answer.data.groups)
        list.push({
          node: answer.node,
          block,
          takenMs,
          stale: now - takenMs > STALE_MS,
          process: nodes.get(answer.node)?.process?.state ?? 'running',
        })
    }
    return list.sort((a, b) => byGroup(a.block.group, b.block.group) || a.node - b.node)
  }, [answers, nodes, now])
  const bad = rows.filter(row => row.block.verdict === 'unreadable')
  const listed = search.only === 'unreadable' ? bad : rows
  const [first, second] = search.compare?.split(',').map(Number) ?? []
  const wanted = search.node === undefined ? first : Number(search.node)
  const isNamed = search.group !== undefined || wanted !== undefined
  const candidates = rows.filter(
    row => row.block.group === (search.group ?? METADATA) && (wanted === undefined || row.node === wanted),
  )
  const chosen = telling(isNamed && candidates.length > 0 ? candidates : rows)
  const peers = chosen ? rows.filter(row => row.block.group === chosen.block.group && row.node !== chosen.node) : []
  const other = peers.find(row => row.node === second) ?? peers.find(row => row.node === first) ?? newestRecord(peers)
  const loading = answers.some(answer => answer.loading && showsSlots(nodes.get(answer.node)))
  const change = (patch: Partial<Record<keyof Search<'superblocks'>, string | undefined>>): void =>
    void navigate({ to: '/superblocks', search: old => ({ ...old, ...patch }) as Search<'superblocks'> })
  return (
    <>
      <h1 className="sr">Superblocks</h1>
      <div className="screen sbk">
        <Now
          words={superblocksSituation(rows, {
            loading,
            away: ids.flatMap(id => (answersNow(nodes.get(id)) ? [] : (nodes.get(id) ?? []))),
          })}
        />
        <div className="cols inner-scroll">
          <Pane
            title="Superblocks"
            label={
              rows.length === 0
                ? undefined
                : `${count(rows.length, 'pair')} on ${count(new Set(rows.map(row => row.node)).size, 'node')}`
            }
            testId="superblocks"
            actions={
              <span className="push row">
                <Segmented
                  name="Show"
                  value={search.only ?? 'all'}
                  options={[
                    { value: 'all', label: 'All' },
                    { value: 'unreadable', label: `Only unreadable (${bad.length})` },
                  ]}
                  onChange={value => change({ only: value === 'all' ? undefined : value })}
                />
                {chosen && <Age atMs={chosen.takenMs} by={`node-${chosen.node} read`} />}
              </span>
            }
          >
            <Unasked
              answers={answers}
              nodes={nodes}
              what="slots"
              asked={showsSlots}
              then={kept =>
                kept
                  ? 'What it answered last is hatched; its files can be read without it.'
                  : 'Its files can be read without it.'
              }
              files
            />
            {answers.map(
              answer =>
                answer.data?.groups.length === 0 && (
                  <p key={answer.node} className="note" data-testid={`no-slots-${answer.node}`}>
                    <b>node-{answer.node}</b> {processWords(nodes.get(answer.node))}, and its directory holds no group:
                    a new node has none, and a wiped one has lost them.
                  </p>
                ),
            )}
            {rows.length > 0 && !loading && isNamed && candidates.length === 0 && (
              <p className="note" role="status" data-testid="pair-gone">
                Nobody shows {groupName(search.group ?? METADATA)}
                {wanted !== undefined && ` on node-${wanted}`}, which the address names. Another pair is shown.
              </p>
            )}
            {rows.length === 0 && answers.some(answer => answer.loading) && <Skeleton what="superblocks" rows={8} />}
            {rows.length > 0 && (
              <SlotTable
                rows={listed}
                chosen={chosen}
                named={isNamed && candidates.length > 0}
                onChoose={row =>
                  change({
                    group: row.block.group,
                    node: String(row.node),
                    compare:
                      other && other.node !== row.node && second !== undefined
                        ? `${row.node},${other.node}`
                        : undefined,
                    field: undefined,
                  })
                }
              />
            )}
            <p className="micro ink-3 note">* commit_max on metadata, offset_frontier on partitions.</p>
            {rows.length > 0 && <TableFoot name="superblocks" rows={listed} columns={SLOT_COLUMNS} />}
          </Pane>
          {chosen && (
            <WhyPane
              chosen={chosen}
              other={other}
              peers={peers}
              onOther={id =>
                change({ group: chosen.block.group, node: String(chosen.node), compare: `${chosen.node},${id}` })
              }
            />
          )}
        </div>
        {chosen && (
          <div className="hexes">
            {chosen.block.slots.map(slot => (
              <SlotPane
                key={slot.slot}
                node={chosen.node}
                slot={slot}
                field={search.field}
                winner={chosen.block.winner === slot.slot}
                onField={field => change({ field, group: chosen.block.group, node: String(chosen.node) })}
              />
            ))}
          </div>
        )}
      </div>
    </>
  )
}

/** The pair that has most to tell: one that is unreadable, else one that was written. */
const telling = (rows: readonly Row[]): Row | undefined =>
  rows.find(row => row.block.verdict === 'unreadable') ?? rows.find(row => row.block.verdict === 'present') ?? rows[0]

const SLOT_COLUMNS: readonly ExportColumn<Row>[] = [
  { id: 'group', data: row => groupName(row.block.group) },
  { id: 'node', data: row => row.node },
  { id: 'verdict', data: row => row.block.verdict },
  { id: 'winner', data: row => row.block.winner },
  { id: 'takenUs', data: row => BigInt(Math.round(row.takenMs * 1000)) },
  ...([0, 1] as const).flatMap((at): ExportColumn<Row>[] => {
    const field = (name: string) => (row: Row) => {
      const value = row.block.slots[at].fields?.[name]
      return value === undefined ? undefined : /^\d+$/.test(String(value)) ? BigInt(value) : value
    }
    const slot = 'ab'[at]
    return [
      { id: `${slot}.state`, data: row => row.block.slots[at].state },
      {
        id: `${slot}.sequence`,
        data: row => (row.block.slots[at].sequence === undefined ? undefined : BigInt(row.block.slots[at].sequence!)),
      },
      { id: `${slot}.view`, data: field('view') },
      { id: `${slot}.logView`, data: field('logView') },
      { id: `${slot}.commitMax`, data: field('commitMax') },
      { id: `${slot}.offsetFrontier`, data: field('offsetFrontier') },
      { id: `${slot}.hex`, data: row => row.block.slots[at].hex },
    ]
  }),
]

/** As the lines of the table stand: the head of a group, and its pairs. */
type Line = { readonly group: string; readonly key: Row['block']['key'] } | { readonly row: Row }

/** Lines that are all drawn; of more only those in sight, since thousands of groups have three each. */
const LINES_PLAIN = 200
const GROUP_PX = 21
const ROW_PX = 24
const HEAD_PX = 50

function SlotTable(props: {
  rows: readonly Row[]
  chosen: Row | undefined
  /** The address names it: it is brought into sight. */
  named: boolean
  onChoose: (row: Row) => void
}) {
  const { rows, chosen } = props
  const names = useQuery(queries.topics()).data
  const box = useRef<HTMLElement>(null)
  const lines = useMemo(
    () =>
      rows.flatMap((row, at): Line[] => {
        const { group, key } = row.block
        return rows[at - 1]?.block.group === group ? [{ row }] : [{ group, key }, { row }]
      }),
    [rows],
  )
  const many = lines.length > LINES_PLAIN
  const virtual = useVirtualizer({
    count: many ? lines.length : 0,
    getScrollElement: () => box.current,
    estimateSize: at => ('row' in lines[at]! ? ROW_PX : GROUP_PX),
    overscan: 12,
    // The head stays in sight and pushes the lines down by as much.
    scrollPaddingEnd: HEAD_PX,
  })
  const items = many ? virtual.getVirtualItems() : []
  const at = props.named ? lines.findIndex(line => 'row' in line && line.row === chosen) : -1
  const measured = items.length > 0
  useEffect(() => {
    if (measured && at >= 0) virtual.scrollToIndex(at, { align: 'auto' })
  }, [measured, at, virtual])
  const drawn = many ? items.map(item => lines[item.index]!) : lines
  return (
    <Scroll name="Slots of every group" ref={box}>
      <table className="table slot-table" aria-rowcount={lines.length + 2}>
        <thead>
          <tr className="super">
            <td />
            <th colSpan={5} scope="colgroup" className="split">
              Slot A, <span className="mono">superblock.a</span>
            </th>
            <th colSpan={5} scope="colgroup" className="split">
              Slot B, <span className="mono">superblock.b</span>
            </th>
            <th colSpan={2} scope="colgroup" className="split">
              Together
            </th>
          </tr>
          <tr className="second">
            <th scope="col">Node</th>
            <SlotHeads />
            <SlotHeads />
            <th scope="col" className="split">
              wins
            </th>
            <th scope="col">verdict</th>
          </tr>
        </thead>
        <tbody>
          <Spacer height={items[0]?.start ?? 0} />
          {drawn.map(line =>
            'row' in line ? (
              <SlotRow
                key={`${line.row.block.group} ${line.row.node}`}
                row={line.row}
                chosen={line.row === chosen}
                onChoose={() => props.onChoose(line.row)}
              />
            ) : (
              <tr key={line.group} className="group">
                <th colSpan={13}>
                  <b>
                    {groupName(line.group)} {line.group === METADATA ? '' : pathName(names, line.key)}
                  </b>
                </th>
              </tr>
            ),
          )}
          <Spacer height={items.length > 0 ? virtual.getTotalSize() - items.at(-1)!.end : 0} />
        </tbody>
      </table>
      {rows.length === 0 && <p className="note">No slot is unreadable.</p>}
    </Scroll>
  )
}

function SlotHeads() {
  return (
    <>
      <th scope="col" className="split">
        <span className="sr">state</span>
      </th>
      <th scope="col" className="n">
        seq
      </th>
      <th scope="col" className="n">
        view
      </th>
      <th scope="col" className="n">
        log_view
      </th>
      <th scope="col" className="n">
        commit*
      </th>
    </>
  )
}

function SlotRow(props: { row: Row; chosen: boolean; onChoose: () => void }) {
  const { node, block, stale, process } = props.row
  const verdict = VERDICT_LOOK[block.verdict]
  const now = useNowSeconds()
  return (
    <tr
      className={`pick${stale ? ' old' : ''}`}
      aria-selected={props.chosen}
      onClick={props.onChoose}
      data-testid={`slots-${groupName(block.group)}-${node}`}
    >
      <td className="ink-1">
        <button type="button" className="pick-btn" aria-pressed={props.chosen}>
          node-{node}
          {process !== 'running' && (
            <>
              {' '}
              <Glyph
                name={processLook[process].glyph}
                state={processLook[process].colour}
                label={processLook[process].word}
              />
            </>
          )}
        </button>
      </td>
      {block.slots.map(slot => {
        const look = SLOT_LOOK[slot.state]
        const rot = slot.state === 'corrupt' ? ' rot' : ''
        const glyph = (
          <td className={`split${rot}`}>
            <Glyph name={look.glyph} state={look.colour} label={slot.state} />
          </td>
        )
        if (slot.state !== 'valid') {
          return (
            <SlotCells key={slot.slot} glyph={glyph}>
              <td colSpan={4} className={slot.state === 'corrupt' ? 'rot ink-1' : 'ink-3'}>
                {slot.state === 'corrupt' ? `corrupt, ${visible(slot.failure?.code ?? 'unreadable')}` : 'absent'}
              </td>
            </SlotCells>
          )
        }
        const fields = slot.fields ?? {}
        const progress = block.plane === 'metadata' ? fields.commitMax : fields.offsetFrontier
        return (
          <SlotCells key={slot.slot} glyph={glyph}>
            <td className="n">{slot.sequence === undefined ? '?' : grouped(slot.sequence)}</td>
            <td className="n">{fields.view ?? '?'}</td>
            <td className="n">{fields.logView ?? '?'}</td>
            <td className="n">{progress === undefined ? '?' : grouped(progress)}</td>
          </SlotCells>
        )
      })}
      <td className={block.winner === undefined ? 'split ink-3' : 'split'}>
        {block.winner === undefined ? 'none' : <b>{block.winner.toUpperCase()}</b>}
      </td>
      <td>
        <span className="state">
          <Glyph name={verdict.glyph} state={verdict.colour} />
          {verdict.word}
        </span>
        {stale && <span className="age old-age"> {ageText(Math.max(0, now - props.row.takenMs))} ago</span>}
      </td>
    </tr>
  )
}

function SlotCells(props: { glyph: React.ReactNode; children: React.ReactNode }) {
  return (
    <>
      {props.glyph}
      {props.children}
    </>
  )
}
