/**
 * What happened in a run, in order, as plain JSON: what was done, what nodes told, when their processes came and went, and
 * when each finding was made. From it the moment that decided the verdict is found, and shown again.
 */
import { kindSpec, type Tone, wordsOf } from '../inspection/kinds.ts'
import type { GroupSummary } from '../inspection/snapshots.ts'
import { requirements } from '../scenario/evidence.ts'
import type {
  Action,
  ClientRequest,
  Finding,
  Predicate,
  ProcessState,
  Scenario,
  Verdict,
} from '../scenario/language.ts'
import type { OutcomeReading } from '../scenario/reading.ts'
import type { Runner, SeenEvent } from '../scenario/runner.ts'
import { stepLines } from './words.ts'

export type Recorded = { readonly atMs: number } & (
  | { readonly is: 'event'; readonly event: SeenEvent }
  | { readonly is: 'life'; readonly node: number; readonly state: ProcessState }
  | { readonly is: 'step' | 'finding'; readonly key: string }
  /** What files have become, in bytes; null: gone. */
  | { readonly is: 'files'; readonly node: number; readonly changed: readonly (readonly [string, number | null])[] }
  /** What a node says of its groups from now on; null: it does not answer. */
  | { readonly is: 'standing'; readonly node: number; readonly groups: readonly GroupNow[] | null }
  | ({ readonly is: 'told' } & Told)
)

/** What a client was told of the messages of a partition: `acked` of those that it sent, `read` of those that it asked for. */
export interface Told {
  readonly told: 'acked' | 'read' | 'purged'
  /** `s/t/0`; of a purge `s/t`. */
  readonly partition: string
  readonly offsets: readonly string[]
}

/** A group by the word of one node. */
export type GroupNow = Pick<
  GroupSummary,
  'status' | 'role' | 'view' | 'logView' | 'viewDurable' | 'logViewDurable' | 'op' | 'commitMin'
> & {
  /** `metadata`, or `0/0/0`. */
  readonly group: string
  /** Of a partition. */
  readonly next?: string
  readonly persisted?: string
}

export interface Recording {
  readonly nodes: number
  readonly entries: readonly Recorded[]
  /** Events that came when it was full. */
  readonly omitted: number
}

/** Enough for any drill; a world that storms must not fill the memory of who watches it. */
const ENTRIES_MAX = 5_000

/** Writes down a run while it goes on. */
export class Recorder {
  private readonly runner: Runner
  private readonly entries: Recorded[] = []
  private readonly states: (ProcessState | undefined)[]
  private readonly sizes: ReadonlyMap<string, number>[]
  private readonly standings: string[]
  private read = 0
  private omitted = 0

  constructor(runner: Runner) {
    this.runner = runner
    this.states = Array.from({ length: runner.nodes }, () => undefined)
    this.sizes = Array.from({ length: runner.nodes }, () => new Map())
    this.standings = Array.from({ length: runner.nodes }, () => 'null')
  }

  /** Takes what has come since the last look. */
  look(): void {
    const { runner, states } = this
    const events = runner.events()
    for (; this.read < events.length; this.read++) {
      const event = events[this.read]!
      if (event.class === 'fact') this.keep({ is: 'event', atMs: event.atMs, event })
    }
    for (let node = 0; node < runner.nodes; node++) {
      const { state } = runner.process(node)
      if (state === states[node]) continue
      states[node] = state
      this.keep({ is: 'life', atMs: runner.nowMs(), node, state })
    }
  }

  /** What a client was told of messages. */
  answer(call: ClientRequest, outcome: OutcomeReading): void {
    if (outcome.state !== 'ok') return
    const atMs = this.runner.nowMs()
    if (call.request === 'purgeTopic')
      this.keep({ is: 'told', atMs, told: 'purged', partition: `${call.stream}/${call.topic}`, offsets: [] })
    if ((call.request !== 'send' && call.request !== 'poll') || !outcome.offsets) return
    const partition = `${call.stream}/${call.topic}/${call.partition}`
    const told = call.request === 'send' ? 'acked' : 'read'
    this.keep({ is: 'told', atMs, told, partition, offsets: outcome.offsets })
  }

  /** Looks at what has gone before: the lengths of all files, and what each node says of its groups. */
  async survey(): Promise<void> {
    await this.files()
    const { runner, standings } = this
    for (let node = 0; node < runner.nodes; node++) {
      const groups = (await runner.groups(node))?.map(groupNow) ?? null
      const now = JSON.stringify(groups)
      if (now === standings[node]) continue
      standings[node] = now
      this.keep({ is: 'standing', atMs: runner.nowMs(), node, groups })
    }
  }

  private async files(): Promise<void> {
    const { runner, sizes } = this
    for (let node = 0; node < runner.nodes; node++) {
      const [before, now] = [sizes[node]!, await runner.sizes(node)]
      sizes[node] = now
      const changed: (readonly [string, number | null])[] = [...now].filter(
        ([path, bytes]) => before.get(path) !== bytes,
      )
      for (const path of before.keys()) if (!now.has(path)) changed.push([path, null])
      if (changed.length > 0) this.keep({ is: 'files', atMs: runner.nowMs(), node, changed })
    }
  }

  step(key: string): void {
    this.look()
    this.keep({ is: 'step', atMs: this.runner.nowMs(), key })
  }

  finding(key: string): void {
    this.look()
    this.keep({ is: 'finding', atMs: this.runner.nowMs(), key })
  }

  recording(): Recording {
    return { nodes: this.runner.nodes, entries: this.entries, omitted: this.omitted }
  }

  private keep(entry: Recorded): void {
    if (this.entries.length < ENTRIES_MAX) this.entries.push(entry)
    else this.omitted++
  }
}

function groupNow(summary: GroupSummary): GroupNow {
  const { key, status, role, view, logView, viewDurable, logViewDurable, op, commitMin, offsets } = summary
  return {
    group: key ? `${key.stream}/${key.topic}/${key.partition}` : 'metadata',
    ...{ status, role, view, logView, viewDurable, logViewDurable, op, commitMin },
    ...(offsets && { next: offsets.next, persisted: offsets.persisted }),
  }
}

/** Entries that are no moments of their own: what had become of things when what went before was over. */
type Aside = Extract<Recorded, { is: 'files' | 'standing' | 'told' }>

export interface Moment {
  readonly atMs: number
  /** Number of the node that it is about; undefined: all of them, or what was done. */
  readonly node?: number
  readonly is: Exclude<Recorded['is'], Aside['is']>
  readonly text: string
  readonly tone: Tone
  /** Of the finding that was made now. */
  readonly key?: string
  /** What became of each node by now. */
  readonly states: readonly ProcessState[]
}

/** A file has another length from this moment on; null: it is gone. */
export interface FileChange {
  /** Index of the moment. */
  readonly at: number
  readonly node: number
  readonly path: string
  readonly bytes: number | null
}

/** What a node says of its groups from this moment on; null: it does not answer. */
export interface StandingChange {
  readonly at: number
  readonly node: number
  readonly groups: readonly GroupNow[] | null
}

export interface Replay {
  readonly nodes: number
  readonly moments: readonly Moment[]
  /** In order. */
  readonly files: readonly FileChange[]
  readonly standings: readonly StandingChange[]
  readonly told: readonly (Told & { readonly at: number })[]
  /** Index of the moment that decided the verdict. */
  readonly decisive: number
  readonly omitted: number
}

/** Comings and goings of clients say nothing that a drill is about. */
const CHATTER = new Set([
  'session_changed',
  'client_connected',
  'client_registered',
  'client_disconnected',
  'probe_sent',
  'start_view_change_sent',
  'do_view_change_sent',
  'start_view_sent',
])

/**
 * @param findings of the whole run, as they were judged
 * @param decisive the words of the finding at whose moment the lesson is visible
 */
export function replayOf(
  scenario: Scenario,
  recording: Recording,
  findings: readonly Finding[],
  decisive: string,
): Replay {
  const lines = actsOf(scenario)
  const judged = new Map(findings.map(finding => [finding.key, finding]))
  const { key: deciding, finding: decided } = decidedBy(scenario, findings, decisive)
  const asked = kindsOf(scenario)
  const states: ProcessState[] = Array.from({ length: recording.nodes }, () => 'stopped')
  const moments: Moment[] = []
  const files: FileChange[] = []
  const standings: StandingChange[] = []
  const told: (Told & { at: number })[] = []
  let at: number | undefined
  for (const entry of recording.entries) {
    if (entry.is === 'files' || entry.is === 'standing' || entry.is === 'told') {
      takeAside(entry, Math.max(0, moments.length - 1))
      continue
    }
    const moment = momentOf(entry)
    if (entry.is === 'life') {
      if (states[entry.node] === entry.state) continue
      states[entry.node] = entry.state
    }
    if (!moment) continue
    if (entry.is === 'finding' && entry.key === deciding) at = moments.length
    moments.push({ atMs: Math.round(entry.atMs * 10) / 10, is: entry.is, ...moment, states: [...states] })
  }
  return {
    nodes: recording.nodes,
    moments,
    files,
    standings,
    told,
    decisive: Math.max(0, at ?? moments.length - 1),
    omitted: recording.omitted,
  }

  function takeAside(entry: Aside, at: number): void {
    if (entry.is === 'told') told.push({ at, told: entry.told, partition: entry.partition, offsets: entry.offsets })
    else if (entry.is === 'standing') standings.push({ at, node: entry.node, groups: entry.groups })
    else for (const [path, bytes] of entry.changed) files.push({ at, node: entry.node, path, bytes })
  }

  function momentOf(entry: Exclude<Recorded, Aside>): Omit<Moment, 'atMs' | 'is' | 'states'> | undefined {
    switch (entry.is) {
      case 'event': {
        const { event } = entry
        if (CHATTER.has(event.kind) && !asked.has(event.kind)) return undefined
        const node = aboutOf(event, recording.nodes)
        return {
          ...(node !== undefined && { node }),
          text: eventText(event),
          tone: kindSpec(event.kind)?.tone ?? 'plain',
        }
      }
      case 'life':
        return { node: entry.node, text: LIVES[entry.state], tone: entry.state === 'running' ? 'good' : 'bad' }
      case 'step': {
        const text = lines.get(entry.key)
        return text === undefined ? undefined : { text, tone: 'plain' }
      }
      case 'finding': {
        const finding = entry.key === deciding ? decided : judged.get(entry.key)
        // Answers that came as asked are many and say little.
        if (!finding || (isPlain(finding) && entry.key !== deciding)) return undefined
        return { text: `${finding.step}: ${finding.seen}`, tone: TONES[finding.verdict], key: finding.key }
      }
    }
  }
}

/** What is done, by the key of its first step. What is only waited for or looked at is told by what was found. */
function actsOf({ steps }: Scenario): ReadonlyMap<string, string> {
  const lines = stepLines(steps).filter(({ first, count }) => !LOOKS.has(steps[first + count - 1]!.do))
  return new Map(lines.map(({ first, text }) => [String(first), text]))
}
const LOOKS: ReadonlySet<Action['do']> = new Set(['waitFor', 'check', 'always'])

const LIVES: Readonly<Record<ProcessState, string>> = {
  running: 'The node serves',
  stopped: 'No process serves here any more',
  paused: 'The process is stopped by a signal',
  crashed: 'The process has ended by itself',
  refused: 'The boot is refused',
}
const TONES: Readonly<Record<Verdict, Tone>> = { pass: 'good', fail: 'bad', unknown: 'change' }

const isPlain = ({ verdict, seen }: Finding): boolean => verdict === 'pass' && seen.startsWith('answered with')

/** A link, or the console, speaks of a node; a node speaks of itself. */
function aboutOf(event: SeenEvent, nodes: number): number | undefined {
  if (event.node < nodes) return event.node
  const { node, to } = event.data
  return typeof node === 'number' ? node : typeof to === 'number' ? to : undefined
}

function eventText(event: SeenEvent): string {
  const { kind, node, data, view, logView, op, commit } = event
  const text = (value: unknown): string | undefined => (value === undefined ? undefined : String(value))
  return wordsOf({
    kind,
    node,
    data,
    ...(view !== undefined && { view }),
    ...(logView !== undefined && { logView }),
    ...(text(op) !== undefined && { op: text(op)! }),
    ...(text(commit) !== undefined && { commit: text(commit)! }),
  })
}

/**
 * The finding that decided: the first that did not hold, or the lesson. What is said at the end of an answer was decided
 * when the answer came.
 */
function decidedBy(
  scenario: Scenario,
  findings: readonly Finding[],
  decisive: string,
): { readonly finding?: Finding; readonly key?: string } {
  const finding = findings.find(({ verdict }) => verdict !== 'pass') ?? findings.find(({ step }) => step === decisive)
  if (!finding) return {}
  if (!finding.key.startsWith('v')) return { finding, key: finding.key }
  const outcome = outcomeOf(scenario.verdict[Number(finding.key.slice(1))]?.that)
  const index = scenario.steps.findLastIndex(
    step => step.do === 'request' && step.as === outcome && step.background !== true,
  )
  return { finding, key: outcome === undefined || index < 0 ? finding.key : String(index) }
}

const outcomeOf = (predicate: Predicate | undefined): string | undefined =>
  predicate && 'outcome' in predicate ? predicate.outcome : undefined

/** Kinds of events that the scenario asks about. */
function kindsOf(scenario: Scenario): ReadonlySet<string> {
  const kinds = new Set<string>()
  const visit = (predicate: Predicate): void => {
    if ('all' in predicate) predicate.all.forEach(visit)
    else if ('any' in predicate) predicate.any.forEach(visit)
    else if ('not' in predicate) visit(predicate.not)
    else if ('event' in predicate) kinds.add(predicate.event.kind)
  }
  for (const { asked } of requirements(scenario, false)) if (asked.ask === 'predicate') visit(asked.predicate)
  return kinds
}
