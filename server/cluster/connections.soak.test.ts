/** Many connections on one solo node (drills.md §4): 1,000 idle and 200 active ones. Prints what it measured. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { Client } from '../../shared/client/client.ts'
import { nodePath } from '../../shared/inspection/node-api.ts'
import { nodeSnapshot } from '../../shared/inspection/snapshots.ts'
import { nodeClientPorts } from '../node/tcp-transport.ts'
import { openSupervisor } from './supervisor.ts'
import { buildEntry } from './testing/build-entry.ts'

const IDLE = 1_000
const ACTIVE = 200
const RUN_MS = 30_000
const MESSAGES_PER_SECOND = 2_000
const BATCH = 10
const MESSAGE_BYTES = 1_024
const MEMORY_MAX = 512 * 1024 * 1024
const PING_EVERY_MS = 50

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

test(`${IDLE} idle and ${ACTIVE} active connections under ${MESSAGES_PER_SECOND} messages a second, eager`, async () => {
  const built = await buildEntry()
  const hash = await createHash()
  const directory = mkdtempSync(join(tmpdir(), 'connections-'))
  const supervisor = await openSupervisor({ directory, entry: built.entry, nodes: 1 })
  const clients: Client[] = []
  try {
    await supervisor.startAll()
    const { client: port, inspection } = supervisor.status().nodes[0]!.ports
    const dial = async () => {
      const client = new Client(nodeClientPorts, {
        endpoints: [{ host: '127.0.0.1', port }],
        hash,
        credentials: { username: 'iggy', password: 'iggy' },
        followLeader: false,
      })
      clients.push(client)
      await client.connect()
      return client
    }
    const admin = await dial()
    await admin.createStream('s')
    await admin.createTopic('s', 't', 3, { enforceFsync: true, messagesRequiredToSave: 1 })
    for (let index = 0; index < IDLE; index += 50) await Promise.all(Array.from({ length: 50 }, dial))
    const active: Client[] = []
    for (let index = 0; index < ACTIVE; index += 50)
      active.push(...(await Promise.all(Array.from({ length: 50 }, dial))))

    const payload = new Uint8Array(MESSAGE_BYTES).fill(7)
    const until = performance.now() + RUN_MS
    let sent = 0
    const lane = async (client: Client, index: number) => {
      const everyMs = (1000 * BATCH * ACTIVE) / MESSAGES_PER_SECOND
      await sleep((everyMs * index) / ACTIVE)
      for (let due = performance.now(); performance.now() < until; due += everyMs) {
        await sleep(Math.max(0, due - performance.now()))
        const messages = Array.from({ length: BATCH }, () => ({ payload }))
        await client.sendMessages('s', 't', { kind: 'partition', partition: index % 3 }, messages)
        sent += BATCH
      }
    }
    const pings: number[] = []
    let memory = 0
    const watch = async () => {
      while (performance.now() < until) {
        const asked = performance.now()
        await admin.ping()
        pings.push(performance.now() - asked)
        if (pings.length % 20 === 0) {
          const answer = await fetch(`http://127.0.0.1:${inspection}${nodePath.snapshot}`)
          memory = Math.max(memory, nodeSnapshot.parse(await answer.json()).memoryBytes)
        }
        await sleep(PING_EVERY_MS)
      }
    }
    await Promise.all([...active.map(lane), watch()])

    pings.sort((a, b) => a - b)
    const at = (share: number) => pings[Math.floor((pings.length - 1) * share)]!
    console.log(
      `${sent} messages, ${(sent / (RUN_MS / 1000)).toFixed(0)} a second; ping median ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms; ${(memory / 2 ** 20).toFixed(0)} MiB`,
    )
    const snapshot = nodeSnapshot.parse(
      await (await fetch(`http://127.0.0.1:${inspection}${nodePath.snapshot}`)).json(),
    )
    expect(snapshot.clients).toBe(1 + IDLE + ACTIVE)
    expect(sent).toBeGreaterThan((MESSAGES_PER_SECOND * RUN_MS) / 1000 / 2)
    expect(memory).toBeLessThan(MEMORY_MAX)
    expect(memory).toBeGreaterThan(0)
    // Every connection still works, the idle ones too.
    for (let index = 0; index < clients.length; index += 100) await clients[index]!.ping()
  } finally {
    for (const client of clients) client.close()
    await supervisor.close({ stopNodes: true })
    rmSync(directory, { recursive: true, force: true })
    await built.remove()
  }
})
