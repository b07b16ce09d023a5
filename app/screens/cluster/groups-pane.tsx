/** All groups of both planes, a pair of columns a node. The row of the group that the address selects is marked. */

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef } from 'react'
import { livenessOf, primaryOf, replicaIds, standingOf } from '../../../shared/inspection/belief.ts'
import type { ClusterView, GroupView } from '../../../shared/inspection/view.ts'
import { queries } from '../../data/queries.ts'
import { byGroup, groupName, METADATA, pathName } from '../../names.ts'
import { divergenceOf } from '../../planes.ts'
import { useNowSeconds } from '../../ui/age.tsx'
import { count, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Spacer } from '../../ui/spacer.tsx'
import { State } from '../../ui/state.tsx'
import { nodeState, verdictLook } from '../../ui/states.ts'
import { TableExport } from '../../ui/table-export.tsx'

const ROW = 26

export default function GroupsPane(props: { view: ClusterView; group: string; onGroup: (group: string) => void }) {
  const { view } = props
  const now = useNowSeconds()
  const names = useQuery(queries.topics()).data
  const ids = replicaIds(view)
  const groups = [...view.groups.values()].sort((a, b) => byGroup(a.group, b.group))
  const verdicts = groups.map(group => primaryOf(view, group.group, now))
  const served = verdicts.filter(verdict => verdict.kind === 'primary').length
  const unknown = verdicts.filter(verdict => verdict.kind === 'none' && verdict.reason === 'no_reports').length
  const waits = groups.length - served - unknown
  const divergence = divergenceOf(view, now)
  const box = useRef<HTMLElement>(null)
  const rows = useVirtualizer({
    count: groups.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 8,
  })
  const items = rows.getVirtualItems()
  const before = items[0]?.start ?? 0
  const after = items.length > 0 ? rows.getTotalSize() - items.at(-1)!.end : 0
  return (
    <Pane
      title="Groups"
      label={`${count(groups.length, 'group')}, ${served} served${waits > 0 ? `, ${waits} without a primary` : ''}${unknown > 0 ? `, ${unknown} not known` : ''}`}
      className="p-groups"
      testId="groups"
      actions={
        <>
          <span className="push" />
          {divergence.metadata && divergence.elsewhere.length > 0 && (
            <Link to="/forwards" className="chip diverged" data-testid="planes-diverge">
              <span className="differs" /> planes diverge: {count(divergence.elsewhere.length, 'group')} not led by
              node-
              {divergence.metadata.node}
            </Link>
          )}
          <TableExport
            name="groups"
            rows={groups}
            columns={[
              { id: 'group', data: group => groupName(group.group) },
              { id: 'name', data: group => pathName(names, group.key) ?? '' },
              ...ids.flatMap(id => [
                { id: `node${id}.view`, data: (group: (typeof groups)[number]) => group.replicas.get(id)?.view },
                { id: `node${id}.op`, data: (group: (typeof groups)[number]) => group.replicas.get(id)?.op },
                {
                  id: `node${id}.commitMin`,
                  data: (group: (typeof groups)[number]) => group.replicas.get(id)?.commitMin,
                },
                { id: `node${id}.status`, data: (group: (typeof groups)[number]) => group.replicas.get(id)?.status },
              ]),
            ]}
          />
        </>
      }
    >
      <Scroll ref={box} name="Groups">
        <table className="table groups">
          <thead>
            <tr>
              <th scope="col">Group</th>
              <th scope="col">Name</th>
              {ids.map(id => (
                <HeadPair key={id} id={id} />
              ))}
              <th scope="col" className="split">
                Status
              </th>
            </tr>
          </thead>
          <tbody>
            <Spacer height={before} />
            {items.map(item => {
              const group = groups[item.index]!
              return (
                <GroupRow
                  key={group.group}
                  view={view}
                  group={group}
                  ids={ids}
                  now={now}
                  name={group.group === METADATA ? 'streams, topics, users' : (pathName(names, group.key) ?? '')}
                  selected={group.group === props.group}
                  onSelect={() => props.onGroup(group.group)}
                />
              )
            })}
            <Spacer height={after} />
          </tbody>
        </table>
      </Scroll>
    </Pane>
  )
}

function HeadPair({ id }: { id: number }) {
  return (
    <>
      <th scope="col" className="split">
        node-{id}
      </th>
      <th scope="col" className="n">
        applied
      </th>
    </>
  )
}

function GroupRow(props: {
  view: ClusterView
  group: GroupView
  ids: readonly number[]
  now: number
  name: string
  selected: boolean
  onSelect: () => void
}) {
  const { view, group, now } = props
  const verdict = primaryOf(view, group.group, now)
  let most = 0n
  for (const cell of group.replicas.values()) if (cell.commitMin > most) most = cell.commitMin
  return (
    <tr
      className="pick"
      aria-selected={props.selected}
      onClick={props.onSelect}
      data-testid={`group-${groupName(group.group)}`}
    >
      <th scope="row" className="mono">
        <button type="button" className="pick-btn" aria-pressed={props.selected}>
          {groupName(group.group)}
        </button>
      </th>
      <td className="ellipsis">{props.name}</td>
      {props.ids.map(id => {
        const cell = group.replicas.get(id)
        const standing = standingOf(view, group.group, id, now)
        const look = nodeState(view, group.group, id, now)
        const old = livenessOf(view.nodes.get(id), now) === 'live' ? '' : ' old'
        return (
          <CellPair
            key={id}
            old={old}
            glyph={
              <Glyph
                name={look.glyph}
                state={look.colour}
                label={standing.kind === 'silent' ? look.word : standing.words}
              />
            }
            view={cell ? `v${cell.view}` : ''}
            applied={cell ? grouped(cell.commitMin) : ''}
            differs={cell !== undefined && standing.kind === 'behind'}
          />
        )
      })}
      <td className="split">
        <State look={verdictLook(verdict)} />
      </td>
    </tr>
  )
}

function CellPair(props: { old: string; glyph: React.ReactNode; view: string; applied: string; differs: boolean }) {
  return (
    <>
      <td className={`split${props.old}`}>
        {props.glyph} <span className="num">{props.view}</span>
      </td>
      <td className={`n${props.old}${props.differs ? ' differs' : ''}`}>{props.applied}</td>
    </>
  )
}
