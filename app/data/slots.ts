import type { NodeView } from '../../shared/inspection/view.ts'

/**
 * Whether somebody can show the slots and the log of a node: its process, or, where there is none, the console from the
 * directory. A node that refuses to boot is the one whose files are wanted.
 */
export function showsSlots(node: NodeView | undefined): boolean {
  const state = node?.process?.state
  return state !== undefined && state !== 'paused' && state !== 'starting'
}

/** Whether its process can be asked for what only it knows. */
export const answers = (node: NodeView | undefined): boolean => node?.process?.state === 'running'

/** What the process of a node does, or how it came to its end, as a word behind "is" or "was": `is paused`, `was killed`. */
export function processWords(node: NodeView | undefined): string {
  const process = node?.process
  switch (process?.state) {
    case undefined:
      return 'is not known yet'
    case 'stopped':
    case 'crashed':
      return process.exit === null
        ? 'was not started'
        : process.exit.requested === 'kill'
          ? 'was killed'
          : process.exit.requested === 'terminate'
            ? 'was stopped'
            : process.state === 'crashed'
              ? 'has crashed'
              : 'has ended'
    case 'refused':
      return 'refuses to boot'
    case 'paused':
      return 'is paused'
    case 'starting':
      return 'is starting'
    case 'running':
      return 'is running'
  }
}
