/** The start of a cluster, over and over: any order within ten seconds, no election. Prints what it measured. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import { Client } from '../../shared/client/client.ts'
import { type NodeSnapshot, nodeSnapshot } from '../../shared/inspection/snapshots.ts'
import { nodeClientPorts } from '../node/tcp-transport.ts'
import { type LocalSupervisor, openSupervisor } from './supervisor.ts'
import { buildEntry } from './testing/build-entry.ts'

const ROUNDS = 20
const SPREAD_MS = 10_000

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

async function withCluster(work: (supervisor: LocalSupervisor) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'start-up-'))
  const supervisor = await openSupervisor({ directory, entry: built.entry })
  try {
    await work(supervisor)
  } finally {
    await supervisor.close({ stopNodes: true })
    rmSync(directory, { recursive: true, force: true })
  }
}

async function snapshot(supervisor: LocalSupervisor, replica: number): Promise<NodeSnapshot> {
  const { inspection } = supervisor.status().nodes[replica]!.ports
  return nodeSnapshot.parse(await (await fetch(`http://127.0.0.1:${inspection}/node`)).json())
}

async function withClient(supervisor: LocalSupervisor, work: (client: Client) => Promise<void>): Promise<void> {
  const endpoints = supervisor
    .status()
    .nodes.filter(({ state }) => state === 'running')
    .map(({ ports }) => ({ host: '127.0.0.1', port: ports.client }))
  const credentials = { username: 'iggy', password: 'iggy' }
  const client = new Client(nodeClientPorts, { endpoints, hash, credentials })
  try {
    await work(client)
  } finally {
    client.close()
  }
}

test(`three nodes started in any order within ${SPREAD_MS} ms settle in view 0 on both planes, ${ROUNDS} times of ${ROUNDS}`, async () => {
  for (let round = 1; round <= ROUNDS; round++) {
    const delays = [0, 1, 2].map(() => Math.floor(Math.random() * SPREAD_MS))
    await withCluster(async supervisor => {
      await Promise.all(
        delays.map(async (delay, replica) => {
          await sleep(delay)
          await supervisor.start(replica)
        }),
      )
      await withClient(supervisor, async client => {
        await client.createStream('s')
        await client.createTopic('s', 't', 3)
        for (let partition = 0; partition < 3; partition++) {
          await client.sendMessages('s', 't', { kind: 'partition', partition }, [{ payload: 'x' }])
        }
      })
      // Longer than a heartbeat timeout: what was about to elect has done so.
      await sleep(6_000)
      for (const replica of [0, 1, 2]) {
        const { metadata, groups, counters } = await snapshot(supervisor, replica)
        const seen = {
          delays,
          replica,
          views: groups.map(({ view }) => view),
          elections: counters.view_change_started ?? 0,
        }
        expect(seen).toEqual({ delays, replica, views: groups.map(() => 0), elections: 0 })
        expect(metadata).toMatchObject({ view: 0, status: 'normal', primary: 0 })
        expect(groups.length).toBeGreaterThanOrEqual(3)
      }
    })
    console.log(`round ${round}: delays ${delays.join(', ')} ms, view 0`)
  }
})

test('without node 0 the other two elect and serve', async () => {
  await withCluster(async supervisor => {
    const started = Date.now()
    await Promise.all([supervisor.start(1), supervisor.start(2)])
    await withClient(supervisor, async client => {
      await client.createStream('s')
      await client.createTopic('s', 't', 1)
      await client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload: 'x' }])
    })
    console.log(`served after ${Date.now() - started} ms`)
    expect((await snapshot(supervisor, 1)).metadata.view).toBeGreaterThan(0)
  })
})
