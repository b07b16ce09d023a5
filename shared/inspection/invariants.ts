/**
 * What may never be seen, whatever fails: a replica whose view or commit falls within one life, and two primaries in one
 * view (spec consensus.md §1). Watched while reports are folded, so that a moment of the past has exactly what had been
 * seen by then. Pure.
 */
import type { GroupView, ReplicaCell } from './view.ts'

export type BrokenRule = 'commit' | 'view' | 'primary'

export interface Broken {
  readonly rule: BrokenRule
  readonly node: number
  readonly atMs: number
  readonly words: string
}

/** Kept per group: the first ones say what went wrong, and what follows from it need not fill the page. */
export const BROKEN_MAX = 8

/** What `cell`, the newest word of its replica, breaks against what is known of its group; undefined when nothing. */
export function brokenBy(group: GroupView, cell: ReplicaCell, atMs: number): Broken | undefined {
  const { node } = cell
  const broken = (rule: BrokenRule, words: string): Broken => ({ rule, node, atMs, words })
  const old = group.replicas.get(node)
  if (old && old.boot === cell.boot) {
    if (cell.commitMax < old.commitMax)
      return broken('commit', `node-${node} knew commit ${old.commitMax} and then only ${cell.commitMax}`)
    if (cell.view < old.view)
      return broken('view', `node-${node} was in view ${old.view} and then in view ${cell.view}`)
    if (cell.viewDurable < old.viewDurable)
      return broken('view', `node-${node} had view ${old.viewDurable} on disk and then view ${cell.viewDurable}`)
  }
  if (leads(cell))
    for (const other of group.replicas.values())
      if (other.node !== node && leads(other) && other.view === cell.view)
        return broken('primary', `node-${other.node} and node-${node} both led view ${cell.view}`)
  return undefined
}

const leads = (cell: ReplicaCell): boolean => cell.role === 'primary' && cell.status === 'normal'
