import { createHash as sha } from 'node:crypto'
import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createHash } from '../../../shared/bytes/hash.ts'
import { openBundle } from '../../../shared/inspection/bundle.ts'
import { fold } from '../../../shared/inspection/fold.ts'
import { type RecordedLine, type RecordingInfo, recordingsAnswer } from '../../../shared/inspection/recording.ts'
import { EMPTY_VIEW } from '../../../shared/inspection/view.ts'
import { eventually } from '../../testing/eventually.ts'
import { authorization, type TestConsole, testConsole } from '../testing/console.ts'
import { encodeHead } from './part-file.ts'
import { Recorder } from './recorder.ts'
import { Recordings } from './store.ts'
import { event, HEAD, hello, RUN } from './testing/short-run.ts'

const hash = await createHash()
let directory: string
let open: TestConsole | undefined
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quorumscope-recordings-'))
})
afterEach(async () => {
  await open?.close()
  open = undefined
  await rm(directory, { recursive: true, force: true })
})

const start = async (): Promise<TestConsole> => {
  open = await testConsole({ recordings: { directory } })
  return open
}
const ask = async (method: 'GET' | 'DELETE', url: string) => {
  const answer = await open!.app.inject({ method, url, headers: { host: 'localhost', authorization } })
  return { status: answer.statusCode, raw: answer.rawPayload, json: () => answer.json() }
}
const listed = async (): Promise<RecordingInfo[]> =>
  recordingsAnswer.parse((await ask('GET', '/api/recordings')).json()).recordings

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

const foldAll = (lines: readonly RecordedLine[]) => {
  let view = EMPTY_VIEW
  for (const line of lines) if (line.event !== 'answer') view = fold(view, line)
  return view
}
const linesOfRun = async (store: Recordings, run: string): Promise<RecordedLine[]> => {
  const { parts } = await store.open(run)
  return all(store.lines(store.blocksFrom(parts, 0)))
}
const ports = {
  gunzip: async (bytes: Uint8Array, maxOutputLength: number) =>
    (await promisify(gunzip)(bytes, { maxOutputLength })) as Uint8Array,
  sha256: async (bytes: Uint8Array) => sha('sha256').update(bytes).digest('hex'),
}

describe('a run of the console', () => {
  it('is recorded, and folds to what the console knew', async () => {
    const { hub, supervisor } = await start()
    await eventually(() => expect(hub.snapshots().length).toBe(3))
    supervisor.set(1, { state: 'stopped' })
    hub.log.flush()
    const lines = (await ask('GET', `/api/recordings/${hub.run}/lines`)).raw.toString()
    const view = foldAll(
      lines
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as RecordedLine),
    )
    expect(view.run).toBe(hub.run)
    expect(view.nodes.get(1)?.process?.state).toBe('stopped')
    expect([...view.nodes.values()].map(node => node.snapshot !== undefined)).toEqual([true, true, true])
    expect(view.facts.map(fact => fact.kind)).toContain('process_exited')
    expect(await listed()).toMatchObject([{ id: hub.run, active: true, replicaCount: 3, problem: null }])
  })

  it('can be taken away as a bundle that opens, without paths, commands or secrets', async () => {
    const { hub } = await start()
    await eventually(() => expect(hub.snapshots().length).toBe(3))
    hub.emit('node_silent', { node: 1, error: 'token=abc123 at /home/someone/data/node-1' })
    hub.log.flush()
    const { raw } = await ask('GET', `/api/recordings/${hub.run}/bundle.zip`)
    const bundle = await openBundle(
      { size: raw.length, read: async (at, length) => raw.subarray(at, at + length) },
      ports,
    )
    expect(bundle.manifest).toMatchObject({ run: hub.run, version: 1, replicaCount: 3 })
    const lines = (await Promise.all(bundle.events.map(part => all(bundle.lines(part))))).flat()
    expect(foldAll(lines).nodes.size).toBe(3)
    expect(await bundle.json('verdicts.json')).toHaveProperty('load')
    expect(await bundle.json('config.json')).toHaveProperty('nodes')
    const text = JSON.stringify(lines)
    for (const secret of ['/data/node', '/home/', 'quorumscope.js', 'abc123']) expect(text).not.toContain(secret)
    expect(text).toContain('…/node-1')
  })

  it('can be taken away as a trace: every slice that begins ends, and times begin at zero', async () => {
    const { hub, supervisor } = await start()
    await eventually(() => expect(hub.snapshots().length).toBe(3))
    supervisor.set(2, { state: 'stopped' })
    hub.log.flush()
    const trace = (await ask('GET', `/api/recordings/${hub.run}/trace.json`)).json() as {
      traceEvents: { ph: string; ts?: number; pid: number; name?: string; args?: object }[]
    }
    const phases = (ph: string) => trace.traceEvents.filter(event => event.ph === ph)
    expect(phases('M').map(event => event.args)).toContainEqual({ name: 'node-2' })
    expect(phases('B')).toContainEqual(expect.objectContaining({ pid: 2, name: 'down' }))
    expect(phases('E').length).toBe(phases('B').length)
    expect(Math.min(...trace.traceEvents.flatMap(event => event.ts ?? []))).toBe(0)
  })

  it('is kept when the next one begins, and removed when it is asked for; the one that is written is not', async () => {
    const first = await start()
    await eventually(() => expect(first.hub.snapshots().length).toBe(3))
    const run = first.hub.run
    await first.close()
    const second = await start()
    await eventually(async () => expect((await listed()).length).toBe(2))
    expect((await ask('DELETE', `/api/recordings/${second.hub.run}`)).json().code).toBe('CON_WRONG_STATE')
    expect((await ask('DELETE', '/api/recordings/..%2f..')).json().code).toBe('CON_BAD_REQUEST')
    expect((await ask('DELETE', `/api/recordings/${run}`)).status).toBe(200)
    expect((await ask('GET', `/api/recordings/${run}`)).json().code).toBe('CON_NO_SUCH_THING')
    expect((await listed()).map(item => item.id)).toEqual([second.hub.run])
  })

  it('keeps answers of the screens of bytes by the moment they were given', async () => {
    const { hub } = await start()
    const at = `/api/recordings/${hub.run}/answer?path=${encodeURIComponent('/api/topics')}&at=`
    await vi.waitFor(async () => expect((await ask('GET', at + hub.log.seq)).status).toBe(200), { timeout: 10_000 })
    expect((await ask('GET', `${at}1`)).json().code).toBe('CON_NOT_RECORDED')
  })
})

/* ---------------------------------------------------------------------------------------- the writer by itself */

const recorder = (limits = {}) =>
  new Recorder({
    directory: join(directory, RUN),
    head: HEAD,
    hash,
    limits: { flushMs: 1e6, ...limits },
    state: { keyframe: () => [{ event: 'hello', data: hello(0) }] },
  })
const write = (to: Recorder, seq: number, words?: string) =>
  to.batch({ firstSeq: seq, lastSeq: seq, json: JSON.stringify([event(seq, words)]) })
const seqs = (lines: readonly RecordedLine[]) =>
  lines.flatMap(line => (line.event === 'batch' ? line.data.map(event => event.consoleSeq) : []))
const files = async () => (await readdir(join(directory, RUN))).sort()
const store = () => new Recordings(directory, hash)

describe('the file of a killed console', () => {
  it.each([1, 40, 57, 90])('is read up to the block that was torn %i bytes before its end, and says so', async cut => {
    const to = recorder()
    for (const seq of [1, 2]) {
      write(to, seq)
      await to.flush()
    }
    await to.close()
    const path = join(directory, RUN, (await files())[0]!)
    await truncate(path, (await readFile(path)).length - cut)
    const { info } = await store().open(RUN)
    expect(info.tornBytes).toBeGreaterThan(0)
    expect(seqs(await linesOfRun(store(), RUN))).toEqual([1])
  })

  it('is refused when it is foreign, when its head is damaged, and when it is of a later version', async () => {
    const to = recorder()
    write(to, 1)
    await to.close()
    const path = join(directory, RUN, (await files())[0]!)
    const whole = await readFile(path)
    for (const [bytes, code] of [
      [Buffer.from('hello'), 'CON_RECORDING_FOREIGN'],
      [whole.subarray(0, 25), 'CON_RECORDING_DAMAGED'],
      [encodeHead({ ...HEAD, part: 1 }, hash, 2), 'CON_RECORDING_NEWER'],
    ] as const) {
      await writeFile(path, bytes)
      await expect(store().open(RUN)).rejects.toMatchObject({
        code: 'CON_RECORDING_UNREADABLE',
        origin: { code },
      })
      expect((await store().list())[0]?.problem?.code).toBe(code)
    }
  })
})

describe('bounds', () => {
  it('a recording that reaches its size loses its oldest files whole, and what is left begins with a keyframe', async () => {
    const to = recorder({ partBytes: 4_000, runBytes: 12_000 })
    for (let seq = 1; seq <= 60; seq++) {
      write(to, seq, sha('sha256').update(String(seq)).digest('hex').repeat(20))
      await to.flush()
    }
    await to.close()
    expect((await files()).length).toBeLessThanOrEqual(4)
    const { info, parts } = await store().open(RUN)
    expect(info.beginningGone).toBe(true)
    expect(info.bytes).toBeLessThanOrEqual(13_000)
    for (const part of parts) expect(part.blocks[0]?.keyframe).toBe(true)
    const left = seqs(await linesOfRun(store(), RUN))
    expect(left.at(-1)).toBe(60)
    expect(left).toEqual(left.map((_, index) => left[0]! + index))
  })

  it('what the disk does not take in time is left out with a gap, and a keyframe follows', async () => {
    const to = recorder()
    const large = 'x'.repeat(3 * 2 ** 20)
    for (let seq = 1; seq <= 20; seq++) write(to, seq, large)
    await to.flush()
    write(to, 21)
    await to.close()
    const lines = await linesOfRun(store(), RUN)
    const gap = lines.find(line => line.event === 'gap')
    const kept = seqs(lines).filter(seq => seq !== 21)
    expect(gap?.data).toMatchObject({ fromSeq: kept.length + 1, toSeq: 20, reason: 'slow_reader' })
    expect(lines[lines.indexOf(gap!) + 1]?.event).toBe('hello')
    expect(seqs(lines).at(-1)).toBe(21)
  })

  it('a disk that fails ends the recording and not the console', async () => {
    await writeFile(join(directory, RUN), 'a file where the folder should be')
    const to = recorder()
    write(to, 1)
    await to.flush()
    expect(to.problem).toBeDefined()
    write(to, 2)
    await to.close()
  })

  it('recordings that are too old or too much are removed, oldest first', async () => {
    for (const run of ['a1', 'b2', 'c3']) {
      const to = new Recorder({
        directory: join(directory, run),
        head: { ...HEAD, run },
        hash,
        state: { keyframe: () => [{ event: 'hello', data: hello(0) }] },
      })
      write(to, 1)
      await to.close()
      await new Promise(done => setTimeout(done, 5))
    }
    // Compressed, each takes a byte more or less than the next.
    const [newest, second] = await store().list()
    const few = new Recordings(directory, hash, { allBytes: newest!.bytes + second!.bytes })
    expect(await few.prune()).toEqual(['a1'])
    expect(await new Recordings(directory, hash, { ageMs: -1 }).prune()).toEqual(['c3', 'b2'])
    await appendFile(join(directory, 'not-a-recording'), '')
    expect(await store().list()).toEqual([])
  })
})

it('reading from a sequence begins a keyframe earlier than the one before it, whose snapshots are older than itself', async () => {
  const to = recorder({ partBytes: 1 })
  for (let seq = 1; seq <= 5; seq++) {
    write(to, seq)
    await to.flush()
  }
  await to.close()
  const { parts } = await store().open(RUN)
  const from = await all(store().lines(store().blocksFrom(parts, 3)))
  expect(from[0]?.event).toBe('hello')
  expect(seqs(from)).toEqual([2, 3, 4, 5])
})
