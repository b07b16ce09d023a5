/** Writes of many connections to three real processes, and what lies in their files afterwards. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHash, type Hash } from '../../shared/bytes/hash.ts'
import type { Client } from '../../shared/client/client.ts'
import type { TopicOptions } from '../../shared/client/topic-options.ts'
import type { LocalSupervisor } from './supervisor.ts'
import { buildEntry } from './testing/build-entry.ts'
import { clientOf, snapshotOf, until, withClient, withCluster } from './testing/local-cluster.ts'

const MESSAGES = 10_000
const CONNECTIONS = 8
const PARTITIONS = [0, 1, 2] as const
const NODES = [0, 1, 2] as const
const BATCH_MAX = 50
const POLL_MESSAGES = 997

let built: Awaited<ReturnType<typeof buildEntry>>
let hash: Hash
beforeAll(async () => {
  built = await buildEntry()
  hash = await createHash()
})
afterAll(() => built.remove())

/** Payloads by offset, one list a partition. */
type Ledger = (string | undefined)[][]

/** Batches of every size from 1 to 50, to the partitions in turn, from eight connections; every other one stays on a backup. */
async function produce(supervisor: LocalSupervisor): Promise<Ledger> {
  const ledger: Ledger = PARTITIONS.map(() => [])
  let [left, batch, number] = [MESSAGES, 0, 0]
  const work = async (client: Client) => {
    while (left > 0) {
      const [count, partition] = [Math.min(left, 1 + ((batch * 7) % BATCH_MAX)), batch % PARTITIONS.length]
      left -= count
      batch++
      const payloads = Array.from({ length: count }, () => `${number++}:${'x'.repeat(number % 300)}`)
      const confirmed = await client.sendMessages(
        's',
        't',
        { kind: 'partition', partition },
        payloads.map(payload => ({ payload })),
      )
      for (const [index, payload] of payloads.entries()) {
        const offset = Number(confirmed!.baseOffset) + index
        if (ledger[partition]![offset] !== undefined) throw new Error(`offset ${offset} was confirmed twice`)
        ledger[partition]![offset] = payload
      }
    }
    client.close()
  }
  const clients = Array.from({ length: CONNECTIONS }, (_, index) =>
    clientOf(supervisor, hash, { only: index % NODES.length, followLeader: index % 2 === 0 }),
  )
  await Promise.all(clients.map(work))
  return ledger
}

/**
 * Every message is confirmed, at one offset. A client repeats a write whose outcome it was not told (57), as official ones
 * do: what stands at an offset that nobody was told of must then be such a repeat, never anything else.
 */
function expectConfirmed(ledger: Ledger): void {
  const confirmed = ledger.flatMap(sent => sent.filter(payload => payload !== undefined))
  expect(confirmed.length).toBe(MESSAGES)
  expect(new Set(confirmed).size).toBe(MESSAGES)
}

/** Every partition, read through every node: offsets dense, every payload where it was confirmed. */
async function expectReadEqual(supervisor: LocalSupervisor, ledger: Ledger): Promise<void> {
  for (const only of NODES) {
    const client = clientOf(supervisor, hash, { only, followLeader: false })
    for (const partition of PARTITIONS) {
      const read: string[] = []
      for (;;) {
        const strategy = { kind: 'offset', offset: BigInt(read.length) } as const
        const { messages } = await client.poll({ stream: 's', topic: 't', partition, strategy, count: POLL_MESSAGES })
        if (messages.length === 0) break
        for (const { offset, payload } of messages) {
          if (offset !== BigInt(read.length)) throw new Error(`offset ${offset} at place ${read.length}`)
          read.push(Buffer.from(payload).toString())
        }
      }
      const sent = ledger[partition]!
      const confirmed = new Set(sent)
      expect(read.length).toBeGreaterThanOrEqual(sent.length)
      const wrong = read.findIndex((payload, offset) =>
        sent[offset] === undefined ? !confirmed.has(payload) : payload !== sent[offset],
      )
      expect([only, partition, wrong]).toEqual([only, partition, -1])
    }
    client.close()
  }
}

/** The `.log` files of a partition on one node, in order. */
function logsOf(supervisor: LocalSupervisor, replica: number, partition: number): { name: string; bytes: Buffer }[] {
  const { dataDirectory } = supervisor.status().nodes[replica]!
  const directory = join(dataDirectory, `streams/0/topics/0/partitions/${partition}`)
  return readdirSync(directory)
    .filter(name => name.endsWith('.log'))
    .sort()
    .map(name => ({ name, bytes: readFileSync(join(directory, name)) }))
}

const chainOf = (...where: Parameters<typeof logsOf>): Buffer =>
  Buffer.concat(logsOf(...where).map(({ bytes }) => bytes))

function logsAreEqual(supervisor: LocalSupervisor): boolean {
  return PARTITIONS.every(partition => {
    const [first, ...others] = NODES.map(replica => logsOf(supervisor, replica, partition))
    return others.every(
      other =>
        other.length === first!.length &&
        other.every(({ name, bytes }, at) => name === first![at]!.name && bytes.equals(first![at]!.bytes)),
    )
  })
}

async function commitsAreEqual(supervisor: LocalSupervisor): Promise<boolean> {
  const commits = await Promise.all(
    NODES.map(async replica =>
      (await snapshotOf(supervisor, replica)).groups.map(({ group, op, commitMin }) => `${group} ${op} ${commitMin}`),
    ),
  )
  const idle = commits.every(groups =>
    groups.every(text => {
      const [, op, commit] = text.split(' ')
      return op === commit
    }),
  )
  return idle && new Set(commits.map(groups => groups.sort().join())).size === 1
}

async function withTopic(options: TopicOptions, work: (supervisor: LocalSupervisor) => Promise<void>): Promise<void> {
  await withCluster(built.entry, async supervisor => {
    await supervisor.startAll()
    await withClient(supervisor, hash, async client => {
      await client.createStream('s')
      await client.createTopic('s', 't', PARTITIONS.length, options)
    })
    // A backup hears of the topic with the next commit; until then it answers that there is none.
    const known = async (replica: number) => (await snapshotOf(supervisor, replica)).groups.length === PARTITIONS.length
    await until(async () => (await Promise.all(NODES.map(known))).every(Boolean), 'all nodes know the topic')
    await work(supervisor)
  })
}

test('an eager topic: offsets dense, every message polls back equal, and once commits are equal so are the .log files', async () => {
  // The smallest segments, so that chains rotate.
  await withTopic({ enforceFsync: true, messagesRequiredToSave: 1, segmentSize: 1_048_576n }, async supervisor => {
    const ledger = await produce(supervisor)
    expectConfirmed(ledger)
    await until(() => commitsAreEqual(supervisor), 'all nodes report equal commits')
    await until(() => logsAreEqual(supervisor), 'the .log files are equal')
    const stored = PARTITIONS.map(partition => chainOf(supervisor, 0, partition).length)
    const sent = ledger.map(payloads => payloads.reduce((total, payload) => total + (payload?.length ?? 0), 0))
    for (const partition of PARTITIONS) expect(stored[partition]).toBeGreaterThan(sent[partition]!)
    await expectReadEqual(supervisor, ledger)
    for (const replica of NODES) {
      expect((await snapshotOf(supervisor, replica)).counters.view_change_started ?? 0).toBe(0)
    }
  })
})

test('a default topic: each chain is a prefix of the longest, all are equal after a clean stop of all, and nothing is lost', async () => {
  await withTopic({}, async supervisor => {
    const ledger = await produce(supervisor)
    expectConfirmed(ledger)
    await until(() => commitsAreEqual(supervisor), 'all nodes report equal commits')
    await expectReadEqual(supervisor, ledger)
    for (const partition of PARTITIONS) {
      const chains = NODES.map(replica => chainOf(supervisor, replica, partition)).sort((a, b) => b.length - a.length)
      for (const chain of chains) expect(chain.equals(chains[0]!.subarray(0, chain.length))).toBe(true)
    }
    await Promise.all(NODES.map(replica => supervisor.terminate(replica)))
    expect(logsAreEqual(supervisor)).toBe(true)
    await supervisor.startAll()
    await until(() => commitsAreEqual(supervisor), 'all nodes have read their disks and agree')
    await expectReadEqual(supervisor, ledger)
  })
})
