/**
 * One stopwatch per fault, computed from the stream: when a process ended, when a peer missed it, when somebody led again,
 * when the load was acknowledged again, when the node was back and had caught up. Everything is by the console's clock,
 * which stamps the events of all nodes, so the times of one run may be subtracted. Pure, and bounded.
 */
import type { LoadState } from '../../shared/inspection/api.ts'
import { standingOf } from '../../shared/inspection/belief.ts'
import { CONSOLE_NODE, type EventEnvelope } from '../../shared/inspection/envelope.ts'
import { type ClusterView, msOf } from '../../shared/inspection/view.ts'

export const MARKS = ['noticed', 'elected', 'acknowledged', 'started', 'caughtUp'] as const
export type MarkName = (typeof MARKS)[number]

export interface Recovery {
  /** `R-1`, counted in this tab. */
  readonly id: string
  readonly faultMs: number
  /** When the console told of each node: somewhat later than it happened. */
  readonly toldMs: Readonly<Record<number, number>>
  readonly nodes: readonly number[]
  readonly how: string
  /** Milliseconds after the fault. */
  readonly marks: Readonly<Partial<Record<MarkName, number>>>
  /** First new primary of every group that elected one, milliseconds after the fault. */
  readonly elections: Readonly<Record<string, number>>
  /** When the load had waited too long for an answer, milliseconds after the fault. */
  readonly stalled?: number | undefined
  /** Last step of the way back that the nodes told, milliseconds after the fault. */
  readonly lastStep?: number
  /** It was seen on its way: the moment it had caught up is then known, and otherwise only its last step. */
  readonly seenBehind?: boolean
  readonly seconds: readonly { readonly atMs: number; readonly acked: number }[]
  readonly ledger:
    | (Pick<LoadState['ledger'], 'sent' | 'acked' | 'unknown' | 'readBack' | 'lost' | 'duplicate'> & {
        readonly run: string | null
        readonly verdict: LoadState['verdict']['kind']
      })
    | undefined
}

export const RECOVERIES_MAX = 12
/** Faults that follow each other within this are one: whoever kills all nodes does it one by one. */
const TOGETHER_MS = 3_000
/** A run takes marks for so long; what happens later belongs to something else. */
const OPEN_MS = 10 * 60_000
/** Seconds of load kept before and after the fault. */
export const BEFORE_MS = 5_000
export const AFTER_MS = 90_000

const STEPS_BACK = new Set(['view_adopted', 'repair_finished', 'transfer_installed'])
const NOTICES = new Set(['heartbeat_missed', 'view_change_started'])

/** Every event in order; runs are newest first. */
export function foldRecovery(runs: readonly Recovery[], event: EventEnvelope): readonly Recovery[] {
  const atMs = msOf(event.receivedWallUs ?? event.wallUs)
  const about = typeof event.data.node === 'number' ? event.data.node : undefined
  if (event.node === CONSOLE_NODE && about !== undefined) {
    if (event.kind === 'process_exited' || event.kind === 'process_paused') {
      const faultMs = typeof event.data.atWallMs === 'number' ? event.data.atWallMs : atMs
      return begin(runs, faultMs, atMs, about, howOf(event))
    }
    if (event.kind === 'process_started' || event.kind === 'process_resumed')
      return mark(runs, atMs, 'started', run => run.nodes.includes(about))
  }
  if (event.kind === 'load_stalled') return patch(runs, atMs, run => ({ stalled: atMs - run.faultMs, ...run }))
  if (event.kind === 'load_recovered') return mark(runs, atMs, 'acknowledged', () => true)
  if (STEPS_BACK.has(event.kind))
    return patch(runs, atMs, run =>
      run.nodes.includes(event.node) && run.marks.started !== undefined && run.marks.caughtUp === undefined
        ? { ...run, lastStep: atMs - run.faultMs }
        : run,
    )
  if (NOTICES.has(event.kind)) return mark(runs, atMs, 'noticed', run => !run.nodes.includes(event.node))
  if (event.kind === 'view_started')
    return patch(runs, atMs, run => {
      if (run.elections[event.group] !== undefined || run.marks.noticed === undefined) return run
      const elections = { ...run.elections, [event.group]: atMs - run.faultMs }
      return { ...run, elections, marks: { ...run.marks, elected: Math.max(...Object.values(elections)) } }
    })
  return runs
}

/** What the view says of the newest run: whether its nodes have caught up, and what became of acknowledged messages. */
export function observeRecovery(runs: readonly Recovery[], view: ClusterView, nowMs: number): readonly Recovery[] {
  const run = runs[0]
  if (!run || nowMs - run.faultMs > OPEN_MS) return runs
  let next = run
  if (run.marks.started !== undefined && run.marks.caughtUp === undefined) {
    if (caughtUp(view, run.nodes, nowMs)) {
      const told = run.lastStep !== undefined && !run.seenBehind ? run.lastStep : nowMs - run.faultMs
      next = { ...next, marks: { ...next.marks, caughtUp: Math.max(run.marks.started, told) } }
    } else if (!run.seenBehind && view.groups.size > 0) next = { ...next, seenBehind: true }
  }
  const { load } = view
  if (load && load.run !== null && (run.ledger === undefined || run.ledger.run === load.run)) {
    const { sent, acked, unknown, readBack, lost, duplicate } = load.ledger
    const old = run.ledger
    if (
      !old ||
      old.acked !== acked ||
      old.readBack !== readBack ||
      old.lost !== lost ||
      old.verdict !== load.verdict.kind
    )
      next = {
        ...next,
        seconds: secondsOf(next, load),
        ledger: { run: load.run, sent, acked, unknown, readBack, lost, duplicate, verdict: load.verdict.kind },
      }
  }
  return next === run ? runs : [next, ...runs.slice(1)]
}

function secondsOf(run: Recovery, load: LoadState): Recovery['seconds'] {
  const wanted = (atMs: number): boolean => atMs >= run.faultMs - BEFORE_MS - 1000 && atMs <= run.faultMs + AFTER_MS
  const seconds = new Map(run.seconds.map(second => [second.atMs, second.acked]))
  for (const second of load.seconds) if (wanted(second.atMs)) seconds.set(second.atMs, second.acked)
  return [...seconds].map(([atMs, acked]) => ({ atMs, acked })).sort((a, b) => a.atMs - b.atMs)
}

function caughtUp(view: ClusterView, nodes: readonly number[], nowMs: number): boolean {
  if (view.groups.size === 0) return false
  for (const node of nodes) {
    for (const group of view.groups.keys()) {
      const { kind } = standingOf(view, group, node, nowMs)
      if (kind !== 'healthy' && kind !== 'primary') return false
    }
  }
  return true
}

function begin(
  runs: readonly Recovery[],
  faultMs: number,
  toldMs: number,
  node: number,
  how: string,
): readonly Recovery[] {
  // A tab that was reloaded reads the same history again.
  if (runs.some(run => run.nodes.includes(node) && Math.abs(run.faultMs - faultMs) < TOGETHER_MS)) return runs
  const last = runs[0]
  if (last && faultMs < last.faultMs) return runs
  if (last && faultMs - last.faultMs < TOGETHER_MS)
    return [
      {
        ...last,
        nodes: [...last.nodes, node].sort((a, b) => a - b),
        toldMs: { ...last.toldMs, [node]: toldMs },
      },
      ...runs.slice(1),
    ]
  const number = last ? Number(last.id.slice(2)) + 1 : 1
  const run: Recovery = {
    id: `R-${number}`,
    faultMs,
    toldMs: { [node]: toldMs },
    nodes: [node],
    how,
    marks: {},
    elections: {},
    seconds: [],
    ledger: undefined,
  }
  return [run, ...runs].slice(0, RECOVERIES_MAX)
}

function howOf(event: EventEnvelope): string {
  if (event.kind === 'process_paused') return 'SIGSTOP'
  const { signal, status, state } = event.data
  if (typeof signal === 'string') return signal
  return typeof status === 'number' ? `exit ${status}` : String(state ?? 'ended')
}

function patch(runs: readonly Recovery[], atMs: number, change: (run: Recovery) => Recovery): readonly Recovery[] {
  const run = runs[0]
  if (!run || atMs < run.faultMs || atMs - run.faultMs > OPEN_MS) return runs
  const next = change(run)
  return next === run ? runs : [next, ...runs.slice(1)]
}

function mark(
  runs: readonly Recovery[],
  atMs: number,
  name: MarkName,
  about: (run: Recovery) => boolean,
): readonly Recovery[] {
  return patch(runs, atMs, run =>
    run.marks[name] !== undefined || !about(run)
      ? run
      : { ...run, marks: { ...run.marks, [name]: atMs - run.faultMs } },
  )
}

/**
 * The stopwatches as they stood at `ms`: what was told later is taken away. The ledger is the load's of that moment, and none
 * where the load of that moment was another one.
 */
export function recoveriesAt(runs: readonly Recovery[], ms: number, load: LoadState | undefined): readonly Recovery[] {
  return runs
    .map(run => ({ ...run, nodes: run.nodes.filter(node => run.toldMs[node]! <= ms) }))
    .filter(run => run.nodes.length > 0)
    .map(run => {
      const by = <T extends Readonly<Record<string, number | undefined>>>(marks: T): T =>
        Object.fromEntries(Object.entries(marks).filter(([, at]) => at !== undefined && run.faultMs + at <= ms)) as T
      const { lastStep, stalled, seenBehind: _later, ledger, ...rest } = run
      const of = load && ledger && load.run === ledger.run ? load : undefined
      const { sent, acked, unknown, readBack, lost, duplicate } = of?.ledger ?? {}
      return {
        ...rest,
        marks: by(run.marks),
        elections: by(run.elections),
        ...(stalled !== undefined && run.faultMs + stalled <= ms && { stalled }),
        ...(lastStep !== undefined && run.faultMs + lastStep <= ms && { lastStep }),
        seconds: run.seconds.filter(second => second.atMs <= ms),
        ledger:
          of &&
          ({
            sent,
            acked,
            unknown,
            readBack,
            lost,
            duplicate,
            run: of.run,
            verdict: of.verdict.kind,
          } as Recovery['ledger']),
      }
    })
}
