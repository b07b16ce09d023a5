/**
 * The recordings of a cluster: a folder for each run of its console. What is too old, or too much, is removed when a
 * console starts; the one that is being written never is.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hash } from '../../../shared/bytes/hash.ts'
import { linesOf } from '../../../shared/inspection/bundle.ts'
import { CONSOLE_NODE, type EventGap } from '../../../shared/inspection/envelope.ts'
import { type RecordedLine, RecordingError, type RecordingInfo } from '../../../shared/inspection/recording.ts'
import { ConsoleError } from '../errors.ts'
import { wallMs } from '../wall.ts'
import { type AnswerPlace, answerPlaces } from './answer-places.ts'
import { type Block, type PartIndex, readBlock, readIndex } from './part-file.ts'
import { type Recorder, RUN_BYTES_MAX } from './recorder.ts'

export const ALL_BYTES_MAX = 1024 * 2 ** 20
export const AGE_MS_MAX = 14 * 24 * 3600 * 1000
const TEXT_BLOCKS_MAX = 4
const PLACES_BLOCKS_MAX = 20_000
/** Names the recording that is being written. */
const CURRENT = 'current'
const RUN = /^[0-9a-f]{1,32}$/
const PART = /^\d{6}\.qsrec$/

export interface Limits {
  readonly runBytes: number
  readonly allBytes: number
  readonly ageMs: number
}

interface Part extends PartIndex {
  readonly path: string
}
export interface Contents {
  readonly info: RecordingInfo
  readonly parts: readonly Part[]
}

interface Placed {
  readonly part: Part
  readonly block: Block
}
export interface BlockText {
  readonly block: Block
  /** Whether the first line is a gap that nobody had told while it was recorded. */
  readonly gap: boolean
  readonly text: Buffer
}

const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

export class Recordings {
  /** Undefined where nothing is recorded. */
  readonly directory: string | undefined
  readonly limits: Limits
  readonly #hash: Hash
  recorder: Recorder | undefined
  #activeRun: string | undefined
  /** Of the parts of the run that is written: nobody but this console's recorder appends to them. */
  readonly #written = new Map<string, PartIndex>()
  /** By path and position of their block; a recording of hours has some ten thousand. */
  readonly #places = new Map<string, readonly AnswerPlace[]>()
  /** The blocks read last: whoever steps asks many questions of one. */
  readonly #texts = new Map<string, Buffer>()

  constructor(directory: string | undefined, hash: Hash, limits: Partial<Limits> = {}) {
    this.directory = directory
    this.#hash = hash
    this.limits = { runBytes: RUN_BYTES_MAX, allBytes: ALL_BYTES_MAX, ageMs: AGE_MS_MAX, ...limits }
  }

  record(run: string, recorder: Recorder): void {
    this.#activeRun = run
    this.recorder = recorder
  }

  /** Newest first. */
  async list(): Promise<RecordingInfo[]> {
    await this.recorder?.flush()
    const found: RecordingInfo[] = []
    for (const run of await this.#runs()) found.push((await this.#contents(run)).info)
    return found.sort((a, b) => b.toMs - a.toMs)
  }

  /** @throws ConsoleError CON_NO_SUCH_THING, or CON_RECORDING_UNREADABLE when no part of it can be read */
  async open(named: string): Promise<Contents> {
    const run = named === CURRENT ? (this.#activeRun ?? '') : named
    if (run === this.#activeRun) await this.recorder?.flush()
    if (this.directory === undefined || !RUN.test(run) || !(await this.#runs()).includes(run))
      throw new ConsoleError('CON_NO_SUCH_THING', `There is no recording ${run}.`)
    const contents = await this.#contents(run)
    if (contents.parts.length === 0)
      throw new ConsoleError('CON_RECORDING_UNREADABLE', `The recording ${run} can't be read.`, {
        code: contents.info.problem?.code ?? 'CON_RECORDING_DAMAGED',
        message: contents.info.problem?.message ?? 'it holds nothing',
      })
    return contents
  }

  /** @throws ConsoleError CON_NO_SUCH_THING, CON_WRONG_STATE for the one that is being written */
  async delete(run: string): Promise<void> {
    if (run === this.#activeRun)
      throw new ConsoleError('CON_WRONG_STATE', 'This recording is being written by this console.')
    if (this.directory === undefined || !RUN.test(run) || !(await this.#runs()).includes(run))
      throw new ConsoleError('CON_NO_SUCH_THING', `There is no recording ${run}.`)
    await rm(join(this.directory, run), { recursive: true, force: true })
  }

  /** Removes what is older or more than the limits allow, oldest first. @returns the runs that were removed */
  async prune(): Promise<string[]> {
    const removed: string[] = []
    let bytes = 0
    for (const { id, toMs, bytes: size, active } of await this.list()) {
      bytes += size
      if (active || (bytes <= this.limits.allBytes && wallMs() - toMs <= this.limits.ageMs)) continue
      await this.delete(id)
      removed.push(id)
    }
    return removed
  }

  /** The blocks from the keyframe before `seq` on; see `begin`. */
  blocksFrom(parts: readonly Part[], seq: number): Placed[] {
    const all = parts.flatMap(part => part.blocks.map(block => ({ part, block })))
    const reaches = all.findIndex(({ block }) => block.lastSeq >= seq)
    const upTo = reaches === -1 ? all.length : reaches + 1
    return begin(
      all,
      all.slice(0, upTo).findLastIndex(({ block }) => block.keyframe && startsBefore(block, seq)),
    )
  }

  /** The blocks from the keyframe before a moment on; see `begin`. */
  blocksAt(parts: readonly Part[], ms: number): Placed[] {
    const all = parts.flatMap(part => part.blocks.map(block => ({ part, block })))
    return begin(
      all,
      all.findLastIndex(({ block }) => block.keyframe && block.firstMs <= ms),
    )
  }

  async *lines(blocks: readonly Placed[]): AsyncGenerator<RecordedLine> {
    for await (const { text } of this.texts(blocks)) yield* linesOf(text)
  }

  /**
   * Blocks as they were written, whole lines each. Where one is damaged, or was removed since (a recording that is written
   * loses its beginning at its bound), or blocks do not join, a line of a gap stands in front of the next.
   */
  async *texts(blocks: readonly Placed[]): AsyncGenerator<BlockText> {
    let told: number | undefined
    let reason: EventGap['reason'] = 'damaged'
    const gapTo = (toSeq: number, { part, block }: Placed): Buffer | undefined => {
      if (told === undefined || toSeq <= told) return undefined
      const { run } = part.head
      const gap: EventGap = { v: 1, node: CONSOLE_NODE, boot: run, kind: 'gap', fromSeq: told + 1, toSeq, reason }
      reason = 'damaged'
      return Buffer.from(`${JSON.stringify({ t: block.firstMs, event: 'gap', data: gap })}\n`)
    }
    for (const placed of blocks) {
      const { part, block } = placed
      // Without events of its own a block stands behind the last one.
      const before = block.firstSeq > 0 ? block.firstSeq - 1 : block.lastSeq
      let text: Buffer
      try {
        text = await readBlock(part.path, block, this.#hash)
      } catch (error) {
        if (isGone(error)) reason = 'ring_overflow'
        else if (!(error instanceof RecordingError)) throw error
        told ??= before
        continue
      }
      const gap = gapTo(before, placed)
      yield { block, gap: gap !== undefined, text: gap ? Buffer.concat([gap, text]) : text }
      told = Math.max(told ?? 0, block.lastSeq)
    }
    const last = blocks.at(-1)
    const gap = last && gapTo(last.block.lastSeq, last)
    if (gap) yield { block: last.block, gap: true, text: gap }
  }

  /**
   * What the console had last answered at `path` by a console sequence and by a moment: between two events time passes, too.
   * A block is searched once for where its answers stand, and no more than one of them is read. Ends early, with nothing,
   * once `isGone` says that nobody waits for it any more.
   */
  async lastAnswer(
    parts: readonly Part[],
    wanted: { readonly path: string; readonly seq: number; readonly ms: number },
    isGone: () => boolean,
  ): Promise<Extract<RecordedLine, { event: 'answer' }> | undefined> {
    const all = parts.flatMap(part => part.blocks.map(block => ({ part, block })))
    for (let index = all.length - 1; index >= 0 && !isGone(); index--) {
      const placed = all[index]!
      const { block } = placed
      const before = all[index - 1]?.block.lastSeq ?? 0
      if ((block.firstSeq || before) > wanted.seq || block.firstMs > wanted.ms) continue
      const places = await this.#answersIn(placed)
      const place = places?.findLast(
        answer => answer.path === wanted.path && (answer.seq ?? before) <= wanted.seq && answer.t <= wanted.ms,
      )
      const text = place && (await this.#textOf(placed))
      if (!text) continue
      for (const line of linesOf(text.subarray(place.start, place.end))) if (line.event === 'answer') return line
    }
    return undefined
  }

  /** Undefined for a block that is damaged or gone. */
  async #answersIn(placed: Placed): Promise<readonly AnswerPlace[] | undefined> {
    const key = keyOf(placed)
    const known = this.#places.get(key)
    if (known) return known
    const text = await this.#textOf(placed)
    const places = text && answerPlaces(text)
    if (places) keepNewest(this.#places, key, places, PLACES_BLOCKS_MAX)
    return places
  }

  async #textOf(placed: Placed): Promise<Buffer | undefined> {
    const key = keyOf(placed)
    let text = this.#texts.get(key)
    try {
      text ??= await readBlock(placed.part.path, placed.block, this.#hash)
    } catch (error) {
      if (isGone(error) || error instanceof RecordingError) return undefined
      throw error
    }
    keepNewest(this.#texts, key, text, TEXT_BLOCKS_MAX)
    return text
  }

  async #runs(): Promise<string[]> {
    if (this.directory === undefined) return []
    try {
      const entries = await readdir(this.directory, { withFileTypes: true })
      return entries.filter(entry => entry.isDirectory() && RUN.test(entry.name)).map(entry => entry.name)
    } catch (error) {
      if (isGone(error)) return []
      throw error
    }
  }

  async #contents(run: string): Promise<Contents> {
    const directory = join(this.directory!, run)
    const names = (await namesIn(directory)).filter(name => PART.test(name)).sort()
    const parts: Part[] = []
    let problem: RecordingInfo['problem'] = null
    for (const name of names) {
      const path = join(directory, name)
      try {
        const index = await readIndex(path, this.#hash, this.#written.get(path))
        if (run === this.#activeRun) this.#written.set(path, index)
        if (index.blocks.length > 0 || names.length === 1) parts.push({ path, ...index })
      } catch (error) {
        // It was removed since it was listed.
        if (isGone(error)) continue
        if (!(error instanceof RecordingError)) throw error
        problem = { code: error.code, message: error.message }
      }
    }
    // Only at its end can a killed console have left it so.
    const inside = parts.slice(0, -1).reduce((sum, part) => sum + part.tornBytes, 0)
    if (inside > 0)
      problem ??= { code: 'CON_RECORDING_DAMAGED', message: `${inside} bytes in the middle of it make no whole block.` }
    const active = run === this.#activeRun
    const stopped = active ? this.recorder?.problem : undefined
    if (stopped) problem = { code: 'CON_RECORDING_STOPPED', message: stopped.message }
    const blocks = parts.flatMap(part => part.blocks)
    const head = parts[0]?.head
    const seqs = blocks.filter(block => block.firstSeq > 0)
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
    return {
      parts,
      info: {
        id: run,
        name: head?.name ?? '',
        replicaCount: head?.replicaCount ?? 0,
        version: parts[0]?.version ?? 0,
        fromMs: blocks[0]?.firstMs ?? head?.startedMs ?? 0,
        toMs: blocks.at(-1)?.lastMs ?? head?.startedMs ?? 0,
        firstSeq: seqs[0]?.firstSeq ?? 0,
        lastSeq: seqs.at(-1)?.lastSeq ?? 0,
        bytes,
        parts: parts.length,
        active,
        // The last block of the one that is written may be on its way.
        tornBytes: active ? 0 : (parts.at(-1)?.tornBytes ?? 0),
        beginningGone: Number.parseInt(names[0] ?? '1', 10) > 1,
        problem,
      },
    }
  }
}

const keyOf = ({ part, block }: Placed): string => `${part.path} ${block.position}`

/** Puts `value` last, and lets the one that was not asked for longest go. */
function keepNewest<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > max && oldest !== undefined) map.delete(oldest)
}

/** Empty for a folder that is gone: somebody removed the recording since it was listed. */
const namesIn = (directory: string): Promise<string[]> =>
  readdir(directory).catch(error => {
    if (isGone(error)) return []
    throw error
  })

/**
 * From one keyframe earlier than `at`. The snapshots of a keyframe are as old as each node's last word, and what its events
 * told between that word and the keyframe stands before it: the picture is whole once every node has spoken again.
 */
function begin<B extends { readonly block: Block }>(all: readonly B[], at: number): B[] {
  const earlier = all.slice(0, Math.max(0, at)).findLastIndex(({ block }) => block.keyframe)
  return all.slice(Math.max(0, earlier))
}

/** A keyframe without events of its own stands for the moment before the next events. */
const startsBefore = (block: Block, seq: number): boolean => block.firstSeq === 0 || block.firstSeq <= seq
