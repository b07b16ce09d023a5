import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StreamMessage } from '../../shared/inspection/api.ts'
import { CONSOLE_NODE, type EventEnvelope } from '../../shared/inspection/envelope.ts'
import { recoveriesAnswer } from '../../shared/inspection/recoveries.ts'
import { Recoveries } from './recoveries.ts'
import { type TestConsole, testConsole } from './testing/console.ts'
import { wallMs } from './wall.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quorumscope-recoveries-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const hello: StreamMessage = {
  event: 'hello',
  data: { run: 'r', seq: 0, firstSeq: 1, wallUs: '1', readOnly: false, replicaCount: 3, name: 'n' },
}
const errors: Error[] = []
const kept = (): Recoveries =>
  new Recoveries({ directory, keyframe: () => [hello], seq: () => 7, onError: error => errors.push(error) })

const event = (kind: string, ms: number, node: number, data: EventEnvelope['data'] = {}): EventEnvelope => ({
  v: 1,
  node,
  boot: 'b',
  seq: 1,
  monoUs: 0,
  wallUs: String(ms * 1000),
  plane: 'node',
  group: 'node',
  kind,
  class: 'fact',
  data,
})
const batch = (lastSeq: number, ...events: EventEnvelope[]) => ({
  firstSeq: lastSeq,
  lastSeq,
  json: JSON.stringify(events),
})
const exited = (ms: number, node: number) =>
  event('process_exited', ms, CONSOLE_NODE, { node, atWallMs: ms, signal: 'SIGKILL', was: 'running' })

describe('the stopwatches that the console keeps', () => {
  it('are followed from the stream, outlive the console, and are counted on', async () => {
    const start = Math.floor(wallMs())
    const first = kept()
    first.batch(batch(8, event('heartbeat_missed', start - 9000, 1)))
    first.batch(batch(9, exited(start, 0)))
    first.batch(batch(10, event('heartbeat_missed', start + 4900, 1), event('view_started', start + 5000, 1)))
    first.batch(batch(11, event('process_started', start + 8000, CONSOLE_NODE, { node: 0 })))
    expect(first.answer()).toMatchObject({
      seq: 11,
      recoveries: [{ id: 'R-1', nodes: [0], how: 'SIGKILL', marks: { noticed: 4900, elected: 5000, started: 8000 } }],
    })
    await first.close()
    expect(readdirSync(directory)).toEqual(['recoveries.json'])

    const second = kept()
    expect(second.answer()).toMatchObject({ seq: 7, recoveries: JSON.parse(JSON.stringify(first.answer().recoveries)) })
    second.batch(batch(12, exited(start + 60_000, 2)))
    expect(second.answer().recoveries.map(run => run.id)).toEqual(['R-2', 'R-1'])
    await second.close()
  })

  it('begin anew where the file is not one, and say so', () => {
    writeFileSync(join(directory, 'recoveries.json'), '[{"id":"R-1"}]')
    expect(kept().answer().recoveries).toEqual([])
    expect(errors.map(error => error.message)).toEqual([expect.stringContaining("recoveries.json can't be read")])
    expect(readFileSync(join(directory, 'recoveries.json'), 'utf8')).toBe('[{"id":"R-1"}]')
  })
})

describe('GET /api/recoveries', () => {
  let console: TestConsole
  afterEach(() => console.close())

  it('has a fault as soon as the console knows of it', async () => {
    console = await testConsole()
    const ask = async () => recoveriesAnswer.parse((await console.app.inject({ url: '/api/recoveries' })).json())
    expect((await ask()).recoveries).toEqual([])
    await console.supervisor.kill(1)
    await expect.poll(async () => (await ask()).recoveries.map(run => run.nodes)).toEqual([[1]])
    expect((await ask()).seq).toBe(console.hub.log.seq)
  })
})
