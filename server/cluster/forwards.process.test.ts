/**
 * Writes through any door, on real processes (drills.md MF-01): the planes have different primaries, and a load over all
 * three nodes is acknowledged all the same. Prints what it measured.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { Client } from '../../shared/client/client.ts'
import { FORWARDS_LIMIT_MAX, joinForwards } from '../../shared/inspection/forwards.ts'
import { nodePath } from '../../shared/inspection/node-api.ts'
import { forwardsSnapshot, type NodeSnapshot, nodeSnapshot } from '../../shared/inspection/snapshots.ts'
import { nodeClientPorts } from '../node/tcp-transport.ts'
import { type LocalSupervisor, openSupervisor } from './supervisor.ts'
import { buildEntry } from './testing/build-entry.ts'

const NODES = [0, 1, 2]
const PARTITIONS = 3
const WRITES = 10_000
const CONNECTIONS_PER_DOOR = 8
/** An answer that comes later than this counts as none. */
const ANSWER_MS = 5_000

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
let directory: string
let supervisor: LocalSupervisor
const clients: Client[] = []

beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'forwards-'))
  supervisor = await openSupervisor({ directory, entry: built.entry })
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await supervisor.close({ stopNodes: true })
  rmSync(directory, { recursive: true, force: true })
})

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 40_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never came true: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

async function ask(node: number, path: string): Promise<unknown> {
  const { inspection } = supervisor.status().nodes[node]!.ports
  return (await fetch(`http://127.0.0.1:${inspection}${path}`)).json()
}
const snapshot = async (node: number): Promise<NodeSnapshot> => nodeSnapshot.parse(await ask(node, nodePath.snapshot))
const snapshots = (): Promise<NodeSnapshot[]> => Promise.all(NODES.map(snapshot))

/** A client that stays on one node and passes every answer on. */
function dial(node: number): Client {
  const { client: port } = supervisor.status().nodes[node]!.ports
  const client = new Client(nodeClientPorts, {
    endpoints: [{ host: '127.0.0.1', port }],
    hash,
    credentials: { username: 'iggy', password: 'iggy' },
    followLeader: false,
    retry: false,
    requestTimeoutMs: ANSWER_MS,
  })
  clients.push(client)
  return client
}

test(`MF-01 ${WRITES} writes over three doors of a cluster whose planes have different primaries`, async () => {
  await supervisor.startAll()
  await until(
    async () => (await snapshots()).every(({ metadata }) => metadata.status === 'normal'),
    'the cluster is up',
  )
  await dial(0).connect()
  await supervisor.kill(0)
  const elected = async () => {
    const [one, two] = await Promise.all([snapshot(1), snapshot(2)])
    return one.metadata.view > 0 && one.metadata.status === 'normal' && two.metadata.view === one.metadata.view
  }
  await until(elected, 'another primary of the metadata')
  await supervisor.start(0)
  const joined = async () => {
    const { metadata, peers } = await snapshot(0)
    return metadata.status === 'normal' && metadata.view > 0 && peers.every(({ connected }) => connected)
  }
  await until(joined, 'node 0 has joined the new view')
  const leader = (await snapshot(0)).metadata.primary
  expect(leader).not.toBe(0)
  const admin = dial(leader)
  await admin.createStream('s')
  await admin.createTopic('s', 't', PARTITIONS)
  await until(
    async () => (await snapshots()).every(({ groups }) => groups.length === PARTITIONS),
    'all groups are built',
  )
  // The groups were made after the election and start in view 0.
  for (const { groups } of await snapshots())
    expect(groups.map(({ view, primary }) => [view, primary])).toEqual(Array(PARTITIONS).fill([0, 0]))

  const doors = NODES.flatMap(node =>
    Array.from({ length: CONNECTIONS_PER_DOOR }, () => ({ node, client: dial(node) })),
  )
  for (const { client } of doors) await client.connect()
  const offsets = Array.from({ length: PARTITIONS }, () => [] as bigint[])
  const latencies: number[] = []
  let next = 0
  let misrouted = 0
  const lane = async ({ node, client }: (typeof doors)[number]) => {
    for (let number = next++; number < WRITES; number = next++) {
      const partition = number % PARTITIONS
      const asked = performance.now()
      const confirmed = await client.sendMessages('s', 't', { kind: 'partition', partition }, [
        { payload: `m${number}` },
      ])
      latencies.push(performance.now() - asked)
      offsets[partition]!.push(confirmed!.baseOffset)
      if (node !== 0) misrouted++
    }
  }
  await Promise.all(doors.map(lane))

  expect(latencies).toHaveLength(WRITES)
  for (const confirmed of offsets) {
    confirmed.sort((a, b) => (a < b ? -1 : 1))
    expect(confirmed).toEqual(confirmed.map((_, index) => BigInt(index)))
  }
  const after = await snapshots()
  const counted = (kind: string) => after.reduce((total, { counters }) => total + (counters[kind] ?? 0), 0)
  expect(misrouted).toBeGreaterThan(WRITES / 4)
  for (const kind of ['forward_sent', 'forward_taken', 'forward_accepted', 'forward_answered']) {
    expect([kind, counted(kind)]).toEqual([kind, misrouted])
  }
  expect(counted('forward_lost') + counted('forward_refused') + counted('forward_unsent')).toBe(0)
  const told = await Promise.all(
    NODES.map(async node => forwardsSnapshot.parse(await ask(node, nodePath.forwards(FORWARDS_LIMIT_MAX)))),
  )
  expect(told.map(({ parked, waiting }) => [parked, waiting])).toEqual(NODES.map(() => [0, 0]))
  const chains = joinForwards(told, 100).filter(({ matched }) => matched)
  expect(chains.length).toBeGreaterThan(0)
  for (const { steps } of chains) {
    const [, , sent, taken] = steps
    expect([sent!.step, taken!.step, sent!.link]).toEqual(['sent', 'taken', taken!.link])
  }

  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)]!.toFixed(1)
  console.log(`${WRITES} writes, ${misrouted} forwarded: median ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`)
})
