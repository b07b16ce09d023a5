/** Faults of links, disks and points in real node processes, told by events and by the bytes that are left. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import type { Client } from '../../shared/client/client.ts'
import { Command } from '../../shared/protocol/commands.ts'
import { METADATA_GROUP } from '../../shared/protocol/groups.ts'
import type { ClusterSpec } from '../../shared/scenario/language.ts'
import { runScenario } from '../../shared/scenario/run.ts'
import { killedPrimary } from '../../shared/scenario/testing/killed-primary.ts'
import { RealRunner, type RealRunnerOptions } from './scenario-runner.ts'
import { openSupervisor } from './supervisor.ts'
import { buildEntry } from './testing/build-entry.ts'

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
const runners: RealRunner[] = []
const clients: Client[] = []

beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  for (const runner of runners.splice(0)) await runner.close()
})

async function open(spec: ClusterSpec, options: Partial<RealRunnerOptions> = {}): Promise<RealRunner> {
  const runner = await RealRunner.open(spec, { hash, entry: built.entry, ...options })
  runners.push(runner)
  return runner
}

function clientOf(runner: RealRunner): Client {
  const client = runner.client([...Array(runner.nodes).keys()], { budgetMs: 20_000 })
  clients.push(client)
  return client
}

async function until(runner: RealRunner, what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const limit = runner.nowMs() + 40_000
  while (!(await condition())) {
    if (runner.nowMs() > limit) throw new Error(`never came true: ${what}`)
    await runner.progress()
  }
}

async function started(runner: RealRunner): Promise<void> {
  const nodes = [...Array(runner.nodes).keys()]
  await Promise.all(nodes.map(node => runner.start(node)))
  await until(runner, 'all nodes serve', async () => {
    for (const node of nodes) {
      const { state, code } = runner.process(node)
      if (state === 'refused' || state === 'crashed') throw new Error(`node ${node} ${state}: ${code}`)
    }
    const groups = await Promise.all(nodes.map(node => runner.groups(node)))
    return groups.every(each => each?.[0]?.status === 'normal')
  })
}

const to = { kind: 'partition', partition: 0 } as const
const texts = async (client: Client, topic: string): Promise<string[]> => {
  const { messages } = await client.poll({ stream: 's', topic, partition: 0, strategy: { kind: 'first' }, count: 100 })
  return messages.map(({ payload }) => new TextDecoder().decode(payload))
}

const METADATA = METADATA_GROUP.toString()

test('VC-01 a primary is killed under load, the story of the simulator on real processes', async () => {
  const runner = await open(killedPrimary.cluster)
  const result = await runScenario(killedPrimary, runner, { hash })
  expect(result.findings.filter(({ verdict }) => verdict !== 'pass')).toEqual([])
  expect(result).toMatchObject({ world: 'real', verdict: 'pass' })
})

test('an election waits for the votes that a link holds, and ends when they are let go one by one', async () => {
  const runner = await open({ nodes: 3, settings: { 'cluster.heartbeat_timeout': '2 s' } })
  await started(runner)
  const links = runner.supervisor.links!
  for (const [from, into] of [
    [1, 2],
    [2, 1],
  ] as const)
    await runner.hold('votes', from, into, Command.DoViewChange, Number.MAX_SAFE_INTEGER)
  await runner.kill(0)
  const held = () => runner.events().filter(({ kind, group }) => kind === 'link_frame_held' && group === METADATA)
  await until(runner, 'a vote is held', () => held().length > 0)
  const standing = async () => (await Promise.all([runner.groups(1), runner.groups(2)])).map(each => each?.[0])
  await until(runner, 'both are in the view change', async () =>
    (await standing()).every(group => group?.status === 'view_change'),
  )
  // Retransmissions are held too: whatever the timers do, no vote arrives.
  const before = held().length
  await until(runner, 'votes are sent again', () => held().length > before + 1)
  const led = () => runner.events().filter(({ kind, group }) => kind === 'view_started' && group === METADATA)
  expect(led()).toEqual([])
  expect(held()[0]).toMatchObject({ node: 255, class: 'fact', plane: 'metadata', data: { command: 'DoViewChange' } })

  await until(runner, 'the election ends', () => {
    for (const { from, to: into, heldFrames } of links.status()) {
      if (heldFrames.length > 0) links.release(from, into, { name: 'votes', count: 1 })
    }
    return led().length > 0
  })
  await runner.release('votes')
  await until(runner, 'both follow one primary', async () => {
    const [one, two] = await standing()
    return one?.status === 'normal' && two?.status === 'normal' && one.primary === two.primary && one.view === two.view
  })
  await clientOf(runner).createStream('after')
})

test('a one-way cut keeps a backup behind until it is healed', async () => {
  const runner = await open({ nodes: 3 })
  await started(runner)
  const client = clientOf(runner)
  await client.createStream('s')
  const commits = async () => {
    const groups = await Promise.all([0, 1, 2].map(node => runner.groups(node)))
    return groups.map(each => each?.[0]?.commitMax)
  }
  await until(runner, 'all are level', async () => new Set(await commits()).size === 1)
  const [level] = await commits()
  await runner.cut(0, 2, Command.Prepare)
  await runner.cut(1, 2, Command.Prepare)
  await client.createStream('t')
  await until(runner, 'the majority has it', async () => (await commits())[1] !== level)
  expect(runner.supervisor.links!.status().some(({ counters }) => counters.dropped > 0)).toBe(true)
  await runner.heal(0, 2, Command.Prepare)
  await runner.heal(1, 2, Command.Prepare)
  await until(runner, 'all are level again', async () => new Set(await commits()).size === 1)
  expect((await commits())[0]).not.toBe(level)
})

describe('a node alone, killed', () => {
  const lazy = { messagesRequiredToSave: 1, enforceFsync: false }
  const eager = { messagesRequiredToSave: 1, enforceFsync: true }

  async function killed(volatileDisk: boolean): Promise<Record<string, string[]>> {
    const runner = await open({ nodes: 1 }, { volatileDisk })
    await started(runner)
    const client = clientOf(runner)
    await client.createStream('s')
    await client.createTopic('s', 'eager', 1, eager)
    await client.createTopic('s', 'lazy', 1, lazy)
    for (const topic of ['eager', 'lazy']) await client.sendMessages('s', topic, to, [{ payload: `${topic} 1` }])
    await until(runner, 'both are written', async () => {
      const groups = (await runner.groups(0))!.filter(({ plane }) => plane === 'partition')
      return groups.length === 2 && groups.every(({ offsets }) => offsets?.persisted === '1')
    })
    await runner.kill(0)
    await started(runner)
    const again = clientOf(runner)
    return { eager: await texts(again, 'eager'), lazy: await texts(again, 'lazy') }
  }

  test('on a volatile disk loses what was not synced, and keeps what was acknowledged from the disk', async () => {
    expect(await killed(true)).toEqual({ eager: ['eager 1'], lazy: [] })
  })

  test('on a plain disk keeps what was written, for the kernel did', async () => {
    expect(await killed(false)).toEqual({ eager: ['eager 1'], lazy: ['lazy 1'] })
  })
})

describe('a node that kills itself between the steps of a superblock', () => {
  const slot = 'streams/0/topics/0/partitions/0/superblock.a'
  // The first write of the partition's record: the old generation is no file at all.
  test.each([
    ['sb.tempCreate', false],
    ['sb.tempHalf', false],
    ['sb.tempSync', false],
    ['sb.rename', false],
    ['sb.dirSync', true],
  ])('SB-06 kill at %s: the old generation or the new, and the node boots and serves', async (point, there) => {
    const runner = await open({ nodes: 1 }, { volatileDisk: true })
    await started(runner)
    const client = clientOf(runner)
    await client.createStream('s')
    await client.createTopic('s', 't', 1, { messagesRequiredToSave: 1, enforceFsync: true })
    await runner.arm(0, `${point}@streams/**`, { effect: 'kill' }, 0, 1)
    const send = clientOf(runner)
      .sendMessages('s', 't', to, [{ payload: 'first' }])
      .catch(() => {})
    await until(runner, 'it is dead', () => runner.process(0).state === 'crashed')
    expect((await runner.readFile(0, slot)) !== undefined).toBe(there)
    expect((await runner.files(0)).filter(path => path.endsWith('.tmp'))).toEqual([])
    await started(runner)
    await send
    const before = await texts(clientOf(runner), 't')
    await clientOf(runner).sendMessages('s', 't', to, [{ payload: 'second' }])
    expect(await texts(clientOf(runner), 't')).toEqual([...before, 'second'])
    expect(await runner.readFile(0, slot)).toBeDefined()
  })
})

test('a node that was not started for faults has no way to take any', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'no-faults-'))
  const supervisor = await openSupervisor({ directory, nodes: 1, entry: built.entry })
  try {
    const { ports } = await supervisor.start(0)
    const at = `http://127.0.0.1:${ports.inspection}/faults`
    const answers = [await fetch(at), await fetch(`${at}/arm?point=wal.afterSync&effect=kill`, { method: 'POST' })]
    expect(answers.map(({ status }) => status)).toEqual([404, 405])
  } finally {
    await supervisor.close({ stopNodes: true })
    rmSync(directory, { recursive: true, force: true })
  }
})
