/**
 * Recordings as a source. One that the console keeps is read from it; a bundle from a file is unpacked here and goes
 * nowhere. Both end as messages for the same fold. Loaded when the first one is opened.
 */
import type { z } from 'zod'
import type { StreamMessage } from '../../shared/inspection/api.ts'
import { type Bundle, type BundlePart, openBundle } from '../../shared/inspection/bundle.ts'
import {
  type RecordedAnswer,
  type RecordedLine,
  RecordingError,
  recordedAnswer,
  recordingsAnswer,
} from '../../shared/inspection/recording.ts'
import { clockShort } from '../ui/format.ts'
import { SHELF, shelfKey } from './shelf.ts'
import { type AnswerMoment, type Source, SourceError } from './source.ts'
import { connection, fill, history, ring, sourceKind } from './store.ts'
import { showAddress, showPlace } from './time.ts'

type Arrived = { readonly message: StreamMessage; readonly atMs: number }
/** Answers of a file that are kept in memory, as text. */
const ANSWER_CHARS_MAX = 96 * 2 ** 20
/** The page draws between slices of folding. */
const SLICE_MS = 24

interface KeptAnswer {
  readonly seq: number
  readonly t: number
  readonly status: number
  readonly text: string
}

/* ------------------------------------------------------------------------------------------- what is read from */

/** A console sequence, or a moment, that must be in what is read. */
export interface Beginning {
  readonly from?: number
  readonly ms?: number
}

/** Lines of a recording that the console keeps, from the keyframe before `from` on. @throws SourceError, RecordingError */
export async function* linesOfRun(run: string, from: Beginning = {}): AsyncGenerator<RecordedLine> {
  const { parseLine } = await import('../../shared/inspection/recording.ts')
  const query = new URLSearchParams(Object.entries(from).map(([key, value]) => [key, String(value)]))
  const response = await fetch(`/api/recordings/${run}/lines?${query}`)
  if (!response.ok || !response.body) throw await refusal(response)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  try {
    for (;;) {
      const { value, done } = await reader.read()
      text += value ?? ''
      const rows = text.split('\n')
      text = rows.pop()!
      for (const row of rows) {
        const line = row === '' ? undefined : parseLine(row)
        if (line) yield line
      }
      if (done) return
    }
  } finally {
    // Whoever reads no further wants no more of it.
    await reader.cancel()
  }
}

async function refusal(response: Response): Promise<SourceError> {
  const said = (await response.json().catch(() => ({}))) as { code?: string; message?: string; advice?: string }
  return new SourceError(
    said.code ?? 'CON_UNREACHABLE',
    said.message ?? `The console answered ${response.status}.`,
    said.advice ?? 'Try again.',
    response.status,
  )
}

const ports = {
  async gunzip(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
    const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream('gzip'))
    const reader = stream.getReader()
    const pieces: Uint8Array[] = []
    let size = 0
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      size += value.length
      if (size > maxBytes) {
        await reader.cancel()
        throw new RecordingError('CON_RECORDING_TOO_LARGE', `More than ${maxBytes} bytes come out of one part.`)
      }
      pieces.push(value)
    }
    const whole = new Uint8Array(size)
    let at = 0
    for (const piece of pieces) {
      whole.set(piece, at)
      at += piece.length
    }
    return whole
  },
  async sha256(bytes: Uint8Array): Promise<string> {
    const digest = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
    return [...new Uint8Array(digest)].map(byte => byte.toString(16).padStart(2, '0')).join('')
  },
}

export const openBlob = (blob: Blob): Promise<Bundle> =>
  openBundle(
    {
      size: blob.size,
      read: async (position, length) => new Uint8Array(await blob.slice(position, position + length).arrayBuffer()),
    },
    ports,
  )

/**
 * Looks through a file and puts it on the shelf of this browser, so that its address survives a reload.
 * @returns the name that addresses know it by @throws RecordingError
 */
export async function shelve(file: Blob): Promise<string> {
  const bundle = await openBlob(file)
  // All of it, before it is called good: a line that is wrong far behind is found now.
  for (const part of bundle.events) for await (const _line of bundle.lines(part));
  const name = `file-${(await ports.sha256(new TextEncoder().encode(JSON.stringify(bundle.manifest)))).slice(0, 12)}`
  await (await caches.open(SHELF)).put(shelfKey(name), new Response(file))
  return name
}

async function fromShelf(name: string): Promise<Bundle> {
  const found = await (await caches.open(SHELF)).match(shelfKey(name))
  if (!found)
    throw new SourceError(
      'CON_NO_SUCH_THING',
      `This browser does not have the file ${name}.`,
      'Open the file again.',
      404,
    )
  return openBlob(await found.blob())
}

/* -------------------------------------------------------------------------------------------------- the source */

const AT_ITS_END: AnswerMoment = { seq: Number.MAX_SAFE_INTEGER, atMs: Number.MAX_SAFE_INTEGER }

class Recorded implements Source {
  readonly kind = 'BUNDLE'
  readonly #run: string
  readonly #inFile: boolean
  readonly #answers = new Map<string, KeptAnswer[]>()
  #chars = 0

  constructor(run: string, inFile: boolean) {
    this.#run = run
    this.#inFile = inFile
  }

  /** Nothing comes by itself. */
  open() {
    return { retryNow: () => {}, close: () => {} }
  }

  keep(answer: RecordedAnswer, t: number, seq: number): void {
    if (!this.#inFile) return
    const text = JSON.stringify(answer.json)
    this.#chars += text.length
    if (this.#chars > ANSWER_CHARS_MAX) return
    const known = this.#answers.get(answer.path)
    const kept = { seq, t, status: answer.status, text }
    if (known) known.push(kept)
    else this.#answers.set(answer.path, [kept])
  }

  async read<T>(path: string, schema: z.ZodType<T>, signal?: AbortSignal, at: AnswerMoment = AT_ITS_END): Promise<T> {
    if (!this.#inFile) return readAnswer(this.#run, path, schema, at, signal)
    const kept = this.#answers.get(path)?.findLast(answer => answer.seq <= at.seq && answer.t <= at.atMs)
    if (!kept) throw notRecorded(path)
    return understood(path, kept.status, JSON.parse(kept.text), schema)
  }

  async act<T>(): Promise<T> {
    throw new SourceError('CON_NOT_LIVE', 'A recording can be looked at and not changed.', 'Go live to act.', 409)
  }
}

/** Whoever steps along leaves most moments at once: one is asked about when it has stood so long. */
const REST_MS = 60
const rest = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const leave = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }, ms)
    signal?.addEventListener('abort', leave, { once: true })
  })

/** What the console had last answered at `path` by a moment. @throws SourceError */
export async function readAnswer<T>(
  run: string,
  path: string,
  schema: z.ZodType<T>,
  at: AnswerMoment,
  signal?: AbortSignal,
): Promise<T> {
  await rest(REST_MS, signal)
  const query = new URLSearchParams({ path, at: String(at.seq), ms: String(at.atMs) })
  const response = await fetch(`/api/recordings/${run}/answer?${query}`, signal ? { signal } : {})
  if (!response.ok) {
    const error = await refusal(response)
    throw error.code === 'CON_NOT_RECORDED' ? notRecorded(path) : error
  }
  const answer = recordedAnswer.parse(await response.json())
  return understood(path, answer.status, answer.json, schema)
}

function notRecorded(path: string): SourceError {
  return /\/segments\/|\/wal\/|\/clients\/|\/journal$/.test(path)
    ? new SourceError(
        'CON_NOT_RECORDED',
        'A recording holds no bytes, batches or index entries of segments, no bytes of logs, no journals and no kept replies.',
        'Go live to ask the node, or look at its directory with "quorumscope inspect".',
        404,
      )
    : new SourceError(
        'CON_NOT_RECORDED',
        'By this moment nothing was kept of what this asks for: answers are kept every ten seconds, and soon after a change.',
        'Step forward a little, or go live.',
        404,
      )
}

function understood<T>(path: string, status: number, json: unknown, schema: z.ZodType<T>): T {
  if (status !== 200) {
    const { code = 'CON_INTERNAL', message = `It answered ${status}.`, advice = '' } = json as Record<string, string>
    throw new SourceError(code, message, advice, status)
  }
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  throw new SourceError(
    'CON_UNEXPECTED_ANSWER',
    `What was recorded at ${path} is not of the expected shape.`,
    'It was recorded by another build: open it with that one.',
    200,
  )
}

/* ----------------------------------------------------------------------------------------------- reading it in */

/** Opens a recording instead of the cluster that runs. Problems are told by the connection, never thrown. */
export async function openRecorded(rec: string, at: string | undefined): Promise<Source> {
  const inFile = rec.startsWith('file-')
  const source = new Recorded(rec, inFile)
  sourceKind.set('BUNDLE')
  connection.set({ state: 'recorded', name: '', fromMs: 0, toMs: 0, notes: [], loading: true })
  void read(rec, inFile, source, at)
  return source
}

async function read(rec: string, inFile: boolean, source: Recorded, at: string | undefined): Promise<void> {
  const seq = at === undefined ? undefined : Number(at.split('.')[0])
  try {
    const bundle = inFile ? await fromShelf(rec) : undefined
    const info = bundle?.manifest ?? (await infoOf(rec))
    const notes: string[] = [...info.leftOut]
    const told = { state: 'recorded', name: info.name, fromMs: info.fromMs, toMs: info.toMs } as const
    connection.set({ ...told, notes, loading: true })
    const lines = bundle ? linesOfBundle(bundle, seq) : linesOfRun(rec, seq === undefined ? {} : { from: seq })
    await fill(messages(lines, source, seq), { alone: true })
    const heldSeq = ring.consoleSeqAt(ring.next - 1)
    const partly = ring.next >= ring.capacity || heldSeq < info.lastSeq
    if (partly) notes.push(`Only a part is shown at a time: up to ${clockShort(lastMs())} of this recording.`)
    connection.set({ ...told, notes, loading: false, ...(partly && { more: heldSeq }) })
    if (at === undefined || !showAddress(at)) showPlace({ until: ring.next, atMs: lastMs() })
  } catch (error) {
    const known = error instanceof SourceError || error instanceof RecordingError ? error : undefined
    connection.set({
      state: 'recorded',
      name: '',
      fromMs: 0,
      toMs: 0,
      notes: [],
      loading: false,
      problem: {
        code: known?.code ?? 'CON_RECORDING_DAMAGED',
        message: known?.message ?? String(error),
        advice: known?.advice ?? 'Open another recording.',
      },
    })
  }
}
const lastMs = (): number => ring.momentAt(ring.next - 1)

async function infoOf(run: string) {
  const { recordingInfo } = await import('../../shared/inspection/recording.ts')
  const response = await fetch(`/api/recordings/${run}`)
  if (!response.ok) throw await refusal(response)
  const info = recordingInfo.parse(await response.json())
  const leftOut =
    info.tornBytes > 0 ? [`Its last ${info.tornBytes} bytes are torn: the console that wrote them was killed.`] : []
  if (info.beginningGone) leftOut.push('Its beginning was removed when it had reached its bound.')
  return { ...info, leftOut }
}

async function* linesOfBundle(bundle: Bundle, seq: number | undefined): AsyncGenerator<RecordedLine> {
  const holds = (part: BundlePart): boolean => seq === undefined || part.lastSeq === undefined || part.lastSeq >= seq
  const first = Math.max(0, bundle.events.findIndex(holds))
  for (const part of bundle.events.slice(first)) yield* bundle.lines(part)
}

/**
 * Lines as messages; answers go to the source. Of a recording as long as the ring takes them and history gives up no moment
 * for them, but to the one that is asked for: every moment of what is read can be shown.
 * @param asked console sequence of the moment that must be in what is read
 */
export async function* messages(
  lines: AsyncIterable<RecordedLine>,
  source?: Pick<Recorded, 'keep'>,
  asked = 0,
): AsyncGenerator<Arrived> {
  let sliceMs = performance.now()
  let seq = 0
  for await (const line of lines) {
    if (line.event === 'answer') {
      source?.keep(line.data, line.t, seq)
      continue
    }
    if (line.event === 'batch') {
      if (source && history.full && seq > asked) return
      seq = line.data.at(-1)?.consoleSeq ?? seq
      if (source && ring.next + line.data.length > ring.capacity) return
    }
    yield { message: line, atMs: line.t }
    if (performance.now() - sliceMs > SLICE_MS) {
      await new Promise(done => setTimeout(done, 0))
      sliceMs = performance.now()
    }
  }
}

/** Reads the history of the run that is watched, from a beginning on, from what its console records. */
export async function reachBack(beginning: Beginning): Promise<boolean> {
  try {
    return (await fill(messages(linesOfRun('current', beginning)), { alone: false })) && ring.next > 0
  } catch {
    return false
  }
}

/** The recording, of an earlier run of the console, that has a console sequence. */
export async function runWith(seq: number): Promise<string | undefined> {
  const { recordings } = recordingsAnswer.parse(await (await fetch('/api/recordings')).json())
  return recordings.find(item => !item.active && item.firstSeq <= seq && seq <= item.lastSeq)?.id
}
