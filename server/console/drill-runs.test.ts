import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import type { OpenWorlds } from '../../shared/drills/run.ts'
import { apiError } from '../../shared/inspection/api.ts'
import {
  type DrillRunAnswer,
  drillDetail,
  drillPlace,
  drillReplay,
  drillRun,
  drillRunsAnswer,
  drillsAnswer,
  type FreeActBody,
  type StartDrill,
} from '../../shared/inspection/drills.ts'
import { drillWorlds } from '../drills/worlds.ts'
import { eventually } from '../testing/eventually.ts'
import { authorization, type TestConsole, testConsole } from './testing/console.ts'

const hash = await createHash()
let made: TestConsole
/** Worlds that were opened and not closed again. */
let open = 0
const counted: OpenWorlds = async (world, order) => {
  const opened = await drillWorlds(hash)(world, order)
  open++
  return {
    runner: opened.runner,
    close: async () => {
      open--
      await opened.close()
    },
  }
}

beforeEach(async () => {
  open = 0
  made = await testConsole({ count: 0, drillWorlds: counted, leftDrill: 'something was left' })
})
afterEach(async () => {
  expect(made.errors).toEqual([])
  await made.close()
  expect(open).toBe(0)
})

const get = async (path: string) =>
  (await made.app.inject({ method: 'GET', url: `/api/drills${path}`, headers: { host: 'localhost' } })).json()
let keys = 0
async function post(path: string, body: object = {}, headers: object = { authorization }) {
  const response = await made.app.inject({
    method: 'POST',
    url: `/api/drills/runs${path}`,
    headers: { host: 'localhost', 'idempotency-key': `key-${++keys}`, ...headers },
    payload: body,
  })
  return { status: response.statusCode, body: response.json() }
}
const start = async (order: StartDrill) => drillRun.parse((await post('', order)).body)
const run = async (id: number): Promise<DrillRunAnswer> => drillRun.parse(await get(`/runs/${id}`))
const until = (id: number, ...states: DrillRunAnswer['state'][]) =>
  vi.waitFor(
    async () => {
      const now = await run(id)
      expect(states).toContain(now.state)
      return now
    },
    { timeout: 20_000, interval: 50 },
  )
const code = async (answer: ReturnType<typeof post>) =>
  `${(await answer).status} ${apiError.parse((await answer).body).code}`

describe('drills in the console', () => {
  it('are listed and told with their steps; what was left of an earlier run is said', async () => {
    const { drills, cleaned, active } = drillsAnswer.parse(await get(''))
    expect(drills.find(({ id }) => id === 'D18')).toMatchObject({
      lesson: 'offsets',
      worlds: ['sim', 'real'],
      last: null,
    })
    expect([cleaned, active]).toEqual(['something was left', null])
    const detail = drillDetail.parse(await get('/d03'))
    expect(detail.id).toBe('D03')
    expect(detail.steps.sim.length).toBeGreaterThan(5)
    expect(detail.steps.sim.some(({ count }) => count === 29)).toBe(true)
    expect((await get('/D99')).code).toBe('CON_NO_SUCH_THING')
  })

  it('a run gives a verdict with what was asked and found, and judges what was predicted', async () => {
    const { run: id } = await start({ drill: 'D03', seed: '7', predicted: [0, 1] })
    const done = await until(id, 'done')
    expect(done).toMatchObject({ verdict: 'pass', asExpected: true, seed: '7', error: null })
    expect(done.predictions.map(({ chosen, cameTrue }) => [chosen, cameTrue])).toEqual([
      [true, true],
      [true, false],
      [false, true],
    ])
    const floor = done.findings.find(({ what }) => what.startsWith('the index is cut back'))!
    expect(floor.asked!.text).toContain('events index_floored of node 2 about partition 0/0/0')
    expect(JSON.parse(floor.found!)).toMatchObject({ is: 'reading', reading: { of: 'events', count: 1 } })
    expect(done.steps.every(({ state, tookMs }) => state === 'done' && tookMs !== null)).toBe(true)
    const replay = drillReplay.parse(await get(`/runs/${id}/replay`))
    expect(replay.moments[replay.decisive]).toMatchObject({ key: floor.key, is: 'finding', tone: 'good' })
    const before = replay.moments.slice(0, replay.decisive)
    expect(before.at(-1)!.node).toBe(2)
    expect(before.findLast(({ text }) => text.startsWith('Index floored'))).toMatchObject({ node: 2, is: 'event' })
    expect(drillsAnswer.parse(await get('')).drills.find(({ id }) => id === 'D03')!.last).toMatchObject({ run: id })
    expect(drillRunsAnswer.parse(await get('/runs?drill=D18')).runs).toEqual([])
    expect(drillRunsAnswer.parse(await get('/runs')).runs).toHaveLength(1)
  })

  it('with its rule off it fails, as it should', async () => {
    const { run: id } = await start({ drill: 'D18', broken: true })
    expect(await until(id, 'done')).toMatchObject({ verdict: 'fail', asExpected: true, broken: true })
  })

  it('goes step by step, one at a time, and leaves nothing open when it is cancelled', async () => {
    const { run: id } = await start({ drill: 'D03', stepwise: true })
    const first = await until(id, 'waiting')
    expect(first.steps.map(({ state }) => state).slice(0, 2)).toEqual(['waiting', 'ahead'])
    expect(await code(post('', { drill: 'D18' }))).toBe('409 CON_DRILL_RUNNING')
    await post(`/${id}/next`)
    const second = await eventually(async () => {
      const now = await run(id)
      expect(now.steps[1]!.state).toBe('waiting')
      return now
    })
    expect(second.steps[0]!.state).toBe('done')
    await post(`/${id}/cancel`)
    const ended = await until(id, 'cancelled')
    expect(ended).toMatchObject({ verdict: null, asExpected: null })
    expect(ended.steps.at(-1)!.state).toBe('not_reached')
    expect(open).toBe(0)
    expect(await code(post(`/${id}/cancel`))).toBe('409 CON_DRILL_NOT_RUNNING')
    expect(await code(post(`/${id}/next`))).toBe('409 CON_DRILL_NOT_RUNNING')
    expect(drillReplay.parse(await get(`/runs/${id}/replay`)).moments.length).toBeGreaterThan(0)
  })

  it('at whichever step it is cancelled, nothing stays open', async () => {
    const { steps } = drillDetail.parse(await get('/D18'))
    for (let at = 0; at < steps.sim.length; at++) {
      const { run: id } = await start({ drill: 'D18', stepwise: true })
      for (let step = 0; ; step++) {
        await eventually(async () => expect((await run(id)).steps[step]!.state).toBe('waiting'))
        if (step === at) break
        await post(`/${id}/next`)
      }
      await post(`/${id}/cancel`)
      await until(id, 'cancelled')
      expect([at, open]).toEqual([at, 0])
    }
  })

  it('many seeds are one run: how far it is, which were red and how each is run again', async () => {
    const { run: id } = await start({ drill: 'D18', seeds: 5, seed: '11' })
    const done = await until(id, 'done')
    expect(done).toMatchObject({ verdict: 'pass', asExpected: true, seed: '15', sweep: { total: 5, done: 5, red: [] } })
    expect(await code(post('', { drill: 'D18', world: 'real', seeds: 5 }))).toBe('400 CON_BAD_REQUEST')

    const { run: long } = await start({ drill: 'D03', seeds: 1_000 })
    await vi.waitFor(async () => expect((await run(long)).sweep!.done).toBeGreaterThan(0), { timeout: 20_000 })
    await post(`/${long}/cancel`)
    expect((await until(long, 'cancelled')).sweep!.done).toBeLessThan(1_000)
  })

  it('red seeds are told with the command that shows each again', async () => {
    await made.close()
    // With its rule off behind its back the drill goes wrong on every seed.
    const broken: OpenWorlds = (world, order) => counted(world, { ...order, ruleOff: 'offsetsAreReserved' })
    made = await testConsole({ count: 0, drillWorlds: broken })
    const { run: id } = await start({ drill: 'D18', seeds: 3 })
    const { sweep, seed, verdict, asExpected } = await until(id, 'done')
    expect(sweep!.red.map(({ command }) => command)).toEqual(
      ['1', '2', '3'].map(each => `npm run -s quorumscope -- drill run D18 --seed ${each}`),
    )
    expect(sweep!.red[0]!.what).toContain('without a reservation on disk')
    expect([seed, verdict, asExpected]).toEqual(['1', 'fail', false])
  })

  it('by hand: acts one at a time, with surgery that is shown before, refused on the living, and taken back', async () => {
    const { run: id } = await start({ drill: 'D18', free: true })
    const begun = await until(id, 'waiting')
    expect(begun).toMatchObject({
      free: true,
      nodes: [{ node: 0, state: 'running', files: [] }],
      findings: [{}, {}, {}, {}],
    })
    const act = async (body: FreeActBody) => drillRun.parse((await post(`/${id}/act`, body)).body)
    const flip = { act: 'edit', node: 0, how: 'flip', at: 'log:chunk[0].body+3', value: '01' } as const
    expect((await act({ act: 'send', payload: 'hello' })).findings.at(-1)).toMatchObject({ seen: 'answered with ok' })
    expect((await act(flip)).findings.at(-1)).toMatchObject({
      verdict: 'unknown',
      seen: expect.stringContaining('has a process'),
    })

    const stopped = await act({ act: 'kill', node: 0 })
    expect(stopped.nodes[0]!.files.map(({ path }) => path)).toContain('metadata/journal.wal')
    const place = drillPlace.parse((await post(`/${id}/place`, flip)).body)
    const wounded = await act(flip)
    expect(wounded.surgery).toMatchObject([{ path: place.path, at: place.at, from: place.bytes, undone: false }])
    expect((await act({ act: 'undo', node: 0 })).surgery[0]!.undone).toBe(true)
    for (const [body, words] of [
      [{ ...flip, at: 'log:third' }, 'is no address'],
      [{ ...flip, value: 'xx' }, 'in hex'],
      [{ ...flip, how: 'copy', value: '../out' }, 'no path inside'],
    ] as const) {
      const { status, body: answer } = await post(`/${id}/act`, body)
      expect([status, answer.message]).toEqual([400, expect.stringContaining(words)])
    }
    await act({ act: 'start', node: 0 })
    expect((await act({ act: 'rest' })).nodes[0]!.state).toBe('running')
    expect((await act({ act: 'read' })).findings.at(-1)!.verdict).toBe('pass')
    expect(await code(post(`/${id}/next`))).toBe('409 CON_DRILL_NOT_RUNNING')

    await post(`/${id}/cancel`)
    const done = await until(id, 'done')
    expect(done.verdict).toBe('unknown')
    expect(open).toBe(0)
    expect(await code(post(`/${id}/act`, { act: 'rest' }))).toBe('409 CON_DRILL_NOT_RUNNING')
    const { moments } = drillReplay.parse(await get(`/runs/${id}/replay`))
    expect(moments.map(({ text }) => text)).toContain('Kill node 0')
  })

  it('ends with the console, also while it waits for its next step', async () => {
    const { run: id } = await start({ drill: 'D18', stepwise: true })
    await until(id, 'waiting')
    expect(open).toBe(1)
    await made.close()
    expect(open).toBe(0)
    made = await testConsole({ count: 0 })
  })

  it('what cannot be is refused with its code', async () => {
    expect(await code(post('', { drill: 'D99' }))).toBe('404 CON_NO_SUCH_THING')
    expect(await code(post('', { drill: 'D18', world: 'real', broken: true }))).toBe('400 CON_BAD_REQUEST')
    expect(await code(post('', { drill: 'D18' }, {}))).toBe('401 CON_TOKEN_MISSING')
    expect(await code(post('/77/cancel'))).toBe('404 CON_NO_SUCH_THING')
  })

  it('a world that does not open is a run that failed, with its reason', async () => {
    await made.close()
    made = await testConsole({ count: 0, drillWorlds: () => Promise.reject(new Error('no room')) })
    const { run: id } = await start({ drill: 'D18' })
    expect(await until(id, 'failed')).toMatchObject({ verdict: 'unknown', error: 'no room' })
    const again = await start({ drill: 'D18' })
    await until(again.run, 'failed')
  })
})
