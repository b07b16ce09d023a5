import { describe, expect, it } from 'vitest'
import type { RecordedLine } from './recording.ts'
import { eventOf } from './testing/made-up.ts'
import { readRecorded } from './testing/recorded.ts'
import { TraceWriter } from './trace.ts'

interface Written {
  readonly name?: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts?: number
  readonly id?: string
  readonly args?: Record<string, unknown>
}

/** A real cluster of three: a backup is killed and started, then the primary. */
const LINES = readRecorded('kill-backup-then-primary').flatMap(({ message }, t): RecordedLine[] =>
  message.event === 'heartbeat' ? [] : [{ t, ...message } as RecordedLine],
)
function traced(lines: readonly RecordedLine[]): Written[] {
  const writer = new TraceWriter(3)
  const text = [writer.begin('a "name"\n'), ...lines.map(line => writer.line(line)), writer.end()].join('')
  return (JSON.parse(text) as { traceEvents: Written[] }).traceEvents
}

/** Slices of a process that are open at each event, as their names. */
function* walk(events: readonly Written[]): Generator<{ event: Written; open: Map<string, string> }> {
  const open = new Map<string, string>()
  for (const event of events) {
    const key = `${event.pid} ${event.tid}`
    if (event.ph === 'B') {
      expect(open.has(key), `${event.name} begins in ${open.get(key)}`).toBe(false)
      open.set(key, event.name!)
    }
    if (event.ph === 'E') expect(open.delete(key), `an end without a beginning on ${key}`).toBe(true)
    yield { event, open }
  }
  expect([...open]).toEqual([])
}
const ofProcess = (open: ReadonlyMap<string, string>, pid: number) =>
  [...open].filter(([key]) => key.startsWith(`${pid} `)).map(([, name]) => name)

describe('a trace', () => {
  it('has what each group was from the first moment on, and never a node that leads or follows while it is down', () => {
    const exits = new Set<number>()
    let led = false
    for (const { event, open } of walk(traced(LINES))) {
      for (const pid of [0, 1, 2]) {
        const names = ofProcess(open, pid)
        if (names.includes('down')) expect(names, `node-${pid}`).toEqual(['down'])
      }
      if (event.name === 'process_exited') exits.add(event.pid)
      if (event.name === 'process_exited' && event.pid === 0) expect(led).toBe(true)
      led ||= ofProcess(open, 0).includes('leads view 0')
    }
    expect(exits.size).toBeGreaterThan(1)
  })

  it('joins both ends of a frame by one arrow', () => {
    const end = (node: number, dir: 'in' | 'out', ordinal: number) =>
      eventOf(node, ordinal, 'frame_sent', {
        link: { id: '0>1#a', ordinal, dir },
        data: { command: 'Prepare', peer: 1 },
      })
    const events = traced([{ t: 0, event: 'batch', data: [end(0, 'out', 1), end(0, 'out', 2), end(1, 'in', 2)] }])
    expect(events.filter(event => event.ph === 's' || event.ph === 'f')).toMatchObject([
      { ph: 's', pid: 0, id: '0>1#a 1' },
      { ph: 's', pid: 0, id: '0>1#a 2' },
      { ph: 'f', pid: 1, id: '0>1#a 2' },
    ])
  })

  it('says where history is missing, and guesses nothing across it', () => {
    const whole = { v: 1, node: 255, boot: 'run', kind: 'gap', fromSeq: 4, toSeq: 9, reason: 'slow_reader' } as const
    const last = LINES.findLast(line => line.event === 'snapshot')!
    const events = traced([...LINES, { t: 1e6, event: 'gap', data: whole }, last])
    let seen = false
    for (const { event, open } of walk(events)) {
      if (event.name !== 'gap') continue
      seen = true
      expect(event.args).toEqual({ fromSeq: 4, toSeq: 9, reason: 'slow_reader' })
      expect([...open]).toEqual([])
    }
    expect(seen).toBe(true)
    const behind = events.slice(events.findIndex(event => event.name === 'gap'))
    expect(behind.some(event => event.ph === 'B' && /view \d/.test(event.name!))).toBe(true)
  })

  it('G42 takes a kind that is a name of the language for a kind', () => {
    const line = LINES.find(item => item.event === 'batch')!
    const [first] = line.event === 'batch' ? line.data : []
    const hostile = { ...line, data: [{ ...first, kind: 'constructor' }] } as RecordedLine
    expect(traced([hostile]).some(event => event.name === 'constructor' && event.ph === 'i')).toBe(true)
  })
})
