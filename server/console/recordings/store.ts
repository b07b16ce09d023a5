/**
 * The recordings of a cluster: a folder for each run of its console. What is too old, or too much, is removed when a
 * console starts; the one that is being written never is.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hash } from '../../../shared/bytes/hash.ts'
import { linesOf } from '../../../shared/inspection/bundle.ts'
import {
  RECORDING_VERSION,
  type RecordedLine,
  RecordingError,
  type RecordingInfo,
} from '../../../shared/inspection/recording.ts'
import { ConsoleError } from '../errors.ts'
import { wallMs } from '../wall.ts'
import { type Block, type PartIndex, readBlock, readIndex } from './part-file.ts'
import { type Recorder, RUN_BYTES_MAX } from './recorder.ts'

export const ALL_BYTES_MAX = 1024 * 2 ** 20
export const AGE_MS_MAX = 14 * 24 * 3600 * 1000
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

export class Recordings {
  /** Undefined where nothing is recorded. */
  readonly directory: string | undefined
  readonly limits: Limits
  readonly #hash: Hash
  recorder: Recorder | undefined
  #activeRun: string | undefined

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
  blocksFrom(parts: readonly Part[], seq: number): { readonly part: Part; readonly block: Block }[] {
    const all = parts.flatMap(part => part.blocks.map(block => ({ part, block })))
    const reaches = all.findIndex(({ block }) => block.lastSeq >= seq)
    const upTo = reaches === -1 ? all.length : reaches + 1
    return begin(
      all,
      all.slice(0, upTo).findLastIndex(({ block }) => block.keyframe && startsBefore(block, seq)),
    )
  }

  /** The blocks from the keyframe before a moment on; see `begin`. */
  blocksAt(parts: readonly Part[], ms: number): { readonly part: Part; readonly block: Block }[] {
    const all = parts.flatMap(part => part.blocks.map(block => ({ part, block })))
    return begin(
      all,
      all.findLastIndex(({ block }) => block.keyframe && block.firstMs <= ms),
    )
  }

  async *lines(blocks: readonly { readonly part: Part; readonly block: Block }[]): AsyncGenerator<RecordedLine> {
    for (const { part, block } of blocks) yield* linesOf(await readBlock(part.path, block, this.#hash))
  }

  /** Text of a block as it was written: whole lines. */
  text(part: Part, block: Block): Promise<Buffer> {
    return readBlock(part.path, block, this.#hash)
  }

  async #runs(): Promise<string[]> {
    if (this.directory === undefined) return []
    try {
      const entries = await readdir(this.directory, { withFileTypes: true })
      return entries.filter(entry => entry.isDirectory() && RUN.test(entry.name)).map(entry => entry.name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  }

  async #contents(run: string): Promise<Contents> {
    const directory = join(this.directory!, run)
    const names = (await readdir(directory)).filter(name => PART.test(name)).sort()
    const parts: Part[] = []
    let problem: RecordingInfo['problem'] = null
    for (const name of names) {
      const path = join(directory, name)
      try {
        const index = await readIndex(path, this.#hash)
        if (index.blocks.length > 0 || names.length === 1) parts.push({ path, ...index })
      } catch (error) {
        if (!(error instanceof RecordingError)) throw error
        problem = { code: error.code, message: error.message }
      }
    }
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
        version: RECORDING_VERSION,
        fromMs: blocks[0]?.firstMs ?? head?.startedMs ?? 0,
        toMs: blocks.at(-1)?.lastMs ?? head?.startedMs ?? 0,
        firstSeq: seqs[0]?.firstSeq ?? 0,
        lastSeq: seqs.at(-1)?.lastSeq ?? 0,
        bytes,
        parts: parts.length,
        active,
        // The last block of the one that is written may be on its way.
        tornBytes: active ? 0 : parts.reduce((sum, part) => sum + part.tornBytes, 0),
        beginningGone: (head?.part ?? 1) > 1,
        problem,
      },
    }
  }
}

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
