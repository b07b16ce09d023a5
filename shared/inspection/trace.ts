/**
 * A recording in the trace event format ("JSON object format" of Chrome's about:tracing; Perfetto reads it, too): a process
 * for each node, a thread for each group, instants for facts, a slice for each view that a group led or followed and for
 * each stretch that a process was down, flow arrows for matched frames. Times are microseconds from the first line.
 */
import { CONSOLE_NODE, type EventEnvelope, isGap } from './envelope.ts'
import { wordsOf } from './kinds.ts'
import type { RecordedLine } from './recording.ts'

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
    if (line.event !== 'batch') return ''
    let text = ''
    for (const item of line.data) if (!isGap(item)) for (const event of this.#of(item)) text += this.#text(event)
    return text
  }

  end(): string {
    let text = ''
    for (const key of this.#open) {
      const [pid, tid] = key.split(' ').map(Number)
      text += this.#text({ ph: 'E', pid, tid, ts: this.#lastUs })
    }
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
    const slice = SLICES[event.kind]
    if (slice !== undefined) found.push(...this.#turn(at, slice(event)))
    found.push({ ...at, name: event.kind, cat: event.plane, ph: 'i', s: 't', args: argsOf(event) })
    if (event.link) {
      const { id, ordinal, dir } = event.link
      const ph = dir === 'out' ? 's' : 'f'
      found.push({ ...at, name: 'frame', cat: 'frame', ph, id: `${id} ${ordinal}`, ...(ph === 'f' && { bp: 'e' }) })
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

function argsOf(event: EventEnvelope): TraceEvent {
  const { view, logView, op, commit, seq, boot } = event
  return { words: wordsOf(event), view, logView, op, commit, seq, boot, ...event.data }
}
