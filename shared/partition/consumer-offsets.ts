/**
 * Stored consumer offsets of one partition: a table in memory, one 16-byte file per consumer and per group (spec
 * partition.md §2.6, §5.5, §9.3). Memory changes when the op is applied; the files follow, one write at a time, the newest
 * value of each consumer only. `whenWritten` says when a file has caught up, which is what a reply waits for.
 */
import { EngineError } from '../bytes/errors.ts'
import { Offset } from '../bytes/units.ts'
import type { StoredOffset } from '../protocol/transfer-offsets.ts'
import { type Disk, isNotFound, readFile } from '../storage/disk.ts'
import { decodeOffsetFile, encodeOffsetFile } from '../storage/offset-file.ts'
import { joinPath } from '../storage/paths.ts'
import type { ConsumerKey, PartitionHost } from './contract.ts'
import type { RecoveryLog } from './recovery.ts'

const FOLDERS = { consumer: 'offsets/consumers', group: 'offsets/groups' } as const
/** Offset files are 16 bytes; a longer one is read this far. */
const OFFSET_FILE_READ_MAX = 4096

const ID_NAME = /^\d{1,10}$/
/** Offset files written side by side when all are replaced. */
const REPLACED_AT_ONCE = 16

const keyOf = ({ kind, id }: ConsumerKey): string => `${kind}/${id}`

interface Pending {
  readonly consumer: ConsumerKey
  /** Undefined: the file goes. */
  readonly offset: bigint | undefined
  readonly done: (() => void)[]
}

export class ConsumerOffsets {
  private readonly host: PartitionHost
  private readonly directory: string
  private readonly sync: boolean
  private readonly table = new Map<string, bigint>()
  /** What the files hold or are owed. Memory may be ahead: a poll raises it before the op that makes it last is applied. */
  private readonly filed = new Map<string, bigint>()
  /**
   * Files found at boot beside an empty log. Their numbers will be given out again with the batch at offset 0, and a later
   * boot would take them for valid then; so they go before that batch is written, and not earlier (§5.5).
   */
  private readonly dropped = new Map<string, string>()
  /** Newest value per consumer that the files lack, in order of the first change. */
  private pending = new Map<string, Pending>()
  private writing: Pending | undefined
  private replacing = false
  private idleWaiters: (() => void)[] = []

  constructor(host: PartitionHost, directory: string, sync: boolean) {
    this.host = host
    this.directory = directory
    this.sync = sync
  }

  /** Reads all files. `end` is the exclusive end of the log: values above it come down to it, and an empty log has none. */
  async load(end: bigint, log: RecoveryLog): Promise<void> {
    for (const kind of ['consumer', 'group'] as const) {
      const folder = joinPath(this.directory, FOLDERS[kind])
      for (const name of await this.host.disk.list(folder)) {
        await this.loadFile(kind, joinPath(folder, name), name, end, log)
      }
    }
  }

  get(consumer: ConsumerKey): Offset | undefined {
    const offset = this.table.get(keyOf(consumer))
    return offset === undefined ? undefined : Offset(offset)
  }

  /** An explicit store may rewind; an auto-commit only moves forward (`monotone`). */
  store(consumer: ConsumerKey, offset: bigint, monotone: boolean): void {
    const key = keyOf(consumer)
    const filed = this.filed.get(key)
    if (monotone && filed !== undefined && filed >= offset) return
    const known = this.table.get(key)
    if (!monotone || known === undefined || known < offset) this.table.set(key, offset)
    this.owe(consumer, offset)
  }

  /** Memory only, before an answer leaves; the op that makes it last comes later (§5.5). */
  advance(consumer: ConsumerKey, offset: bigint): void {
    const known = this.table.get(keyOf(consumer))
    if (known === undefined || known < offset) this.table.set(keyOf(consumer), offset)
  }

  delete(consumer: ConsumerKey): void {
    this.table.delete(keyOf(consumer))
    this.owe(consumer, undefined)
  }

  /** Calls `done` in the pump once the file of `consumer` is as memory is now; at once when it is. */
  whenWritten(consumer: ConsumerKey, done: () => void): void {
    const key = keyOf(consumer)
    const waiting =
      this.pending.get(key) ?? (this.writing && keyOf(this.writing.consumer) === key ? this.writing : undefined)
    if (waiting) waiting.done.push(done)
    else done()
  }

  /** Unlinks what an empty log left behind; undefined when nothing is left. Rejects with DiskError. */
  discardDropped(): Promise<void> | undefined {
    if (this.dropped.size === 0) return undefined
    const paths = [...this.dropped.values()]
    this.dropped.clear()
    return this.unlinkAll(paths)
  }

  /** The slowest consumer or group, by what is stored for good. */
  lowest(): { readonly consumer: string; readonly offset: bigint } | undefined {
    let lowest: { consumer: string; offset: bigint } | undefined
    for (const [consumer, offset] of this.filed)
      if (lowest === undefined || offset < lowest.offset) lowest = { consumer, offset }
    return lowest
  }

  /** All stored offsets, as memory has them. */
  entries(): { readonly consumers: readonly StoredOffset[]; readonly groups: readonly StoredOffset[] } {
    const of = (kind: ConsumerKey['kind']) =>
      [...this.table].flatMap(([key, offset]) => {
        const [name, id] = key.split('/')
        return name === kind ? [{ id: Number(id), offset: Offset(offset) }] : []
      })
    return { consumers: of('consumer'), groups: of('group') }
  }

  /**
   * Makes memory and files what these say, durably; values at or above `end` come down to it, and an empty log has none.
   * What is stored meanwhile is written afterwards. Rejects with DiskError.
   */
  async replaceAll(consumers: readonly StoredOffset[], groups: readonly StoredOffset[], end: bigint): Promise<void> {
    await this.drain()
    this.replacing = true
    for (const map of [this.table, this.filed, this.dropped]) map.clear()
    const wanted = { consumer: end === 0n ? [] : consumers, group: end === 0n ? [] : groups }
    for (const kind of ['consumer', 'group'] as const) {
      for (const { id, offset } of wanted[kind]) {
        const key = keyOf({ kind, id })
        const clamped = offset < end ? offset : end - 1n
        this.table.set(key, clamped)
        this.filed.set(key, clamped)
      }
    }
    for (const kind of ['consumer', 'group'] as const) {
      const folder = joinPath(this.directory, FOLDERS[kind])
      const names = new Set(wanted[kind].map(({ id }) => String(id)))
      for (const name of await this.host.disk.list(folder))
        if (!names.has(name) && ID_NAME.test(name)) await unlinkIfThere(this.host.disk, joinPath(folder, name))
      for (let at = 0; at < wanted[kind].length; at += REPLACED_AT_ONCE) {
        const some = wanted[kind].slice(at, at + REPLACED_AT_ONCE)
        await Promise.all(
          some.map(({ id, offset }) =>
            this.writeFile(joinPath(folder, String(id)), offset < end ? offset : end - 1n, true),
          ),
        )
      }
      await this.host.disk.syncDirectory(folder)
    }
    this.replacing = false
    if (!this.writing) this.next()
  }

  /** Resolves once no write is owed. */
  drain(): Promise<void> {
    if (!this.writing) return Promise.resolve()
    return new Promise(done => this.idleWaiters.push(done))
  }

  private owe(consumer: ConsumerKey, offset: bigint | undefined): void {
    const key = keyOf(consumer)
    const done = this.pending.get(key)?.done ?? []
    if (offset === undefined) this.filed.delete(key)
    else this.filed.set(key, offset)
    this.dropped.delete(key)
    this.pending.set(key, { consumer, offset, done })
    if (!this.writing) this.next()
  }

  private next(): void {
    if (this.replacing) return
    const first = this.pending.entries().next().value
    if (first === undefined) {
      for (const done of this.idleWaiters.splice(0)) done()
      return
    }
    const [key, entry] = first
    this.pending.delete(key)
    this.writing = entry
    void this.write(entry).then(failed =>
      this.host.post(() => {
        if (failed) this.host.persistFailed(failed)
        this.writing = undefined
        for (const done of entry.done) done()
        this.next()
      }),
    )
  }

  private async unlinkAll(paths: readonly string[]): Promise<void> {
    for (const path of paths) await unlinkIfThere(this.host.disk, path)
    for (const folder of Object.values(FOLDERS)) await this.host.disk.syncDirectory(joinPath(this.directory, folder))
  }

  private async write({ consumer, offset }: Pending): Promise<EngineError | undefined> {
    const path = joinPath(joinPath(this.directory, FOLDERS[consumer.kind]), String(consumer.id))
    try {
      if (offset === undefined) await unlinkIfThere(this.host.disk, path)
      else await this.writeFile(path, offset)
      return undefined
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return new EngineError(
        'PersistFailed',
        `the offset of ${keyOf(consumer)} was not written: ${message}`,
        { path },
        { cause: error },
      )
    }
  }

  private async writeFile(path: string, offset: bigint, sync = this.sync): Promise<void> {
    const file = await this.host.disk.open(path, 'create')
    try {
      await file.write(0, [encodeOffsetFile(Offset(offset), this.host.hash)])
      if (sync) await file.datasync()
    } finally {
      await file.close()
    }
  }

  private async loadFile(
    kind: ConsumerKey['kind'],
    path: string,
    name: string,
    end: bigint,
    log: RecoveryLog,
  ): Promise<void> {
    const id = Number(name)
    if (!ID_NAME.test(name) || id > 0xffff_ffff) {
      log.fact('odd_name', 'offsets', path, 'ignored', { reason: 'its name is not the number of a consumer' })
      return
    }
    if ((await this.host.disk.stat(path)).kind !== 'file') {
      log.fact('odd_name', 'offsets', path, 'ignored', { reason: 'not a file' })
      return
    }
    const verdict = decodeOffsetFile(await readFile(this.host.disk, path, OFFSET_FILE_READ_MAX), this.host.hash)
    if (verdict.kind === 'torn') {
      log.fact('offset_torn', 'offsets', path, 'ignored', { bytes: verdict.bytes })
      return
    }
    if (verdict.kind === 'corrupt') {
      // the line is out before the file goes: it is all that is left of the value
      log.fact('offset_corrupt', 'offsets', path, 'unlinked', {
        offset: verdict.offset.toString(),
        expected: verdict.expected.toString(16),
        actual: verdict.actual.toString(16),
      })
      await unlinkIfThere(this.host.disk, path)
      return
    }
    if (end === 0n) {
      this.dropped.set(keyOf({ kind, id }), path)
      log.fact('offset_dropped', 'offsets', path, 'ignored', { id, offset: verdict.offset.toString() })
      return
    }
    const offset = verdict.offset < end ? verdict.offset : end - 1n
    if (offset !== verdict.offset) {
      log.fact('offset_clamped', 'offsets', path, 'clamped', {
        id,
        offset: verdict.offset.toString(),
        to: offset.toString(),
      })
    } else log.step('offsets', path, verdict.kind, { id, offset: offset.toString() })
    this.table.set(keyOf({ kind, id }), offset)
    // A clamped value is not what the file says: the next commit writes it, whatever it is.
    if (offset === verdict.offset) this.filed.set(keyOf({ kind, id }), offset)
  }
}

async function unlinkIfThere(disk: Disk, path: string): Promise<void> {
  try {
    await disk.unlink(path)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}
