import { EventEmitter } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { CONSOLE_NODE, type EventEnvelope } from '../../shared/inspection/envelope.ts'
import { EventLog } from './event-log.ts'
import { BACKLOG_BYTES, EventStream, type ReaderSocket, type StreamState } from './event-stream.ts'
import { type TestConsole, testConsole } from './testing/console.ts'
import { SseReader } from './testing/sse.ts'

const eventOf = (seq: number, data: EventEnvelope['data'] = {}): EventEnvelope => ({
  v: 1,
  node: 0,
  boot: 'b0',
  seq,
  monoUs: seq,
  wallUs: '1764000000000000',
  plane: 'node',
  group: 'node',
  kind: 'thing',
  class: 'fact',
  data,
})

const state: StreamState = {
  hello: () => ({ run: 'r', seq: 0, firstSeq: 1, wallUs: '1', readOnly: false, replicaCount: 3, name: 'n' }),
  nodes: () => [],
  snapshots: () => [],
  load: () => ({}) as never,
  refresh: vi.fn(),
}

/** A socket that keeps what it is given in its buffer until it is told to drain. */
class SlowSocket extends EventEmitter {
  buffered = ''
  taken = ''
  blocked = false
  readonly destroyed = false
  write(text: string): boolean {
    this.buffered += text
    if (!this.blocked) this.drain()
    return !this.blocked
  }
  end(): this {
    return this
  }
  get writableLength(): number {
    return this.buffered.length
  }
  drain(): void {
    this.taken += this.buffered
    this.buffered = ''
    this.emit('drain')
  }
  // biome-ignore lint/suspicious/noExplicitAny: whatever the stream wrote
  messages(): { event: string; id: string | undefined; data: any }[] {
    return this.taken
      .split('\n\n')
      .filter(part => part.includes('event: '))
      .map(part => ({
        event: /^event: (.*)$/m.exec(part)![1]!,
        id: /^id: (.*)$/m.exec(part)?.[1],
        data: JSON.parse(/^data: (.*)$/m.exec(part)![1]!),
      }))
  }
}

const attach = (stream: EventStream, after?: number): SlowSocket => {
  const socket = new SlowSocket()
  stream.add(socket as unknown as ReaderSocket, after)
  return socket
}

describe('the log', () => {
  it('gives the first event at once, then batches, and numbers all without a hole', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      const log = new EventLog({ base: 100, batchMs: 20 })
      const batches: number[][] = []
      log.onBatch(({ firstSeq, lastSeq }) => batches.push([firstSeq, lastSeq]))
      log.append([eventOf(1)])
      expect(batches).toEqual([[101, 101]])
      for (let seq = 2; seq <= 10; seq++) log.append([eventOf(seq)])
      vi.advanceTimersByTime(19)
      expect(batches).toHaveLength(1)
      vi.advanceTimersByTime(1)
      expect(batches).toEqual([
        [101, 101],
        [102, 110],
      ])
      log.close()
    } finally {
      vi.useRealTimers()
    }
  })

  it('marks when an event was received and when it was sent on', () => {
    const log = new EventLog({ base: 0 })
    log.append([eventOf(1)])
    const [event] = JSON.parse(log.read(0, 1)!.json)
    expect(event.consoleSeq).toBe(1)
    expect(Number(event.emittedWallUs)).toBeGreaterThanOrEqual(Number(event.receivedWallUs))
    expect(Math.abs(Number(event.receivedWallUs) / 1000 - Date.now())).toBeLessThan(60_000)
    log.close()
  })

  it('keeps a bounded ring and cuts an event that is far too long', () => {
    const log = new EventLog({ base: 0, ringItems: 5 })
    for (let seq = 1; seq <= 12; seq++) {
      log.append([eventOf(seq, seq === 12 ? { text: 'x'.repeat(100_000) } : {})])
      log.flush()
    }
    expect([log.firstSeq, log.seq]).toEqual([8, 12])
    expect(log.read(6, 10)).toBeUndefined()
    expect(JSON.parse(log.read(7, 10)!.json)).toHaveLength(5)
    expect(JSON.parse(log.read(11, 10)!.json)[0].data.tooLong).toBeGreaterThan(100_000)
    log.close()
  })
})

describe('a reader', () => {
  const open = (options: { ringItems?: number } = {}) => {
    const log = new EventLog({ base: 1000, batchMs: 0, ...options })
    return { log, stream: new EventStream(log, state, 'run', 60_000) }
  }
  const say = (log: EventLog, from: number, to: number, data?: EventEnvelope['data']) => {
    for (let seq = from; seq <= to; seq++) {
      log.append([eventOf(seq, data)])
      log.flush()
    }
  }
  const seqs = (socket: SlowSocket) =>
    socket
      .messages()
      .filter(m => m.event === 'batch')
      .flatMap(m => m.data.map((e: EventEnvelope) => e.consoleSeq))

  it('gets hello, nodes and load first, then events from now on, each batch with its last number as id', () => {
    const { log, stream } = open()
    say(log, 1, 3)
    const socket = attach(stream)
    expect(socket.messages().map(m => m.event)).toEqual(['hello', 'nodes', 'load'])
    say(log, 4, 5)
    expect(seqs(socket)).toEqual([1004, 1005])
    expect(socket.messages().at(-1)!.id).toBe('1005')
    stream.close()
    log.close()
  })

  it('G49 that resumes gets everything after its cursor, once', () => {
    const { log, stream } = open()
    say(log, 1, 1300)
    const socket = attach(stream, 1002)
    expect(seqs(socket)).toEqual(Array.from({ length: 1298 }, (_, i) => 1003 + i))
    say(log, 1301, 1302)
    expect(seqs(socket)).toHaveLength(1300)
    stream.close()
    log.close()
  })

  it('whose cursor is gone is told which numbers it missed, gets fresh state, and goes on from what is left', () => {
    const { log, stream } = open({ ringItems: 10 })
    say(log, 1, 30)
    const refresh = vi.mocked(state.refresh)
    refresh.mockClear()
    const socket = attach(stream, 1005)
    const gap = socket.messages().find(m => m.event === 'gap')!
    expect(gap.data).toMatchObject({
      node: CONSOLE_NODE,
      kind: 'gap',
      fromSeq: 1006,
      toSeq: 1020,
      reason: 'slow_reader',
    })
    expect(socket.messages().filter(m => m.event === 'nodes')).toHaveLength(2)
    expect(refresh).toHaveBeenCalledTimes(1)
    expect(seqs(socket)).toEqual([1021, 1022, 1023, 1024, 1025, 1026, 1027, 1028, 1029, 1030])
    stream.close()
    log.close()
  })

  it('of an earlier or a stranger run is told that the console is another one', () => {
    const { log, stream } = open()
    say(log, 1, 3)
    for (const cursor of [0, 17, 999, 5000, Number.MAX_SAFE_INTEGER]) {
      const socket = attach(stream, cursor)
      expect(socket.messages().find(m => m.event === 'gap')!.data.reason).toBe('console_restarted')
      expect(seqs(socket)).toEqual([1001, 1002, 1003])
    }
    stream.close()
    log.close()
  })

  it('that does not read costs a bounded buffer, and loses nothing that the log still has', () => {
    const { log, stream } = open()
    const socket = attach(stream)
    const other = attach(stream)
    socket.blocked = true
    const data = { text: 'x'.repeat(4000) }
    say(log, 1, 1000, data)
    // One message may pass the mark, no more.
    expect(socket.writableLength).toBeLessThan(BACKLOG_BYTES + 10_000)
    stream.sendNodes([])
    expect(seqs(other)).toHaveLength(1000)
    socket.blocked = false
    socket.drain()
    expect(seqs(socket)).toEqual(Array.from({ length: 1000 }, (_, i) => 1001 + i))
    expect(socket.messages().filter(m => m.event === 'nodes')).toHaveLength(2)
    stream.close()
    log.close()
  })

  it('that does not read until the log has moved on gets one gap', () => {
    const { log, stream } = open({ ringItems: 50 })
    const socket = attach(stream)
    socket.blocked = true
    say(log, 1, 2000, { text: 'x'.repeat(4000) })
    socket.blocked = false
    socket.drain()
    const gaps = socket.messages().filter(m => m.event === 'gap')
    expect(gaps).toHaveLength(1)
    const received = seqs(socket)
    const { fromSeq, toSeq } = gaps[0]!.data
    expect(received.length + toSeq - fromSeq + 1).toBe(2000)
    expect(received).toContain(fromSeq - 1)
    expect(received).toContain(toSeq + 1)
    stream.close()
    log.close()
  })
})

describe('over HTTP, from real inspection endpoints', () => {
  let console_: TestConsole
  const readers: SseReader[] = []
  const read = (path = '/api/events', headers = {}) => {
    const reader = new SseReader(`${console_.url}${path}`, headers)
    readers.push(reader)
    return reader
  }
  afterEach(async () => {
    for (const reader of readers.splice(0)) reader.close()
    await console_.close()
  })

  it('merges what all nodes say, each in its own order', async () => {
    console_ = await testConsole()
    const reader = read()
    await reader.until(r => r.of('snapshot').length >= 3)
    expect(reader.messages.slice(0, 2).map(m => m.event)).toEqual(['hello', 'nodes'])
    for (let i = 1; i <= 20; i++) for (const node of console_.nodes) node.emit('thing', { data: { i } })
    await reader.until(r => r.items().filter(item => item.kind === 'thing').length === 60)
    const items = reader.items().filter(item => item.kind === 'thing')
    for (const node of [0, 1, 2])
      expect(items.filter(item => item.node === node).map(item => item.data.i)).toEqual(
        Array.from({ length: 20 }, (_, i) => i + 1),
      )
    const numbers = reader.items().map(item => item.consoleSeq)
    expect(numbers).toEqual(numbers.map((_, i) => numbers[0] + i))
  })

  it('resumes by Last-Event-ID, which is newer than the address', async () => {
    console_ = await testConsole()
    const reader = read()
    await reader.until(r => r.of('snapshot').length >= 3)
    for (let i = 1; i <= 5; i++) console_.nodes[0]!.emit('thing', { data: { i } })
    await reader.until(r => r.items().filter(item => item.kind === 'thing').length === 5)
    const third = reader.items().find(item => item.kind === 'thing' && item.data.i === 3)
    const again = read('/api/events?after=0', { 'last-event-id': String(third.consoleSeq) })
    await again.until(r => r.items().length >= 2)
    expect(
      again
        .items()
        .filter(item => item.kind === 'thing')
        .map(item => item.data.i),
    ).toEqual([4, 5])
    expect(again.of('gap')).toEqual([])
    const bad = await fetch(`${console_.url}/api/events`, { headers: { 'last-event-id': 'x' } })
    expect([bad.status, (await bad.json()).code]).toEqual([400, 'CON_BAD_REQUEST'])
  })

  it('tells a kill at once: the process first, from its exit and not from its silence', async () => {
    console_ = await testConsole()
    const reader = read()
    await reader.until(r => r.of('snapshot').length >= 3)
    await console_.supervisor.kill(0)
    await reader.until(r => r.items().some(item => item.kind === 'process_exited'))
    expect(reader.items().find(item => item.kind === 'process_exited')).toMatchObject({
      node: CONSOLE_NODE,
      data: { node: 0, signal: 'SIGKILL', requested: 'kill', was: 'running' },
    })
    expect(reader.of('nodes').at(-1)!.data[0]).toMatchObject({ state: 'stopped', inspection: { state: 'down' } })
  })

  it('G50 finds a node again after it died and came back in another life', async () => {
    console_ = await testConsole()
    const reader = read()
    await reader.until(r => r.of('snapshot').length >= 3)
    console_.nodes[1]!.emit('thing', { data: { life: 1 } })
    await reader.until(r => r.items().some(item => item.kind === 'thing'))
    await console_.nodes[1]!.restart('b1')
    console_.nodes[1]!.emit('thing', { data: { life: 2 } })
    await reader.until(r => r.items().filter(item => item.kind === 'thing').length === 2)
    expect(
      reader
        .items()
        .filter(item => item.kind === 'thing')
        .map(item => [item.boot, item.seq, item.data.life]),
    ).toEqual([
      ['b0', 1, 1],
      ['b1', 1, 2],
    ])
    await reader.until(r => r.of('snapshot').some(m => m.data.snapshot.reporter.boot === 'b1'))
  })

  it('passes on that a node’s own history is gone', async () => {
    console_ = await testConsole()
    console_.nodes[2]!.close()
    const reader = read()
    await reader.until(r => r.of('snapshot').length >= 2)
    // The ring of this node holds 64 events.
    for (let i = 1; i <= 100; i++) console_.nodes[2]!.emit('thing', { data: { i } })
    const { ring } = console_.nodes[2]!
    await console_.nodes[2]!.restart('b0')
    for (let i = 1; i <= 100; i++)
      console_.nodes[2]!.ring.emit({ plane: 'node', group: 'node', kind: 'thing', class: 'fact', data: { i } })
    expect(ring.boot).toBe('b0')
    await reader.until(r => r.items().some(item => item.kind === 'gap'))
    expect(reader.items().find(item => item.kind === 'gap')).toMatchObject({ node: 2, reason: 'ring_overflow' })
  })
})
