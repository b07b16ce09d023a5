/**
 * Where a load got no acknowledgement: the gap that a kill leaves. Whole seconds, because that is what the load client
 * counts in; a gap that is still open ends where the data does. Pure.
 */
import type { LoadState } from '../../../shared/inspection/api.ts'
import type { Fact } from '../../../shared/inspection/view.ts'
import { wholeSeries } from '../../geometry/series.ts'

export interface LoadGap {
  readonly fromMs: number
  readonly toMs: number
  /** Nothing has been acknowledged since. */
  readonly open: boolean
  /** Messages whose outcome is unknown, and those surely not stored, of its seconds and the two that it begins and ends in. */
  readonly unknown: number
  readonly refused: number
  /** The death or pause in front of it, and the first election in it, when the page heard of them. */
  readonly cause: Fact | undefined
  readonly elected: Fact | undefined
}

/** A fault stops acknowledgements at once; the second in which it fell may still have some. */
const CAUSE_BEFORE_MS = 2_500
/** Senders that are asked for less than a message a second leave empty seconds of their own. */
const SECOND_MS = 1_000

/** A start-up that failed took nothing away. */
const endsNode = ({ kind, data }: Fact): boolean =>
  kind === 'process_paused' || (kind === 'process_exited' && data.was !== 'starting')

/** Gaps among the whole seconds of the run, oldest first. A slow load, one batch in several seconds, has none. */
export function loadGaps(load: LoadState, facts: readonly Fact[]): LoadGap[] {
  const running = load.state === 'running'
  // The last second of a running load is not over.
  const seconds = running ? load.seconds.slice(0, -1) : load.seconds
  const first = seconds.findIndex(second => second.acked > 0)
  if (first < 0 || !load.settings) return []
  const { ratePerSecond, batchMessages } = load.settings
  const leastMs = Math.max(SECOND_MS, Math.ceil((2 * batchMessages) / ratePerSecond) * SECOND_MS)
  const gaps: LoadGap[] = []
  for (let at = first; at < seconds.length; at++) {
    if (seconds[at]!.acked > 0) continue
    const start = at
    while (at < seconds.length && seconds[at]!.acked === 0) at++
    const open = at === seconds.length
    // A load that was stopped has no gap behind its last acknowledgement.
    if (open && !running) break
    const fromMs = seconds[start]!.atMs
    const toMs = seconds[at - 1]!.atMs + SECOND_MS
    if (toMs - fromMs < leastMs) continue
    const within = seconds.slice(Math.max(0, start - 1), at + 1)
    gaps.push({
      fromMs,
      toMs,
      open,
      unknown: within.reduce((sum, second) => sum + second.unknown, 0),
      refused: within.reduce((sum, second) => sum + second.refused, 0),
      cause: facts.findLast(fact => endsNode(fact) && fact.atMs >= fromMs - CAUSE_BEFORE_MS && fact.atMs < toMs),
      elected: facts.find(
        fact => fact.kind === 'view_started' && fact.atMs >= fromMs - SECOND_MS && fact.atMs <= toMs + SECOND_MS,
      ),
    })
  }
  return gaps
}

export interface ChartPoint {
  readonly at: number
  /** Undefined: nobody told of this second. */
  readonly acked: number | undefined
  readonly sent: number | undefined
}

/** The seconds that are over, each at its place: one that is missing is a gap in the chart (known-faults G46). */
export function chartPoints(load: LoadState): ChartPoint[] {
  // The last second is not over: drawn, it would be a dent that never was.
  const over = load.seconds.slice(0, -1)
  const sent = new Map(
    wholeSeries(over.map(second => ({ atMs: second.atMs, value: second.sent }))).map(({ atMs, value }) => [
      atMs,
      value,
    ]),
  )
  return wholeSeries(over.map(second => ({ atMs: second.atMs, value: second.acked }))).map(({ atMs, value }) => ({
    at: atMs,
    acked: value,
    sent: sent.get(atMs),
  }))
}

/** Whether nothing stands beside a point that it could be joined with. */
export const isAlone = (points: readonly ChartPoint[], index: number, of: 'acked' | 'sent'): boolean =>
  points[index]?.[of] !== undefined && points[index - 1]?.[of] === undefined && points[index + 1]?.[of] === undefined
