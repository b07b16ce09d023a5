/**
 * The live source: one EventSource per tab, questions by fetch. The browser's own reconnect is not used: it knows no
 * back-off and no jitter, so an error closes the stream and this file opens the next one, from the cursor of the last
 * message folded. A console that went silent without closing (machine asleep, proxy in between) is found by its missing
 * heartbeat.
 */
import type { z } from 'zod'
import { apiError, STREAM_EVENTS, type StreamHello, type StreamMessage } from '../../shared/inspection/api.ts'
import { backoffMs } from './backoff.ts'
import { type Source, SourceError, type Stream, type StreamListener } from './source.ts'
import { forget, token } from './token.ts'

/** The console sends a heartbeat every 5 s; two missing ones and a little are silence. */
const SILENCE_MS = 12_000
const SILENCE_CHECK_MS = 2_000
/** A tab that opens starts with this much of what happened before: a minute or more under load, some 2 MB at most. */
const HISTORY_EVENTS = 5_000
/** Long enough for a node that answers slowly; the console itself gives up on a node earlier and says so. */
const READ_TIMEOUT_MS = 10_000

export const liveSource: Source = {
  kind: 'LIVE',
  open: (listener, lastSeq) => new LiveStream(listener, lastSeq),
  async read(path, schema, signal) {
    const limit = AbortSignal.timeout(READ_TIMEOUT_MS)
    const both = signal ? AbortSignal.any([signal, limit]) : limit
    return answer(path, schema, () => fetch(path, { headers: { accept: 'application/json' }, signal: both }))
  },
  async act(path, body, schema, key, method = 'POST') {
    const headers: Record<string, string> = { 'content-type': 'application/json', 'idempotency-key': key }
    const known = token.get()
    if (known !== undefined) headers.authorization = `Bearer ${known}`
    return answer(path, schema, () => fetch(path, { method, headers, body: JSON.stringify(body ?? {}) }))
  },
}

async function answer<T>(path: string, schema: z.ZodType<T>, ask: () => Promise<Response>): Promise<T> {
  let response: Response
  let body: unknown
  try {
    response = await ask()
    body = await response.json()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    const late = error instanceof DOMException && error.name === 'TimeoutError'
    throw new SourceError(
      late ? 'CON_TIMEOUT' : 'CON_UNREACHABLE',
      late ? `The console did not answer within ${READ_TIMEOUT_MS / 1000} s.` : 'The console did not answer.',
      'The nodes run on without it. Is the command that started it still running?',
      0,
    )
  }
  if (!response.ok) {
    const said = apiError.safeParse(body)
    if (said.success) {
      if (said.data.code === 'CON_TOKEN_WRONG') forget()
      const { code, message, advice, cause } = said.data
      throw new SourceError(
        code,
        cause ? `${message} ${cause.code}: ${cause.message}` : message,
        advice,
        response.status,
      )
    }
    throw new SourceError('CON_UNREACHABLE', `The console answered ${response.status}.`, 'Try again.', response.status)
  }
  const parsed = schema.safeParse(body)
  if (!parsed.success) {
    const where = parsed.error.issues[0]
    throw new SourceError(
      'CON_UNEXPECTED_ANSWER',
      `The answer to ${path} is not of the expected shape (${where?.path.join('.') ?? ''}: ${where?.message ?? ''}).`,
      'Page and console may be of different builds: reload the page.',
      response.status,
    )
  }
  return parsed.data
}

class LiveStream implements Stream {
  readonly #listener: StreamListener
  readonly #lastSeq: () => number | undefined
  #source: EventSource | undefined
  #attempt = 0
  #lostSinceMs = 0
  #heardMs = 0
  #retry = 0
  /** The first connection learns where history begins; the second asks for it. */
  #rewound = false
  readonly #watch: number
  #closed = false

  constructor(listener: StreamListener, lastSeq: () => number | undefined) {
    this.#listener = listener
    this.#lastSeq = lastSeq
    this.#watch = window.setInterval(() => {
      if (this.#source && Date.now() - this.#heardMs > SILENCE_MS) this.#lose('no heartbeat for 12 s')
    }, SILENCE_CHECK_MS)
    this.#listener.connection({ state: 'connecting' })
    this.#connect(this.#lastSeq())
  }

  retryNow(): void {
    if (this.#source || this.#closed) return
    clearTimeout(this.#retry)
    this.#connect(this.#lastSeq())
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    clearInterval(this.#watch)
    this.#source?.close()
    this.#source = undefined
  }

  #connect(after: number | undefined): void {
    if (after !== undefined) this.#rewound = true
    const source = new EventSource(after === undefined ? '/api/events' : `/api/events?after=${after}`)
    this.#source = source
    this.#heardMs = Date.now()
    source.onerror = () => {
      if (this.#source === source) this.#lose('the connection to the console broke')
    }
    for (const event of STREAM_EVENTS) {
      source.addEventListener(event, message => {
        if (this.#source === source) this.#receive(event, message.data as string)
      })
    }
  }

  #receive(event: (typeof STREAM_EVENTS)[number], text: string): void {
    let data: unknown
    try {
      data = JSON.parse(text)
    } catch {
      this.#lose('the stream carried something that is not JSON')
      return
    }
    this.#heardMs = Date.now()
    if (event === 'hello') {
      const { seq, firstSeq } = data as StreamHello
      if (!this.#rewound && firstSeq <= seq) {
        this.#source?.close()
        this.#connect(Math.max(firstSeq - 1, seq - HISTORY_EVENTS))
        return
      }
      this.#rewound = true
      this.#attempt = 0
      this.#lostSinceMs = 0
      this.#listener.connection({ state: 'live', sinceMs: this.#heardMs })
    }
    // The stream comes from our own console and was checked there against the same schema.
    this.#listener.message({ event, data } as StreamMessage)
  }

  #lose(why: string): void {
    this.#source?.close()
    this.#source = undefined
    if (this.#closed) return
    const now = Date.now()
    if (this.#lostSinceMs === 0) this.#lostSinceMs = now
    const wait = backoffMs(this.#attempt, Math.random())
    this.#attempt++
    this.#listener.connection({
      state: 'lost',
      sinceMs: this.#lostSinceMs,
      retryAtMs: now + wait,
      attempt: this.#attempt,
      why,
    })
    this.#retry = window.setTimeout(() => this.#connect(this.#lastSeq()), wait)
  }
}
