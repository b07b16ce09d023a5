/** Has the nodes tell every message of what the timeline shows, for as long as it is open on a cluster that runs. */
import { useEffect } from 'react'
import { useCell } from '../../data/cell.ts'
import { WATCHED_GROUPS_MAX, watchFlow } from '../../data/flow-watch.ts'
import { latest, sourceKind } from '../../data/store.ts'
import { isViewer, token } from '../../data/token.ts'
import { byGroup, METADATA } from '../../names.ts'
import type { FlowAsked } from './flow.ts'

/** Also while the view is paused or in the past: what happens meanwhile is stepped through later. */
export function useFlowWatch(group: string): FlowAsked {
  const recorded = useCell(sourceKind) !== 'LIVE'
  const known = useCell(token)
  const readOnly = useCell(latest, view => view.readOnly)
  const groups = useCell(latest, view => groupsOf(group, [...view.groups.keys()]))
  const of = useCell(latest, view => (group === 'all' ? Math.max(1, view.groups.size) : 1))
  // A node that has started anew knows nothing of what its former life was asked for.
  const lives = useCell(latest, view => [...view.nodes.values()].map(node => `${node.id} ${node.boot}`).join())
  const why = recorded
    ? 'as it was recorded'
    : readOnly
      ? 'a read-only console asks the nodes for no more'
      : known === undefined || isViewer(known)
        ? "only the operator's token may ask the nodes for all"
        : undefined
  // biome-ignore lint/correctness/useExhaustiveDependencies: other lives are asked anew
  useEffect(() => (why === undefined ? watchFlow(groups.split(' ')) : undefined), [why, groups, lives])
  return { why, groups: groups.split(' ').length, of }
}

function groupsOf(group: string, known: readonly string[]): string {
  if (group !== 'all') return group
  return [METADATA, ...known.filter(id => id !== METADATA).sort(byGroup)].slice(0, WATCHED_GROUPS_MAX).join(' ')
}
