/**
 * A recording in the trace event format ("JSON object format" of Chrome's about:tracing; Perfetto reads it, too): a process
 * for each node, a thread for each group, instants for facts, a slice for each view that a group led or followed and for
 * each stretch that a process was down, flow arrows for matched frames. Times are microseconds from the first line. What is
 * missing is an instant `gap`, and ends the slices of whom it is about: what a node was behind it, its next word says.
 */
import { CONSOLE_NODE, type EventEnvelope, type EventGap, isGap } from './envelope.ts'
import { wordsOf } from './kinds.ts'
import type { RecordedLine } from './recording.ts'
import type { GroupSummary, NodeSnapshot } from './snapshots.ts'

/** Numbers of threads that no group has: what the process did, and what the node said of itself. */
const PROCESS_THREAD = 0
const CONSOLE_PROCESS = 1000

type TraceEvent = Readonly<Record<string, unknown>>

export class TraceWriter {
  readonly #replicas: number
  #first = true
  #originUs: number | undefined
  readonly #threads = new Map<string, number>()
  /** Slices that are open, by process and thread. */
  readonly #open = new Set<string>()
  #lastUs = 0
  /** Lives that are over: a recording repeats their last words in its keyframes. */
  readonly #ended = new Set<string>()
  readonly #boots = new Map<number, string>()

  constructor(replicas: number) {
    this.#replicas = replicas
  }

  begin(name: string): string {
    const meta = (pid: number, label: string): TraceEvent => ({
      name: 'process_name',
      ph: 'M',
      pid,
      tid: 0,
      args: { name: label },
    })
    const events = [
      ...Array.from({ length: this.#replicas }, (_, node) => meta(node, `node-${node}`)),
      meta(CONSOLE_PROCESS, 'console'),
    ]
    return `{"displayTimeUnit":"ms","otherData":${JSON.stringify({ recording: name })},"traceEvents":[\n${events.map(event => this.#text(event)).join('')}`
  }

  line(line: RecordedLine): string {
    const events =
      line.event === 'batch'
        ? line.data.flatMap(item => (isGap(item) ? this.#gap(item) : this.#of(item)))
        : line.event === 'gap'
          ? this.#gap(line.data)
          : line.event === 'snapshot'
            ? this.#snapshot(line.data.snapshot)
            : []
    return events.map(event => this.#text(event)).join('')
  }

  end(): string {
    let text = ''
    for (const event of this.#end(() => true)) text += this.#text(event)
    return `${text}\n]}\n`
  }

  #text(event: TraceEvent): string {
    const comma = this.#first ? '' : ',\n'
    this.#first = false
    return comma + JSON.stringify(event)
  }

  #of(event: EventEnvelope): TraceEvent[] {
    const atUs = Number(event.wallUs)
    this.#originUs ??= atUs
    const ts = Math.max(0, atUs - this.#originUs)
    this.#lastUs = Math.max(this.#lastUs, ts)
    const about = event.node === CONSOLE_NODE && typeof event.data.node === 'number' ? event.data.node : event.node
    const pid = about === CONSOLE_NODE ? CONSOLE_PROCESS : about
    const found: TraceEvent[] = []
    const tid = event.plane === 'node' ? PROCESS_THREAD : this.#thread(pid, event.group, found)
    const at = { pid, tid, ts }
    if (event.node !== CONSOLE_NODE) this.#boots.set(pid, event.boot)
    if (event.kind === 'process_exited') {
      // Whatever its groups were, they are no more.
      found.push(...this.#end(own => own === pid))
      this.#ended.add(this.#boots.get(pid) ?? '')
    }
    const slice = Object.hasOwn(SLICES, event.kind) ? SLICES[event.kind] : undefined
    if (slice !== undefined) found.push(...this.#turn(at, slice(event)))
    found.push({ ...at, name: event.kind, cat: event.plane, ph: 'i', s: 't', args: argsOf(event) })
    if (event.link) {
      const { id, ordinal, dir } = event.link
      const ph = dir === 'out' ? 's' : 'f'
      found.push({ ...at, name: 'frame', cat: 'frame', ph, id: `${id} ${ordinal}`, ...(ph === 'f' && { bp: 'e' }) })
    }
    return found
  }

  #gap({ node, fromSeq, toSeq, reason }: EventGap): TraceEvent[] {
    const all = node === CONSOLE_NODE
    const pid = all ? CONSOLE_PROCESS : node
    return [
      ...this.#end(own => all || own === pid),
      {
        name: 'gap',
        cat: 'gap',
        ph: 'i',
        s: all ? 'g' : 'p',
        pid,
        tid: PROCESS_THREAD,
        ts: this.#lastUs,
        args: { fromSeq, toSeq, reason },
      },
    ]
  }

  /** What a group has been since before the recording began, or came to be in a gap. */
  #snapshot({ reporter, metadata, groups }: NodeSnapshot): TraceEvent[] {
    const { node: pid, boot } = reporter
    if (this.#originUs === undefined || this.#ended.has(boot)) return []
    this.#boots.set(pid, boot)
    const found: TraceEvent[] = []
    for (const group of [metadata, ...groups]) {
      const tid = this.#thread(pid, group.group, found)
      if (!this.#open.has(`${pid} ${tid}`)) found.push(...this.#turn({ pid, tid, ts: this.#lastUs }, stateOf(group)))
    }
    return found
  }

  /** Ends the open slices of some processes. */
  #end(of: (pid: number) => boolean): TraceEvent[] {
    const found: TraceEvent[] = []
    for (const key of this.#open) {
      const [pid, tid] = key.split(' ').map(Number) as [number, number]
      if (!of(pid)) continue
      this.#open.delete(key)
      found.push({ ph: 'E', pid, tid, ts: this.#lastUs })
    }
    return found
  }

  #thread(pid: number, group: string, found: TraceEvent[]): number {
    const key = `${pid} ${group}`
    const known = this.#threads.get(key)
    if (known !== undefined) return known
    const tid = this.#threads.size + 1
    this.#threads.set(key, tid)
    found.push({ name: 'thread_name', ph: 'M', pid, tid, args: { name: `group ${group}` } })
    return tid
  }

  /** Ends the slice of this thread and begins the next, if there is one. */
  #turn(at: { pid: number; tid: number; ts: number }, name: string | undefined): TraceEvent[] {
    const key = `${at.pid} ${at.tid}`
    const found: TraceEvent[] = []
    if (this.#open.delete(key)) found.push({ ...at, ph: 'E' })
    if (name !== undefined) {
      this.#open.add(key)
      found.push({ ...at, ph: 'B', name, cat: 'state' })
    }
    return found
  }
}

/** What a thread is in from this kind of event on; undefined ends it. */
const SLICES: Readonly<Record<string, (event: EventEnvelope) => string | undefined>> = {
  view_started: event => `leads view ${event.view ?? ''}`,
  view_adopted: event => `follows view ${event.view ?? ''}`,
  view_change_started: event => `view change to ${event.data.newView ?? event.view ?? ''}`,
  probe_started: () => 'recovering',
  process_exited: () => 'down',
  process_paused: () => 'paused',
  process_resumed: () => undefined,
  process_started: () => undefined,
}

function stateOf({ status, role, view }: Pick<GroupSummary, 'status' | 'role' | 'view'>): string {
  if (status === 'normal') return `${role === 'primary' ? 'leads' : 'follows'} view ${view}`
  return status === 'view_change' ? `view change to ${view}` : status
}

function argsOf(event: EventEnvelope): TraceEvent {
  const { view, logView, op, commit, seq, boot } = event
  return { words: wordsOf(event), view, logView, op, commit, seq, boot, ...event.data }
}
