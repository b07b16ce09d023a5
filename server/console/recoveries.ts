/**
 * The stopwatches of a cluster's faults, kept by the console: every tab shows the same ones, also one that was opened
 * after a fault, and they outlive the console in the directory of the cluster. They are computed by the fold that the page
 * uses, from the stream that the page reads; the view is folded only while a fault may still move one.
 */
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { StreamMessage } from '../../shared/inspection/api.ts'
import { fold } from '../../shared/inspection/fold.ts'
import {
  followRecoveries,
  isFollowed,
  type RecoveriesAnswer,
  type Recovery,
  recovery,
} from '../../shared/inspection/recoveries.ts'
import { type ClusterView, EMPTY_VIEW, toldMs } from '../../shared/inspection/view.ts'
import type { PublishedBatch } from './event-log.ts'
import type { StreamTap } from './event-stream.ts'
import { wallMs, wallUs } from './wall.ts'

const FILE = 'recoveries.json'
/** A fault moves its stopwatch many times within seconds. */
const WRITE_AFTER_MS = 1_000
const FAULT = /"kind":"process_(?:exited|paused)"/

export interface RecoveriesOptions {
  /** Where they are kept; undefined where nothing of a run is. */
  readonly directory: string | undefined
  /** What a new reader of the stream is told: everything about now. */
  readonly keyframe: () => readonly StreamMessage[]
  /** Newest console sequence. */
  readonly seq: () => number
  readonly onError: (error: Error) => void
}

export class Recoveries implements StreamTap {
  readonly #options: RecoveriesOptions
  readonly #path: string | undefined
  #runs: readonly Recovery[]
  /** While a fault is followed. */
  #view: ClusterView | undefined
  #seq: number
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(options: RecoveriesOptions) {
    this.#options = options
    this.#path = options.directory && join(options.directory, FILE)
    this.#runs = this.#read()
    this.#seq = options.seq()
  }

  /** Those that are kept, newest first, and up to where in the stream they were followed. */
  answer(): RecoveriesAnswer {
    return { seq: this.#seq, recoveries: [...this.#runs], takenWallUs: wallUs() }
  }

  batch({ lastSeq, json }: PublishedBatch): void {
    if (this.#follows() || FAULT.test(json)) this.#fold({ event: 'batch', data: JSON.parse(json) })
    this.#seq = lastSeq
  }

  state(event: string, json: string): void {
    if (!this.#follows()) return
    this.#fold({ event, data: JSON.parse(json) } as StreamMessage)
  }

  /** Resolves when what is kept is on disk. */
  async close(): Promise<void> {
    if (this.#timer !== undefined) this.#write()
    await this.#writing
  }

  #follows(): boolean {
    if (isFollowed(this.#runs, wallMs())) return true
    this.#view = undefined
    return false
  }

  #fold(message: StreamMessage): void {
    this.#view = fold(this.#view ?? this.#options.keyframe().reduce(fold, EMPTY_VIEW), message)
    const runs = followRecoveries(this.#runs, message, this.#view, toldMs(message) ?? wallMs())
    if (runs === this.#runs) return
    this.#runs = runs
    if (this.#path !== undefined) this.#timer ??= setTimeout(() => this.#write(), WRITE_AFTER_MS)
  }

  #read(): readonly Recovery[] {
    if (this.#path === undefined) return []
    let text: string
    try {
      text = readFileSync(this.#path, 'utf8')
    } catch {
      return []
    }
    try {
      return z.array(recovery).parse(JSON.parse(text))
    } catch (error) {
      this.#options.onError(
        new Error(`${this.#path} can't be read; it is replaced with the next fault.`, { cause: error }),
      )
      return []
    }
  }

  #write(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const [path, text] = [this.#path!, JSON.stringify(this.#runs)]
    this.#writing = this.#writing.then(async () => {
      const part = `${path}.part`
      await writeFile(part, text)
      await rename(part, path)
    })
    this.#writing = this.#writing.catch(error => this.#options.onError(error as Error))
  }
}
