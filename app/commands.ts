/**
 * Commands as data: the palette, the help sheet, the keyboard and the tests read this one list. A command says why it
 * cannot run now instead of vanishing.
 */

import type { NodeAction, ProcessState } from '../shared/inspection/api.ts'
import { ACTION_NAMES, actOnLoad, actOnNode } from './data/actions.ts'
import { createCell } from './data/cell.ts'
import { paused, resumeView, retryNow, shown, stepMoment, togglePause } from './data/store.ts'
import { token } from './data/token.ts'
import type { Command } from './keys.ts'
import { flipTheme, setTheme } from './prefs.ts'

export const paletteOpen = createCell(false)
export const helpOpen = createCell(false)
export const logOpen = createCell(false)

export type Go = (
  to:
    | { screen: 'cluster' | 'partitions' | 'superblocks' | 'forwards' | 'recoveries' | 'settings' }
    | { screen: 'node'; node: number },
) => void

/** Which acts make sense for a process in a state. */
export const possibleActs: Readonly<Record<ProcessState, readonly NodeAction[]>> = {
  starting: ['kill', 'terminate'],
  running: ['kill', 'terminate', 'pause'],
  paused: ['kill', 'resume'],
  stopped: ['start'],
  crashed: ['start'],
  refused: ['start'],
}

export function commandList(go: Go): Command[] {
  const { view } = shown.get()
  const forbidden = view.readOnly
    ? 'the console is read-only'
    : token.get() === undefined
      ? 'needs the token printed at start'
      : undefined
  const list: Command[] = [
    { id: 'go.cluster', group: 'Go to', name: 'Cluster', key: '1', run: () => go({ screen: 'cluster' }) },
    { id: 'go.partitions', group: 'Go to', name: 'Partitions', key: '2', run: () => go({ screen: 'partitions' }) },
    { id: 'go.superblocks', group: 'Go to', name: 'Superblocks', key: '3', run: () => go({ screen: 'superblocks' }) },
    { id: 'go.forwards', group: 'Go to', name: 'Forwards', key: '4', run: () => go({ screen: 'forwards' }) },
    { id: 'go.recoveries', group: 'Go to', name: 'Recoveries', key: '5', run: () => go({ screen: 'recoveries' }) },
    { id: 'go.settings', group: 'Go to', name: 'Settings', key: '9', run: () => go({ screen: 'settings' }) },
    { id: 'view.palette', group: 'View', name: 'Command palette', key: 'Mod+k', run: () => paletteOpen.set(true) },
    { id: 'view.help', group: 'View', name: 'Shortcuts and help', key: '?', run: () => helpOpen.set(true) },
    {
      id: 'view.pause',
      group: 'View',
      name: paused.get() === undefined ? 'Pause view' : 'Resume view',
      key: ' ',
      run: togglePause,
    },
    { id: 'time.back', group: 'View', name: 'Step back one event', key: ',', run: () => stepMoment(-1, false) },
    { id: 'time.next', group: 'View', name: 'Step forward one event', key: '.', run: () => stepMoment(1, false) },
    {
      id: 'time.turn.back',
      group: 'View',
      name: 'Back to the last change of view or process',
      key: '[',
      run: () => stepMoment(-1, true),
    },
    {
      id: 'time.turn.next',
      group: 'View',
      name: 'On to the next change of view or process',
      key: ']',
      run: () => stepMoment(1, true),
    },
    { id: 'time.live', group: 'View', name: 'Go live', key: 'g', run: resumeView },
    { id: 'view.log', group: 'View', name: 'Open or close the log', key: 'l', run: () => logOpen.set(open => !open) },
    { id: 'view.theme', group: 'View', name: 'Switch theme', key: 't', run: flipTheme },
    { id: 'view.theme.system', group: 'View', name: 'Theme as the system says', run: () => setTheme('system') },
    { id: 'view.retry', group: 'View', name: 'Reconnect now', run: retryNow },
  ]
  for (const node of view.nodes.values()) {
    list.push({
      id: `node.${node.id}.open`,
      group: 'Nodes',
      name: `Open node-${node.id}`,
      run: () => go({ screen: 'node', node: node.id }),
    })
    for (const action of node.process ? possibleActs[node.process.state] : []) {
      list.push({
        id: `node.${node.id}.${action}`,
        group: 'Nodes',
        name: `${ACTION_NAMES[action]} node-${node.id}`,
        run: () => void actOnNode(node.id, action),
        blocked: forbidden,
      })
    }
  }
  const state = view.load?.state ?? 'idle'
  const runs = state === 'running' || state === 'starting'
  list.push({
    id: 'load.toggle',
    group: 'Load',
    name: runs ? 'Stop load' : 'Start load',
    run: () => void actOnLoad({ action: runs ? 'stop' : 'start' }),
    blocked: forbidden,
  })
  return list
}
