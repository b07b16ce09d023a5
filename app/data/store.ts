/**
 * What this tab knows. The stream's messages wait until the next frame and are folded there all at once, so that a burst
 * costs one render. "Pause view" freezes what is shown; the fold and the ring go on underneath, and a count says how much
 * waits. All times are by the console's clock.
 */

import type { StreamMessage } from '../../shared/inspection/api.ts'
import { followRecoveries, type Recovery, recoveriesAnswer } from '../../shared/inspection/recoveries.ts'
import { type ClusterView, EMPTY_VIEW, msOf, toldMs } from '../../shared/inspection/view.ts'
import { alarmsOf } from './alarms.ts'
import { createCell } from './cell.ts'
import { onFrame } from './frame.ts'
import { batchOf, foldMessage, History, type Place } from './history.ts'
import { HistoryOrder } from './history-order.ts'
import { recordLag } from './lag.ts'
import { toast } from './notices.ts'
import { EventRing } from './ring.ts'
import type { Connection, Source, SourceKind, Stream } from './source.ts'

/** Ages are printed to the second; four steps a second keep them honest without flicker. */
const CLOCK_STEP_MS = 250
/** Below this, browser and console share a clock and the difference is the way of the message. */
const SKEW_MIN_MS = 1500

export interface Shown {
  readonly view: ClusterView
  /** Ring ordinals below this are part of the picture. */
  readonly until: number
}
/** A picture of the past: everything up to a place in history, folded again. */
export interface Moment extends Shown, Place {
  /** Console sequence of the last event that is in it. */
  readonly seq: number
}
export interface Paused {
  readonly atMs: number
  readonly events: number
}

export const ring = new EventRing()
export const history = new History(ring)
/** What is watched. Decided once, when the page opens: another source is another address, opened anew. */
export const sourceKind = createCell<SourceKind>('LIVE')
export const latest = createCell<ClusterView>(EMPTY_VIEW)
export const shown = createCell<Shown>({ view: EMPTY_VIEW, until: 0 })
export const paused = createCell<Paused | undefined>(undefined)
/** The moment that is shown instead of the present; only while the view is paused. */
export const asOf = createCell<Moment | undefined>(undefined)
export const connection = createCell<Connection>({ state: 'connecting' })
/** Now by the console's clock; `viewNow` stands still while the view is paused. */
export const realNow = createCell<number>(Date.now())
export const viewNow = createCell<number>(Date.now())
/** Faults and their stopwatches, newest first. The console keeps them; this tab follows those that are still running. */
export const recoveries = createCell<readonly Recovery[]>([])
/** Way of the newest batch from the console to this page. */
export const delayMs = createCell<number | undefined>(undefined)

/** Up to this console sequence, what the stream brings is in the stopwatches that the console gave. */
let recalledSeq = 0

/** Asks the console for the stopwatches that it keeps, and lays what has come since behind them. */
async function recall(source: Source): Promise<void> {
  const kept = await source.read('/api/recoveries', recoveriesAnswer).catch(() => undefined)
  // Without an answer this tab knows the faults that it saw.
  if (kept === undefined) return
  recalledSeq = kept.seq
  const data = batchOf(ring, ring.behind(kept.seq), ring.next)
  recoveries.set(followRecoveries(kept.recoveries, { event: 'batch', data }, latest.get(), consoleNow()))
}

/** Moves the stopwatches by one message, once: what the console had counted by then is not counted again. */
function follow(message: StreamMessage, view: ClusterView, atMs: number): void {
  const told: StreamMessage =
    message.event === 'batch'
      ? {
          event: 'batch',
          data: message.data.filter(item => (item.consoleSeq ?? Number.MAX_SAFE_INTEGER) > recalledSeq),
        }
      : message
  recoveries.set(followRecoveries(recoveries.get(), told, view, atMs))
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

interface Arrived {
  readonly message: StreamMessage
  /** By the console's clock. */
  readonly atMs: number
}
let waiting: Arrived[] = []
/** What arrives waits: history is being read anew. */
let filling = false
/** Counts the readings of history: only the last one is folded. */
let reading = 0
const order = new HistoryOrder()
/** History follows the greeting at once; longer than this, and the snapshots that wait for it are more worth. */
const HOLD_MS = 500
let holdTimer = 0
let listeners: Listener[] = []
let stream: Stream | undefined
let openStream: (() => Stream) | undefined
/** What the console had when it greeted us: events up to here are history, and say nothing about delay. */
let historySeq = 0
/** The same, at the first greeting: what is told behind it, this tab has seen happen. */
let openedSeq = 0

export function watch(source: Source, onMessage: Listener): void {
  listeners = [onMessage]
  const step = (): void => {
    const now = consoleNow()
    realNow.set(now)
    if (paused.get() === undefined) viewNow.set(now)
  }
  if (source.kind === 'LIVE') {
    window.setInterval(step, CLOCK_STEP_MS)
    document.addEventListener('visibilitychange', step)
    // Every connection may have missed a fault.
    listeners.push(({ event }) => {
      if (event === 'hello') void recall(source)
    })
  }
  openStream = () =>
    source.open(
      {
        message(message) {
          waiting.push({ message, atMs: consoleNow() })
          onFrame('data', apply)
        },
        connection: state => connection.set(state),
      },
      () => (latest.get().seq > 0 ? latest.get().seq : undefined),
    )
  stream = openStream()
}

export const retryNow = (): void => stream?.retryNow()

function apply(): void {
  if (filling) return
  const arrived = waiting
  waiting = []
  let oldest: number | undefined
  const folded: StreamMessage[] = []
  for (const { message, atMs } of arrived) {
    const view = latest.get()
    // Another run of the console counts anew.
    const known = message.event === 'hello' && view.run !== undefined && view.run !== message.data.run ? 0 : view.seq
    for (const item of order.next(message, known)) {
      folded.push(item)
      if (item.event === 'hello' || item.event === 'heartbeat') learnSkew(msOf(item.data.wallUs))
      if (item.event === 'hello') {
        historySeq = item.data.seq
        if (openedSeq === 0) openedSeq = historySeq
      }
      foldOne(item, atMs)
      const received = oldestOf(item)
      if (received !== undefined) oldest = oldest === undefined ? received : Math.min(oldest, received)
    }
  }
  if (order.holds && holdTimer === 0) {
    holdTimer = window.setTimeout(() => {
      holdTimer = 0
      const atMs = consoleNow()
      waiting.unshift(...order.release().map(message => ({ message, atMs })))
      onFrame('data', apply)
    }, HOLD_MS)
  }
  const view = latest.get()
  const now = consoleNow()
  realNow.set(now)
  // Before its snapshots have come, what this tab knows is no picture of anything.
  if (historySeq > 0 && view.seq >= historySeq && !order.holds) history.picture(view, { until: ring.next, atMs: now })
  if (paused.get() === undefined) {
    viewNow.set(now)
    shown.set({ view, until: ring.next })
  }
  for (const message of folded) {
    for (const listener of listeners) listener(message)
    for (const alarm of alarmsOf(message, openedSeq)) toast(alarm)
  }
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

/** One message into ring, history, fold and stopwatches. Returns when it was told, or else `atMs`. */
function foldOne(message: StreamMessage, arrivedMs: number): number {
  const atMs = toldMs(message) ?? arrivedMs
  const view = latest.get()
  let told = message
  if (message.event === 'batch') {
    // What was read from the recording, the stream may bring once more.
    const data = message.data.filter(item => item.consoleSeq === undefined || item.consoleSeq > view.seq)
    told = data.length === message.data.length ? message : { event: 'batch', data }
    for (const item of data) ring.push(item, atMs)
  } else if (message.event === 'gap') ring.push(message.data, atMs)
  else if (message.event !== 'heartbeat') history.state(message, { until: ring.next, atMs })
  latest.set(foldMessage(view, told))
  // Reading history anew moves no stopwatch of what runs.
  if (!filling || sourceKind.get() !== 'LIVE') follow(told, latest.get(), atMs)
  return atMs
}

/** When the console had the oldest of these events, of those that say something about delay. */
function oldestOf(message: StreamMessage): number | undefined {
  if (message.event !== 'batch') return undefined
  let oldest: number | undefined
  for (const item of message.data) {
    if (!('receivedWallUs' in item) || item.receivedWallUs === undefined || (item.consoleSeq ?? 0) <= historySeq)
      continue
    const at = msOf(item.receivedWallUs)
    oldest = oldest === undefined ? at : Math.min(oldest, at)
  }
  return oldest
}

/**
 * Reads history anew from a recording: `lines` begin with a keyframe. What the stream brings meanwhile waits and is folded
 * behind it. With `alone` there is no stream, and the end of the recording is what is paused at.
 * @returns whether it was read to its end: whoever goes live meanwhile does not wait for that
 */
export async function fill(lines: AsyncIterable<Arrived>, { alone }: { readonly alone: boolean }): Promise<boolean> {
  const pausedSeq = paused.get() && ring.consoleSeqAt(paused.get()!.events - 1)
  reading += 1
  const mine = reading
  filling = true
  try {
    ring.clear()
    history.clear()
    latest.set(EMPTY_VIEW)
    let lastMs = 0
    for await (const { message, atMs } of lines) {
      if (mine !== reading) return false
      const told = foldOne(message, atMs)
      lastMs = atMs
      // A keyframe ends with the load; from there on the picture is whole.
      if (history.begun || message.event === 'load')
        history.picture(latest.get(), { until: ring.next, atMs: Math.max(atMs, told) })
    }
    historySeq = Math.max(historySeq, latest.get().seq)
    if (alone) {
      realNow.set(lastMs)
      viewNow.set(lastMs)
      shown.set({ view: latest.get(), until: ring.next })
      paused.set({ atMs: lastMs, events: ring.next })
    } else if (pausedSeq !== undefined) {
      paused.set(old => old && { ...old, events: ring.behind(pausedSeq) })
      // Ordinals are counted anew: what is shown stays where it was.
      const moment = asOf.get()
      if (moment) asOf.set({ ...moment, until: ring.behind(moment.seq) })
      shown.set(old => ({ ...old, until: asOf.get()?.until ?? paused.get()!.events }))
    }
    return true
  } finally {
    if (mine === reading) {
      filling = false
      if (waiting.length > 0) onFrame('data', apply)
    }
  }
}

/** As a tab that has just been opened: what has been read of the past is no present. */
function beginAnew(): void {
  reading += 1
  filling = false
  waiting = []
  ring.clear()
  history.clear()
  latest.set(EMPTY_VIEW)
  stream?.close()
  stream = openStream?.()
}

export function pauseView(): void {
  if (paused.get() === undefined) paused.set({ atMs: viewNow.get(), events: ring.next })
}
export function resumeView(): void {
  if (sourceKind.get() !== 'LIVE') {
    leaveRecording()
    return
  }
  if (paused.get() === undefined) return
  if (filling) beginAnew()
  paused.set(undefined)
  asOf.set(undefined)
  viewNow.set(consoleNow())
  shown.set({ view: latest.get(), until: ring.next })
}
export const togglePause = (): void => (paused.get() === undefined ? pauseView() : resumeView())

/** The same screen of the cluster that runs now. */
function leaveRecording(): void {
  const url = new URL(location.href)
  for (const key of ['rec', 'at']) url.searchParams.delete(key)
  location.assign(url)
}
