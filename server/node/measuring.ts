/**
 * What a benchmark may switch in a node, behind one flag: how rounds of a partition are written, and what a sync of its
 * files does (spec drills.md §4.3). A node that measures counts its syncs and says at `GET /measure` what it has done. Such
 * a node is not for data: it is refused with a directory that holds any, and in a cluster.
 *
 *   --measure persist=serial|concurrent   default concurrent
 *             group-commit=on|off         default on
 *             sync=real|none|MS|LOG/INDEX default real; none: a sync does nothing; else it waits so many milliseconds
 *                                         instead, for each file or for log and index
 */
import { readdirSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { EngineError } from '../../shared/bytes/errors.ts'
import { PERSIST_MODE, type PersistMode } from '../../shared/partition/contract.ts'
import type { Disk, DiskFile, FileStat, OpenMode } from '../../shared/storage/disk.ts'
import { RUNTIME_DIRECTORY } from './ready-file.ts'

export type SyncMode =
  | { readonly kind: 'real' }
  | { readonly kind: 'none' }
  /** A disk of known speed. */
  | { readonly kind: 'wait'; readonly logMs: number; readonly indexMs: number }

export interface Measuring {
  readonly persist: PersistMode
  readonly sync: SyncMode
}

/** Answer of `GET /measure`: counts since the start of the node. */
export interface MeasuredCounts {
  readonly measuring: Measuring
  /** Syncs of segment files, whatever a sync does here. */
  readonly logSyncs: number
  readonly indexSyncs: number
  /** Replacements of partition superblocks that were renamed into place. */
  readonly superblockWrites: number
  readonly threadPoolSize: number
  /** Of all threads, since the start. */
  readonly cpuMs: number
  /** Since the start; the loop is idle while it waits for work. */
  readonly loopActiveMs: number
  readonly loopIdleMs: number
}

/** @throws EngineError BadMeasure */
export function parseMeasuring(texts: readonly string[]): Measuring {
  let persist = PERSIST_MODE
  let sync: SyncMode = { kind: 'real' }
  for (const text of texts) {
    const [name, value = ''] = text.split('=')
    if (name === 'persist' && (value === 'serial' || value === 'concurrent')) persist = { ...persist, halves: value }
    else if (name === 'group-commit' && (value === 'on' || value === 'off'))
      persist = { ...persist, groupCommit: value === 'on' }
    else if (name === 'sync' && (value === 'real' || value === 'none')) sync = { kind: value }
    else if (name === 'sync' && /^\d{1,4}(\/\d{1,4})?$/.test(value)) {
      const [logMs, indexMs = logMs] = value.split('/').map(Number) as [number, number?]
      sync = { kind: 'wait', logMs, indexMs }
    } else throw new EngineError('BadMeasure', `${JSON.stringify(text)} is nothing that can be measured`)
  }
  return { persist, sync }
}

/**
 * A node that does not sync, or that is slow on purpose, must never meet data that somebody wants to keep.
 * @throws EngineError MeasureRefused
 */
export function mayMeasure(dataDirectory: string, clusterEnabled: boolean, lockName: string): void {
  const advice = 'leave --measure out, or give it a directory of its own'
  if (clusterEnabled) throw new EngineError('MeasureRefused', '--measure is for a node without a cluster', { advice })
  const held = readdirSync(dataDirectory).filter(name => name !== lockName && name !== RUNTIME_DIRECTORY)
  if (held.length === 0) return
  throw new EngineError('MeasureRefused', `--measure is for an empty directory, ${dataDirectory} holds ${held[0]}`, {
    path: dataDirectory,
    advice,
  })
}

type SegmentFile = 'log' | 'index'

export class MeasuredDisk implements Disk {
  private readonly inner: Disk
  private readonly measuring: Measuring
  private readonly syncs: Record<SegmentFile, number> = { log: 0, index: 0 }
  private superblockWrites = 0

  constructor(inner: Disk, measuring: Measuring) {
    this.inner = inner
    this.measuring = measuring
  }

  counts(): MeasuredCounts {
    const { user, system } = process.cpuUsage()
    const loop = performance.eventLoopUtilization()
    return {
      measuring: this.measuring,
      logSyncs: this.syncs.log,
      indexSyncs: this.syncs.index,
      superblockWrites: this.superblockWrites,
      threadPoolSize: Number(process.env.UV_THREADPOOL_SIZE ?? 4),
      cpuMs: Math.round((user + system) / 1000),
      loopActiveMs: Math.round(loop.active),
      loopIdleMs: Math.round(loop.idle),
    }
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const file = await this.inner.open(path, mode)
    const ending = /\/\d{20}\.(log|index)$/.exec(path)?.[1] as SegmentFile | undefined
    if (ending === undefined) return file
    return {
      path,
      read: (position, into) => file.read(position, into),
      write: (position, buffers) => file.write(position, buffers),
      datasync: () => this.datasync(ending, file),
      sync: () => file.sync(),
      truncate: size => file.truncate(size),
      preallocate: size => file.preallocate(size),
      sizeBytes: () => file.sizeBytes(),
      close: () => file.close(),
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await this.inner.rename(from, to)
    if (/\/partitions\/\d+\/superblock\.[ab]$/.test(to)) this.superblockWrites++
  }
  unlink(path: string): Promise<void> {
    return this.inner.unlink(path)
  }
  list(path: string): Promise<string[]> {
    return this.inner.list(path)
  }
  stat(path: string): Promise<FileStat> {
    return this.inner.stat(path)
  }
  makeDirectory(path: string): Promise<void> {
    return this.inner.makeDirectory(path)
  }
  remove(path: string): Promise<void> {
    return this.inner.remove(path)
  }
  syncDirectory(path: string): Promise<void> {
    return this.inner.syncDirectory(path)
  }

  private async datasync(ending: SegmentFile, file: DiskFile): Promise<void> {
    this.syncs[ending]++
    const { sync } = this.measuring
    if (sync.kind === 'real') return file.datasync()
    if (sync.kind === 'none') return
    await new Promise(resolve => setTimeout(resolve, ending === 'log' ? sync.logMs : sync.indexMs))
  }
}
