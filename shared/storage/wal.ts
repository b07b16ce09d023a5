/**
 * The write-ahead log of the metadata group (spec metadata-storage.md §2): prepares back to back in one file, and an index
 * of `slots` entries in memory whose frames stay resident, so that every question of the group is answered synchronously.
 *
 * One job at a time: an append is one write and one datasync of one entry, because the torn-tail rule of the scan assumes
 * that at most one entry can tear. What a job changes in memory changes inside the host's pump, by `post`; the next job
 * starts after that. Truncation is the exception: its entries leave the index at once, since the group counts them as
 * gone when the call returns, and the rewrite of the file queues like any other job in front of later appends.
 *
 * A failure of an append, or of a rewrite past its rename, leaves memory and disk in disagreement: the log is poisoned,
 * and everything after it fails with the first cause until it is opened again.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { Op } from '../bytes/units.ts'
import { HEADER_BYTES, type PrepareHeader, prepareLayout } from '../protocol/headers.ts'
import { frameSize } from '../protocol/seal.ts'
import { type Disk, type DiskFile, isNotFound } from './disk.ts'
import { parentOf } from './paths.ts'
import { type ScannedEntry, scanWal, type WalScan } from './wal-scan.ts'

/** Default of `metadata.journal_slots`. */
export const WAL_SLOTS_DEFAULT = 1024

export interface WalOptions {
  readonly disk: Disk
  readonly path: string
  readonly hash: Hash
  /** Entries that the index holds; slot = op mod slots. At least 1. */
  readonly slots: number
  /** Op of the snapshot, 0 when none: entries at or below it may be overwritten. */
  readonly snapshotOp?: Op
  /** Default true; see `ScanOptions`. */
  readonly probeTail?: boolean
  /** Runs `completion` in the host's pump. Dropped when the life of the host has ended. */
  readonly post: (completion: () => void) => void
}

export interface WalEntry {
  readonly header: PrepareHeader
  readonly frame: Uint8Array
  readonly position: number
}

export type WalAppendResult =
  | { readonly ok: true; readonly header: PrepareHeader }
  /** WAL_TRUNCATED is no failure of the disk: a truncation overtook the entry. Every other code is. */
  | { readonly ok: false; readonly error: EngineError }

interface AppendJob {
  readonly kind: 'append'
  readonly header: PrepareHeader
  readonly frame: Uint8Array
  readonly done: (result: WalAppendResult) => void
  readonly synced: boolean
  truncated: boolean
}

interface RewriteJob {
  readonly kind: 'rewrite'
  /** Ops up to this one leave with the rewrite; 0 for a truncation, whose ops have left already. */
  readonly drainTo: Op
  readonly done: (error?: EngineError) => void
}

interface CutJob {
  readonly kind: 'cut'
  readonly done: (error?: EngineError) => void
}

export class Wal {
  readonly path: string
  readonly slots: number
  /** What the scan at open found, a torn tail included. */
  readonly scan: WalScan
  private readonly disk: Disk
  private readonly post: WalOptions['post']
  private readonly index: (WalEntry | undefined)[]
  private file: DiskFile
  private writeAt: number
  private tailUncut: boolean
  private snapshotOp: Op
  private last = Op(0n)
  private poison: EngineError | undefined
  private draining = false
  private readonly queue: (AppendJob | RewriteJob | CutJob)[] = []
  private running: AppendJob | RewriteJob | CutJob | undefined
  private idle: (() => void) | undefined

  private constructor(options: WalOptions, file: DiskFile, scan: WalScan, index: (WalEntry | undefined)[]) {
    this.disk = options.disk
    this.path = options.path
    this.slots = options.slots
    this.post = options.post
    this.snapshotOp = options.snapshotOp ?? Op(0n)
    this.file = file
    this.scan = scan
    this.index = index
    this.last = scan.highestOp
    this.writeAt = scan.end.position
    this.tailUncut = scan.end.kind === 'torn'
  }

  /**
   * Opens or creates the log and scans it. A torn tail is noted, not cut: the cut is made by `cutTornTail` or by the first
   * append, so that a boot which is refused later has changed nothing (§6.2 step 13).
   * @throws EngineError WAL_DAMAGED naming position, check, stored and expected value; WAL_SLOTS when two entries above
   * the snapshot need one slot; DiskError.
   */
  static async open(options: WalOptions): Promise<Wal> {
    const { disk, path, hash, slots, probeTail = true } = options
    if (!Number.isSafeInteger(slots) || slots < 1)
      throw new EngineError('WAL_SLOTS', `${slots} journal slots`, { path, expected: 'at least 1' })
    const file = await openOrCreate(disk, path)
    try {
      const snapshotOp = options.snapshotOp ?? Op(0n)
      const index = new Array<WalEntry | undefined>(slots).fill(undefined)
      let crowded: EngineError | undefined
      const enter = ({ header, frame, position }: ScannedEntry) => {
        const slot = Number(header.op % BigInt(slots))
        const held = index[slot]
        if (
          held !== undefined &&
          held.header.op !== header.op &&
          held.header.op > snapshotOp &&
          header.op > snapshotOp
        ) {
          crowded ??= new EngineError(
            'WAL_SLOTS',
            `ops ${held.header.op} and ${header.op} need one of ${slots} journal slots`,
            {
              path,
              position,
              op: header.op,
              advice: 'raise metadata.journal_slots to what it was when this log was written',
            },
          )
        }
        if (held === undefined || header.op >= held.header.op) index[slot] = { header, frame: frame.slice(), position }
      }
      const scan = await scanWal(file, await file.sizeBytes(), hash, enter, { probeTail })
      if (scan.end.kind === 'damage') {
        const { problem, bytesFollowing, survivor } = scan.end
        const what =
          survivor === undefined ? `${bytesFollowing} bytes follow` : `a complete entry follows at byte ${survivor}`
        throw new EngineError(
          'WAL_DAMAGED',
          `${path} is damaged at byte ${problem.position} (${problem.check}): ${problem.message}; ${what}`,
          {
            path,
            position: problem.position,
            ...(problem.op === undefined ? {} : { op: problem.op }),
            ...(problem.expected === undefined ? {} : { expected: problem.expected }),
            ...(problem.actual === undefined ? {} : { actual: problem.actual }),
            advice: 'this was durable once: in a cluster wipe the node and let it rejoin; nothing was changed',
          },
        )
      }
      if (crowded !== undefined) throw crowded
      return new Wal(options, file, scan, index)
    } catch (error) {
      await file.close().catch(() => {})
      throw error
    }
  }

  // Lookups, in the shape that a consensus group asks for.

  header(op: Op): PrepareHeader | undefined {
    return this.entry(op)?.header
  }

  frame(op: Op): Uint8Array | undefined {
    return this.entry(op)?.frame
  }

  entry(op: Op): WalEntry | undefined {
    const entry = this.index[Number(op % BigInt(this.slots))]
    return entry !== undefined && entry.header.op === op ? entry : undefined
  }

  highestOp(): Op {
    return this.last
  }

  /** Lowest op that is held above the snapshot, 0 when none. */
  oldestOp(): Op {
    let oldest = Op(0n)
    for (const entry of this.index) {
      if (entry === undefined || entry.header.op <= this.snapshotOp) continue
      if (oldest === 0n || entry.header.op < oldest) oldest = entry.header.op
    }
    return oldest
  }

  floorOp(): Op {
    return this.snapshotOp
  }

  mayAcknowledge(): boolean {
    return this.poison === undefined
  }

  /** All held entries by op. Positions are those of the file as it is now. */
  entries(): WalEntry[] {
    return this.index.filter(entry => entry !== undefined).sort((a, b) => (a.header.op < b.header.op ? -1 : 1))
  }

  /** Bytes of the good part of the file; the next entry goes there. */
  get sizeBytes(): number {
    return this.writeAt
  }

  /** Ops whose append was submitted and is not synced yet, in order. */
  waitingOps(): Op[] {
    const jobs = this.running ? [this.running, ...this.queue] : this.queue
    return jobs.flatMap(job => (job.kind === 'append' && !job.truncated ? [job.header.op] : []))
  }

  /** The failure after which nothing is appended any more. */
  get failure(): EngineError | undefined {
    return this.poison
  }

  /** Appends left before an op above the snapshot would have to be evicted (§2.2). */
  remainingCapacity(): number {
    const used = this.last - this.snapshotOp
    return used <= 0n ? this.slots : Math.max(0, this.slots - Number(used))
  }

  /** Raises the watermark below which entries may be overwritten. Never lowers it. */
  raiseSnapshotOp(op: Op): void {
    if (op > this.snapshotOp) this.snapshotOp = op
  }

  // Jobs.

  /**
   * Writes one sealed prepare and syncs it; `done` runs in the pump, after the entry is in the index. Refused before a
   * byte is written: WAL_LENGTH (the buffer is not `size` long), WAL_SLOT_TAKEN (§2.3 step 3), WAL_POISONED. With `synced`
   * false `done` does not wait for the sync, which no rule of the protocol allows.
   */
  append(frame: Uint8Array, done: (result: WalAppendResult) => void, synced = true): void {
    if (frame.length < HEADER_BYTES || frameSize(frame) !== frame.length) {
      const error = new EngineError('WAL_LENGTH', `a prepare of ${frame.length} bytes is not as long as it says`, {
        path: this.path,
      })
      this.post(() => done({ ok: false, error }))
      return
    }
    this.submit({ kind: 'append', header: prepareLayout.decode(frame), frame, done, synced, truncated: false })
  }

  /**
   * Drops every entry from `from` on, in memory at once and in the file before anything that is appended later. Appends
   * that are still waiting and concern these ops fail with WAL_TRUNCATED. `done` runs in the pump once the file follows.
   */
  truncateFrom(from: Op, done: (error?: EngineError) => void = () => {}): void {
    if (from === 0n) throw new EngineError('WAL_RANGE', 'op 0 is no entry', { path: this.path })
    let removed = 0
    this.last = Op(0n)
    for (const [slot, entry] of this.index.entries()) {
      if (entry === undefined) continue
      if (entry.header.op >= from) {
        this.index[slot] = undefined
        removed++
      } else if (entry.header.op > this.last) this.last = entry.header.op
    }
    if (this.running?.kind === 'append' && this.running.header.op >= from) {
      this.running.truncated = true
      removed++
    }
    for (const job of this.queue) if (job.kind === 'append' && job.header.op >= from) job.truncated = true
    if (removed === 0) this.post(() => done())
    else this.submit({ kind: 'rewrite', drainTo: Op(0n), done })
  }

  /**
   * Drops the entries up to and including `endOp` (the op before a checkpoint's: the entry at the checkpoint stays, since a
   * DoViewChange must carry it) and raises the watermark to it. WAL_BUSY while another drain waits (§2.5).
   */
  drain(endOp: Op, done: (error?: EngineError) => void): void {
    if (endOp === 0n) this.post(() => done())
    else if (this.draining) {
      const error = new EngineError('WAL_BUSY', 'another drain is under way', { path: this.path, op: endOp })
      this.post(() => done(error))
    } else {
      this.draining = true
      this.submit({ kind: 'rewrite', drainTo: endOp, done })
    }
  }

  /** Cuts the torn tail that the scan noted, durably. Nothing to cut is success. */
  cutTornTail(done: (error?: EngineError) => void): void {
    this.submit({ kind: 'cut', done })
  }

  /** Closes the file once the jobs that were submitted are done. */
  async close(): Promise<void> {
    while (this.running !== undefined) {
      await new Promise<void>(resolve => {
        this.idle = resolve
      })
    }
    await this.file.close()
  }

  private submit(job: AppendJob | RewriteJob | CutJob): void {
    this.queue.push(job)
    if (this.running === undefined) void this.run()
  }

  private async run(): Promise<void> {
    for (let job = this.queue.shift(); job !== undefined; job = this.queue.shift()) {
      this.running = job
      const complete = await this.perform(job)
      await new Promise<void>(resolve => {
        this.post(() => {
          complete()
          resolve()
        })
      })
    }
    this.running = undefined
    this.idle?.()
  }

  /** Does the I/O of one job; resolves to what must happen in the pump. Never rejects. */
  private async perform(job: AppendJob | RewriteJob | CutJob): Promise<() => void> {
    if (this.poison !== undefined) {
      const error = new EngineError(
        'WAL_POISONED',
        `${this.path} failed before: ${this.poison.message}`,
        { path: this.path },
        { cause: this.poison },
      )
      return () => fail(job, error)
    }
    try {
      if (this.tailUncut && job.kind !== 'rewrite') await this.cut()
    } catch (cause) {
      return () => fail(job, this.poisonWith('WAL_CUT_FAILED', 'cutting the torn tail failed', cause))
    }
    if (job.kind === 'cut') return () => job.done()
    return job.kind === 'append' ? this.performAppend(job) : this.performRewrite(job)
  }

  private async cut(): Promise<void> {
    await this.file.truncate(this.writeAt)
    await this.file.sync()
    this.tailUncut = false
  }

  private async performAppend(job: AppendJob): Promise<() => void> {
    const { header, frame } = job
    const overtaken = () =>
      job.done({
        ok: false,
        error: new EngineError('WAL_TRUNCATED', `op ${header.op} was truncated`, { path: this.path, op: header.op }),
      })
    if (job.truncated) return overtaken
    const slot = Number(header.op % BigInt(this.slots))
    const held = this.index[slot]
    if (held !== undefined && held.header.op > this.snapshotOp) {
      const error = new EngineError(
        'WAL_SLOT_TAKEN',
        `op ${header.op} needs the slot of op ${held.header.op}, which no snapshot covers`,
        {
          path: this.path,
          op: header.op,
          advice: 'a checkpoint frees slots',
        },
      )
      return () => job.done({ ok: false, error })
    }
    const position = this.writeAt
    const landed = () => {
      this.writeAt = position + frame.length
      if (job.truncated) return overtaken()
      this.index[slot] = { header, frame, position }
      if (header.op > this.last) this.last = header.op
      job.done({ ok: true, header })
    }
    try {
      await this.file.write(position, [frame])
      if (!job.synced) this.post(landed)
      await this.file.datasync()
    } catch (cause) {
      return () =>
        job.done({
          ok: false,
          error: this.poisonWith('WAL_APPEND_FAILED', `appending op ${header.op} failed`, cause, header.op),
        })
    }
    return job.synced ? landed : () => {}
  }

  private async performRewrite(job: RewriteJob): Promise<() => void> {
    const kept = this.entries().filter(entry => entry.header.op > job.drainTo)
    const temp = `${this.path}.tmp`
    let renamed = false
    try {
      const file = await this.disk.open(temp, 'create')
      try {
        await file.write(
          0,
          kept.map(entry => entry.frame),
        )
        await file.sync()
      } finally {
        await file.close()
      }
      await this.disk.rename(temp, this.path)
      renamed = true
      await this.disk.syncDirectory(parentOf(this.path))
      await this.file.close()
      this.file = await this.disk.open(this.path, 'write')
    } catch (cause) {
      if (!renamed) await this.disk.unlink(temp).catch(() => {})
      // A failed drain changed nothing yet; a truncation has changed memory already.
      if (!renamed && job.drainTo !== 0n) {
        const error = new EngineError('WAL_REWRITE_FAILED', 'rewriting the log failed', { path: this.path }, { cause })
        return () => {
          this.draining = false
          job.done(error)
        }
      }
      return () => {
        if (job.drainTo !== 0n) this.draining = false
        job.done(this.poisonWith('WAL_REWRITE_FAILED', 'rewriting the log failed', cause))
      }
    }
    return () => {
      this.tailUncut = false
      let position = 0
      for (const entry of kept) {
        const slot = Number(entry.header.op % BigInt(this.slots))
        // A truncation that came in during the rewrite has taken its entries out already; its own rewrite follows.
        if (this.index[slot] === entry) this.index[slot] = { ...entry, position }
        position += entry.frame.length
      }
      this.writeAt = position
      if (job.drainTo !== 0n) {
        for (const [slot, entry] of this.index.entries()) {
          if (entry !== undefined && entry.header.op <= job.drainTo) this.index[slot] = undefined
        }
        this.raiseSnapshotOp(job.drainTo)
        this.draining = false
      }
      job.done()
    }
  }

  private poisonWith(code: string, message: string, cause: unknown, op?: Op): EngineError {
    const error = new EngineError(
      code,
      `${this.path}: ${message}`,
      { path: this.path, ...(op === undefined ? {} : { op }) },
      { cause },
    )
    this.poison ??= error
    return error
  }
}

function fail(job: AppendJob | RewriteJob | CutJob, error: EngineError): void {
  if (job.kind === 'append') job.done({ ok: false, error })
  else job.done(error)
}

/** Syncs the directory once when the file is new, so that a power cut cannot take the whole log away. */
async function openOrCreate(disk: Disk, path: string): Promise<DiskFile> {
  try {
    return await disk.open(path, 'write')
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  const file = await disk.open(path, 'append')
  try {
    await disk.syncDirectory(parentOf(path))
    return file
  } catch (error) {
    await file.close().catch(() => {})
    throw error
  }
}
