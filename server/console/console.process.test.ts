import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  actionResult,
  type CurrentCluster,
  currentCluster,
  type LoadState,
  loadState,
  type StreamMessage,
  topicsAnswer,
} from '../../shared/inspection/api.ts'
import { beliefMatrix, type PrimaryVerdict, primaryOf, standingOf } from '../../shared/inspection/belief.ts'
import { fold } from '../../shared/inspection/fold.ts'
import {
  batchesSnapshot,
  bytesSnapshot,
  indexSnapshot,
  partitionSnapshot,
  recoverySnapshot,
  superblocksSnapshot,
  walSnapshot,
} from '../../shared/inspection/snapshots.ts'
import { type ClusterView, EMPTY_VIEW } from '../../shared/inspection/view.ts'
import { buildEntry } from '../cluster/testing/build-entry.ts'
import { findProcess } from '../node/process-identity.ts'
import { SseReader } from './testing/sse.ts'

const METADATA = (1n << 63n).toString()
let built: Awaited<ReturnType<typeof buildEntry>>
let directory: string
const consoles: RunningConsole[] = []
/** Every process that was started here; none may be left. */
const pids = new Set<number>()

beforeAll(async () => {
  built = await buildEntry()
})
afterAll(() => built.remove())
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'console-'))
})
afterEach(async () => {
  for (const console of consoles.splice(0)) await console.end('SIGTERM')
  const left = [...pids].filter(pid => findProcess(pid) !== undefined)
  for (const pid of left) process.kill(pid, 'SIGKILL')
  pids.clear()
  rmSync(directory, { recursive: true, force: true })
  expect(left).toEqual([])
})

/** `console` as a person starts it: a process, its printed address, and its HTTP. */
class RunningConsole {
  readonly child: ChildProcess
  output = ''
  url = ''
  token = ''
  constructor(args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
    const all = [...built.entry.args, 'console', '--data', directory, '--port', '0', ...args]
    this.child = spawn(process.execPath, all, { env })
    this.child.stdout!.on('data', chunk => (this.output += chunk))
    this.child.stderr!.on('data', chunk => (this.output += chunk))
    pids.add(this.child.pid!)
  }
  async ready(): Promise<this> {
    await until(
      () => /http:\S+/.test(this.output),
      () => `the console says where it is: ${this.output}`,
    )
    const [, url, token] = /(http:\/\/[^/]+)\/(?:#token=(\S+))?/.exec(this.output)!
    this.url = url!
    this.token = token ?? ''
    return this
  }
  async get(path: string): Promise<unknown> {
    const response = await fetch(this.url + path)
    const body = await response.json()
    expect([path, response.status, response.ok ? '' : body]).toEqual([path, 200, ''])
    return body
  }
  async post(path: string, body?: object): Promise<unknown> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.token}`,
        'content-type': 'application/json',
        'idempotency-key': String(Math.random()),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const answer = await response.json()
    expect([path, response.status, response.ok ? '' : answer]).toEqual([path, 200, ''])
    return answer
  }
  async cluster(): Promise<CurrentCluster> {
    const current = currentCluster.parse(await this.get('/api/clusters/current'))
    for (const { pid } of current.nodes) if (pid !== null) pids.add(pid)
    return current
  }
  async load(): Promise<LoadState> {
    return loadState.parse(await this.get('/api/load'))
  }
  async act(action: string, node: number): Promise<void> {
    const result = actionResult.parse(await this.post(`/api/nodes/${node}/${action}`))
    if (result.node.pid !== null) pids.add(result.node.pid)
  }
  async allRunning(count: number): Promise<CurrentCluster> {
    let current = await this.cluster()
    await until(async () => {
      current = await this.cluster()
      return current.nodes.filter(node => node.state === 'running' && node.snapshot !== null).length === count
    }, `${count} nodes run and are heard`)
    return current
  }
  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode
    this.child.kill(signal)
    await once(this.child, 'exit')
    return this.child.exitCode
  }
}

const start = async (...args: string[]): Promise<RunningConsole> => {
  const console = new RunningConsole(args)
  consoles.push(console)
  return console.ready()
}

async function until(condition: () => boolean | Promise<boolean>, what: string | (() => string)): Promise<void> {
  const deadline = Date.now() + 45_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never came true: ${typeof what === 'string' ? what : what()}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** A page without pixels: it reads the stream, folds it, and remembers how it would have drawn a replica after each message. */
class Page {
  readonly reader: SseReader
  view: ClusterView = EMPTY_VIEW
  /** `group/node` to the standings drawn, without repetition. */
  readonly drawn = new Map<string, string[]>()
  #folded = 0
  constructor(url: string) {
    this.reader = new SseReader(`${url}/api/events`)
  }
  now(): ClusterView {
    const { messages } = this.reader
    for (; this.#folded < messages.length; this.#folded++) {
      const message = messages[this.#folded]!
      this.view = fold(this.view, message as unknown as StreamMessage)
      for (const [key, standings] of this.drawn) {
        const [group, node] = key.split('/') as [string, string]
        const { kind } = standingOf(this.view, group, Number(node), message.atMs)
        if (standings.at(-1) !== kind) standings.push(kind)
      }
    }
    return this.view
  }
  follow(group: string, node: number): string[] {
    this.now()
    const standings: string[] = []
    this.drawn.set(`${group}/${node}`, standings)
    return standings
  }
  primary(group: string) {
    return primaryOf(this.now(), group, Date.now())
  }
  standing(group: string, node: number) {
    return standingOf(this.now(), group, node, Date.now()).kind
  }
}

/** Whom the page draws as primary. It draws none while it has not heard of the nodes for two seconds, on a busy machine too. */
async function leader(page: Page, group: string): Promise<PrimaryVerdict> {
  await until(() => page.primary(group).kind === 'primary', `the page draws a primary of ${group}`)
  return page.primary(group)
}

describe('a cluster under load, watched through the stream', () => {
  it('loses nothing when a backup and then the primary are killed and come back, and the page is told the truth', async () => {
    const console = await start()
    const settled = await console.allRunning(3)
    expect(settled.nodes.map(node => node.snapshot!.metadata.view)).toEqual([0, 0, 0])
    const page = new Page(console.url)
    await console.post('/api/load', { action: 'start', settings: { ratePerSecond: 300, segmentSizeBytes: 1 << 20 } })
    await until(async () => (await console.load()).ledger.readBack > 300, 'messages are read back')
    const groups = (await console.load()).partitions.map(partition => partition.group!)
    await until(() => groups.every(group => page.standing(group, 2) === 'healthy'), 'the page draws node-2 healthy')
    expect(await leader(page, METADATA)).toMatchObject({ node: 0, view: 0 })

    // A backup dies: the load goes on.
    await console.act('kill', 2)
    await until(() => page.standing(groups[0]!, 2) === 'down', 'the page draws node-2 down')
    const { acked } = (await console.load()).ledger
    await until(async () => (await console.load()).ledger.acked > acked + 300, 'the load goes on')
    expect(await leader(page, groups[0]!)).toMatchObject({ node: 0 })
    const drawn = page.follow(groups[0]!, 2)
    await console.act('start', 2)
    await until(() => page.standing(groups[0]!, 2) === 'healthy', 'node-2 has caught up')
    // First what it is, then how far it is behind, and healthy only in the end.
    expect(drawn.indexOf('healthy')).toBeGreaterThan(
      drawn.findIndex(kind => kind === 'recovering' || kind === 'behind'),
    )
    expect(drawn.filter(kind => kind === 'recovering' || kind === 'behind').length).toBeGreaterThan(0)

    // The primary dies: no primary, then a new one.
    await console.act('kill', 0)
    await until(() => groups.every(group => page.primary(group).kind === 'none'), 'the page draws no primary')
    await until(() => [METADATA, ...groups].every(group => page.primary(group).kind === 'primary'), 'the others elect')
    const after = (await console.load()).ledger.acked
    await until(async () => (await console.load()).ledger.acked > after + 300, 'writes are acknowledged again')
    await console.act('start', 0)
    await until(() => groups.every(group => page.standing(group, 0) === 'healthy'), 'node-0 has caught up')

    await console.post('/api/load', { action: 'stop' })
    await until(async () => (await console.load()).state === 'done', 'the load is verified')
    const { ledger, verdict } = await console.load()
    expect({ ...ledger, verdict: verdict.kind }).toMatchObject({
      lost: 0,
      duplicate: 0,
      corrupt: 0,
      refusedFound: 0,
      readBack: ledger.acked,
      verdict: 'nothing_lost',
    })
    for (const kind of ['process_exited', 'process_started', 'view_change_started', 'view_started', 'load_verified']) {
      await until(() => page.now().facts.some(fact => fact.kind === kind), `the page was told ${kind}`)
    }
    await until(
      () => beliefMatrix(page.now(), groups[0]!, Date.now()).disagreements.length === 0,
      'all believe the same',
    )
    page.reader.close()
  })

  it('answers every view of a node with what was agreed', async () => {
    const console = await start()
    await console.allRunning(3)
    await console.post('/api/streams', { name: 'shop' })
    const topic = await console.post('/api/topics', { stream: 'shop', name: 'orders', partitions: 2, policy: 'eager' })
    expect(topic).toEqual({ stream: 0, id: 0, name: 'orders', partitions: 2 })
    await console.post('/api/load', { action: 'start', settings: { stream: 'shop', topic: 'orders', connections: 2 } })
    await until(async () => (await console.load()).ledger.readBack > 100, 'messages are read back')
    await console.post('/api/load', { action: 'stop' })
    await until(async () => (await console.load()).state === 'done', 'the load is verified')

    const { streams } = topicsAnswer.parse(await console.get('/api/topics'))
    expect(streams[0]).toMatchObject({
      name: 'shop',
      topics: [{ name: 'orders', partitions: 2, enforceFsync: true, messagesRequiredToSave: 1 }],
    })
    const partition = partitionSnapshot.parse(await console.get('/api/nodes/0/partitions/0/0/1'))
    expect(partition.reporter.node).toBe(0)
    const [segment] = partition.segments
    expect(segment!.sizeBytes).toBeGreaterThan(0)
    const path = `/api/nodes/0/partitions/0/0/1/segments/${segment!.startOffset}`
    const { batches } = batchesSnapshot.parse(await console.get(`${path}/batches?limit=500`))
    expect(batches.length).toBeGreaterThan(0)
    expect(batches.every(batch => batch.verdict === 'valid')).toBe(true)
    expect(indexSnapshot.parse(await console.get(`${path}/index`)).entries.length).toBeGreaterThan(0)
    expect(bytesSnapshot.parse(await console.get(`${path}/bytes?length=256`)).hex).toHaveLength(512)
    expect(
      superblocksSnapshot.parse(await console.get('/api/nodes/1/superblocks')).groups.length,
    ).toBeGreaterThanOrEqual(3)
    expect(walSnapshot.parse(await console.get('/api/nodes/0/wal')).entries.length).toBeGreaterThan(0)
    expect(recoverySnapshot.parse(await console.get('/api/nodes/2/recovery')).steps).toBeInstanceOf(Array)
    await console.get('/api/nodes/0/clients')
    await console.get('/api/nodes/0/groups')
    await console.get(`/api/nodes/2/groups/${METADATA}`)
    await console.get(`/api/nodes/2/groups/${METADATA}/counters`)
    await console.post(`/api/nodes/1/watch/0`)

    // Without a process its superblocks are still there to be read, and say the same.
    const live = superblocksSnapshot.parse(await console.get('/api/nodes/2/superblocks'))
    await console.act('terminate', 2)
    const offline = superblocksSnapshot.parse(await console.get('/api/nodes/2/superblocks'))
    expect(offline.reporter).toMatchObject({ node: 2, boot: 'directory' })
    const groupsOf = ({ groups }: typeof live) =>
      groups.map(({ group, plane, verdict }) => `${plane} ${group} ${verdict}`).sort()
    expect(groupsOf(offline)).toEqual(groupsOf(live))
  })
})

describe('the console process', () => {
  it('leaves its nodes running when it is killed; the next one names and adopts exactly those, and stops them cleanly', async () => {
    const first = await start()
    const before = (await first.allRunning(3)).nodes.map(node => node.pid)
    await first.end('SIGKILL')
    const second = await start()
    const after = await second.allRunning(3)
    expect(after.nodes.map(node => [node.pid, node.adopted])).toEqual(before.map(pid => [pid, true]))
    for (const [id, pid] of before.entries())
      expect(second.output).toContain(`node-${id} was running already (pid ${pid})`)
    expect(second.url).not.toBe('')
    expect(await second.end('SIGINT')).toBe(0)
    for (const pid of before) expect(findProcess(pid!)).toBeUndefined()
  })

  it('ends when it has stopped, whatever its process still holds', async () => {
    // Nodes inherit nothing of this.
    const held = { ...process.env, NODE_OPTIONS: '--import=data:text/javascript,setInterval(()=>{},1e9)' }
    const console = new RunningConsole(['--nodes', '1'], held)
    consoles.push(console)
    await (await console.ready()).allRunning(1)
    expect(await console.end('SIGTERM')).toBe(0)
  })

  it('with one node, read-only, shows it and changes nothing', async () => {
    const console = await start('--nodes', '1', '--read-only')
    await console.allRunning(1)
    expect(console.token).toBe('')
    const response = await fetch(`${console.url}/api/nodes/0/kill`, {
      method: 'POST',
      headers: { 'idempotency-key': 'k' },
    })
    expect([response.status, (await response.json()).code]).toEqual([403, 'CON_READ_ONLY'])
    expect((await console.cluster()).nodes[0]!.state).toBe('running')
  })

  it('says what is wrong with its arguments or its directory, and leaves nothing behind', async () => {
    const refused = async (...args: string[]) => {
      const console = new RunningConsole(args)
      // Not at its exit already: what it said last may still be on its way.
      await once(console.child, 'close')
      return { status: console.child.exitCode, output: console.output }
    }
    expect(await refused('--nodes', '2')).toMatchObject({ status: 2, output: expect.stringContaining('1, 3 or 5') })
    expect(await refused('--port', '70000')).toMatchObject({ status: 2 })
    const running = await start('--nodes', '1')
    await running.allRunning(1)
    expect(await refused('--nodes', '1')).toMatchObject({ status: 64, output: expect.stringContaining('ClusterInUse') })
  })
})
