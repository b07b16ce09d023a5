import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import type { EventEnvelope, EventGap } from '../../shared/inspection/envelope.ts'
import type { NodeSnapshot } from '../../shared/inspection/snapshots.ts'
import { eventually } from '../testing/eventually.ts'
import { NodeHttp } from './node-http.ts'
import { NodeWatcher, type WatchListener } from './node-watcher.ts'
import { groupOf, nodeOf } from './testing/fake-node.ts'

class Notes implements WatchListener {
  readonly items: (EventEnvelope | EventGap)[] = []
  readonly snapshots: { snapshot: NodeSnapshot; askedSeq: number }[] = []
  readonly states: string[] = []
  now = 7
  events(_node: number, items: readonly (EventEnvelope | EventGap)[]): void {
    this.items.push(...items)
  }
  snapshot(_node: number, snapshot: NodeSnapshot, askedSeq: number): void {
    this.snapshots.push({ snapshot, askedSeq })
  }
  state(_node: number, state: string): void {
    this.states.push(state)
  }
  seq(): number {
    return this.now
  }
}

const event = (seq: number, boot = 'b') =>
  JSON.stringify({
    v: 1,
    node: 0,
    boot,
    seq,
    monoUs: 1,
    wallUs: '1',
    plane: 'node',
    group: 'node',
    kind: 'thing',
    class: 'flow',
    data: {},
  })

/** A node whose answers the test writes by hand. */
class RawNode {
  readonly requests: string[] = []
  readonly streams: http.ServerResponse[] = []
  snapshots: http.ServerResponse[] = []
  answersSnapshots = true
  readonly server = http.createServer((request, response) => {
    this.requests.push(request.url!)
    if (request.url!.startsWith('/events')) {
      response.writeHead(200)
      response.flushHeaders()
      this.streams.push(response)
    } else if (this.answersSnapshots) this.answer(response)
    else this.snapshots.push(response)
  })
  answer(response: http.ServerResponse, boot = 'b'): void {
    const reporter = { node: 0, boot, takenWallUs: '1', takenMonoUs: 1, seq: 0 }
    response.end(JSON.stringify({ reporter, ...nodeOf(groupOf()) }))
  }
  async listen(): Promise<{ host: string; port: number }> {
    await new Promise<void>(done => this.server.listen(0, '127.0.0.1', done))
    return { host: '127.0.0.1', port: (this.server.address() as AddressInfo).port }
  }
}

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

const start = async (silentMs?: number) => {
  const node = new RawNode()
  const notes = new Notes()
  const client = new NodeHttp()
  const watcher = new NodeWatcher(0, client, notes, { random: () => 0, ...(silentMs !== undefined && { silentMs }) })
  const endpoint = await node.listen()
  cleanups.push(() => {
    watcher.unwatch()
    client.close()
    node.server.close()
    node.server.closeAllConnections()
  })
  watcher.watch(endpoint)
  await eventually(() => expect(node.streams).toHaveLength(1))
  return { node, notes, watcher, endpoint }
}

it('takes lines however they are cut, once each, and counts what is no event', async () => {
  const { node, notes, watcher } = await start()
  const text = `${event(1)}\n\n${event(2)}\n${event(2)}\nnot json\n[]\nnull\n{"v":1}\n${event(3).replace('"node":0', '"node":1')}\n${event(3)}\n`
  for (const char of text) node.streams[0]!.write(char)
  await eventually(() => expect(notes.items).toHaveLength(3))
  expect(notes.items.map(item => 'seq' in item && item.seq)).toEqual([1, 2, 3])
  expect(watcher.malformed).toBe(5)
})

it('resumes where the stream broke off, in the life that it belongs to', async () => {
  const { node, notes } = await start()
  node.streams[0]!.write(`${event(41)}\n`)
  await eventually(() => expect(notes.items).toHaveLength(1))
  node.streams[0]!.destroy()
  await eventually(() => expect(node.streams).toHaveLength(2))
  expect(node.requests.filter(url => url.startsWith('/events'))).toEqual(['/events?after=0', '/events?after=41&boot=b'])
  expect(notes.states).toContain('connecting')
  node.streams[1]!.write(`${event(1, 'next')}\n`)
  await eventually(() => expect(notes.items.at(-1)).toMatchObject({ boot: 'next', seq: 1 }))
})

it('tells a node that hangs from one that is gone, and hears it again', async () => {
  const { node, notes, watcher } = await start(120)
  await eventually(() => expect(notes.states).toContain('connected'))
  node.answersSnapshots = false
  await eventually(() => expect(watcher.state).toBe('silent'))
  expect(node.streams[0]!.writableEnded).toBe(false)
  node.streams[0]!.write('\n')
  await eventually(() => expect(watcher.state).toBe('connected'))
  node.server.closeAllConnections()
  node.server.close()
  await eventually(() => expect(watcher.state).toBe('connecting'))
})

it('drops an answer that arrives after the node was given up', async () => {
  const { node, notes, watcher } = await start()
  await eventually(() => expect(notes.snapshots.length).toBeGreaterThan(0))
  node.answersSnapshots = false
  watcher.refresh()
  await eventually(() => expect(node.snapshots).toHaveLength(1))
  const before = notes.snapshots.length
  watcher.unwatch()
  node.answer(node.snapshots[0]!)
  await new Promise(done => setTimeout(done, 50))
  expect(notes.snapshots).toHaveLength(before)
  expect(watcher.state).toBe('down')
})

it('asks for a snapshot soon after a fact, and says what was known when it asked', async () => {
  const { node, notes } = await start()
  await eventually(() => expect(notes.snapshots.length).toBeGreaterThan(0))
  notes.now = 99
  node.streams[0]!.write(`${event(1).replace('"flow"', '"fact"')}\n`)
  await eventually(() => expect(notes.snapshots.at(-1)!.askedSeq).toBe(99))
})
