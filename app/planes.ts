/**
 * Where the two planes disagree about who leads. Clients find a node by the metadata plane's roster; a partition group
 * has a primary of its own, and every write to it that follows the roster takes one hop more.
 */
import { primaryOf } from '../shared/inspection/belief.ts'
import type { ClusterView } from '../shared/inspection/view.ts'
import { byGroup, METADATA } from './names.ts'

export interface Divergence {
  /** Who leads the metadata group; undefined while nobody does. */
  readonly metadata: { readonly node: number; readonly view: number } | undefined
  /** Partition groups that another node leads. */
  readonly elsewhere: readonly { readonly group: string; readonly node: number; readonly view: number }[]
  /** Partition groups that somebody leads. */
  readonly led: number
}

export function divergenceOf(view: ClusterView, nowMs: number): Divergence {
  const metadata = primaryOf(view, METADATA, nowMs)
  const led: { group: string; node: number; view: number }[] = []
  for (const group of view.groups.values()) {
    if (group.plane !== 'partition') continue
    const verdict = primaryOf(view, group.group, nowMs)
    if (verdict.kind === 'primary') led.push({ group: group.group, node: verdict.node, view: verdict.view })
  }
  led.sort((a, b) => byGroup(a.group, b.group))
  return {
    metadata: metadata.kind === 'primary' ? { node: metadata.node, view: metadata.view } : undefined,
    elsewhere: metadata.kind === 'primary' ? led.filter(item => item.node !== metadata.node) : [],
    led: led.length,
  }
}

/** One sentence; undefined when there is nothing to compare. */
export function divergenceWords(found: Divergence, names: (group: string) => string): string | undefined {
  const { metadata, elsewhere, led } = found
  if (!metadata || led === 0) return undefined
  if (elsewhere.length === 0)
    return `Both planes are led by node-${metadata.node}: a client that follows the roster knocks on the right door.`
  const first = elsewhere
    .slice(0, 3)
    .map(item => `${names(item.group)} by node-${item.node} (v${item.view})`)
    .join(', ')
  const more = elsewhere.length > 3 ? ` and ${elsewhere.length - 3} more` : ''
  return `The planes diverge: metadata is led by node-${metadata.node} (v${metadata.view}), ${first}${more}. A write that follows the roster is forwarded.`
}
