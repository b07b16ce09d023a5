/**
 * Groups that only nodes speak of which are not heard: their topic was deleted since, or those who run do not know of it
 * yet. Last words support nothing, so such a group is named apart and not counted among those without a primary. Pure.
 */
import { livenessOf, replicaIds } from '../../../shared/inspection/belief.ts'
import type { ClusterView, GroupView } from '../../../shared/inspection/view.ts'

export const heardNodes = (view: ClusterView, nowMs: number): number[] =>
  replicaIds(view).filter(id => livenessOf(view.nodes.get(id), nowMs) === 'live')

/** The nodes whose last words a group is known by; undefined where somebody who is heard reports it, or nobody is heard. */
export function leftOverOf(heard: readonly number[], group: GroupView): readonly number[] | undefined {
  if (heard.length === 0 || heard.some(id => group.replicas.has(id))) return undefined
  return [...group.replicas.keys()]
}
