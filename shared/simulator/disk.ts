/**
 * A disk that keeps the promises of a disk and no more (spec drills.md §2.3). What is written lies in a volatile list until
 * a sync that was asked for after it completes; names made, moved or removed lie in one until their directory is synced. A
 * crash of the process loses nothing that had been written; a loss of power keeps what was durable and any part of the rest.
 * Every call completes through the world's queue and never before; what it does happens then, all at once.
 */
import { type Disk, DiskError, type FileStat, type OpenMode } from '../storage/disk.ts'
import { pathParts } from '../storage/paths.ts'
import type { Dice } from './dice.ts'
import { type CrashLoss, crashFile, crashNames, kindFor } from './disk-crash.ts'
import { SimulatedFile } from './disk-file.ts'
import {
  applyName,
  Content,
  type DirectoryNode,
  type FileNode,
  type NameChange,
  type Node,
  SECTOR_BYTES,
} from './disk-nodes.ts'
import type { Life } from './life.ts'
import type { LyingDrive } from './lying-drive.ts'

export type { CrashKind, CrashLoss } from './disk-crash.ts'

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

export class SimulatedDisk {
  private root: DirectoryNode
  /** What each path that was named consists of: the same few are named all the time. */
  private readonly parts = new Map<string, readonly string[]>()
  private readonly nowMs: () => number
  private sequence = 0
  private files = 0
  /** Counts whatever may change the file that a name durably stands for. */
  durableNames = 0

  /** Hears of a loss of power that took something of this path that a sync had said is durable. */
  lieCameOut: (path: string) => void = () => {}
  readonly drive: LyingDrive | undefined

  constructor(nowMs: () => number = () => 0, drive?: LyingDrive) {
    this.nowMs = nowMs
    this.drive = drive
    this.root = this.newDirectory(0)
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
          const fresh = covered.filter(change => now.pending.includes(change))
          this.synced(now, fresh)
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
    const kindOf = typeof loss === 'function' ? loss : (path: string) => kindFor(loss, path)
    const walk = (node: DirectoryNode, at: string) => {
      if (crashNames(node, kindOf(at), dice, this.drive) > 0) this.lieCameOut(at)
      for (const [name, child] of node.children) {
        const path = at === '' ? name : `${at}/${name}`
        if (child.kind === 'directory') walk(child, path)
        else if (crashFile(child, kindOf(path), dice, this.drive) > 0) this.lieCameOut(path)
      }
    }
    walk(this.root, '')
  }

  wipe(): void {
    this.durableNames++
    this.root = this.newDirectory(this.nowMs())
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
    parent.cache?.bottom.delete(name)
    if (bytes === undefined) return
    const node = this.newFile()
    node.live.write(0, bytes)
    node.durable.write(0, bytes)
    node.cache?.bottom.write(0, bytes)
    parent.children.set(name, node)
    parent.durable.set(name, node)
    parent.cache?.bottom.set(name, node)
  }

  /** Rot at rest: a stretch of what is durable is zeros. False when nothing of it is there. */
  clear(path: string, from: number, to: number): boolean {
    const node = this.find(path)
    if (node?.kind !== 'file' || from >= Math.min(to, node.durable.size)) return false
    for (const { bytes, size } of copiesOf(node)) bytes.fill(0, from, Math.min(to, size))
    return true
  }

  /** Rot at rest: flips bits of one byte of what is durable. False when there is no such byte. */
  damage(path: string, position: number, mask: number): boolean {
    const node = this.find(path)
    if (node?.kind !== 'file' || position >= node.durable.size) return false
    for (const { bytes, size } of copiesOf(node)) if (position < size) bytes[position]! ^= mask
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
      cache: this.drive && { bottom: new Content(), held: [] },
    }
  }

  private newDirectory(modifiedMs: number): DirectoryNode {
    return {
      kind: 'directory',
      children: new Map(),
      durable: new Map(),
      pending: [],
      modifiedMs,
      cache: this.drive && { bottom: new Map(), held: [] },
    }
  }

  /** A sync of these names has ended. */
  private synced({ durable, cache }: DirectoryNode, changes: readonly NameChange[]): void {
    for (const change of changes) applyName(durable, change)
    if (cache) this.drive!.synced(cache, changes, applyName)
    this.durableNames++
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
        child = this.newDirectory(this.nowMs())
        node.children.set(part, child)
        if (node.cache)
          this.drive!.synced(node.cache, [...node.pending, { kind: 'set', name: part, node: child }], applyName)
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

const copiesOf = ({ durable, live, cache }: FileNode): Content[] => [durable, live, ...(cache ? [cache.bottom] : [])]

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
