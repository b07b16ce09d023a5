/**
 * One stopwatch per fault, computed from the stream: when a process ended, when a peer missed it, when somebody led again,
 * when the load was acknowledged again, when the node was back and had caught up. Everything is by the console's clock,
 * which stamps the events of all nodes, so the times of one run may be subtracted. Pure, and bounded.
 */
import { z } from 'zod'
import type { ExitStatus } from '../storage/ports.ts'
import { type LoadState, loadState, type StreamMessage } from './api.ts'
import { primaryOf, standingOf } from './belief.ts'
import { CONSOLE_NODE, decimal, type EventEnvelope } from './envelope.ts'
import { type ClusterView, msOf } from './view.ts'

export const MARKS = ['noticed', 'elected', 'acknowledged', 'started', 'rejoined', 'caughtUp'] as const
export type MarkName = (typeof MARKS)[number]

export interface Recovery {
  /** `R-1`, counted by the console in the directory of its cluster. */
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
  /** When one of its nodes last joined the view of a group, milliseconds after the fault. */
  readonly lastJoin?: number | undefined
  /** Last step of the way back that the nodes told, milliseconds after the fault. */
  readonly lastStep?: number | undefined
  /** It was seen on its way: the moment it had caught up is then known, and otherwise only its last step. */
  readonly seenBehind?: boolean | undefined
  readonly seconds: readonly { readonly atMs: number; readonly acked: number }[]
  readonly ledger?:
    | (Pick<LoadState['ledger'], 'sent' | 'acked' | 'unknown' | 'readBack' | 'lost' | 'duplicate'> & {
        readonly run: string | null
        readonly verdict: LoadState['verdict']['kind']
      })
    | undefined
}

export const RECOVERIES_MAX = 12

const mapOfMs = z.record(z.string(), z.number())
const counts = loadState.shape.ledger.pick({
  sent: true,
  acked: true,
  unknown: true,
  readBack: true,
  lost: true,
  duplicate: true,
})
export const recovery: z.ZodType<Recovery> = z.object({
  id: z.string().regex(/^R-[1-9][0-9]{0,5}$/),
  faultMs: z.number(),
  toldMs: mapOfMs,
  nodes: z.array(z.number().int().min(0).max(255)),
  how: z.string().max(64),
  marks: z.partialRecord(z.enum(MARKS), z.number()),
  elections: mapOfMs,
  stalled: z.number().optional(),
  lastJoin: z.number().optional(),
  lastStep: z.number().optional(),
  seenBehind: z.boolean().optional(),
  seconds: z.array(z.object({ atMs: z.number(), acked: z.number() })),
  ledger: counts.extend({ run: z.string().nullable(), verdict: loadState.shape.verdict.shape.kind }).optional(),
})
export const recoveriesAnswer = z.object({
  /** Every event up to this console sequence is in it. */
  seq: z.number(),
  /** Newest first. */
  recoveries: z.array(recovery),
  takenWallUs: decimal,
})
export type RecoveriesAnswer = z.infer<typeof recoveriesAnswer>
/** Faults that follow each other within this are one: whoever kills all nodes does it one by one. */
const TOGETHER_MS = 3_000
/** A run takes marks for so long; what happens later belongs to something else. */
const OPEN_MS = 10 * 60_000
/** Seconds of load kept before and after the fault. */
export const BEFORE_MS = 5_000
export const AFTER_MS = 90_000

const JOINS = new Set(['view_adopted', 'view_started'])
const STEPS_BACK = new Set([...JOINS, 'repair_finished', 'transfer_installed'])
const NOTICES = new Set(['heartbeat_missed', 'view_change_started'])

/** Every event in order; runs are newest first. */
export function foldRecovery(runs: readonly Recovery[], event: EventEnvelope): readonly Recovery[] {
  const atMs = msOf(event.receivedWallUs ?? event.wallUs)
  const about = typeof event.data.node === 'number' ? event.data.node : undefined
  if (event.node === CONSOLE_NODE && about !== undefined) {
    if ((event.kind === 'process_exited' && hadServed(event)) || event.kind === 'process_paused') {
      const faultMs = typeof event.data.atWallMs === 'number' ? event.data.atWallMs : atMs
      return begin(runs, faultMs, atMs, about, howOf(event))
    }
    if (event.kind === 'process_started' || event.kind === 'process_resumed')
      return mark(runs, atMs, 'started', (run, later) => later !== 'same' && run.nodes.includes(about))
  }
  if (event.kind === 'load_stalled')
    return patch(runs, atMs, (run, later) =>
      later === 'none' && run.stalled === undefined ? { ...run, stalled: atMs - run.faultMs } : run,
    )
  if (event.kind === 'load_recovered')
    return mark(runs, atMs, 'acknowledged', (run, later) => later === 'none' || run.stalled !== undefined)
  if (NOTICES.has(event.kind))
    return mark(runs, atMs, 'noticed', (run, later) => later === 'none' && !run.nodes.includes(event.node))
  let next = runs
  if (STEPS_BACK.has(event.kind))
    next = patch(next, atMs, (run, later) => {
      const { started, caughtUp } = run.marks
      if (later === 'same' || !run.nodes.includes(event.node) || started === undefined || caughtUp !== undefined)
        return run
      const after = atMs - run.faultMs
      return { ...run, lastStep: after, ...(JOINS.has(event.kind) && { lastJoin: after }) }
    })
  if (event.kind === 'view_started')
    next = patch(next, atMs, (run, later) => {
      if (run.elections[event.group] !== undefined || run.marks.noticed === undefined) return run
      if (later !== 'none' && !isOutage(run)) return run
      const elections = { ...run.elections, [event.group]: atMs - run.faultMs }
      return { ...run, elections, marks: { ...run.marks, elected: Math.max(...Object.values(elections)) } }
    })
  return next
}

/**
 * The stopwatches after one message of the stream. They move by what it says and by when the console told it, so that
 * whoever follows the same stream reads the same times, however late.
 * @param view with the message folded @param atMs when the console told it
 */
export function followRecoveries(
  runs: readonly Recovery[],
  message: StreamMessage,
  view: ClusterView,
  atMs: number,
): readonly Recovery[] {
  if (message.event !== 'batch') return observeRecovery(runs, view, atMs)
  let next = runs
  let told = atMs
  for (const item of message.data) {
    if ('fromSeq' in item) continue
    next = foldRecovery(next, item)
    told = msOf(item.receivedWallUs ?? item.wallUs)
  }
  return observeRecovery(next, view, told)
}

/** Whether what comes now may still move a stopwatch. */
export const isFollowed = (runs: readonly Recovery[], nowMs: number): boolean =>
  runs.some(run => nowMs - run.faultMs <= OPEN_MS)

/** Another fault fell into it: what ends the outage ends it for both. */
const isOutage = ({ stalled, marks }: Recovery): boolean =>
  stalled === undefined ? marks.elected === undefined : marks.acknowledged === undefined

/** What the view says of each run: whether its nodes are back and have caught up, and what became of acknowledged messages. */
export function observeRecovery(runs: readonly Recovery[], view: ClusterView, nowMs: number): readonly Recovery[] {
  const next = runs.map((run, index) => {
    if (nowMs - run.faultMs > OPEN_MS) return run
    return withLedger(laterThan(runs, index) === 'same' ? run : backOf(run, view, nowMs), view.load)
  })
  return next.every((run, index) => run === runs[index]) ? runs : next
}

function backOf(run: Recovery, view: ClusterView, nowMs: number): Recovery {
  const { started, rejoined, caughtUp } = run.marks
  if (started === undefined || caughtUp !== undefined || view.groups.size === 0) return run
  const told = (last: number | undefined): number =>
    Math.max(started, last !== undefined && !run.seenBehind ? last : nowMs - run.faultMs)
  const joined =
    rejoined ??
    (everywhere(view, run.nodes, nowMs, isJoined) ? Math.max(started, run.lastJoin ?? nowMs - run.faultMs) : undefined)
  const marks = joined === undefined ? run.marks : { ...run.marks, rejoined: joined }
  if (everywhere(view, run.nodes, nowMs, isWhole)) return { ...run, marks: { ...marks, caughtUp: told(run.lastStep) } }
  return joined === rejoined && run.seenBehind ? run : { ...run, marks, seenBehind: true }
}

type IsThere = (view: ClusterView, group: string, node: number, nowMs: number) => boolean

const isWhole: IsThere = (view, group, node, nowMs) => {
  const { kind } = standingOf(view, group, node, nowMs)
  return kind === 'healthy' || kind === 'primary'
}
/** It takes part in the view that is served, whatever it still lacks. */
const isJoined: IsThere = (view, group, node, nowMs) => {
  if (isWhole(view, group, node, nowMs)) return true
  const verdict = primaryOf(view, group, nowMs)
  const cell = view.groups.get(group)?.replicas.get(node)
  return verdict.kind === 'primary' && verdict.agreeing.includes(node) && cell?.view === verdict.view
}

function everywhere(view: ClusterView, nodes: readonly number[], nowMs: number, isThere: IsThere): boolean {
  for (const node of nodes) for (const group of view.groups.keys()) if (!isThere(view, group, node, nowMs)) return false
  return true
}

/** The ledger is of the load that ran when the fault fell: another one says nothing of it. */
function withLedger(run: Recovery, load: LoadState | undefined): Recovery {
  if (!load || load.run === null || (run.ledger ? run.ledger.run !== load.run : !ranThen(load, run.faultMs))) return run
  const { sent, acked, unknown, readBack, lost, duplicate } = load.ledger
  const { ledger: old } = run
  const verdict = load.verdict.kind
  const seconds = secondsOf(run, load)
  // While nothing is acknowledged, the seconds of that go on.
  const isSame = old?.acked === acked && old.readBack === readBack && old.lost === lost && old.verdict === verdict
  if (isSame && seconds === run.seconds) return run
  const ledger = { run: load.run, sent, acked, unknown, readBack, lost, duplicate, verdict }
  return { ...run, seconds, ledger }
}

const ranThen = ({ startedWallUs, stoppedWallUs }: LoadState, atMs: number): boolean =>
  startedWallUs !== null && msOf(startedWallUs) <= atMs && (stoppedWallUs === null || msOf(stoppedWallUs) >= atMs)

/** What the load measured of the writes around a fault; undefined where it did not write before it. */
export function writesAround(run: Recovery): { readonly acked: number; readonly forMs: number } | undefined {
  if (!run.seconds.some(({ atMs, acked }) => acked > 0 && atMs < run.faultMs)) return undefined
  const after = run.seconds.filter(({ atMs }) => atMs >= run.faultMs)
  return { acked: after.reduce((sum, { acked }) => sum + acked, 0), forMs: after.length * 1000 }
}

/** Those that are known and those that the load has; the same list where it has nothing new. */
function secondsOf(run: Recovery, load: LoadState): Recovery['seconds'] {
  const wanted = (atMs: number): boolean => atMs >= run.faultMs - BEFORE_MS - 1000 && atMs <= run.faultMs + AFTER_MS
  const seconds = new Map(run.seconds.map(second => [second.atMs, second.acked]))
  let isNew = false
  // The last second of a load that runs is not over: it would be a dent that never was.
  const over = load.state === 'running' ? load.seconds.slice(0, -1) : load.seconds
  for (const { atMs, acked } of over) {
    if (!wanted(atMs) || seconds.get(atMs) === acked) continue
    seconds.set(atMs, acked)
    isNew = true
  }
  if (!isNew) return run.seconds
  return [...seconds].map(([atMs, acked]) => ({ atMs, acked })).sort((a, b) => a.atMs - b.atMs)
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

/** A process that ended before it ever listened (its ports were taken, it refused its disk) took nothing away from anybody. */
const hadServed = ({ data }: EventEnvelope): boolean =>
  data.was === undefined ? data.status !== UNAVAILABLE : data.was !== 'starting'
const UNAVAILABLE = 69 satisfies ExitStatus

function howOf(event: EventEnvelope): string {
  if (event.kind === 'process_paused') return 'SIGSTOP'
  const { signal, status, state } = event.data
  if (typeof signal === 'string') return signal
  return typeof status === 'number' ? `exit ${status}` : String(state ?? 'ended')
}

/** What followed a run that may still be under way: no fault, one of other nodes, or one of a node of its own. */
type Later = 'none' | 'other' | 'same'

const laterThan = (runs: readonly Recovery[], index: number): Later =>
  index === 0
    ? 'none'
    : runs.slice(0, index).some(later => later.nodes.some(node => runs[index]!.nodes.includes(node)))
      ? 'same'
      : 'other'

function patch(
  runs: readonly Recovery[],
  atMs: number,
  change: (run: Recovery, later: Later) => Recovery,
): readonly Recovery[] {
  const next = runs.map((run, index) =>
    atMs < run.faultMs || atMs - run.faultMs > OPEN_MS ? run : change(run, laterThan(runs, index)),
  )
  return next.every((run, index) => run === runs[index]) ? runs : next
}

function mark(
  runs: readonly Recovery[],
  atMs: number,
  name: MarkName,
  about: (run: Recovery, later: Later) => boolean,
): readonly Recovery[] {
  return patch(runs, atMs, (run, later) =>
    run.marks[name] !== undefined || !about(run, later)
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
      const { lastStep, lastJoin, stalled, seenBehind: _later, ledger, ...rest } = run
      const of = load && ledger && load.run === ledger.run ? load : undefined
      const { sent, acked, unknown, readBack, lost, duplicate } = of?.ledger ?? {}
      return {
        ...rest,
        marks: by(run.marks),
        elections: by(run.elections),
        ...(stalled !== undefined && run.faultMs + stalled <= ms && { stalled }),
        ...(lastStep !== undefined && run.faultMs + lastStep <= ms && { lastStep }),
        ...(lastJoin !== undefined && run.faultMs + lastJoin <= ms && { lastJoin }),
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
