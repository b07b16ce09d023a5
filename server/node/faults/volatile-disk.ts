/**
 * A disk on which SIGKILL loses what was not synced (spec drills.md §5.3). The kernel keeps the writes of a process that
 * dies, so a real kill says nothing about missing syncs; here what is written stays in the memory of the process until a
 * sync of its file, and names made, moved or removed stay there until their directory is synced. Bytes that are synced
 * before their name wait under a name in a scratch directory, which every boot empties.
 *
 * Bound: a file with more than `WRITEBACK_BYTES` of unsynced bytes is written through, as a kernel would one day.
 */
import { type Disk, DiskError, type DiskFile, type FileStat, type OpenMode } from '../../../shared/storage/disk.ts'
import { joinPath, nameOf, pathParts } from '../../../shared/storage/paths.ts'
import { VolatileFile } from './volatile-file.ts'

/** Where a file or directory really lies: under a durable name, or in the scratch directory. */
type Place =
  | { readonly directory: VolatileDirectory; readonly name: string }
  | { readonly scratch: string; made: boolean }

interface Entry {
  readonly kind: 'file'
  readonly file: VolatileFile
  place: Place
}

class VolatileDirectory {
  readonly kind = 'directory'
  place: Place | undefined
  /** As the process sees it. */
  readonly live = new Map<string, Node>()
  /** As a kill would leave it. */
  readonly durable = new Map<string, Node>()
  loading: Promise<void> | undefined
  modifiedMs = Date.now()

  constructor(place: Place | undefined) {
    this.place = place
  }
}

type Node = Entry | VolatileDirectory

export class VolatileDisk implements Disk {
  private readonly inner: Disk
  private readonly scratch: string
  private readonly root = new VolatileDirectory(undefined)
  private scratchNames = 0
  private scratchMade: Promise<void> | undefined
  /** Names change one directory at a time. */
  private naming: Promise<void> = Promise.resolve()

  /** `scratch`: a directory of `inner` that no boot believes. */
  constructor(inner: Disk, scratch: string) {
    this.inner = inner
    this.scratch = scratch
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const { parent, name } = await this.locate('open', path)
    let node = parent.live.get(name)
    if (node === undefined) {
      if (mode === 'read' || mode === 'write') throw new DiskError('NotFound', 'open', path)
      node = this.newEntry()
      parent.live.set(name, node)
      parent.modifiedMs = Date.now()
    } else if (node.kind === 'directory') {
      throw new DiskError('Io', 'open', path, new Error('is a directory'))
    } else if (mode === 'create') {
      node.file.truncate(0)
    }
    return node.file.handle(path, mode !== 'read')
  }

  async rename(from: string, to: string): Promise<void> {
    pathParts('rename', to)
    const source = await this.locate('rename', from)
    const target = await this.locate('rename', to)
    const node = source.parent.live.get(source.name)
    if (node === undefined) throw new DiskError('NotFound', 'rename', from)
    const old = target.parent.live.get(target.name)
    if (old === node) return
    if (old?.kind === 'directory') {
      if (node.kind === 'file') throw new DiskError('Io', 'rename', from, new Error('is a directory'))
      await this.load(old)
      if (old.live.size > 0) throw new DiskError('Exists', 'rename', from)
    } else if (old && node.kind === 'directory') {
      throw new DiskError('NotADirectory', 'rename', from)
    }
    source.parent.live.delete(source.name)
    target.parent.live.set(target.name, node)
    source.parent.modifiedMs = target.parent.modifiedMs = Date.now()
  }

  async unlink(path: string): Promise<void> {
    const { parent, name } = await this.locate('unlink', path)
    const node = parent.live.get(name)
    if (node === undefined) throw new DiskError('NotFound', 'unlink', path)
    if (node.kind === 'directory') throw new DiskError('Io', 'unlink', path, new Error('is a directory'))
    parent.live.delete(name)
    parent.modifiedMs = Date.now()
  }

  async list(path: string): Promise<string[]> {
    const directory = await this.directory('list', path)
    return [...directory.live.keys()].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  }

  async stat(path: string): Promise<FileStat> {
    const node = path === '' ? this.root : await this.find('stat', path)
    if (node === undefined) throw new DiskError('NotFound', 'stat', path)
    return node.kind === 'directory'
      ? { kind: 'directory', sizeBytes: 0, modifiedMs: node.modifiedMs }
      : { kind: 'file', sizeBytes: node.file.size, modifiedMs: node.file.modifiedMs }
  }

  async makeDirectory(path: string): Promise<void> {
    let at = this.root
    await this.load(at)
    for (const part of pathParts('mkdir', path)) {
      let next = at.live.get(part)
      if (next?.kind === 'file') throw new DiskError('NotADirectory', 'mkdir', path)
      if (!next) {
        next = new VolatileDirectory(this.newPlace())
        // There is nothing under it yet.
        next.loading = Promise.resolve()
        at.live.set(part, next)
        at.modifiedMs = Date.now()
      }
      await this.load(next)
      at = next
    }
    if (at === this.root) await this.inner.makeDirectory('')
  }

  async remove(path: string): Promise<void> {
    if (path === '') {
      await this.load(this.root)
      this.root.live.clear()
      return
    }
    const parts = pathParts('remove', path)
    const parent = await this.walk(parts.slice(0, -1))
    if (parent instanceof VolatileDirectory) parent.live.delete(parts.at(-1)!)
  }

  syncDirectory(path: string): Promise<void> {
    const done = this.naming.then(async () => this.settle(await this.directory('sync', path)))
    this.naming = done.catch(() => {})
    return done
  }

  /* --------------------------------------------------------------------------------------- names become durable */

  private async settle(directory: VolatileDirectory): Promise<void> {
    const { live, durable } = directory
    const wanted = new Map(live)
    await this.materialise(directory)
    for (const [name, node] of wanted) {
      const old = durable.get(name)
      if (old === node) continue
      if (old && !(await this.rescue(old)) && old.kind === 'directory') await this.inner.remove(this.pathOf(old))
      await this.materialise(node)
      const from = this.pathOf(node)
      const { place } = node
      // One rename, as it was asked for: whoever dies here has the old name or the new one.
      await this.inner.rename(from, joinPath(this.pathOf(directory), name))
      if (place && 'directory' in place && place.directory.durable.get(place.name) === node) {
        place.directory.durable.delete(place.name)
      }
      node.place = { directory, name }
      durable.set(name, node)
    }
    for (const [name, node] of durable) {
      if (wanted.has(name)) continue
      if (!(await this.rescue(node))) await this.inner.remove(joinPath(this.pathOf(directory), name))
      durable.delete(name)
    }
    await this.inner.syncDirectory(this.pathOf(directory))
  }

  /** The durable name of `node` goes. Whoever still has it open, or finds it under another name, keeps its bytes. */
  private async rescue(node: Node): Promise<boolean> {
    if (node.kind === 'file') await node.file.keepOpen()
    if (!this.isNamed(node, this.root)) return false
    const from = this.pathOf(node)
    await this.makeScratch()
    node.place = this.newPlace(true)
    await this.inner.rename(from, this.pathOf(node))
    return true
  }

  private isNamed(node: Node, under: VolatileDirectory): boolean {
    for (const child of under.live.values()) {
      if (child === node || (child.kind === 'directory' && this.isNamed(node, child))) return true
    }
    return false
  }

  /** Gives a node a real file or directory, in the scratch directory when it has no durable name yet. */
  private async materialise(node: Node): Promise<void> {
    const { place } = node
    if (!place || 'directory' in place || place.made) return
    await this.makeScratch()
    if (node.kind === 'file') await node.file.materialise()
    else await this.inner.makeDirectory(place.scratch)
    place.made = true
  }

  private makeScratch(): Promise<void> {
    this.scratchMade ??= this.inner.makeDirectory(this.scratch)
    return this.scratchMade
  }

  private newPlace(made = false): Place {
    return { scratch: joinPath(this.scratch, String(++this.scratchNames)), made }
  }

  private newEntry(place: Place = this.newPlace(), size = 0, modifiedMs = Date.now()): Entry {
    const entry: Entry = {
      kind: 'file',
      place,
      file: new VolatileFile(size, modifiedMs, async () => {
        const { place: now } = entry
        const made = !('scratch' in now) || now.made
        if (!made) {
          await this.makeScratch()
          now.made = true
        }
        return this.inner.open(this.pathOf(entry), made ? 'write' : 'create')
      }),
    }
    return entry
  }

  private pathOf(node: Node): string {
    const { place } = node
    if (!place) return ''
    return 'scratch' in place ? place.scratch : joinPath(this.pathOf(place.directory), place.name)
  }

  /* ------------------------------------------------------------------------------------------------- finding */

  private load(directory: VolatileDirectory): Promise<void> {
    directory.loading ??= this.readNames(directory)
    return directory.loading
  }

  private async readNames(directory: VolatileDirectory): Promise<void> {
    const path = this.pathOf(directory)
    let names: string[] = []
    try {
      names = await this.inner.list(path)
    } catch (error) {
      // A data directory that is not there yet is empty; `makeDirectory('')` makes it.
      if (path !== '' || !(error instanceof DiskError) || error.disk !== 'NotFound') throw error
    }
    for (const name of names) {
      const { kind, sizeBytes, modifiedMs } = await this.inner.stat(joinPath(path, name))
      const place = { directory, name }
      const node = kind === 'directory' ? new VolatileDirectory(place) : this.newEntry(place, sizeBytes, modifiedMs)
      directory.live.set(name, node)
      directory.durable.set(name, node)
    }
  }

  /** The directory at the end of `parts`, or what stopped the walk. */
  private async walk(parts: readonly string[]): Promise<VolatileDirectory | 'NotFound' | 'NotADirectory'> {
    let at = this.root
    await this.load(at)
    for (const part of parts) {
      const next = at.live.get(part)
      if (!next) return 'NotFound'
      if (next.kind === 'file') return 'NotADirectory'
      await this.load(next)
      at = next
    }
    return at
  }

  private async directory(operation: string, path: string): Promise<VolatileDirectory> {
    const found = await this.walk(pathParts(operation, path))
    if (typeof found === 'string') throw new DiskError(found, operation, path)
    return found
  }

  private async locate(operation: string, path: string): Promise<{ parent: VolatileDirectory; name: string }> {
    const parts = pathParts(operation, path)
    if (parts.length === 0) throw new DiskError('Io', operation, path, new Error('the data directory itself'))
    const parent = await this.walk(parts.slice(0, -1))
    if (typeof parent === 'string') throw new DiskError(parent, operation, path)
    return { parent, name: nameOf(path) }
  }

  private async find(operation: string, path: string): Promise<Node | undefined> {
    const { parent, name } = await this.locate(operation, path)
    return parent.live.get(name)
  }
}
