import { afterEach, beforeEach, expect, it } from 'vitest'
import { apiError } from '../../../shared/inspection/api.ts'
import type { EventEnvelope } from '../../../shared/inspection/envelope.ts'
import { eventBatch } from '../../../shared/inspection/envelope.ts'
import { linksAnswer } from '../../../shared/inspection/links.ts'
import { commit, Link, prepare, until } from '../../cluster/links/testing/link-ends.ts'
import { authorization, type TestConsole, testConsole } from '../testing/console.ts'
import { FakeSupervisor } from '../testing/fake-supervisor.ts'

let link: Link
let made: TestConsole
const events: EventEnvelope[] = []

beforeEach(async () => {
  link = await Link.open()
  const supervisor = Object.assign(new FakeSupervisor([{ inspection: 1 }, { inspection: 1 }]), { links: link.links })
  made = await testConsole({ supervisor, count: 0 })
  events.length = 0
  made.hub.log.onBatch(({ json }) => {
    for (const item of eventBatch.parse(JSON.parse(json)))
      if (item.kind.startsWith('link_')) events.push(item as EventEnvelope)
  })
})
afterEach(async () => {
  await made.close()
  await link.close()
})

let keys = 0
async function post(path: string, body: object = {}, key = `key-${++keys}`) {
  const response = await made.app.inject({
    method: 'POST',
    url: `/api/links/${path}`,
    headers: { host: 'localhost', authorization, 'idempotency-key': key },
    payload: body,
  })
  return { status: response.statusCode, body: response.json() }
}
const status = async () => {
  const response = await made.app.inject({ method: 'GET', url: '/api/links', headers: { host: 'localhost' } })
  return linksAnswer.parse(response.json()).links
}
const code = async (answer: ReturnType<typeof post>) =>
  `${(await answer).status} ${apiError.parse((await answer).body).code}`

it('one request holds frames of a kind, others let them go one by one, and each is an event with its place', async () => {
  const { zero, one } = await link.dial(0x1f)
  const { body } = await post('0/1/hold', { commands: ['Prepare'], name: 'votes' })
  expect(linksAnswer.parse(body).links[0]).toMatchObject({
    from: 0,
    to: 1,
    connected: true,
    faults: [{ fault: 'hold', name: 'votes', commands: ['Prepare'] }],
  })
  zero.socket.write(Buffer.concat([prepare(1), prepare(2), commit(3)]))
  await until(() => one.told.at(-1) === 'Commit 3')
  expect((await status())[0]!.heldFrames.map(({ op }) => op)).toEqual(['1', '2'])
  await post('0/1/release', { name: 'votes', count: 1 })
  await until(() => one.told.at(-1) === 'Prepare 1')
  await post('0/1/release', { name: 'votes' })
  await until(() => one.told.at(-1) === 'Prepare 2')
  expect((await status())[0]).toMatchObject({ faults: [], heldFrames: [], counters: { held: 2, released: 2 } })
  await until(() => events.length === 5)
  expect(events.map(({ kind }) => kind)).toEqual([
    'link_holding',
    'link_frame_held',
    'link_frame_held',
    'link_frame_released',
    'link_frame_released',
  ])
  expect(events[2]).toMatchObject({
    v: 1,
    node: 255,
    class: 'fact',
    plane: 'metadata',
    op: '2',
    link: { id: '0>1#1f', ordinal: 2, dir: 'out' },
    data: { from: 0, to: 1, command: 'Prepare', hold: 'votes' },
  })
})

it('a node is isolated and joined again by one request each', async () => {
  await post('1/all/cut', { both: true })
  expect((await status()).map(({ from, to, faults }) => [from, to, faults.length])).toEqual([
    [0, 1, 1],
    [1, 0, 1],
  ])
  await post('all/all/heal')
  expect((await status()).flatMap(({ faults }) => faults)).toEqual([])
})

it('a repeated key does nothing twice', async () => {
  await post('0/1/cut', { count: 1 }, 'same')
  await post('0/1/cut', { count: 1 }, 'same')
  expect((await status())[0]!.faults).toHaveLength(1)
  expect(await code(post('0/1/heal', {}, 'same'))).toBe('422 CON_KEY_REUSED')
})

it('what cannot be is refused with its code', async () => {
  expect(await code(post('0/2/cut'))).toBe('404 CON_NO_SUCH_THING')
  expect(await code(post('0/0/cut'))).toBe('404 CON_NO_SUCH_THING')
  expect(await code(post('0/1/cut', { commands: ['Nonsense'] }))).toBe('400 CON_BAD_REQUEST')
  expect(await code(post('0/1/delay'))).toBe('400 CON_BAD_REQUEST')
  expect(await code(post('0/x/cut'))).toBe('400 CON_BAD_REQUEST')
  const { zero } = await link.dial()
  await post('0/1/hold', { commands: ['Prepare'] })
  zero.socket.write(prepare(1))
  await until(() => link.links.status()[0]!.heldFrames.length === 1)
  zero.socket.destroy()
  await until(() => !link.links.status()[0]!.connected)
  expect(await code(post('0/1/release'))).toBe('409 CON_WRONG_STATE')
  expect(link.links.status()[0]!.heldFrames).toHaveLength(1)
})

it('a delay is set and ended', async () => {
  await post('0/1/delay', { ms: 250, jitterMs: 50 })
  expect((await status())[0]!.faults).toEqual([{ fault: 'delay', ms: 250, jitterMs: 50 }])
  await post('0/1/delay', { ms: 0 })
  expect((await status())[0]!.faults).toEqual([])
})
