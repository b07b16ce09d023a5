/**
 * A disk that reads through to another one and keeps every change to itself, in memory: recovery runs on it as on the real
 * thing, and not a byte below is touched (design.md §7, `--plan`). Files are changed by pages, so a long segment costs only
 * what is written to it. The tree is read from below directory by directory, when somebody looks.
 */
import { type Disk, DiskError, type DiskFile, type FileStat, isNotFound, type OpenMode } from './disk.ts'
import { nameOf, parentOf } from './paths.ts'

const PAGE_BYTES = 4096

interface FileNode {
  readonly kind: 'file'
  /** Where its bytes lie below, as far as `baseBytes`. */
  readonly base: string | undefined
  baseBytes: number
  size: number
  readonly pages: Map<number, Uint8Array>
}

interface DirectoryNode {
  readonly kind: 'directory'
  readonly base: string | undefined
  children: Map<string, Node> | undefined
}

interface OtherNode {
  readonly kind: 'other'
}

type Node = FileNode | DirectoryNode | OtherNode

const emptyFile = (): FileNode => ({ kind: 'file', base: undefined, baseBytes: 0, size: 0, pages: new Map() })

export class OverlayDisk implements Disk {
  private readonly below: Disk
  private readonly root: DirectoryNode = { kind: 'directory', base: '', children: undefined }

  constructor(below: Disk) {
    this.below = below
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const parent = await this.directory('open', parentOf(path))
    const children = await this.load(parent)
    let node = children.get(nameOf(path))
    if (node !== undefined && node.kind !== 'file') throw new DiskError('Io', 'open', path)
    if (node === undefined) {
      if (mode === 'read' || mode === 'write') throw new DiskError('NotFound', 'open', path)
      node = emptyFile()
      children.set(nameOf(path), node)
    } else if (mode === 'create') resize(node, 0)
    return new OverlayFile(this.below, path, node, mode !== 'read')
  }

  async rename(from: string, to: string): Promise<void> {
    const source = await this.load(await this.directory('rename', parentOf(from)))
    const node = source.get(nameOf(from))
    if (node === undefined) throw new DiskError('NotFound', 'rename', from)
    const target = await this.load(await this.directory('rename', parentOf(to)))
    source.delete(nameOf(from))
    target.set(nameOf(to), node)
  }

  async unlink(path: string): Promise<void> {
    const children = await this.load(await this.directory('unlink', parentOf(path)))
    if (children.get(nameOf(path))?.kind !== 'file') throw new DiskError('NotFound', 'unlink', path)
    children.delete(nameOf(path))
  }

  async list(path: string): Promise<string[]> {
    const children = await this.load(await this.directory('list', path))
    return [...children.keys()].sort((a, b) => (a < b ? -1 : 1))
  }

  async stat(path: string): Promise<FileStat> {
    const node = await this.find(path)
    if (node === undefined) throw new DiskError('NotFound', 'stat', path)
    return { kind: node.kind, sizeBytes: node.kind === 'file' ? node.size : 0, modifiedMs: 0 }
  }

  async makeDirectory(path: string): Promise<void> {
    let node: DirectoryNode = this.root
    for (const part of path.split('/').filter(name => name !== '')) {
      const children = await this.load(node)
      const child = children.get(part) ?? { kind: 'directory', base: undefined, children: new Map() }
      if (child.kind !== 'directory') throw new DiskError('NotADirectory', 'mkdir', path)
      children.set(part, child)
      node = child
    }
  }

  async remove(path: string): Promise<void> {
    const parent = await this.find(parentOf(path))
    if (parent?.kind === 'directory') (await this.load(parent)).delete(nameOf(path))
  }

  async syncDirectory(path: string): Promise<void> {
    await this.directory('sync', path)
  }

  private async directory(operation: string, path: string): Promise<DirectoryNode> {
    const node = await this.find(path)
    if (node === undefined) throw new DiskError('NotFound', operation, path)
    if (node.kind !== 'directory') throw new DiskError('NotADirectory', operation, path)
    return node
  }

  private async find(path: string): Promise<Node | undefined> {
    let node: Node | undefined = this.root
    for (const part of path.split('/').filter(name => name !== '')) {
      if (node?.kind !== 'directory') return undefined
      node = (await this.load(node)).get(part)
    }
    return node
  }

  private async load(node: DirectoryNode): Promise<Map<string, Node>> {
    if (node.children !== undefined) return node.children
    const children = new Map<string, Node>()
    const { base } = node
    for (const name of await this.below.list(base!)) {
      const path = base === '' ? name : `${base}/${name}`
      let stat: FileStat
      try {
        stat = await this.below.stat(path)
      } catch (error) {
        // A link that leads nowhere, or a name that went while we looked.
        if (isNotFound(error)) continue
        throw error
      }
      const { kind, sizeBytes } = stat
      if (kind === 'file')
        children.set(name, { kind, base: path, baseBytes: sizeBytes, size: sizeBytes, pages: new Map() })
      else if (kind === 'directory') children.set(name, { kind, base: path, children: undefined })
      else children.set(name, { kind })
    }
    // Another look may have been quicker.
    node.children ??= children
    return node.children
  }
}

/** What a longer file reads as beyond its bytes is zeros, below and here. */
function resize(node: FileNode, size: number): void {
  if (size < node.size) {
    node.baseBytes = Math.min(node.baseBytes, size)
    const last = Math.floor(size / PAGE_BYTES)
    for (const [page, bytes] of node.pages) {
      if (page > last || size === 0) node.pages.delete(page)
      else if (page === last) bytes.fill(0, size - last * PAGE_BYTES)
    }
  }
  node.size = size
}

class OverlayFile implements DiskFile {
  readonly path: string
  private readonly below: Disk
  private readonly node: FileNode
  private readonly writable: boolean
  private baseFile: Promise<DiskFile> | undefined

  constructor(below: Disk, path: string, node: FileNode, writable: boolean) {
    this.below = below
    this.path = path
    this.node = node
    this.writable = writable
  }

  async read(position: number, into: Uint8Array): Promise<number> {
    const length = Math.max(0, Math.min(into.length, this.node.size - position))
    if (length === 0) return 0
    const target = into.subarray(0, length)
    await this.readBase(position, target)
    for (const [page, bytes] of this.node.pages) {
      const from = Math.max(position, page * PAGE_BYTES)
      const to = Math.min(position + length, (page + 1) * PAGE_BYTES)
      if (from < to) target.set(bytes.subarray(from - page * PAGE_BYTES, to - page * PAGE_BYTES), from - position)
    }
    return length
  }

  async write(position: number, buffers: readonly Uint8Array[]): Promise<void> {
    if (!this.writable) throw new DiskError('ReadOnly', 'write', this.path)
    let at = position
    for (const buffer of buffers) {
      for (let done = 0; done < buffer.length; ) {
        const page = Math.floor(at / PAGE_BYTES)
        const bytes = await this.page(page)
        const offset = at - page * PAGE_BYTES
        const part = buffer.subarray(done, done + PAGE_BYTES - offset)
        bytes.set(part, offset)
        done += part.length
        at += part.length
        if (at > this.node.size) this.node.size = at
      }
    }
  }

  async datasync(): Promise<void> {}
  async sync(): Promise<void> {}

  async truncate(sizeBytes: number): Promise<void> {
    if (!this.writable) throw new DiskError('ReadOnly', 'truncate', this.path)
    resize(this.node, sizeBytes)
  }

  async preallocate(): Promise<boolean> {
    return true
  }

  async sizeBytes(): Promise<number> {
    return this.node.size
  }

  async close(): Promise<void> {
    const file = await this.baseFile
    this.baseFile = undefined
    await file?.close()
  }

  private async page(number: number): Promise<Uint8Array> {
    const known = this.node.pages.get(number)
    if (known) return known
    const bytes = new Uint8Array(PAGE_BYTES)
    await this.readBase(number * PAGE_BYTES, bytes)
    const now = this.node.pages.get(number) ?? bytes
    this.node.pages.set(number, now)
    return now
  }

  /** The bytes from below, zeros where there are none. */
  private async readBase(position: number, into: Uint8Array): Promise<void> {
    const { base, baseBytes } = this.node
    const length = base === undefined ? 0 : Math.max(0, Math.min(into.length, baseBytes - position))
    let done = 0
    if (length > 0) {
      this.baseFile ??= this.below.open(base!, 'read')
      done = await (await this.baseFile).read(position, into.subarray(0, length))
    }
    into.fill(0, done)
  }
}
