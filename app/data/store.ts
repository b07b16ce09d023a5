/**
 * What this tab knows. The stream's messages wait until the next frame and are folded there all at once, so that a burst
 * costs one render. "Pause view" freezes what is shown; the fold and the ring go on underneath, and a count says how much
 * waits. All times are by the console's clock.
 */

import type { StreamMessage } from '../../shared/inspection/api.ts'
import { fold } from '../../shared/inspection/fold.ts'
import { kindSpec } from '../../shared/inspection/kinds.ts'
import { type ClusterView, EMPTY_VIEW, msOf } from '../../shared/inspection/view.ts'
import { createCell } from './cell.ts'
import { onFrame } from './frame.ts'
import { HistoryOrder } from './history-order.ts'
import { recordLag } from './lag.ts'
import { foldRecovery, observeRecovery, type Recovery } from './recoveries.ts'
import { EventRing } from './ring.ts'
import type { Connection, Source, Stream } from './source.ts'

/** Some minutes of a cluster at work, some thousand steps back. */
const MOMENTS_MAX = 2_400
/** In a burst of more facts than this in one batch, the batch is one moment. */
const BURST_FACTS = 16
/** A picture at least this often, so that a scrub over quiet time finds ages that fit. */
const MOMENT_STEP_MS = 1_000
const TURNING = new Set([
  'view_started',
  'view_change_started',
  'view_adopted',
  'process_exited',
  'process_started',
  'process_paused',
  'process_resumed',
])
const moments: Moment[] = []

const RECOVERIES_KEY = 'quorumscope.recoveries'
/** Ages are printed to the second; four steps a second keep them honest without flicker. */
const CLOCK_STEP_MS = 250
/** Below this, browser and console share a clock and the difference is the way of the message. */
const SKEW_MIN_MS = 1500

export interface Shown {
  readonly view: ClusterView
  /** Ring ordinals below this are part of the picture. */
  readonly until: number
}
/** The whole picture after one event: the fold shares what did not change, so a picture costs little. */
export interface Moment extends Shown {
  readonly atMs: number
  /** A view changed, or a process ended or started. */
  readonly turning: boolean
}
export interface Paused {
  readonly atMs: number
  readonly events: number
}

export const ring = new EventRing()
export const latest = createCell<ClusterView>(EMPTY_VIEW)
export const shown = createCell<Shown>({ view: EMPTY_VIEW, until: 0 })
export const paused = createCell<Paused | undefined>(undefined)
/** The moment that is shown instead of the present; only while the view is paused. */
export const asOf = createCell<Moment | undefined>(undefined)
export const connection = createCell<Connection>({ state: 'connecting' })
/** Now by the console's clock; `viewNow` stands still while the view is paused. */
export const realNow = createCell<number>(Date.now())
export const viewNow = createCell<number>(Date.now())
/** Faults and their stopwatches, newest first, kept as long as the tab. */
export const recoveries = createCell<readonly Recovery[]>(recalled())
/** Way of the newest batch from the console to this page. */
export const delayMs = createCell<number | undefined>(undefined)

function recalled(): readonly Recovery[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(RECOVERIES_KEY) ?? '[]')
    return Array.isArray(kept) ? (kept as readonly Recovery[]) : []
  } catch {
    return []
  }
}
function keepRecoveries(runs: readonly Recovery[]): void {
  if (runs === recoveries.get()) return
  recoveries.set(runs)
  try {
    sessionStorage.setItem(RECOVERIES_KEY, JSON.stringify(runs))
  } catch {
    // Without storage they last until the next reload.
  }
}

let skewMs = 0
let leastDelta = Number.POSITIVE_INFINITY
export const consoleNow = (): number => Date.now() - skewMs

function learnSkew(consoleMs: number): void {
  leastDelta = Math.min(leastDelta, Date.now() - consoleMs)
  skewMs = Math.abs(leastDelta) > SKEW_MIN_MS || leastDelta < 0 ? leastDelta : 0
}

/** What a message brings that questions must be asked again for. */
export type Listener = (message: StreamMessage) => void

let waiting: StreamMessage[] = []
const order = new HistoryOrder()
/** History follows the greeting at once; longer than this, and the snapshots that wait for it are more worth. */
const HOLD_MS = 500
let holdTimer = 0
let listeners: Listener[] = []
let stream: Stream | undefined
/** What the console had when it greeted us: events up to here are history, and say nothing about delay. */
let historySeq = 0

export function watch(source: Source, onMessage: Listener): void {
  listeners = [onMessage]
  const step = (): void => {
    const now = consoleNow()
    realNow.set(now)
    if (paused.get() === undefined) viewNow.set(now)
  }
  window.setInterval(step, CLOCK_STEP_MS)
  document.addEventListener('visibilitychange', step)
  stream = source.open(
    {
      message(message) {
        waiting.push(message)
        onFrame('data', apply)
      },
      connection: state => connection.set(state),
    },
    () => (latest.get().seq > 0 ? latest.get().seq : undefined),
  )
}

export const retryNow = (): void => stream?.retryNow()

function apply(): void {
  const messages = waiting
  waiting = []
  const receivedMs = Date.now()
  let view = latest.get()
  let oldest: number | undefined
  let runs = recoveries.get()
  const folded: StreamMessage[] = []
  const foldOne = (message: StreamMessage): void => {
    folded.push(message)
    if (message.event === 'hello' || message.event === 'heartbeat') learnSkew(msOf(message.data.wallUs))
    // The console restarted: its sequences and what it holds begin anew, and so does what we believe.
    if (message.event === 'hello' && view.run !== undefined && view.run !== message.data.run)
      view = { ...EMPTY_VIEW, load: view.load }
    if (message.event === 'hello') historySeq = message.data.seq
    if (message.event === 'batch') {
      for (const item of message.data) {
        ring.push(item, receivedMs)
        if (!('fromSeq' in item)) runs = foldRecovery(runs, item)
        if ('receivedWallUs' in item && item.receivedWallUs !== undefined && (item.consoleSeq ?? 0) > historySeq) {
          const at = msOf(item.receivedWallUs)
          oldest = oldest === undefined ? at : Math.min(oldest, at)
        }
      }
    } else if (message.event === 'gap') ring.push(message.data, receivedMs)
    if (message.event === 'batch') view = foldMoments(view, message.data, ring.next - message.data.length)
    else view = fold(view, message)
  }
  for (const message of messages) {
    // Another run of the console counts anew.
    const known = message.event === 'hello' && view.run !== undefined && view.run !== message.data.run ? 0 : view.seq
    for (const item of order.next(message, known)) foldOne(item)
  }
  if (order.holds && holdTimer === 0) {
    holdTimer = window.setTimeout(() => {
      holdTimer = 0
      waiting.unshift(...order.release())
      onFrame('data', apply)
    }, HOLD_MS)
  }
  latest.set(view)
  const now = consoleNow()
  realNow.set(now)
  keepRecoveries(observeRecovery(runs, view, now))
  if (historySeq > 0 && view.seq >= historySeq && now - (moments.at(-1)?.atMs ?? 0) >= MOMENT_STEP_MS)
    pushMoment({ view, until: ring.next, atMs: now, turning: false })
  if (paused.get() === undefined) {
    viewNow.set(now)
    shown.set({ view, until: ring.next })
  }
  for (const message of folded) for (const listener of listeners) listener(message)
  if (oldest !== undefined) {
    const since = oldest
    // React draws in this frame; the next one begins when its pixels are out.
    requestAnimationFrame(() => {
      const lag = Math.max(0, consoleNow() - since)
      recordLag(lag)
      delayMs.set(lag)
    })
  }
}

/** Folds a batch and keeps the picture after each fact of weight; equal to folding it whole. */
function foldMoments(start: ClusterView, items: Batch, base: number): ClusterView {
  const fresh = items.filter(
    item =>
      !('fromSeq' in item) &&
      (item.consoleSeq ?? 0) > historySeq &&
      item.class === 'fact' &&
      !kindSpec(item.kind)?.routine,
  )
  let view = start
  let from = 0
  const upTo = (end: number, at: Batch[number]): void => {
    view = fold(view, { event: 'batch', data: items.slice(from, end) })
    from = end
    keepMoment(view, base + end, at)
  }
  if (fresh.length <= BURST_FACTS) for (const fact of fresh) upTo(items.indexOf(fact) + 1, fact)
  if (from < items.length) view = fold(view, { event: 'batch', data: items.slice(from) })
  const last = items.at(-1)
  if (last && fresh.length > BURST_FACTS) keepMoment(view, base + items.length, fresh.find(isTurning) ?? last)
  return view
}
type Batch = Extract<StreamMessage, { event: 'batch' }>['data']
const isTurning = (item: Batch[number]): boolean => TURNING.has(item.kind)

function keepMoment(view: ClusterView, until: number, item: Batch[number]): void {
  const atMs = 'receivedWallUs' in item && item.receivedWallUs !== undefined ? msOf(item.receivedWallUs) : consoleNow()
  pushMoment({ view, until, atMs, turning: isTurning(item) })
}
function pushMoment(moment: Moment): void {
  // Events of several nodes arrive in order of receipt, but for a millisecond or two.
  moments.push({ ...moment, atMs: Math.max(moment.atMs, moments.at(-1)?.atMs ?? 0) })
  if (moments.length > MOMENTS_MAX) moments.splice(0, moments.length - MOMENTS_MAX)
}

/** Shows one moment of the past. Everything that is drawn from the fold is of that moment; the present goes on unseen. */
export function showMoment(moment: Moment): void {
  pauseView()
  asOf.set(moment)
  viewNow.set(moment.atMs)
  shown.set(moment)
}

/** To the neighbouring event, or to the neighbouring turning point. Forward beyond the pause changes nothing. */
export function stepMoment(direction: -1 | 1, turning: boolean): void {
  pauseView()
  const edge = paused.get()!.events
  const here = asOf.get()?.until ?? edge
  const wanted = (moment: Moment): boolean =>
    (direction < 0 ? moment.until < here : moment.until > here) && moment.until <= edge && (!turning || moment.turning)
  const found = direction < 0 ? moments.findLast(wanted) : moments.find(wanted)
  if (found) showMoment(found)
}

/** The last moment not after `ms`; the oldest one kept when there is none. */
export function scrubTo(ms: number): void {
  const edge = paused.get()?.events ?? ring.next
  const kept = moments.filter(moment => moment.until <= edge)
  const found = kept.findLast(moment => moment.atMs <= ms) ?? kept[0]
  if (found) showMoment(found)
}

export function pauseView(): void {
  if (paused.get() === undefined) paused.set({ atMs: viewNow.get(), events: ring.next })
}
export function resumeView(): void {
  if (paused.get() === undefined) return
  paused.set(undefined)
  asOf.set(undefined)
  viewNow.set(consoleNow())
  shown.set({ view: latest.get(), until: ring.next })
}
export const togglePause = (): void => (paused.get() === undefined ? pauseView() : resumeView())
