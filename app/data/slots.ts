import type { NodeView } from '../../shared/inspection/view.ts'

/**
 * Whether somebody can show the slots of a node: its process, or, where there is none, the console from the directory. A
 * node that refuses to boot is the one whose slots are wanted.
 */
export function showsSlots(node: NodeView | undefined): boolean {
  const state = node?.process?.state
  return state !== undefined && state !== 'paused' && state !== 'starting'
}
