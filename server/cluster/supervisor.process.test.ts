import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { nodeSnapshot } from '../../shared/inspection/snapshots.ts'
import { findProcess } from '../node/process-identity.ts'
import { readClusterFile } from './cluster-file.ts'
import type { NodeStatus } from './contract.ts'
import { findNodes } from './find-nodes.ts'
import type { LaunchEntry } from './launcher.ts'
import { type LocalSupervisor, openSupervisor, type SupervisorOptions } from './supervisor.ts'
import { buildEntry } from './testing/build-entry.ts'

let built: Awaited<ReturnType<typeof buildEntry>>
let directory: string
const supervisors: LocalSupervisor[] = []
const strangers: ChildProcess[] = []
/** Every process that any test saw as a node; all must be gone in the end. */
const pids = new Set<number>()

beforeAll(async () => {
  built = await buildEntry()
})
afterAll(() => built.remove())
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'supervisor-'))
})
afterEach(async () => {
  try {
    for (const supervisor of supervisors.splice(0)) await supervisor.close({ stopNodes: true })
    for (const stranger of strangers.splice(0)) stranger.kill('SIGKILL')
    await until(() => [...pids].every(pid => findProcess(pid) === undefined), 'every node process is gone')
  } finally {
    // Whatever a test that failed has left must not be in the way of its second try.
    for (const { pid } of findNodes(directory)) process.kill(pid, 'SIGKILL')
    pids.clear()
    rmSync(directory, { recursive: true, force: true })
  }
})

async function supervise(options: Partial<SupervisorOptions> = {}): Promise<LocalSupervisor> {
  const supervisor = await openSupervisor({ directory, entry: built.entry, ...options })
  supervisors.push(supervisor)
  remember(supervisor)
  supervisor.onChange(node => node.pid !== undefined && pids.add(node.pid))
  return supervisor
}

const remember = (supervisor: LocalSupervisor): void => {
  for (const { pid } of supervisor.status().nodes) if (pid !== undefined) pids.add(pid)
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never came true: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const node = (supervisor: LocalSupervisor, replica: number): NodeStatus => supervisor.status().nodes[replica]!
const states = (supervisor: LocalSupervisor): string[] => supervisor.status().nodes.map(({ state }) => state)

async function snapshotOf(status: NodeStatus) {
  const response = await fetch(`http://127.0.0.1:${status.ports.inspection}/node`)
  return nodeSnapshot.parse(await response.json())
}

const allLinked = (supervisor: LocalSupervisor, replicas: readonly number[]) => async () => {
  const snapshots = await Promise.all(replicas.map(replica => snapshotOf(node(supervisor, replica))))
  return snapshots.every(({ peers }) => peers.filter(({ connected }) => connected).length === replicas.length - 1)
}

describe('a cluster of three', () => {
  test.each([[[0, 1, 2]], [[2, 1, 0]], [[1, 2, 0]]])(
    'started in the order %j listens, is linked, says what it is, and stops cleanly',
    async order => {
      const supervisor = await supervise()
      expect(states(supervisor)).toEqual(['stopped', 'stopped', 'stopped'])
      for (const replica of order) {
        const status = await supervisor.start(replica)
        expect(status).toMatchObject({ replica, state: 'running', adopted: false, pid: expect.any(Number) })
      }
      await until(allLinked(supervisor, [0, 1, 2]), 'all three are linked')
      for (const status of supervisor.status().nodes) {
        expect(await snapshotOf(status)).toMatchObject({
          pid: status.pid,
          clusterEnabled: true,
          replicaCount: 3,
          dataDirectory: status.dataDirectory,
          threadPoolSize: 16,
          ports: status.ports,
          metadata: { view: 0, status: 'normal', primary: 0 },
        })
      }
      await supervisor.close({ stopNodes: true })
      for (const status of supervisor.status().nodes) {
        expect(status).toMatchObject({
          state: 'stopped',
          lastExit: { status: 0, requested: 'terminate', meaning: 'clean stop' },
        })
        expect(existsSync(join(status.dataDirectory, 'runtime', 'ready.json'))).toBe(false)
        expect(existsSync(join(status.dataDirectory, 'process.lock'))).toBe(false)
      }
    },
  )

  test('SIGKILL, SIGTERM and SIGSTOP are seen for what they are, and the others go on', async () => {
    const supervisor = await supervise()
    await supervisor.startAll()
    await until(allLinked(supervisor, [0, 1, 2]), 'all three are linked')
    const first = node(supervisor, 1).pid

    const killed = await supervisor.kill(1)
    expect(killed).toMatchObject({ state: 'stopped', lastExit: { signal: 'SIGKILL', requested: 'kill' } })
    expect(killed.pid).toBeUndefined()
    expect(findProcess(first!)).toBeUndefined()
    await until(allLinked(supervisor, [0, 2]), 'the two that are left see each other')
    await expect(supervisor.kill(1)).rejects.toMatchObject({ code: 'WrongState' })
    await expect(supervisor.pause(1)).rejects.toMatchObject({ code: 'WrongState' })

    await supervisor.start(1)
    expect(node(supervisor, 1).pid).not.toBe(first)
    await until(allLinked(supervisor, [0, 1, 2]), 'the third is back')

    expect(await supervisor.pause(2)).toMatchObject({ state: 'paused', pid: expect.any(Number) })
    await expect(supervisor.pause(2)).rejects.toMatchObject({ code: 'WrongState' })
    await expect(supervisor.start(2)).rejects.toMatchObject({ code: 'WrongState' })
    expect(await supervisor.resume(2)).toMatchObject({ state: 'running' })
    await until(async () => (await snapshotOf(node(supervisor, 2))).pid === node(supervisor, 2).pid, 'it answers again')

    await supervisor.pause(2)
    // A clean stop of a paused process lets it go on first.
    expect(await supervisor.terminate(2)).toMatchObject({ state: 'stopped', lastExit: { status: 0 } })
    expect(states(supervisor)).toEqual(['running', 'running', 'stopped'])
  })

  test('a node that dies while it starts can be started as soon as it is seen dead', async () => {
    const supervisor = await supervise({ nodes: 1 })
    let again: Promise<NodeStatus> | undefined
    supervisor.onChange(({ state, pid }) => {
      if (again) return
      if (state === 'starting' && pid !== undefined) process.kill(pid, 'SIGKILL')
      if (state === 'crashed') again = supervisor.start(0)
    })
    await expect(supervisor.start(0)).rejects.toMatchObject({ code: 'StartFailed' })
    await expect(again).resolves.toMatchObject({ state: 'running' })
  })

  test('is seen by listeners as it changes, and by the process table when others act', async () => {
    const supervisor = await supervise()
    await supervisor.startAll()
    const seen: string[] = []
    supervisor.onChange(({ replica, state }) => seen.push(`${replica} ${state}`))
    const { pid } = node(supervisor, 0)
    process.kill(pid!, 'SIGSTOP')
    await until(() => node(supervisor, 0).state === 'paused', 'a pause by others is noticed')
    process.kill(pid!, 'SIGCONT')
    await until(() => node(supervisor, 0).state === 'running', 'and its end')
    process.kill(pid!, 'SIGKILL')
    await until(() => node(supervisor, 0).state === 'crashed', 'a kill by others is a crash')
    expect(node(supervisor, 0).lastExit).toMatchObject({ signal: 'SIGKILL', meaning: 'killed by SIGKILL' })
    expect(node(supervisor, 0).lastExit!.requested).toBeUndefined()
    expect(seen).toEqual(['0 paused', '0 running', '0 crashed'])
  })
})

describe('a node that will not run', () => {
  test('says why, with its status, and creates nothing when its configuration is wrong', async () => {
    const supervisor = await supervise({ nodes: 1, settings: { 'metadata.clients_table_max': 1 } })
    await expect(supervisor.start(0)).rejects.toMatchObject({ code: 'ConfigurationInvalid' })
    expect(node(supervisor, 0)).toMatchObject({
      state: 'refused',
      lastExit: { status: 64, meaning: 'wrong configuration' },
      lastRefusal: {
        status: 64,
        code: 'ConfigurationInvalid',
        message: expect.stringContaining('metadata.clients_table_max'),
      },
    })
    expect(existsSync(node(supervisor, 0).dataDirectory)).toBe(false)
    expect(supervisor.logTail(0, 1)[0]).toContain('metadata.clients_table_max')
  })

  test('names the owner of a data directory in use, and leaves it alone', async () => {
    const supervisor = await supervise({ nodes: 1 })
    const { pid, dataDirectory, configFile } = await supervisor.start(0)
    const before = readdirSync(dataDirectory)
    const second = spawn(process.execPath, [...built.entry.args, 'node', '--config', configFile, '--fresh'], {
      env: { PATH: process.env.PATH, IGGY_INSPECTION_ADDRESS: '127.0.0.1:0', IGGY_TCP_ADDRESS: '127.0.0.1:0' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const said: Buffer[] = []
    second.stderr!.on('data', chunk => said.push(chunk as Buffer))
    expect((await once(second, 'close'))[0]).toBe(69)
    expect(Buffer.concat(said).toString()).toContain(`running process ${pid}`)
    expect(readdirSync(dataDirectory)).toEqual(before)
    expect((await snapshotOf(node(supervisor, 0))).pid).toBe(pid)
  })

  test('says which port is taken, when it cannot get another', async () => {
    const supervisor = await supervise()
    await supervisor.startAll()
    await supervisor.kill(2)
    const squatter = await squat(node(supervisor, 2).ports.client)
    await expect(supervisor.start(2)).rejects.toMatchObject({
      code: 'PortUnavailable',
      message: expect.stringContaining(String(node(supervisor, 2).ports.client)),
    })
    expect(node(supervisor, 2)).toMatchObject({ state: 'refused', lastExit: { status: 69 } })
    squatter.close()
    await supervisor.start(2)
  })
})

async function squat(port: number): Promise<Server> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

test('a port that somebody took while the cluster was down is chosen anew, everywhere', async () => {
  const first = await supervise()
  const before = first.status().nodes.map(({ ports }) => ports)
  await first.close({ stopNodes: true })
  const squatter = await squat(before[1]!.replica)
  const supervisor = await supervise()
  await supervisor.startAll()
  const after = supervisor.status().nodes.map(({ ports }) => ports)
  expect(after[0]).toEqual(before[0])
  expect(after[1]!.replica).not.toBe(before[1]!.replica)
  await until(allLinked(supervisor, [0, 1, 2]), 'all three are linked')
  squatter.close()
})

test('wiping takes a stopped node, and only its data', async () => {
  const supervisor = await supervise()
  await supervisor.startAll()
  const { dataDirectory, configFile, ports } = node(supervisor, 1)
  await expect(supervisor.wipe(1)).rejects.toMatchObject({ code: 'WrongState' })
  expect(existsSync(dataDirectory)).toBe(true)
  await supervisor.kill(1)
  await supervisor.wipe(1)
  expect(existsSync(dataDirectory)).toBe(false)
  expect(existsSync(configFile)).toBe(true)
  expect(existsSync(node(supervisor, 0).dataDirectory)).toBe(true)
  expect((await supervisor.start(1)).ports).toEqual(ports)
})

test('a clean stop that hangs becomes a kill, and says so', async () => {
  // Stands in for a node that listens and then never comes to its end.
  const code = `
    const runtime = ${JSON.stringify(join(directory, 'node-0', 'runtime'))}
    require('node:fs').mkdirSync(runtime, { recursive: true })
    process.on('SIGTERM', () => {})
    setInterval(() => {}, 1000)
    require('node:fs').writeFileSync(runtime + '/ready.json', JSON.stringify({ pid: process.pid, boot: 'x', ports: {} }))`
  const supervisor = await supervise({ nodes: 1, stopGraceMs: 200, entry: { args: ['-e', code] } })
  expect(await supervisor.start(0)).toMatchObject({ state: 'running' })
  expect(await supervisor.terminate(0)).toMatchObject({
    state: 'stopped',
    lastExit: { signal: 'SIGKILL', requested: 'terminate', meaning: 'did not stop in time and was killed' },
  })
})

describe('after the death of the supervisor', () => {
  /** A supervisor in a process of its own that starts the cluster, says which processes it has, and then only lives. */
  async function foreignSupervisor(entry: LaunchEntry, says: 'at once' | 'when all run'): Promise<ChildProcess> {
    const module = fileURLToPath(new URL('./supervisor.ts', import.meta.url))
    const code = `
      const { openSupervisor } = await import(${JSON.stringify(module)})
      const supervisor = await openSupervisor({ directory: ${JSON.stringify(directory)}, entry: ${JSON.stringify(entry)} })
      const all = supervisor.startAll()
      ${says === 'when all run' ? 'await all' : 'await new Promise(resolve => supervisor.onChange(resolve))'}
      console.log(JSON.stringify(supervisor.status().nodes.flatMap(node => node.pid ?? [])))
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', code], {
      // A process group of its own, as a terminal gives one to a command.
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    strangers.push(child)
    const [line] = (await once(child.stdout!, 'data')) as [Buffer]
    for (const pid of JSON.parse(line.toString()) as number[]) pids.add(pid)
    return child
  }

  test('nodes that it had only just started are adopted too, once they hold their directories', async () => {
    const former = await foreignSupervisor(built.entry, 'at once')
    process.kill(-former.pid!, 'SIGKILL')
    await once(former, 'exit')
    const started = findNodes(directory)
    for (const { pid } of started) pids.add(pid)
    expect(started.length).toBeGreaterThan(0)

    const supervisor = await supervise()
    const adopted = supervisor.status().nodes.flatMap(({ replica, pid }) => (pid === undefined ? [] : [[replica, pid]]))
    expect(adopted).toEqual(started.map(({ replica, pid }) => [replica, pid]).sort(([a], [b]) => a! - b!))
    await supervisor.startAll()
    await until(() => states(supervisor).every(state => state === 'running'), 'all run')
    await until(allLinked(supervisor, [0, 1, 2]), 'all three are linked')
  })

  test('the nodes run on; the next one refuses to share, then adopts exactly them and can do everything to them', async () => {
    const former = await foreignSupervisor(built.entry, 'when all run')
    const running = [...pids]
    await expect(supervise()).rejects.toMatchObject({
      code: 'ClusterInUse',
      message: expect.stringContaining(String(former.pid)),
    })
    // The whole group, as Ctrl-C in a terminal reaches it.
    process.kill(-former.pid!, 'SIGKILL')
    await once(former, 'exit')
    for (const pid of running) expect(findProcess(pid)).toBeDefined()

    const supervisor = await supervise()
    expect(supervisor.adopted).toEqual([0, 1, 2])
    expect(supervisor.status().nodes.map(({ pid }) => pid)).toEqual(running)
    for (const status of supervisor.status().nodes) {
      expect(status).toMatchObject({ state: 'running', adopted: true, startedWallMs: expect.any(Number) })
    }
    await until(allLinked(supervisor, [0, 1, 2]), 'all three are linked')

    await supervisor.pause(0)
    expect(node(supervisor, 0).state).toBe('paused')
    await supervisor.resume(0)
    expect(await supervisor.kill(1)).toMatchObject({
      state: 'stopped',
      lastExit: { requested: 'kill', meaning: 'killed by SIGKILL' },
    })
    expect(await supervisor.terminate(2)).toMatchObject({
      state: 'stopped',
      lastExit: { status: 0, meaning: 'clean stop' },
    })
    expect(await supervisor.start(1)).toMatchObject({ state: 'running', adopted: false })
    process.kill(running[0]!, 'SIGKILL')
    await until(() => node(supervisor, 0).state === 'crashed', 'the end of an adopted node is noticed')
  })

  test('a node can be left running on purpose, and is found again', async () => {
    const first = await supervise()
    await first.startAll()
    const running = first.status().nodes.map(({ pid }) => pid)
    await first.kill(2)
    await first.close({ stopNodes: false })
    const second = await supervise()
    expect(second.adopted).toEqual([0, 1])
    expect(second.status().nodes.map(({ pid }) => pid)).toEqual([running[0], running[1], undefined])
    expect(node(second, 2).state).toBe('stopped')
  })

  test('a paused node is found paused', async () => {
    const first = await supervise()
    await first.startAll()
    await first.pause(1)
    await first.close({ stopNodes: false })
    const second = await supervise()
    expect(states(second)).toEqual(['running', 'paused', 'running'])
    await second.resume(1)
  })

  test('a process that only has the number of a node is never touched', async () => {
    const first = await supervise({ nodes: 1 })
    await first.start(0)
    const { dataDirectory } = node(first, 0)
    await first.close({ stopNodes: true })
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    strangers.push(stranger)
    const { started } = findProcess(stranger.pid!)!
    const path = join(directory, 'cluster.json')
    const file = JSON.parse(readFileSync(path, 'utf8'))
    // The file says so, start time included, but the lock in the data directory does not.
    file.nodes[0].process = { pid: stranger.pid, started, startedWallMs: Date.now() }
    writeFileSync(path, JSON.stringify(file))
    const second = await supervise()
    expect(second.adopted).toEqual([])
    expect(node(second, 0).state).toBe('stopped')
    await second.close({ stopNodes: true })
    // And a lock that names the stranger with another start time is stale.
    writeFileSync(join(dataDirectory, 'process.lock'), JSON.stringify({ pid: stranger.pid, started: `${started}0` }))
    const third = await supervise()
    expect(third.adopted).toEqual([])
    await third.start(0)
    await third.kill(0)
    await third.close({ stopNodes: true })
    expect(findProcess(stranger.pid!)?.condition).toBe('running')
  })
})

test('notes that cannot be written cost nobody the supervisor, and are written once they can be', async () => {
  const supervisor = await supervise({ nodes: 1 })
  await supervisor.startAll()
  // As on a full disk: the file cannot be replaced.
  const obstacle = join(directory, 'cluster.json.tmp')
  mkdirSync(obstacle)
  await supervisor.kill(0)
  expect(node(supervisor, 0)).toMatchObject({ state: 'stopped' })
  const noted = () => readClusterFile(directory)!.nodes[0]!.process?.pid
  expect(noted()).toBeGreaterThan(0)
  rmSync(obstacle, { recursive: true })
  await until(() => noted() === undefined, 'the end of the process is noted')
  const { pid } = await supervisor.start(0)
  expect(noted()).toBe(pid)
})

test('clusters in two directories do not meet', async () => {
  const other = mkdtempSync(join(tmpdir(), 'supervisor-'))
  try {
    const [one, two] = await Promise.all([supervise({ nodes: 1 }), supervise({ nodes: 1, directory: other })])
    await Promise.all([one.start(0), two.start(0)])
    expect(node(one, 0).ports).not.toEqual(node(two, 0).ports)
    await one.close({ stopNodes: true })
    expect(node(two, 0).state).toBe('running')
    await two.close({ stopNodes: true })
  } finally {
    rmSync(other, { recursive: true, force: true })
  }
})

test('a directory keeps the size of its cluster, and only 1, 3 or 5 nodes make one', async () => {
  await expect(supervise({ nodes: 2 })).rejects.toMatchObject({ code: 'BadClusterFile' })
  await (await supervise({ nodes: 1 })).close({ stopNodes: true })
  await expect(supervise({ nodes: 3 })).rejects.toMatchObject({ code: 'BadClusterFile' })
  expect((await supervise()).status().nodes).toHaveLength(1)
})
