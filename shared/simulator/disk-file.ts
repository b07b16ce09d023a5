/** An open file of a simulated disk. */
import { DiskError, type DiskFile, type OpenMode } from '../storage/disk.ts'
import type { DiskBehaviour, DiskCall } from './disk.ts'
import { applyChange } from './disk-crash.ts'
import { type Change, type FileNode, inPages, SECTOR_BYTES, type Stray } from './disk-nodes.ts'
import type { Life } from './life.ts'
import type { LyingDrive } from './lying-drive.ts'

/** What an open file needs of its disk. */
export interface FileHost {
  readonly drive: LyingDrive | undefined
  next(): number
  now(): number
}

export type Call = <T>(kind: DiskCall, path: string, work: () => T) => Promise<T>

export class SimulatedFile implements DiskFile {
  readonly path: string
  private readonly disk: FileHost
  private readonly node: FileNode
  private readonly mode: OpenMode
  private readonly call: Call
  private readonly life: Life
  private readonly behaviour: DiskBehaviour
  private closed = false

  constructor(
    disk: FileHost,
    path: string,
    node: FileNode,
    mode: OpenMode,
    call: Call,
    life: Life,
    behaviour: DiskBehaviour,
  ) {
    this.disk = disk
    this.path = path
    this.node = node
    this.mode = mode
    this.call = call
    this.life = life
    this.behaviour = behaviour
  }

  read(position: number, into: Uint8Array): Promise<number> {
    return this.call('read', this.path, () => {
      this.check('read', position)
      const { live, unreadable } = this.node
      const length = Math.max(0, Math.min(into.length, live.size - position))
      for (const sector of unreadable)
        if (sector * SECTOR_BYTES < position + length && (sector + 1) * SECTOR_BYTES > position)
          throw new DiskError('Io', 'read', this.path, new Error(`sector ${sector} cannot be read`))
      into.set(live.bytes.subarray(position, position + length))
      return length
    })
  }

  write(position: number, buffers: readonly Uint8Array[]): Promise<void> {
    const bytes = concat(buffers)
    return this.change('write', { kind: 'write', position, bytes, sequence: 0 })
  }

  truncate(size: number): Promise<void> {
    return this.change('truncate', { kind: 'truncate', size, sequence: 0 })
  }

  datasync(): Promise<void> {
    return this.flush('datasync')
  }

  sync(): Promise<void> {
    return this.flush('sync')
  }

  preallocate(): Promise<boolean> {
    return this.call('other', this.path, () => false)
  }

  sizeBytes(): Promise<number> {
    return this.call('other', this.path, () => {
      this.check('read', 0)
      return this.node.live.size
    })
  }

  close(): Promise<void> {
    return this.call('other', this.path, () => {
      this.closed = true
    })
  }

  private change(kind: 'write' | 'truncate', change: Change): Promise<void> {
    const { node } = this
    // What a life asks for behind its own end, before its code comes to a stop, never left the process.
    if (!this.life.ended) node.flying.add(change)
    return this.life.outside(this.behaviour.latency(kind), async () => {
      this.behaviour.completing?.(kind, this.path)
      if (this.life.ended) return
      node.flying.delete(change)
      const fault = this.behaviour.fault(kind, this.path)
      if (fault !== undefined) throw new DiskError(fault, kind, this.path)
      this.check(kind, change.kind === 'write' ? change.position : change.size)
      if (change.kind === 'write' && change.bytes.length === 0) return
      const { stray } = node
      const changes = stray !== undefined && change.kind === 'write' ? strayed(node.live.size, stray, change) : [change]
      for (const each of changes) {
        each.sequence = this.disk.next()
        node.live.apply(each)
        node.pending.push(each)
        rewritten(node, each)
      }
      node.modifiedMs = this.disk.now()
      if (changes[0] === change) return
      node.stray = undefined
      stray!.landed()
    })
  }

  /** Covers the changes that had completed when it was asked for. A failed one drops them: they are clean, and not there. */
  private flush(kind: 'datasync' | 'sync'): Promise<void> {
    const { node } = this
    const before = this.disk.next()
    return this.life.outside(this.behaviour.latency(kind), async () => {
      this.behaviour.completing?.(kind, this.path)
      if (this.life.ended) return
      const fault = this.behaviour.fault(kind, this.path)
      const covered = node.pending.filter(change => change.sequence < before)
      node.pending = node.pending.filter(change => change.sequence >= before)
      if (fault !== undefined) throw new DiskError(fault, kind, this.path)
      this.check('sync', 0)
      for (const change of covered) node.durable.apply(change)
      if (node.cache) this.disk.drive?.synced(node.cache, inPages(covered), applyChange)
    })
  }

  private check(operation: string, position: number): void {
    if (this.closed) throw new DiskError('Io', operation, this.path, new Error('the file is closed'))
    if (!Number.isSafeInteger(position) || position < 0)
      throw new DiskError('Io', operation, this.path, new RangeError(`position ${position}`))
    if (this.mode === 'read' && (operation === 'write' || operation === 'truncate'))
      throw new DiskError('Io', operation, this.path, new Error('opened for reading'))
  }
}

/** What a write does that lands elsewhere; where nothing was before, its own place has no bytes. */
function strayed(size: number, { from, to }: Stray, { position, bytes }: Extract<Change, { kind: 'write' }>): Change[] {
  const end = position + bytes.length
  const wrong: Change = { kind: 'write', position: from, bytes: bytes.subarray(0, to - from), sequence: 0 }
  return end > size ? [{ kind: 'truncate', size: end, sequence: 0 }, wrong] : [wrong]
}

/** Sectors that a change has written, or taken away, can be read again. */
function rewritten({ unreadable }: FileNode, change: Change): void {
  if (unreadable.size === 0) return
  const [from, to] =
    change.kind === 'truncate'
      ? [change.size, Number.POSITIVE_INFINITY]
      : [change.position, change.position + change.bytes.length]
  for (const sector of unreadable)
    if (sector * SECTOR_BYTES < to && (sector + 1) * SECTOR_BYTES > from) unreadable.delete(sector)
}

function concat(buffers: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(buffers.reduce((total, buffer) => total + buffer.length, 0))
  let at = 0
  for (const buffer of buffers) {
    bytes.set(buffer, at)
    at += buffer.length
  }
  return bytes
}
