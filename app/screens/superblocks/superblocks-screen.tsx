/** Both slots of every group on every node, what they mean together and why; bytes below. Absent is a legal answer. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { msOf } from '../../../shared/inspection/view.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { showsSlots } from '../../data/slots.ts'
import { shown } from '../../data/store.ts'
import { useEach } from '../../data/use-each.ts'
import { useReplicaIds } from '../../data/use-replica-ids.ts'
import { byGroup, groupName, METADATA, pathName } from '../../names.ts'
import type { Search } from '../../search.ts'
import { Age, STALE_MS, useNowSeconds } from '../../ui/age.tsx'
import { count, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { type ExportColumn, TableFoot } from '../../ui/table-export.tsx'
import { type Row, SLOT_LOOK, VERDICT_LOOK } from './looks.ts'
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
        list.push({ node: answer.node, block, takenMs, stale: now - takenMs > STALE_MS })
    }
    return list.sort((a, b) => byGroup(a.block.group, b.block.group) || a.node - b.node)
  }, [answers, now])
  const bad = rows.filter(row => row.block.verdict === 'unreadable')
  const listed = search.only === 'unreadable' ? bad : rows
  const chosen =
    rows.find(row => row.block.group === search.group && row.node === Number(search.node ?? -1)) ??
    bad[0] ??
    rows.find(row => row.block.verdict === 'present') ??
    rows[0]
  const peers = chosen ? rows.filter(row => row.block.group === chosen.block.group && row.node !== chosen.node) : []
  const other = peers.find(row => row.node === Number(search.with ?? -1)) ?? peers[0]
  const change = (patch: Partial<Record<keyof Search<'superblocks'>, string | undefined>>): void =>
    void navigate({ to: '/superblocks', search: old => ({ ...old, ...patch }) as Search<'superblocks'> })
  return (
    <>
      <h1 className="sr">Superblocks</h1>
      <div className="screen sbk">
        <Lead
          rows={rows}
          bad={bad}
          loading={answers.some(answer => answer.loading && showsSlots(nodes.get(answer.node)))}
          down={ids.filter(id => nodes.get(id)?.process?.state !== 'running')}
        />
        <div className="cols inner-scroll">
          <Pane
            title="Superblocks"
            label={`${count(rows.length, 'pair')} on ${count(new Set(rows.map(row => row.node)).size, 'node')}`}
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
                <Age atMs={chosen?.takenMs} by="read" />
              </span>
            }
          >
            <Unasked answers={answers} nodes={nodes} what="slots" asked={showsSlots} />
            {rows.length === 0 && answers.some(answer => answer.loading) && <Skeleton what="superblocks" rows={8} />}
            {rows.length > 0 && (
              <Scroll name="Slots of every group">
                <SlotTable
                  rows={listed}
                  chosen={chosen}
                  onChoose={row => change({ group: row.block.group, node: String(row.node), field: undefined })}
                />
                {listed.length === 0 && <p className="note">No slot is unreadable.</p>}
              </Scroll>
            )}
            <p className="micro ink-3 note">* commit_max on metadata, offset_frontier on partitions.</p>
            {rows.length > 0 && <TableFoot name="superblocks" rows={listed} columns={SLOT_COLUMNS} />}
          </Pane>
          {chosen && <WhyPane chosen={chosen} other={other} peers={peers} onOther={id => change({ with: id })} />}
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

function Lead(props: { rows: readonly Row[]; bad: readonly Row[]; loading: boolean; down: readonly number[] }) {
  const { rows, bad } = props
  const first = bad[0]
  const absent = rows.filter(row => row.block.verdict === 'empty').length
  const what = first
    ? `Slot ${first.block.slots.findIndex(slot => slot.state === 'corrupt') === 0 ? 'A' : 'B'} of ${groupName(first.block.group)} on node-${first.node} is unreadable.`
    : rows.length === 0
      ? props.loading
        ? 'Reading the slots.'
        : 'No node shows its slots.'
      : absent === rows.length
        ? 'No group has written its superblock yet.'
        : absent === 0
          ? `All ${count(rows.length, 'pair')} of slots are whole.`
          : `Every slot that exists is whole; ${absent} of ${count(rows.length, 'pair')} were never written.`
  const why = first
    ? visible(first.block.why)
    : absent === rows.length && rows.length > 0
      ? 'A superblock is written when a view changes or a checkpoint is taken; a fresh group boots in view 0 without one.'
      : 'Two slots are written in turn, each replaced by an atomic rename: the one with the higher sequence wins.'
  const next = first
    ? 'Nothing writes to a damaged pair. Restore the slot from a copy, or wipe the node and let it refill.'
    : props.down.length > 0
      ? `${props.down.map(id => `node-${id}`).join(', ')} ${props.down.length === 1 ? 'does' : 'do'} not run: slots are read from the directory without it.`
      : 'Kill the primary on the cluster screen: the election writes view 1 into these slots before anybody votes.'
  return (
    <Now
      words={{
        tone: first ? 'bad' : 'plain',
        glyph: first ? 'refused' : absent === rows.length ? 'absent' : 'ok',
        colour: first ? 'danger' : absent === rows.length ? 'none' : 'ok',
        label: 'Both slots of every group',
        what,
        why,
        next,
      }}
    />
  )
}

const SLOT_COLUMNS: readonly ExportColumn<Row>[] = [
  { id: 'group', data: row => groupName(row.block.group) },
  { id: 'node', data: row => row.node },
  { id: 'verdict', data: row => row.block.verdict },
  { id: 'winner', data: row => row.block.winner },
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

function SlotTable(props: { rows: readonly Row[]; chosen: Row | undefined; onChoose: (row: Row) => void }) {
  const names = useQuery(queries.topics()).data
  const groups = [...new Set(props.rows.map(row => row.block.group))]
  return (
    <table className="table slots">
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
      {groups.map(group => {
        const rows = props.rows.filter(row => row.block.group === group)
        const name = group === METADATA ? '' : pathName(names, rows[0]?.block.key)
        return (
          <tbody key={group}>
            <tr className="group">
              <th colSpan={13} scope="rowgroup">
                <b>
                  {groupName(group)} {name}
                </b>
              </th>
            </tr>
            {rows.map(row => (
              <SlotRow key={row.node} row={row} chosen={row === props.chosen} onChoose={() => props.onChoose(row)} />
            ))}
          </tbody>
        )
      })}
    </table>
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
  const { node, block, stale } = props.row
  const verdict = VERDICT_LOOK[block.verdict]
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
