/** HTTP at each node of a real cluster (spec wire.md §7; drills.md MF-14). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { chooseFreePorts } from './free-ports.ts'
import { HOST } from './node-files.ts'
import { type LocalSupervisor, openSupervisor } from './supervisor.ts'
import { buildEntry } from './testing/build-entry.ts'
import { sleep, snapshotOf, until, withClient } from './testing/local-cluster.ts'

const NODES = [0, 1, 2]
const PER_SESSION = 32
const ALL = 128

let built: Awaited<ReturnType<typeof buildEntry>>
let directory: string
let supervisor: LocalSupervisor
let ports: number[]

beforeAll(async () => {
  built = await buildEntry()
})
afterAll(() => built.remove())
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'http-'))
  // Nobody is elected while a node is paused.
  const settings: Record<string, string | number | boolean> = {
    'cluster.heartbeat_timeout': '60 s',
    'http.enabled': true,
    'http.jwt.encoding_secret': 's'.repeat(40),
  }
  supervisor = await openSupervisor({ directory, entry: built.entry, settings })
  // Nobody listens on the other ports of the nodes yet, so the system would give them again.
  const spoken = supervisor.status().nodes.flatMap(({ ports }) => Object.values(ports) as number[])
  ports = await chooseFreePorts(
    HOST,
    NODES.length,
    new Set([...spoken, ...supervisor.links!.ports.map(({ port }) => port)]),
  )
  for (const [node, port] of ports.entries()) settings[`cluster.nodes.${node}.ports.http`] = port
})
afterEach(async () => {
  await supervisor.close({ stopNodes: true })
  rmSync(directory, { recursive: true, force: true })
})

const url = (node: number, path: string) => `http://${HOST}:${ports[node]}${path}`
const post = (address: string, body: unknown, bearer?: string, method = 'POST') =>
  fetch(address, {
    method,
    redirect: 'manual',
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(bearer && { authorization: `Bearer ${bearer}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
async function login(node: number): Promise<string> {
  const answer = await post(url(node, '/users/login'), { username: 'iggy', password: 'iggy' })
  expect(answer.status).toBe(200)
  const { user_id, access_token } = (await answer.json()) as { user_id: number; access_token: { token: string } }
  expect(user_id).toBe(0)
  return access_token.token
}
const one = (text: string) => ({
  partitioning: { kind: 'partition_id', value: 'AAAAAA==' },
  messages: [{ payload: Buffer.from(text).toString('base64') }],
})
const MESSAGES = '/streams/s/topics/t/messages'

test('MF-14 at a backup a message is forwarded, a metadata write is sent on with 307, and what may wait is bounded', async () => {
  await supervisor.startAll()
  await until(
    async () =>
      (await Promise.all(NODES.map(node => snapshotOf(supervisor, node)))).every(
        ({ metadata }) => metadata.status === 'normal',
      ),
    'the cluster is up',
  )
  const hash = await createHash()
  await withClient(supervisor, hash, async client => {
    await client.createStream('s')
    await client.createTopic('s', 't', 1)
  })
  await until(
    async () =>
      (await Promise.all(NODES.map(node => snapshotOf(supervisor, node)))).every(({ groups }) => groups.length === 1),
    'the group is built',
  )
  expect((await snapshotOf(supervisor, 1)).metadata.primary).toBe(0)
  expect(await (await fetch(url(1, '/ping'))).text()).toBe('pong')

  // A message goes to the primary of its partition, whichever node it was given to.
  const sessions = await Promise.all(NODES.map(login))
  for (const node of NODES) {
    const answer = await post(url(node, MESSAGES), one(`of ${node}`), sessions[node])
    expect([answer.status, answer.headers.get('iggy-durability')]).toEqual([201, 'replicated-memory'])
    expect(await answer.json()).toEqual({
      confirmations: [{ stream_id: 0, topic_id: 0, partition_id: 0, base_offset: node }],
    })
  }
  const forwarded = async (node: number) => (await snapshotOf(supervisor, node)).counters.forward_answered ?? 0
  expect(await Promise.all(NODES.map(forwarded))).toEqual([0, 1, 1])

  // What the primary of the metadata alone may take is sent on, under the same path, and the bearer is good there.
  const path = '/personal-access-tokens?from=backup'
  const sent = await post(url(1, path), { name: 'ci', expiry: 0 }, sessions[1])
  expect([sent.status, sent.headers.get('location')]).toEqual([307, url(0, path)])
  const made = await post(sent.headers.get('location')!, { name: 'ci', expiry: 0 }, sessions[1])
  expect(made.status).toBe(200)
  const { token } = (await made.json()) as { token: string }
  expect((await post(url(0, path), { name: 'ci', expiry: 0 }, sessions[1])).status).toBe(400)
  await until(
    async () => (await post(url(2, MESSAGES), one('by token'), token)).status === 201,
    'node 2 knows the token',
  )
  expect((await post(url(2, path), { name: 'x', expiry: 0 }, 'made-up')).status).toBe(401)
  expect((await post(url(2, path), { name: 'x', expiry: 0 })).status).toBe(401)
  const unserved = await post(url(0, '/streams'), { name: 'x' }, sessions[0])
  expect([unserved.status, ((await unserved.json()) as { code: string }).code]).toEqual([501, 'feature_unavailable'])

  // While the primary stands still, what waits for it is bounded, per session and over all; then it goes on.
  const bearers = await Promise.all(Array.from({ length: ALL / PER_SESSION + 1 }, () => login(1)))
  await supervisor.pause(0)
  const refused = new Set<string>()
  const waiting: Promise<number>[] = []
  const give = async (bearer: string) => {
    const answer = await post(url(1, MESSAGES), one('waits'), bearer)
    if (answer.status !== 201) refused.add(((await answer.json()) as { code: string }).code)
    return answer.status
  }
  /** Gives more and more, faster than what waits is given up, until one is refused for this reason. */
  const giveUntil = async (code: string, to: readonly string[]) => {
    for (let number = 0; !refused.has(code); number++) {
      if (number > 10 * ALL) throw new Error(`never refused: ${code}`)
      waiting.push(give(to[number % to.length]!))
      if (number % PER_SESSION === PER_SESSION - 1) await sleep(20)
    }
  }
  await giveUntil('too_many_in_flight_writes', bearers.slice(0, 1))
  expect([...refused]).not.toContain('server_busy')
  await giveUntil('server_busy', bearers.slice(1))
  await supervisor.resume(0)
  const statuses = await Promise.all(waiting)
  expect(statuses.filter(status => ![201, 429, 503, 504].includes(status))).toEqual([])
  await until(async () => (await give(bearers[1]!)) === 201, 'messages are taken again')
})
