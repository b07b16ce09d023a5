/**
 * Commands as data: the palette, the help sheet, the keyboard and the tests read this one list. A command says why it
 * cannot run now instead of vanishing.
 */

import type { NodeAction, ProcessState } from '../shared/inspection/api.ts'
import {
  ACTION_NAMES,
  actOnLink,
  actOnLoad,
  actOnNode,
  HOLD_VOTES,
  type LinkOrder,
  RELEASE_VOTES,
} from './data/actions.ts'
import { addBookmark } from './data/bookmarks.ts'
import { createCell } from './data/cell.ts'
import { askToReset, askToWipe, CLUSTER_SIZES } from './data/confirming.ts'
import { asOf, connection, paused, resumeView, retryNow, shown, sourceKind, togglePause } from './data/store.ts'
import { STEP_NAMES, type Step, step, togglePlay } from './data/time.ts'
import { isViewer, token } from './data/token.ts'
import type { Command } from './keys.ts'
import { flipTheme, setTheme } from './prefs.ts'
import { SCREENS, type ScreenPath } from './screens.ts'

export const paletteOpen = createCell(false)
export const helpOpen = createCell(false)
export const explainOpen = createCell(false)
export const logOpen = createCell(false)

export type Go = (to: { screen: ScreenPath } | { screen: 'node'; node: number }) => void

/** Which acts make sense for a process in a state. */
export const possibleActs: Readonly<Record<ProcessState, readonly NodeAction[]>> = {
  starting: ['kill', 'terminate'],
  running: ['kill', 'terminate', 'pause'],
  paused: ['kill', 'resume'],
  stopped: ['start', 'wipe'],
  crashed: ['start', 'wipe'],
  refused: ['start', 'wipe'],
}

const STEP_KEYS: readonly (readonly [Step, string, string])[] = [
  ['event', ',', '.'],
  ['message', '<', '>'],
  ['tick', '{', '}'],
  ['turn', '[', ']'],
]

const ALL_SCREENS: readonly { to: ScreenPath; name: string; key?: string }[] = SCREENS.flatMap<{
  to: ScreenPath
  name: string
  key?: string
}>(({ links }) => links)

export function commandList(go: Go): Command[] {
  const { view } = shown.get()
  const forbidden =
    sourceKind.get() !== 'LIVE'
      ? 'this is a recording'
      : asOf.get() !== undefined
        ? 'what is shown is in the past'
        : connection.get().state !== 'live'
          ? 'the console does not answer'
          : view.readOnly
            ? 'the console is read-only'
            : token.get() === undefined
              ? 'needs the token printed at start'
              : isViewer(token.get())
                ? "a viewer's token only looks"
                : undefined
  const list: Command[] = [
    ...ALL_SCREENS.map(
      ({ to, name, key }): Command => ({
        id: `go.${to.slice(1)}`,
        group: 'Go to',
        name,
        ...(key !== undefined && { key }),
        run: () => go({ screen: to }),
      }),
    ),
    { id: 'view.palette', group: 'View', name: 'Command palette', key: 'Mod+k', run: () => paletteOpen.set(true) },
    { id: 'view.explain', group: 'View', name: 'What the words mean', key: 'e', run: () => explainOpen.set(true) },
    { id: 'view.help', group: 'View', name: 'Shortcuts and help', key: '?', run: () => helpOpen.set(true) },
    {
      id: 'view.pause',
      group: 'View',
      name: paused.get() === undefined ? 'Pause view' : 'Resume view',
      key: ' ',
      run: togglePause,
    },
    ...STEP_KEYS.flatMap(([by, back, next]): Command[] => [
      {
        id: `time.back.${by}`,
        group: 'View',
        name: `Step back one ${STEP_NAMES[by]}`,
        key: back,
        run: () => step(-1, by),
      },
      {
        id: `time.next.${by}`,
        group: 'View',
        name: `Step on one ${STEP_NAMES[by]}`,
        key: next,
        run: () => step(1, by),
      },
    ]),
    {
      id: 'time.play',
      group: 'View',
      name: 'Let the moment move on, or stop it',
      key: 'p',
      run: togglePlay,
      blocked: asOf.get() === undefined ? 'nothing of the past is shown' : undefined,
    },
    { id: 'time.bookmark', group: 'View', name: 'Bookmark this moment', key: 'b', run: addBookmark },
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
        run: () => (action === 'wipe' ? askToWipe(node.id) : void actOnNode(node.id, action)),
        blocked: forbidden,
      })
    }
  }
  const link = (id: string, name: string, order: LinkOrder): number =>
    list.push({ id: `link.${id}`, group: 'Links', name, run: () => void actOnLink(order), blocked: forbidden })
  if (view.nodes.size > 1) {
    for (const { id } of view.nodes.values()) {
      link(`isolate.${id}`, `Isolate node-${id}`, { from: id, to: 'all', action: 'cut', body: { both: true } })
      link(`join.${id}`, `Heal node-${id}`, { from: id, to: 'all', action: 'heal', body: { both: true } })
    }
    link('heal', 'Heal every link', { from: 'all', to: 'all', action: 'heal' })
    link('votes.hold', 'Hold the votes', HOLD_VOTES)
    link('votes.release', 'Let all votes go', RELEASE_VOTES)
  }
  for (const nodes of CLUSTER_SIZES)
    list.push({
      id: `cluster.reset.${nodes}`,
      group: 'Nodes',
      name: `Start the cluster anew with ${nodes === 1 ? 'one node' : `${nodes} nodes`}`,
      run: () => askToReset(nodes),
      blocked: forbidden,
    })
  const state = view.load?.state ?? 'idle'
  const runs = state === 'running' || state === 'starting'
  const ending = state === 'stopping' || state === 'verifying' ? 'it reads back what was acknowledged' : undefined
  list.push({
    id: 'load.toggle',
    group: 'Load',
    name: runs ? 'Stop load' : 'Start load',
    run: () => void actOnLoad({ action: runs ? 'stop' : 'start' }),
    blocked: forbidden ?? ending,
  })
  return list
}
