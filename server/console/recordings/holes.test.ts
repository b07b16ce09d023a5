/** A recording of which something can't be read any more: a gap stands for it, on every way out. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHash } from '../../../shared/bytes/hash.ts'
import { openBundle } from '../../../shared/inspection/bundle.ts'
import type { RecordedLine } from '../../../shared/inspection/recording.ts'
import { ENTRIES_MAX } from '../../../shared/inspection/zip.ts'
import { bundlePieces, linePieces, tracePieces } from './export.ts'
import { Recorder } from './recorder.ts'
import { Recordings } from './store.ts'
import { event, HEAD, hello, RUN } from './testing/short-run.ts'

const hash = await createHash()
let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quorumscope-holes-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

/** A recording with one event a block, in one file or (`filesToo`) with one a file; returns its files. */
async function recorded(events: number, { filesToo = false } = {}): Promise<string[]> {
  const to = new Recorder({
    directory: join(directory, RUN),
    head: HEAD,
    hash,
    limits: { flushMs: 1e6, ...(filesToo && { partBytes: 1 }) },
    state: { keyframe: () => [{ event: 'hello', data: hello(0) }] },
  })
  for (let seq = 1; seq <= events; seq++) {
    to.batch({ firstSeq: seq, lastSeq: seq, json: JSON.stringify([event(seq)]) })
    await to.flush()
  }
  await to.close()
  return (await readdir(join(directory, RUN))).sort().map(name => join(directory, RUN, name))
}

const store = () => new Recordings(directory, hash)
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of items) found.push(one)
  return found
}
/** Sequences of events, and gaps as text, in order. */
const told = (lines: readonly RecordedLine[]) =>
  lines.flatMap((line): (number | string)[] =>
    line.event === 'batch'
      ? line.data.map(event => event.consoleSeq!)
      : line.event === 'gap'
        ? [`${line.data.fromSeq}..${line.data.toSeq} ${line.data.reason}`]
        : [],
  )
async function read(from: Recordings) {
  const { parts } = await from.open(RUN)
  return told(await all(from.lines(from.blocksFrom(parts, 0))))
}
async function flip(path: string, at: (bytes: Buffer) => number): Promise<void> {
  const bytes = await readFile(path)
  bytes[at(bytes)]! ^= 0xff
  await writeFile(path, bytes)
}
const ports = {
  gunzip: async (bytes: Uint8Array) => gunzipSync(bytes) as Uint8Array,
  sha256: async (bytes: Uint8Array) =>
    Buffer.from(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex'),
}
async function opened(from: Recordings, partBytes?: number) {
  const bytes = Buffer.concat(await all(bundlePieces(from, await from.open(RUN), partBytes)))
  return openBundle({ size: bytes.length, read: async (at, length) => bytes.subarray(at, at + length) }, ports)
}

describe('a recording with a hole', () => {
  it('joins where nothing is wrong: no gap is made up', async () => {
    await recorded(4, { filesToo: true })
    expect(await read(store())).toEqual([1, 2, 3, 4])
  })

  it('has a gap for a block that was damaged: in the middle, first, and last', async () => {
    const [path] = await recorded(3)
    const { parts } = await store().open(RUN)
    const blocks = parts[0]!.blocks
    const whole = await readFile(path!)
    for (const [damaged, expected] of [
      [1, [1, '2..2 damaged', 3]],
      [0, ['1..1 damaged', 2, 3]],
      [2, [1, 2, '3..3 damaged']],
    ] as const) {
      await writeFile(path!, whole)
      await flip(path!, () => blocks[damaged]!.position + 60)
      expect(await read(store()), `block ${damaged}`).toEqual(expected)
    }
  })

  it('has a gap for a file that is gone, and for the rest of a file whose frames are damaged; the list says so', async () => {
    const files = await recorded(5, { filesToo: true })
    await rm(files[1]!)
    expect(await read(store())).toEqual([1, '2..2 damaged', 3, 4, 5])
    const { parts } = await store().open(RUN)
    await flip(files[3]!, () => parts[2]!.blocks[0]!.position)
    expect(await read(store())).toEqual([1, '2..2 damaged', 3, '4..4 damaged', 5])
    const [info] = await store().list()
    expect(info).toMatchObject({ beginningGone: false, firstSeq: 1, lastSeq: 5 })
  })

  it('says that its beginning was removed only where the files say so', async () => {
    const files = await recorded(3, { filesToo: true })
    await flip(files[0]!, () => 14)
    expect((await store().list())[0]).toMatchObject({
      beginningGone: false,
      problem: { code: 'CON_RECORDING_DAMAGED' },
    })
    await rm(files[0]!)
    expect((await store().list())[0]).toMatchObject({ beginningGone: true, problem: null })
  })

  it('is taken away all the same, in every form, and the bundle says how much is missing', async () => {
    const [path] = await recorded(3)
    const { parts } = await store().open(RUN)
    await flip(path!, () => parts[0]!.blocks[1]!.position + 60)
    const from = store()
    const bundle = await opened(from)
    expect(told((await Promise.all(bundle.events.map(part => all(bundle.lines(part))))).flat())).toEqual([
      1,
      '2..2 damaged',
      3,
    ])
    expect(bundle.manifest.leftOut.filter(words => words.startsWith('1 events that were damaged'))).toHaveLength(1)
    expect((await all(linePieces(from, await from.open(RUN)))).join('')).toContain('"reason":"damaged"')
    const trace = JSON.parse((await all(tracePieces(from, await from.open(RUN)))).join('')) as {
      traceEvents: { name: string }[]
    }
    expect(trace.traceEvents.filter(event => event.name === 'gap')).toHaveLength(1)
  })

  it('is taken away while it loses its beginning at its bound', async () => {
    const files = await recorded(4, { filesToo: true })
    const from = store()
    const contents = await from.open(RUN)
    await rm(files[0]!)
    await rm(files[1]!)
    expect(
      told(await all(from.lines(contents.parts.flatMap(part => part.blocks.map(block => ({ part, block })))))),
    ).toEqual(['1..2 ring_overflow', 3, 4])
  })
})

it('a recording with more keyframes than a bundle has parts becomes a bundle that opens', async () => {
  const events = 2 * ENTRIES_MAX
  await recorded(events, { filesToo: true })
  const bundle = await opened(store(), 1)
  expect(bundle.events.length).toBeGreaterThan(100)
  const lines = (await Promise.all(bundle.events.map(part => all(bundle.lines(part))))).flat()
  expect(told(lines)).toEqual(Array.from({ length: events }, (_, index) => index + 1))
})
