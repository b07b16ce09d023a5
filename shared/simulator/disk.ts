/**
 * A disk that keeps the promises of a disk and no more (spec drills.md §2.3). What is written lies in a volatile list until
 * a sync that was asked for after it completes; names made, moved or removed lie in one until their directory is synced. A
 * crash of the process loses nothing that had been written; a loss of power keeps what was durable and any part of the rest.
 * Every call completes through the world's queue and never before; what it does happens then, all at once.
 */
import { type Disk, DiskError, type DiskFile, type FileStat, type OpenMode } from '../storage/disk.ts'
import { pathParts } from '../storage/paths.ts'
import type { Dice } from './dice.ts'
import type { Life } from './life.ts'

type Change =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Uint8Array; sequence: number }
  | { readonly kind: 'truncate'; readonly size: number; sequence: number }

type NameChange =
  | { readonly kind: 'set'; readonly name: string; readonly node: Node }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'move'; readonly from: string; readonly to: string; readonly node: Node }

export class Content {
  bytes = new Uint8Array(0)
  size = 0

  apply(change: Change): void {
    if (change.kind === 'truncate') this.resize(change.size)
    else this.write(change.position, change.bytes)
  }

  write(position: number, bytes: Uint8Array): void {
    if (position + bytes.length > this.size) this.resize(position + bytes.length)
    this.bytes.set(bytes, position)
  }

  resize(size: number): void {
    if (size > this.bytes.length) {
      const grown = new Uint8Array(Math.max(size, this.bytes.length * 2))
      grown.set(this.bytes.subarray(0, this.size))
      this.bytes = grown
    } else if (size < this.size) {
      this.bytes.fill(0, size, this.size)
    }
    this.size = size
  }

  copy(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.size)
  }
}

interface FileNode {
  readonly kind: 'file'
  readonly id: number
  readonly live: Content
  readonly durable: Content
  /** Written, not synced. */
  pending: Change[]
  /** Under way: may reach the disk or not. */
  readonly flying: Set<Change>
  /** Numbers of sectors that cannot be read until they are written again. */
  readonly unreadable: Set<number>
  /** Where the next write lands, wherever it was meant to. */
  stray: Stray | undefined
  modifiedMs: number
}

interface Stray {
  readonly from: number
  readonly to: number
  readonly landed: () => void
}

interface DirectoryNode {
  readonly kind: 'directory'
  children: Map<string, Node>
  durable: Map<string, Node>
  pending: NameChange[]
  modifiedMs: number
}

type Node = FileNode | DirectoryNode

/**
 * What a crash leaves of that which was not synced. `process`: all of it, only what was under way is in doubt. The others
 * are a loss of power: nothing, all, or any part, by pages or, `torn`, by sectors of files that have their new size already.
 */
/** `without`: all of it comes but this page. */
export type CrashKind = 'process' | 'drop' | 'keep' | 'part' | 'torn' | { readonly without: number }
export type CrashLoss = CrashKind | ((path: string) => CrashKind)

export type DiskCall =
  | 'open'
  | 'read'
  | 'write'
  | 'datasync'
  | 'sync'
  | 'truncate'
  | 'rename'
  | 'unlink'
  | 'syncDirectory'
  | 'other'

export interface DiskBehaviour {
  /** Microseconds that this call takes. */
  latency(call: DiskCall): number
  /** The error that it ends with, if any. */
  fault(call: DiskCall, path: string): 'Io' | 'NoSpace' | undefined
  /** Called when a call completes, before it takes effect; may end the life. */
  completing?(call: DiskCall, path: string): void
}

const PAGE_BYTES = 4_096
const SECTOR_BYTES = 512

export class SimulatedDisk {
  private root: DirectoryNode = directory(0)
  /** What each path that was named consists of: the same few are named all the time. */
  private readonly parts = new Map<string, readonly string[]>()
  private readonly nowMs: () => number
  private sequence = 0
  private files = 0
  /** Counts whatever may change the file that a name durably stands for. */
  durableNames = 0

  constructor(nowMs: () => number = () => 0) {
    this.nowMs = nowMs
  }

  /** The port of one life. Calls of a life that has ended never settle, and do nothing. */
  attach(life: Life, behaviour: DiskBehaviour): Disk {
    const call = <T>(kind: DiskCall, path: string, work: () => T): Promise<T> =>
      life.outside(behaviour.latency(kind), async () => {
        behaviour.completing?.(kind, path)
        const fault = behaviour.fault(kind, path)
        if (fault !== undefined) throw new DiskError(fault, kind, path)
        return work()
      })
    return {
      open: (path, mode) =>
        call('open', path, () => new SimulatedFile(this, path, this.open(path, mode), mode, call, life, behaviour)),
      rename: (from, to) => call('rename', from, () => this.rename(from, to)),
      unlink: path => call('unlink', path, () => this.unlink(path)),
      list: path => call('other', path, () => [...this.directoryAt('list', path).children.keys()].sort(byCodeUnit)),
      stat: path => call('other', path, () => this.stat(path)),
      makeDirectory: path => call('other', path, () => this.makeDirectory(path)),
      remove: path => call('unlink', path, () => this.remove(path)),
      syncDirectory: path => {
        // As with files: it covers what had happened when it was asked for.
        const node = this.find(path)
        const upTo = node?.kind === 'directory' ? node.pending.length : 0
        const covered = node?.kind === 'directory' ? node.pending.slice(0, upTo) : []
        return call('syncDirectory', path, () => {
          const now = this.directoryAt('sync', path)
          // What another sync has made durable meanwhile stays as that one left it: later changes may stand above it.
          for (const change of covered) if (now.pending.includes(change)) applyName(now.durable, change)
          this.durableNames++
          now.pending = now.pending.filter(change => !covered.includes(change))
        })
      },
    }
  }

  /**
   * The crash of the life that used this disk; what is left is durable and is what the next life sees. A function says it
   * of each file and directory by itself: what is written back in which order is not for a disk to promise.
   */
  crash(loss: CrashLoss, dice: Dice): void {
    this.durableNames++
    const kindOf = typeof loss === 'function' ? loss : () => loss
    const walk = (node: DirectoryNode, at: string) => {
      const kind = kindOf(at)
      const names = new Map(node.durable)
      for (const change of node.pending) {
        if (kind === 'process' || kind === 'keep' || (kind === 'part' && dice.chance(0.5))) applyName(names, change)
      }
      node.pending = []
      node.children = names
      node.durable = new Map(names)
      for (const [name, child] of names) {
        const path = at === '' ? name : `${at}/${name}`
        if (child.kind === 'directory') walk(child, path)
        else crashFile(child, kindOf(path), dice)
      }
    }
    walk(this.root, '')
  }

  wipe(): void {
    this.durableNames++
    this.root = directory(this.nowMs())
  }

  // For checkers, tools and runners.

  /** What a loss of power right now would surely leave of this file. */
  durable(path: string): { readonly id: number; readonly content: Content } | undefined {
    let node: Node | undefined = this.root
    for (const part of this.partsOf('peek', path)) {
      if (node?.kind !== 'directory') return undefined
      node = node.durable.get(part)
    }
    return node?.kind === 'file' ? { id: node.id, content: node.durable } : undefined
  }

  /** What a reader sees now. */
  peek(path: string): Uint8Array<ArrayBuffer> | undefined {
    const node = this.find(path)
    return node?.kind === 'file' ? node.live.copy() : undefined
  }

  /** The same without a copy, for reading only. */
  live(path: string): Content | undefined {
    const node = this.find(path)
    return node?.kind === 'file' ? node.live : undefined
  }

  paths(): string[] {
    const found: string[] = []
    const walk = (node: DirectoryNode, at: string) => {
      for (const name of [...node.children.keys()].sort(byCodeUnit)) {
        const child = node.children.get(name)!
        const path = at === '' ? name : `${at}/${name}`
        if (child.kind === 'file') found.push(path)
        else walk(child, path)
      }
    }
    walk(this.root, '')
    return found
  }

  /** Replaces, makes or removes a file, durably. */
  put(path: string, bytes: Uint8Array | undefined): void {
    this.durableNames++
    const parts = [...this.partsOf('put', path)]
    const name = parts.pop()!
    this.makeDirectory(parts.join('/'))
    const parent = this.directoryAt('put', parts.join('/'))
    parent.children.delete(name)
    parent.durable.delete(name)
    if (bytes === undefined) return
    const node = this.newFile()
    node.live.write(0, bytes)
    node.durable.write(0, bytes)
    parent.children.set(name, node)
    parent.durable.set(name, node)
  }

  /** Rot at rest: a stretch of what is durable is zeros. False when nothing of it is there. */
  clear(path: string, from: number, to: number): boolean {
    const node = this.find(path)
    if (node?.kind !== 'file' || from >= Math.min(to, node.durable.size)) return false
    node.durable.bytes.fill(0, from, Math.min(to, node.durable.size))
    node.live.bytes.fill(0, from, Math.min(to, node.live.size))
    return true
  }

  /** Rot at rest: flips bits of one byte of what is durable. False when there is no such byte. */
  damage(path: string, position: number, mask: number): boolean {
    const node = this.find(path)
    if (node?.kind !== 'file' || position >= node.durable.size) return false
    node.durable.bytes[position]! ^= mask
    if (position < node.live.size) node.live.bytes[position]! ^= mask
    return true
  }

  /** A latent error: the sector of this byte cannot be read until it is written again. False when there is no such byte. */
  loseSector(path: string, position: number): boolean {
    const node = this.find(path)
    if (node?.kind !== 'file' || position >= node.live.size) return false
    node.unreadable.add(Math.floor(position / SECTOR_BYTES))
    return true
  }

  /**
   * The next write to this file lands between `from` and `to`, as much of it as there is room for, and where it was meant to go
   * stays as it was, a file that grows by it having nothing there. `landed` is called when that has happened.
   * @returns false when the file has no such bytes
   */
  misdirect(path: string, from: number, to: number, landed: () => void): boolean {
    const node = this.find(path)
    if (node?.kind !== 'file' || from >= to || to > node.live.size) return false
    node.stray = { from, to, landed }
    return true
  }

  /** Every sector can be read again, and no write goes astray any more. */
  mend(): void {
    const walk = (node: DirectoryNode) => {
      for (const child of node.children.values()) {
        if (child.kind === 'directory') walk(child)
        else {
          child.unreadable.clear()
          child.stray = undefined
        }
      }
    }
    walk(this.root)
  }

  next(): number {
    return this.sequence++
  }

  now(): number {
    return this.nowMs()
  }

  private newFile(): FileNode {
    return {
      kind: 'file',
      id: ++this.files,
      live: new Content(),
      durable: new Content(),
      pending: [],
      flying: new Set(),
      unreadable: new Set(),
      stray: undefined,
      modifiedMs: this.nowMs(),
    }
  }

  private open(path: string, mode: OpenMode): FileNode {
    const { parent, name } = this.locate('open', path)
    let node = parent.children.get(name)
    if (node === undefined) {
      if (mode === 'read' || mode === 'write') throw new DiskError('NotFound', 'open', path)
      node = this.newFile()
      this.renamed(parent, { kind: 'set', name, node })
    } else if (node.kind === 'directory') {
      throw new DiskError('Io', 'open', path, new Error('is a directory'))
    } else if (mode === 'create' && node.live.size > 0) {
      node.live.resize(0)
      node.pending.push({ kind: 'truncate', size: 0, sequence: this.sequence++ })
    }
    return node
  }

  private rename(from: string, to: string): void {
    const source = this.locate('rename', from)
    const node = source.parent.children.get(source.name)
    if (node === undefined) throw new DiskError('NotFound', 'rename', from)
    const target = this.locate('rename', to)
    const replaced = target.parent.children.get(target.name)
    if (replaced === node) return
    if (replaced?.kind === 'directory' && replaced.children.size > 0) throw new DiskError('Exists', 'rename', to)
    if (source.parent === target.parent) {
      this.renamed(source.parent, { kind: 'move', from: source.name, to: target.name, node })
    } else {
      this.renamed(source.parent, { kind: 'delete', name: source.name })
      this.renamed(target.parent, { kind: 'set', name: target.name, node })
    }
  }

  private unlink(path: string): void {
    const { parent, name } = this.locate('unlink', path)
    const node = parent.children.get(name)
    if (node === undefined) throw new DiskError('NotFound', 'unlink', path)
    if (node.kind === 'directory') throw new DiskError('Io', 'unlink', path, new Error('is a directory'))
    this.renamed(parent, { kind: 'delete', name })
  }

  private remove(path: string): void {
    if (path === '') {
      for (const name of [...this.root.children.keys()]) this.renamed(this.root, { kind: 'delete', name })
      return
    }
    if (this.find(path) === undefined) return
    const { parent, name } = this.locate('remove', path)
    this.renamed(parent, { kind: 'delete', name })
  }

  private stat(path: string): FileStat {
    const node = this.find(path)
    if (node === undefined) throw new DiskError('NotFound', 'stat', path)
    return {
      kind: node.kind,
      sizeBytes: node.kind === 'file' ? node.live.size : 0,
      modifiedMs: node.modifiedMs,
    }
  }

  /** Durable when it completes, as the port promises: the directory that holds the new name is synced. */
  private makeDirectory(path: string): void {
    let node = this.root
    for (const part of this.partsOf('mkdir', path)) {
      let child = node.children.get(part)
      if (child === undefined) {
        child = directory(this.nowMs())
        node.children.set(part, child)
        node.durable = new Map(node.children)
        node.pending = []
        this.durableNames++
      }
      if (child.kind === 'file') throw new DiskError('NotADirectory', 'mkdir', path)
      node = child
    }
  }

  private renamed(parent: DirectoryNode, change: NameChange): void {
    applyName(parent.children, change)
    parent.pending.push(change)
    parent.modifiedMs = this.nowMs()
  }

  private find(path: string): Node | undefined {
    let node: Node | undefined = this.root
    for (const part of this.partsOf('find', path)) {
      if (node?.kind !== 'directory') return undefined
      node = node.children.get(part)
    }
    return node
  }

  private directoryAt(operation: string, path: string): DirectoryNode {
    const node = this.find(path)
    if (node === undefined) throw new DiskError('NotFound', operation, path)
    if (node.kind === 'file') throw new DiskError('NotADirectory', operation, path)
    return node
  }

  private locate(operation: string, path: string): { parent: DirectoryNode; name: string } {
    const parts = this.partsOf(operation, path)
    const name = parts.at(-1)
    if (name === undefined) throw new DiskError('Io', operation, path, new Error('is the root'))
    return { parent: this.directoryAt(operation, path.slice(0, Math.max(0, path.length - name.length - 1))), name }
  }

  private partsOf(operation: string, path: string): readonly string[] {
    const known = this.parts.get(path)
    if (known) return known
    const parts = pathParts(operation, path)
    this.parts.set(path, parts)
    return parts
  }
}

type Call = <T>(kind: DiskCall, path: string, work: () => T) => Promise<T>

class SimulatedFile implements DiskFile {
  readonly path: string
  private readonly disk: SimulatedDisk
  private readonly node: FileNode
  private readonly mode: OpenMode
  private readonly call: Call
  private readonly life: Life
  private readonly behaviour: DiskBehaviour
  private closed = false

  constructor(
    disk: SimulatedDisk,
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

function crashFile(node: FileNode, kind: CrashKind, dice: Dice): void {
  const { durable, pending } = node
  const flying = [...node.flying]
  node.pending = []
  node.flying.clear()
  if (kind === 'process' || kind === 'keep') {
    for (const change of pending) durable.apply(change)
    // A call that was under way has happened, or has not, or has in part.
    for (const change of flying) {
      if (change.kind === 'truncate') {
        if (dice.chance(0.5)) durable.apply(change)
      } else {
        const length = dice.pick([0, change.bytes.length, dice.below(change.bytes.length + 1)])
        if (length > 0) durable.write(change.position, change.bytes.subarray(0, length))
      }
    }
  } else if (typeof kind === 'object') {
    const at = kind.without * PAGE_BYTES
    const page = new Uint8Array(PAGE_BYTES)
    page.set(durable.bytes.subarray(at, Math.min(at + PAGE_BYTES, durable.size)))
    for (const change of [...pending, ...flying]) durable.apply(change)
    if (durable.size > at) durable.write(at, page.subarray(0, Math.min(PAGE_BYTES, durable.size - at)))
  } else if (kind === 'torn') {
    for (const change of [...pending, ...flying]) tear(durable, change, dice)
  } else if (kind === 'part') {
    const sizeWanted = node.live.size
    for (const change of [...pending, ...flying]) {
      if (change.kind === 'truncate') {
        if (dice.chance(0.5)) durable.apply(change)
        continue
      }
      const { position, bytes } = change
      for (let at = position; at < position + bytes.length; ) {
        const end = Math.min(position + bytes.length, (Math.floor(at / PAGE_BYTES) + 1) * PAGE_BYTES)
        if (dice.chance(0.5)) {
          // One page in four ends at a sector in its middle.
          const torn = Math.min(end, (Math.floor(at / SECTOR_BYTES) + dice.between(1, 8)) * SECTOR_BYTES)
          const upTo = dice.chance(0.25) ? torn : end
          durable.write(at, bytes.subarray(at - position, upTo - position))
        }
        at = end
      }
    }
    // The size may have grown though the pages have not come.
    if (durable.size < sizeWanted && dice.chance(0.2)) durable.resize(sizeWanted)
  }
  node.live.bytes = durable.bytes.slice(0, durable.size)
  node.live.size = durable.size
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

/** A write of which each sector has come or has not (spec drills.md §2.3, 4). */
function tear(durable: Content, change: Change, dice: Dice): void {
  if (change.kind === 'truncate') {
    if (dice.chance(0.5)) durable.apply(change)
    return
  }
  const { position, bytes } = change
  const end = position + bytes.length
  if (durable.size < end) durable.resize(end)
  for (let at = position; at < end; ) {
    const next = Math.min(end, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES)
    if (dice.chance(0.5)) durable.write(at, bytes.subarray(at - position, next - position))
    at = next
  }
}

function applyName(names: Map<string, Node>, change: NameChange): void {
  if (change.kind === 'set') names.set(change.name, change.node)
  else if (change.kind === 'delete') names.delete(change.name)
  else {
    if (names.get(change.from) === change.node) names.delete(change.from)
    names.set(change.to, change.node)
  }
}

const directory = (modifiedMs: number): DirectoryNode => ({
  kind: 'directory',
  children: new Map(),
  durable: new Map(),
  pending: [],
  modifiedMs,
})

function concat(buffers: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(buffers.reduce((total, buffer) => total + buffer.length, 0))
  let at = 0
  for (const buffer of buffers) {
    bytes.set(buffer, at)
    at += buffer.length
  }
  return bytes
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
