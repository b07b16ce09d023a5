/**
 * From a kill of the live cluster to one that can be run again: the story as a script of the scenario language, and the seed
 * of the simulated world whose run comes nearest to what was seen.
 */
import { METADATA_GROUP } from '../protocol/groups.ts'
import type { Action, Scenario } from '../scenario/language.ts'
import { atRest, EAGER, payloads, readAll, runs, send, started, waitFor } from './building.ts'
import type { Recording } from './recording.ts'

/** What was seen of a kill, in the metadata group. Null: it was not seen, or has not come about yet. */
export interface SeenKill {
  readonly nodes: number
  readonly node: number
  /** Before the kill. */
  readonly view: number
  readonly primary: number | null
  readonly leader: number | null
  readonly newView: number | null
  readonly electedAfterMs: number | null
  readonly backAfterMs: number | null
}

export type KillOutcome = Pick<SeenKill, 'leader' | 'newView' | 'electedAfterMs'>

/** More elections than this in front of the kill would only make the script long. */
const VIEWS_MAX = 6
const KILL = 'the kill'
const BEFORE = payloads('before', 5)
const LEADS = { kind: 'view_started', group: 'metadata' } as const

/** The same story: as many views are passed, the same node is killed, and comes back if it came back. */
export function killScript(kill: SeenKill): Scenario {
  const { nodes, node, view, primary, backAfterMs } = kill
  // Roles go round with the view, so fewer rounds lead to the same ones.
  const views = nodes === 1 ? 0 : view > VIEWS_MAX ? nodes + (view % nodes) : view
  const elects = nodes > 1 && node === primary
  return {
    id: 'KILL',
    title: `node-${node} is killed in view ${view}`,
    cluster: { nodes },
    steps: [
      ...started(EAGER),
      ...Array.from({ length: views }, (_, round) => passView(round)).flat(),
      ...BEFORE.map(payload => send([payload])),
      { do: 'baseline', name: KILL },
      { do: 'kill', nodes: [node] },
      ...(elects ? [waitFor('another node leads', { event: { ...LEADS, since: KILL } })] : []),
      ...(backAfterMs === null && nodes > 1 ? [] : [start(node), waitFor('the killed node is back', runs(node))]),
      ...(nodes > 1 ? [send(['after'])] : []),
      atRest('all agree'),
      readAll('read'),
    ],
    verdict: [
      {
        what: 'every acknowledged message is read back, in order',
        that: { outcome: 'read', payloads: nodes > 1 ? [...BEFORE, 'after'] : BEFORE },
      },
    ],
  }
}

const start = (node: number): Action => ({ do: 'start', nodes: [node] })

const passView = (round: number): Action[] => [
  { do: 'baseline', name: `view ${round}` },
  { do: 'remember', name: 'leader', node: { primaryOf: 'metadata' } },
  { do: 'kill', nodes: [{ named: 'leader' }] },
  waitFor('another node leads', { event: { ...LEADS, since: `view ${round}` } }),
  { do: 'start', nodes: [{ named: 'leader' }] },
  waitFor('the killed node is back', runs({ named: 'leader' })),
  atRest('all agree'),
]

/** What a run of the script came to. */
export function killOutcome(script: Scenario, { entries }: Recording): KillOutcome {
  const key = script.steps.findIndex(step => step.do === 'baseline' && step.name === KILL)
  const from = entries.findIndex(entry => entry.is === 'step' && entry.key === String(key))
  const behind = from < 0 ? [] : entries.slice(from)
  const led = behind.find(
    entry => entry.is === 'event' && entry.event.kind === LEADS.kind && entry.event.group === METADATA_GROUP.toString(),
  )
  if (led?.is !== 'event') return { leader: null, newView: null, electedAfterMs: null }
  const { node, view, data } = led.event
  const newView = Number(data.view ?? view ?? Number.NaN)
  return {
    leader: node,
    newView: Number.isNaN(newView) ? null : newView,
    electedAfterMs: Math.round(led.atMs - behind[0]!.atMs),
  }
}

const OTHER_LEADER_MS = 60_000
const VIEW_APART_MS = 10_000

/** How far a run is from what was seen: another leader counts most, then a view, then the time. */
export function distanceOf(seen: SeenKill, run: KillOutcome): number {
  const leader = seen.leader === run.leader ? 0 : OTHER_LEADER_MS
  const view = seen.newView === null || run.newView === null ? 0 : Math.abs(seen.newView - run.newView) * VIEW_APART_MS
  const time =
    seen.electedAfterMs === null || run.electedAfterMs === null ? 0 : Math.abs(seen.electedAfterMs - run.electedAfterMs)
  return leader + view + time
}
