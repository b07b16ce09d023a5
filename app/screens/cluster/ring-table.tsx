/** The ring in words, for whoever reads tables better than pictures. */
import { livenessOf, replicaIds, standingOf } from '../../../shared/inspection/belief.ts'
import type { ClusterView } from '../../../shared/inspection/view.ts'
import { useNowSeconds } from '../../ui/age.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { State } from '../../ui/state.tsx'
import { nodeState } from '../../ui/states.ts'

export default function RingTable({ view, group }: { view: ClusterView; group: string }) {
  const now = useNowSeconds()
  const ids = replicaIds(view)
  const cellOf = (id: number) => view.groups.get(group)?.replicas.get(id)
  return (
    <DataTable
      name="ring"
      testId="ring-table"
      rows={ids}
      rowKey={String}
      rowClass={id => (livenessOf(view.nodes.get(id), now) === 'live' ? undefined : 'old')}
      empty="No node is known yet."
      columns={[
        { id: 'node', head: 'Node', names: true, data: id => id, cell: id => `node-${id}` },
        {
          id: 'state',
          head: 'State',
          data: id => nodeState(view, group, id, now).word,
          cell: id => <State look={nodeState(view, group, id, now)} />,
        },
        {
          id: 'view',
          head: 'view',
          align: 'n',
          data: id => cellOf(id)?.view,
          cell: id => (cellOf(id) ? `v${cellOf(id)!.view}` : ''),
        },
        { id: 'op', head: 'op', align: 'n', data: id => cellOf(id)?.op },
        { id: 'commit', head: 'commit', align: 'n', data: id => cellOf(id)?.commitMax },
        { id: 'behind', head: 'behind', align: 'n', data: id => standingOf(view, group, id, now).gap },
        {
          id: 'links',
          head: 'Linked to',
          data: id => linksOf(view.nodes.get(id)?.snapshot?.peers ?? []),
        },
      ]}
    />
  )
}

/** `1, 2, not 3`: the peers that the node says it is connected to, and those that it is not. */
function linksOf(peers: readonly { readonly replica: number; readonly connected: boolean }[]): string {
  const ids = (connected: boolean): number[] =>
    peers.filter(peer => peer.connected === connected).map(peer => peer.replica)
  return [...ids(true), ...ids(false).map(id => `not ${id}`)].join(', ')
}
