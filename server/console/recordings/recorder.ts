/**
 * Writes what the console tells its readers, while it runs (design.md §4; the files: part-file.ts). It takes the texts
 * that the streams get and adds keyframes, so that reading can begin in the middle, and answers, so that the screens of
 * bytes have something to show.
 *
 * It never holds the console up: lines wait in memory for the next flush, one write is on its way at a time, and when the
 * disk can't keep up what waits is dropped and the recording says so with a `gap`. A disk that fails ends the recording,
 * not the console.
 */
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { StreamMessage } from '../../../shared/inspection/api.ts'
import { CONSOLE_NODE, type EventGap } from '../../../shared/inspection/envelope.ts'
import { LINE_CHARS_MAX } from '../../../shared/inspection/recording.ts'
import type { PublishedBatch } from '../event-log.ts'
import { wallMs } from '../wall.ts'
import { encodeBlock, encodeHead, type RecordingHead } from './part-file.ts'

/** What a killed console loses at most. */
const FLUSH_MS = 1_000
const FLUSH_CHARS = 512 * 1024
/** Some seconds of a busy cluster: above it the disk is not keeping up. */
const WAITING_CHARS_MAX = 32 * 2 ** 20
/** A reader that begins somewhere reads at most this much before it. */
const KEYFRAME_MS = 10_000
const PART_BYTES_MAX = 4 * 2 ** 20
/** design.md §3: at most 256 MiB a run. */
export const RUN_BYTES_MAX = 256 * 2 ** 20

export interface RecorderState {
  /** What a reader that comes now would be told first. */
  keyframe(): readonly StreamMessage[]
}

export interface RecorderOptions {
  /** Of this recording alone. */
  readonly directory: string
  readonly head: Omit<RecordingHead, 'part'>
  readonly hash: Hash
  readonly state: RecorderState
  readonly limits?: { readonly partBytes?: number; readonly runBytes?: number; readonly flushMs?: number }
  readonly onProblem?: (error: Error) => void
}

interface WrittenPart {
  readonly path: string
  bytes: number
}

export const partName = (number: number): string => `${String(number).padStart(6, '0')}.qsrec`

export class Recorder {
  readonly #options: RecorderOptions
  readonly #partBytes: number
  readonly #runBytes: number
  readonly #flushMs: number
  #lines: string[] = []
  #chars = 0
  #firstMs = 0
  #firstSeq = 0
  /** Last console sequence that what was gathered includes. */
  #lastSeq = 0
  #timer: NodeJS.Timeout | undefined
  #tail: Promise<void> = Promise.resolve()
  #waitingChars = 0
  #keyframeMs = Number.NEGATIVE_INFINITY
  #file: FileHandle | undefined
  #parts: WrittenPart[] = []
  #number = 0
  /** Console sequences that could not be kept, since the last that were. */
  #missed: { from: number; to: number } | undefined
  /** The next keyframe begins a new file; and whether the block that is gathered now does. */
  #turnNext = true
  #turnThis = false
  #keyframeThis = false
  /** Why nothing is written any more. */
  problem: Error | undefined
  beginningGone = false

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#partBytes = options.limits?.partBytes ?? PART_BYTES_MAX
    this.#runBytes = options.limits?.runBytes ?? RUN_BYTES_MAX
    this.#flushMs = options.limits?.flushMs ?? FLUSH_MS
  }

  get directory(): string {
    return this.#options.directory
  }

  batch(batch: PublishedBatch): void {
    if (!this.#takes(batch.json.length)) {
      this.#missed = { from: this.#missed?.from ?? batch.firstSeq, to: batch.lastSeq }
      return
    }
    this.#keyframeWhenDue()
    if (this.#missed) {
      const { from, to } = this.#missed
      this.#missed = undefined
      const gap: EventGap = {
        v: 1,
        node: CONSOLE_NODE,
        boot: this.#options.head.run,
        kind: 'gap',
        fromSeq: from,
        toSeq: to,
        reason: 'slow_reader',
      }
      this.#firstSeq ||= from
      this.#lastSeq = to
      this.#add('gap', JSON.stringify(gap))
      this.#keyframeMs = Number.NEGATIVE_INFINITY
      this.#keyframeWhenDue()
    }
    this.#firstSeq ||= batch.firstSeq
    this.#lastSeq = batch.lastSeq
    this.#add('batch', batch.json)
  }

  /** A message of state, as JSON; what is dropped of these comes again soon. */
  state(event: string, json: string): void {
    if (!this.#takes(json.length)) return
    this.#keyframeWhenDue()
    this.#add(event, json)
  }

  /** Resolves when everything that was told so far is on its way to the disk's cache. */
  async flush(): Promise<void> {
    this.#flush()
    await this.#tail
  }

  async close(): Promise<void> {
    await this.flush()
    clearTimeout(this.#timer)
    await this.#file?.close()
    this.#file = undefined
  }

  #takes(chars: number): boolean {
    return (
      this.problem === undefined && chars <= LINE_CHARS_MAX && this.#waitingChars + this.#chars <= WAITING_CHARS_MAX
    )
  }

  #keyframeWhenDue(): void {
    const now = performance.now()
    if (now - this.#keyframeMs < KEYFRAME_MS) return
    // Blocks begin with their keyframe: what came before it belongs to the one before.
    this.#flush()
    this.#keyframeMs = now
    this.#turnThis = this.#turnNext
    this.#turnNext = false
    this.#keyframeThis = true
    for (const { event, data } of this.#options.state.keyframe()) {
      if (event === 'hello') this.#lastSeq ||= data.seq
      this.#add(event, JSON.stringify(data))
    }
  }

  #add(event: string, json: string): void {
    const now = Math.round(wallMs())
    if (this.#lines.length === 0) this.#firstMs = now
    const line = `{"t":${now},"event":"${event}","data":${json}}\n`
    this.#lines.push(line)
    this.#chars += line.length
    if (this.#chars >= FLUSH_CHARS) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), this.#flushMs)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#lines.length === 0) return
    const text = this.#lines.join('')
    const span = {
      keyframe: this.#keyframeThis,
      lines: this.#lines.length,
      firstMs: this.#firstMs,
      lastMs: Math.round(wallMs()),
      firstSeq: this.#firstSeq,
      lastSeq: this.#lastSeq,
    }
    const turn = this.#turnThis
    this.#turnThis = false
    this.#keyframeThis = false
    this.#lines = []
    this.#chars = 0
    this.#firstSeq = 0
    this.#waitingChars += text.length
    this.#tail = this.#tail.then(async () => {
      try {
        if (this.problem === undefined) await this.#write(text, span, turn)
      } catch (error) {
        this.problem = error as Error
        this.#options.onProblem?.(error as Error)
      } finally {
        this.#waitingChars -= text.length
      }
    })
  }

  async #write(text: string, span: Parameters<typeof encodeBlock>[1], turn: boolean): Promise<void> {
    const { hash } = this.#options
    if (turn || !this.#file) await this.#openPart()
    const bytes = await encodeBlock(text, span, hash)
    await this.#file!.appendFile(bytes)
    const part = this.#parts.at(-1)!
    part.bytes += bytes.length
    // The next file begins with a keyframe, so the turn is taken where one can be made.
    if (part.bytes >= this.#partBytes) {
      this.#turnNext = true
      this.#keyframeMs = Number.NEGATIVE_INFINITY
    }
  }

  async #openPart(): Promise<void> {
    const { directory, head, hash } = this.#options
    await this.#file?.close()
    this.#number += 1
    await mkdir(directory, { recursive: true })
    const path = join(directory, partName(this.#number))
    this.#file = await open(path, 'wx')
    const bytes = encodeHead({ ...head, part: this.#number }, hash)
    await this.#file.appendFile(bytes)
    this.#parts.push({ path, bytes: bytes.length })
    let sum = this.#parts.reduce((total, part) => total + part.bytes, 0)
    while (sum > this.#runBytes - this.#partBytes && this.#parts.length > 1) {
      const oldest = this.#parts.shift()!
      sum -= oldest.bytes
      this.beginningGone = true
      await rm(oldest.path, { force: true })
    }
  }
}
