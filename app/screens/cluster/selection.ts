/** Which group and node the cluster screen shows: from the address, else the first that exists. */
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import type { ClusterView } from '../../../shared/inspection/view.ts'
import { useCell } from '../../data/cell.ts'
import { shown } from '../../data/store.ts'
import { byGroup, METADATA } from '../../names.ts'
import type { Search } from '../../search.ts'

export type Plane = 'metadata' | 'partitions'

const route = getRouteApi('/cluster')

export const partitionGroups = (view: ClusterView): string[] =>
  [...view.groups.values()]
    .filter(group => group.plane === 'partition')
    .map(group => group.group)
    .sort(byGroup)

export function useSelection() {
  const search: Search<'cluster'> = route.useSearch()
  const navigate = useNavigate()
  const view = useCell(shown, state => state.view)
  const plane: Plane =
    search.plane ?? (search.group !== undefined && search.group !== METADATA ? 'partitions' : 'metadata')
  const groups = partitionGroups(view)
  const group =
    plane === 'metadata' ? METADATA : search.group !== undefined && search.group !== METADATA ? search.group : groups[0]
  const change = (patch: Partial<Record<keyof Search<'cluster'>, string | undefined>>): void =>
    void navigate({ to: '/cluster', search: (old: Record<string, unknown>) => ({ ...old, ...patch }) as never })
  return { search, plane, group, groups, change }
}
