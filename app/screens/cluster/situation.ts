/**
 * The first sentence of the cluster screen: what is, why, and what comes next. Pure: from the view model and a time to
 * words. The gravest thing first: no process, no primary where the reader looks, no primary elsewhere, a node that is
 * not well, and only then that all is well.
 */
import {
  livenessOf,
  majorityOf,
  type PrimaryVerdict,
  primaryOf,
  replicaIds,
  standingOf,
} from '../../../shared/inspection/belief.ts'
import type { ClusterView, NodeView } from '../../../shared/inspection/view.ts'
import { groupName, METADATA } from '../../names.ts'
import { byGravity, type Place, sentence, type Trouble, troubleOf, troubleWords } from '../../standing-words.ts'
import { clockShort, count, duration, grouped } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'

/** Time until a timer of a replica in the group runs out, by name; undefined when it does not tick or is not known. */
export type TimerOf = (node: number, timer: string) => number | undefined

export function situationOf(
  view: ClusterView,
  groupId: string,
  nowMs: number,
  timerOf: TimerOf = () => undefined,
): NowWords {
  const ids = replicaIds(view)
  const label = groupId === METADATA ? 'Metadata group' : `Group ${groupName(groupId)}`
  if (ids.length === 0) {
    return {
      tone: 'plain',
      glyph: 'unknown',
      colour: 'none',
      label: 'Cluster',
      what: 'Waiting for the first word of the console.',
      why: 'The page has just opened its event stream.',
      next: 'Nodes appear as soon as the console names them.',
    }
  }
  const runs = ids.filter(id => isProcessAlive(view.nodes.get(id)))
  if (runs.length === 0) return nothingRuns(view, ids)
  const broken = brokenRule(view)
  if (broken) return broken
  const verdict = primaryOf(view, groupId, nowMs)
  if (verdict.kind === 'none') return noPrimary(view, groupId, label, verdict, ids, nowMs, timerOf)
  const others = [...view.groups.keys()].filter(id => id !== groupId && primaryOf(view, id, nowMs).kind === 'none')
  if (others.length > 0) return primaryElsewhere(view, others, verdict.node, label, nowMs)
  const unwell: Unwell[] = []
  for (const id of ids) {
    const standing = standingOf(view, groupId, id, nowMs)
    const trouble = troubleOf(view.nodes.get(id), standing)
    if (trouble !== undefined) unwell.push({ id, trouble, group: groupId, standing })
  }
  unwell.sort((one, other) => byGravity(one.trouble, other.trouble))
  if (unwell.length > 0) return oneUnwell(view, label, unwell, verdict, ids, nowMs)
  return allWell(view, groupId, label, verdict, ids, timerOf)
}

interface Unwell extends Place {
  readonly id: number
  readonly trouble: Trouble
}

/** Worse than any death: something was seen that may never be. */
function brokenRule(view: ClusterView): NowWords | undefined {
  for (const { group, broken } of view.groups.values()) {
    const [first] = broken ?? []
    if (first)
      return {
        tone: 'bad',
        glyph: 'fail',
        colour: 'danger',
        label: `Group ${groupName(group)}`,
        what: 'An invariant is broken.',
        why: sentence(`${first.words}, at ${clockShort(first.atMs)}`),
        next: 'Keep the recording of this run and the data directory: this is a fault of the engine or of the page.',
      }
  }
  return undefined
}

/** Above all else while the console does not answer: what the screen shows is old. */
export function disconnected(sinceMs: number, nowMs: number): NowWords {
  return {
    tone: 'bad',
    glyph: 'drop',
    colour: 'danger',
    label: 'Console',
    what: `Disconnected from the console for ${duration(Math.max(0, nowMs - sinceMs))}.`,
    why: `What is shown is what was known at ${clockShort(sinceMs)}; the nodes run on without the console.`,
    next: 'The page reconnects by itself and asks for everything anew.',
  }
}

const isProcessAlive = (node: NodeView | undefined): boolean => {
  const state = node?.process?.state
  return state === undefined
    ? node?.boot !== undefined
    : state === 'starting' || state === 'running' || state === 'paused'
}

const names = (ids: readonly number[]): string => ids.map(id => `node-${id}`).join(' and ')

function nothingRuns(view: ClusterView, ids: readonly number[]): NowWords {
  const refused = ids.find(id => view.nodes.get(id)?.process?.state === 'refused')
  const process = refused === undefined ? undefined : view.nodes.get(refused)?.process
  return {
    tone: 'bad',
    glyph: refused === undefined ? 'down' : 'refused',
    colour: 'danger',
    label: 'Cluster',
    what: 'No node runs.',
    why: process?.exit
      ? `node-${refused} refused to boot: ${process.exit.meaning}`
      : `All ${count(ids.length, 'process', 'processes')} ended or were never started.`,
    next: 'Start the nodes below; what was acknowledged on disk is read back at boot.',
  }
}

function noPrimary(
  view: ClusterView,
  groupId: string,
  label: string,
  verdict: Extract<PrimaryVerdict, { kind: 'none' }>,
  ids: readonly number[],
  nowMs: number,
  timerOf: TimerOf,
): NowWords {
  const group = view.groups.get(groupId)
  const starting = ids.filter(id => view.nodes.get(id)?.process?.state === 'starting')
  if (!group && starting.length > 0) {
    return {
      tone: 'recover',
      glyph: 'recover',
      colour: 'recover',
      label,
      what: `${names(starting)} ${starting.length === 1 ? 'is' : 'are'} starting.`,
      why: 'A node reads its data directory back before it speaks.',
      next: `A majority of ${majorityOf(ids.length)} settles in one view and serves.`,
    }
  }
  const since = verdict.last && nowMs - verdict.last.atMs > 0 ? ` for ${duration(nowMs - verdict.last.atMs)}` : ''
  const change = verdict.reason === 'view_change'
  return {
    tone: change ? 'change' : 'bad',
    glyph: change ? 'change' : 'down',
    colour: change ? 'change' : 'danger',
    label,
    what: `No primary${since}.`,
    why: sentence(verdict.words),
    next: nextWithout(verdict, ids, nowMs, view, timerOf),
  }
}

function nextWithout(
  verdict: Extract<PrimaryVerdict, { kind: 'none' }>,
  ids: readonly number[],
  nowMs: number,
  view: ClusterView,
  timerOf: TimerOf,
): string {
  const live = ids.filter(id => livenessOf(view.nodes.get(id), nowMs) === 'live')
  const soonest = (timer: string): string => {
    const times = live.map(id => timerOf(id, timer)).filter(time => time !== undefined)
    return times.length === 0 ? 'soon' : `in ${duration(Math.min(...times))}`
  }
  const needed = majorityOf(ids.length) - live.length
  // Whatever else is wrong: too few to elect anybody.
  if (needed > 0 && verdict.reason !== 'no_reports') return startMore(needed, verdict.missing)
  switch (verdict.reason) {
    case 'no_reports':
      return 'Wait for a node to answer, or start one.'
    case 'no_quorum':
      return startMore(Math.max(1, needed), verdict.missing)
    case 'primary_paused':
      return `Resume node-${verdict.last?.node ?? verdict.missing[0]}, or the others elect ${soonest('normalHeartbeat')}.`
    case 'primary_down':
    case 'primary_silent':
      return `The heartbeat timer of a backup runs out ${soonest('normalHeartbeat')}; then the others elect.`
    case 'view_change':
      return `A new primary leads once ${majorityOf(ids.length)} of ${ids.length} voted, or the next view is tried ${soonest('viewChangeStatus')}.`
    case 'disagree':
      return 'The next heartbeat or view change settles it.'
  }
}

const startMore = (needed: number, missing: readonly number[]): string =>
  `Start ${names(missing.slice(0, needed))} for a quorum; until then writes are refused.`

function primaryElsewhere(
  view: ClusterView,
  others: readonly string[],
  leads: number,
  label: string,
  nowMs: number,
): NowWords {
  const first = others[0]!
  const verdict = primaryOf(view, first, nowMs)
  return {
    tone: 'change',
    glyph: 'change',
    colour: 'change',
    label: `${count(others.length, 'group')} of ${view.groups.size}`,
    what: `No primary in ${others.slice(0, 3).map(groupName).join(', ')}${others.length > 3 ? ` and ${others.length - 3} more` : ''}.`,
    why: verdict.kind === 'none' ? sentence(verdict.words) : '',
    next: `${label} is served by node-${leads} meanwhile.`,
  }
}

function oneUnwell(
  view: ClusterView,
  label: string,
  [worst, ...others]: readonly Unwell[],
  verdict: Extract<PrimaryVerdict, { kind: 'primary' }>,
  ids: readonly number[],
  nowMs: number,
): NowWords {
  const { id, trouble } = worst!
  const words = troubleWords(view, id, trouble, nowMs, worst)
  const serves = `node-${verdict.node} leads view ${verdict.view} with ${verdict.agreeing.length} of ${ids.length}; writes are served.`
  const more = others.length > 0 ? `${count(others.length, 'other node')} not well either.` : ''
  return { ...words, label, why: [words.why, serves, more].filter(Boolean).join(' ') }
}

function allWell(
  view: ClusterView,
  groupId: string,
  label: string,
  verdict: Extract<PrimaryVerdict, { kind: 'primary' }>,
  ids: readonly number[],
  timerOf: TimerOf,
): NowWords {
  const cell = view.groups.get(groupId)?.replicas.get(verdict.node)
  const beat = timerOf(verdict.node, 'commitMessage')
  const patience = ids.filter(id => id !== verdict.node).map(id => timerOf(id, 'normalHeartbeat'))
  const least = patience.some(time => time !== undefined)
    ? Math.min(...patience.map(time => time ?? Number.POSITIVE_INFINITY))
    : undefined
  const solo = ids.length === 1
  return {
    tone: 'good',
    glyph: 'ok',
    colour: 'ok',
    label,
    what: solo
      ? `node-${verdict.node} serves alone in view ${verdict.view}.`
      : `node-${verdict.node} leads view ${verdict.view}; all ${ids.length} nodes agree.`,
    why: cell
      ? `Op ${grouped(cell.op)}, committed to ${grouped(cell.commitMax)}${solo ? '' : '; no backup lacks what was committed a second ago'}.`
      : '',
    next: solo
      ? 'There is no other copy: a solo node answers to its own disk.'
      : beat === undefined
        ? 'A heartbeat from the primary keeps the backups quiet.'
        : `${beat > 0 ? `Heartbeat due in ${duration(beat)}` : 'A heartbeat is due'}${least === undefined ? '' : `; a backup would doubt after ${duration(least)}`}.`,
  }
}
