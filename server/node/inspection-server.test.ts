import http, { type IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type EventDraft, eventBatch } from '../../shared/inspection/envelope.ts'
import type { ReplicaInspection } from '../../shared/replica/contract.ts'
import { systemClock } from './clock.ts'
import { EventRing } from './event-ring.ts'
import { InspectionServer, READERS_MAX } from './inspection-server.ts'

const BOOT = '00ff00ff00ff00ff'
const GROUP = (7n << 32n).toString()

/** Answers what it was asked, so that a test sees which call a path became. */
const echo = {
  groups: () => [],
  group: (group: bigint) => (group.toString() === GROUP ? { group: GROUP } : undefined),
  topics: () => ({ streams: [] }),
  wal: () => ({ slots: 4 }),
  superblocks: async () => ({ groups: [] }),
  partition: (key: object) => ({ asked: key }),
  index: async (key: { partition: number }, base: bigint, window: object) =>
    key.partition === 9
      ? undefined
      : {
          startOffset: String(base),
          window: JSON.parse(JSON.stringify(window, (_, value) => (typeof value === 'bigint' ? String(value) : value))),
        },
  batches: async (_key: object, base: bigint, from: number, limit: number) => ({ base: String(base), from, limit }),
  bytes: async (_key: object, base: bigint, kind: string, position: number, length: number) => ({
    base: String(base),
    kind,
    position,
    length,
  }),
} as unknown as ReplicaInspection

let ring: EventRing
let server: InspectionServer
let port: number
let booted: boolean

beforeEach(async () => {
  booted = true
  const clock = systemClock()
  ring = new EventRing({ node: 1, boot: BOOT, clock, capacity: 100 })
  server = new InspectionServer({
    ring,
    inspect: () => (booted ? echo : undefined),
    reporter: () => ({ node: 1, boot: BOOT, takenWallUs: '5', takenMonoUs: 6, seq: ring.seq }),
    node: () => ({ pid: 1 }) as never,
  })
  port = await server.listen('127.0.0.1', 0)
})
afterEach(() => server.close())

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: the shape differs by path
  readonly json: any
}

function ask(path: string, options: http.RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, path, agent: false, ...options }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', part => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode!, json: JSON.parse(text) }))
    })
    request.on('error', reject)
    request.end()
  })
}

describe('snapshots', () => {
  test('every answer names its reporter', async () => {
    for (const path of [
      '/node',
      '/groups',
      `/groups/${GROUP}`,
      '/topics',
      '/superblocks',
      '/wal',
      '/partitions/1/2/3',
    ]) {
      const { status, json } = await ask(path)
      expect([path, status]).toEqual([path, 200])
      expect(json.reporter).toEqual({ node: 1, boot: BOOT, takenWallUs: '5', takenMonoUs: 6, seq: 0 })
    }
  })

  test('paths of a partition become calls with checked numbers', async () => {
    expect((await ask('/partitions/1/2/3')).json.asked).toEqual({ stream: 1, topic: 2, partition: 3 })
    const base = '18446744073709551615'
    expect((await ask(`/partitions/1/2/3/segments/${base}/index`)).json.startOffset).toBe(base)
    expect((await ask('/partitions/1/2/3/segments/5/index')).json.window).toEqual({
      by: 'position',
      from: 0,
      to: 2 ** 40,
      limit: 1000,
    })
    expect((await ask('/partitions/1/2/3/segments/5/index?from=10&to=20&limit=7')).json.window).toEqual({
      by: 'position',
      from: 10,
      to: 20,
      limit: 7,
    })
    expect((await ask(`/partitions/1/2/3/segments/5/index?offset=${base}&limit=2`)).json.window).toEqual({
      by: 'offset',
      offset: base,
      limit: 2,
    })
    expect((await ask('/partitions/1/2/3/segments/5/batches?from=512&limit=9')).json).toMatchObject({
      from: 512,
      limit: 9,
    })
    expect((await ask('/partitions/1/2/3/segments/5/bytes?kind=index&position=24&length=48')).json).toMatchObject({
      base: '5',
      kind: 'index',
      position: 24,
      length: 48,
    })
  })

  test.each([
    ['/nothing', 404],
    ['/groups/5', 404],
    ['/groups/five', 400],
    ['/groups/18446744073709551616', 400],
    ['/groups/%ff', 400],
    ['/partitions/1/2', 404],
    ['/partitions/1/2/3/segments', 404],
    ['/partitions/1/2/9/segments/0/index', 404],
    ['/partitions/1/2/3/segments/-1/index', 400],
    ['/partitions/1/2/3/segments/0/index?limit=1001', 400],
    ['/partitions/1/2/3/segments/0/index?offset=-1', 400],
    ['/partitions/1/2/3/segments/0/batches?limit=1001', 400],
    ['/partitions/1/2/3/segments/0/bytes?kind=log&length=65537', 400],
    ['/partitions/1/2/3/segments/0/bytes?kind=secrets', 400],
    ['/events?after=-1', 400],
  ])('%s is refused with %d and a code', async (path, status) => {
    const answer = await ask(path)
    expect(answer.status).toBe(status)
    expect(answer.json.error).toEqual({ code: expect.any(String), message: expect.any(String) })
  })

  test('a node that boots is healthy to nobody, and says so', async () => {
    booted = false
    expect((await ask('/healthz')).json).toMatchObject({ ok: false, ready: false, boot: BOOT })
    expect((await ask('/node')).status).toBe(503)
  })
})

describe('who may ask', () => {
  test('only this machine by its own name, no web page, and only to read', async () => {
    expect((await ask('/node', { headers: { host: 'evil.example' } })).status).toBe(403)
    expect((await ask('/node', { headers: { host: `127.0.0.1.evil.example:${port}` } })).status).toBe(403)
    expect((await ask('/node', { headers: { host: `localhost:${port}` } })).status).toBe(200)
    expect((await ask('/node', { headers: { origin: 'http://localhost:4600' } })).status).toBe(403)
    expect((await ask('/node', { method: 'POST' })).status).toBe(405)
    expect((await ask('/watch/5')).status).toBe(405)
  })
})

const draft = (cls: 'fact' | 'flow' = 'fact'): EventDraft => ({
  plane: 'node',
  group: 'node',
  kind: 'booted',
  class: cls,
  data: {},
})

/** Reads lines of the event stream until `count` events came; heartbeats are counted apart. */
function follow(path: string) {
  const lines: string[] = []
  let beats = 0
  let response: IncomingMessage | undefined
  const request = http.get({ host: '127.0.0.1', port, path, agent: false }, incoming => {
    response = incoming
    let pending = ''
    incoming.setEncoding('utf8')
    incoming.on('error', () => {})
    incoming.on('data', (text: string) => {
      const parts = (pending + text).split('\n')
      pending = parts.pop()!
      for (const part of parts)
        if (part === '') beats++
        else lines.push(part)
    })
  })
  request.on('error', () => {})
  return {
    request,
    response: () => response,
    beats: () => beats,
    async items(count: number) {
      for (let turn = 0; turn < 1000 && lines.length < count; turn++)
        await new Promise(resolve => setTimeout(resolve, 5))
      return eventBatch.parse(lines.map(line => JSON.parse(line)))
    },
  }
}

describe('the event stream', () => {
  test('gives what was kept, then what comes, and says whose it is', async () => {
    ring.emit(draft())
    ring.emit(draft())
    const reader = follow('/events?after=1')
    expect((await reader.items(1)).map(item => 'seq' in item && item.seq)).toEqual([2])
    expect(reader.response()!.headers['quorumscope-boot']).toBe(BOOT)
    ring.emit(draft())
    expect((await reader.items(2)).map(item => 'seq' in item && item.seq)).toEqual([2, 3])
    reader.request.destroy()
  })

  test('names the gap before what is left, when history was dropped', async () => {
    for (let index = 0; index < 150; index++) ring.emit(draft())
    const reader = follow('/events?after=10')
    const [gap, first] = await reader.items(101)
    expect(gap).toMatchObject({ kind: 'gap', fromSeq: 11, toSeq: 50, reason: 'ring_overflow' })
    expect(first).toMatchObject({ seq: 51 })
    reader.request.destroy()
  })

  test('starts over for a reader that followed another life', async () => {
    ring.emit(draft())
    ring.emit(draft())
    const reader = follow('/events?after=900&boot=another')
    expect((await reader.items(2)).map(item => 'seq' in item && item.seq)).toEqual([1, 2])
    reader.request.destroy()
  })

  test('flow exists while somebody follows and ends with the last reader', async () => {
    expect((await ask('/watch/5', { method: 'POST' })).json).toEqual({ watching: '5' })
    expect(ring.wantsFlow('5')).toBe(false)
    const reader = follow('/events')
    for (let turn = 0; turn < 500 && !reader.response(); turn++) await new Promise(resolve => setTimeout(resolve, 5))
    expect(ring.wantsFlow('5')).toBe(true)
    reader.request.destroy()
    for (let turn = 0; turn < 500 && ring.wantsFlow('5'); turn++) await new Promise(resolve => setTimeout(resolve, 5))
    expect(ring.wantsFlow('5')).toBe(false)
  })

  test('beats while nothing happens', async () => {
    const reader = follow('/events')
    for (let turn = 0; turn < 1000 && reader.beats() === 0; turn++) await new Promise(resolve => setTimeout(resolve, 5))
    expect(reader.beats()).toBeGreaterThan(0)
    reader.request.destroy()
  })

  test('a reader that stands still loses events by name, costs a bounded buffer, and stops nobody', async () => {
    const slow = follow('/events')
    for (let turn = 0; turn < 500 && !slow.response(); turn++) await new Promise(resolve => setTimeout(resolve, 5))
    slow.response()!.pause()
    const padding = 'x'.repeat(20_000)
    for (let index = 0; index < 3000; index++) {
      ring.emit({ ...draft(), data: { padding } })
      if (index % 20 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    expect((await ask('/healthz')).status).toBe(200)
    slow.response()!.resume()
    const items = await slow.items(200)
    const gap = items.find(item => item.kind === 'gap')
    expect(gap).toMatchObject({ reason: 'slow_reader' })
    // Events and gaps together tell of every number once.
    let next = 1
    for (const item of items) {
      const [from, to] = 'fromSeq' in item ? [item.fromSeq, item.toSeq] : [item.seq, item.seq]
      expect(from).toBe(next)
      next = to + 1
    }
    slow.request.destroy()
  })

  test('has a bound of readers', async () => {
    const readers = Array.from({ length: READERS_MAX }, () => follow('/events'))
    for (let turn = 0; turn < 1000 && !readers.every(reader => reader.response()); turn++) {
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    expect((await ask('/events')).status).toBe(429)
    for (const reader of readers) reader.request.destroy()
  })
})
