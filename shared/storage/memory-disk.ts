/**
 * A perfect disk in memory: nothing tears, nothing is lost, every sync succeeds. A handle stays on its file when the name
 * moves or goes, as on a real one. Calls take effect at once and complete through a resolved promise.
 */
import { type Disk, DiskError, type DiskFile, type FileStat, type OpenMode } from './disk.ts'
import { pathParts } from './paths.ts'

interface FileNode {
  readonly kind: 'file'
  /** Capacity may exceed `size`; bytes past `size` are zero. */
  bytes: Uint8Array<ArrayBuffer>
  size: number
  modifiedMs: number
}

interface DirectoryNode {
  readonly kind: 'directory'
  readonly children: Map<string, Node>
  modifiedMs: number
}

type Node = FileNode | DirectoryNode

/** A frozen copy of a whole tree: path to content, `undefined` for a directory. */
export type DiskImage = ReadonlyMap<string, Uint8Array | undefined>

export interface MemoryDiskOptions {
  /** Stamps `modifiedMs`; a world passes its virtual clock. Default: always 0. */
  readonly nowMs?: () => number
}

export class MemoryDisk implements Disk {
  private root: DirectoryNode
  private readonly nowMs: () => number

  constructor(options: MemoryDiskOptions = {}) {
    this.nowMs = options.nowMs ?? (() => 0)
    this.root = { kind: 'directory', children: new Map(), modifiedMs: this.nowMs() }
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const { parent, name } = this.locate('open', path)
    let node = parent.children.get(name)
    if (node === undefined) {
      if (mode === 'read' || mode === 'write') throw new DiskError('NotFound', 'open', path)
      node = { kind: 'file', bytes: new Uint8Array(0), size: 0, modifiedMs: this.nowMs() }
      parent.children.set(name, node)
      parent.modifiedMs = this.nowMs()
    } else if (node.kind === 'directory') {
      throw new DiskError('Io', 'open', path, new Error('is a directory'))
    } else if (mode === 'create') {
      resize(node, 0)
      node.modifiedMs = this.nowMs()
    }
    return new MemoryFile(path, node, mode !== 'read', this.nowMs)
  }

  async rename(from: string, to: string): Promise<void> {
    pathParts('rename', to)
    const source = this.locate('rename', from)
    const node = source.parent.children.get(source.name)
    if (node === undefined) throw new DiskError('NotFound', 'rename', from)
    const target = this.locate('rename', to)
    const replaced = target.parent.children.get(target.name)
    if (replaced === node) return
    if (`${to}/`.startsWith(`${from}/`)) throw new DiskError('Io', 'rename', to, new Error('inside itself'))
    if (replaced?.kind === 'directory') {
      if (node.kind === 'file') throw new DiskError('Io', 'rename', to, new Error('is a directory'))
      if (replaced.children.size > 0) throw new DiskError('Exists', 'rename', to)
    } else if (replaced !== undefined && node.kind === 'directory') {
      throw new DiskError('NotADirectory', 'rename', to)
    }
    source.parent.children.delete(source.name)
    target.parent.children.set(target.name, node)
    source.parent.modifiedMs = target.parent.modifiedMs = this.nowMs()
  }

  async unlink(path: string): Promise<void> {
    const { parent, name } = this.locate('unlink', path)
    const node = parent.children.get(name)
    if (node === undefined) throw new DiskError('NotFound', 'unlink', path)
    if (node.kind === 'directory') throw new DiskError('Io', 'unlink', path, new Error('is a directory'))
    parent.children.delete(name)
    parent.modifiedMs = this.nowMs()
  }

  async list(path: string): Promise<string[]> {
    return [...this.directory('list', path).children.keys()].sort(byCodeUnit)
  }

  async stat(path: string): Promise<FileStat> {
    const node = this.find('stat', path)
    if (node === undefined) throw new DiskError('NotFound', 'stat', path)
    return { kind: node.kind, sizeBytes: node.kind === 'file' ? node.size : 0, modifiedMs: node.modifiedMs }
  }

  async makeDirectory(path: string): Promise<void> {
    let node = this.root
    for (const part of pathParts('mkdir', path)) {
      let child = node.children.get(part)
      if (child === undefined) {
        child = { kind: 'directory', children: new Map(), modifiedMs: this.nowMs() }
        node.children.set(part, child)
        node.modifiedMs = this.nowMs()
      }
      if (child.kind === 'file') throw new DiskError('NotADirectory', 'mkdir', path)
      node = child
    }
  }

  async remove(path: string): Promise<void> {
    if (path === '') {
      this.root.children.clear()
      return
    }
    if (this.find('remove', path) === undefined) return
    const { parent, name } = this.locate('remove', path)
    parent.children.delete(name)
    parent.modifiedMs = this.nowMs()
  }

  async syncDirectory(path: string): Promise<void> {
    this.directory('sync', path)
  }

  /** The whole tree, copied. */
  snapshot(): DiskImage {
    const image = new Map<string, Uint8Array | undefined>()
    const walk = (node: DirectoryNode, path: string) => {
      for (const name of [...node.children.keys()].sort(byCodeUnit)) {
        const child = node.children.get(name)!
        const childPath = path === '' ? name : `${path}/${name}`
        image.set(childPath, child.kind === 'file' ? child.bytes.slice(0, child.size) : undefined)
        if (child.kind === 'directory') walk(child, childPath)
      }
    }
    walk(this.root, '')
    return image
  }

  /** Replaces the whole tree by a copy of `image`. Open handles keep their old files. */
  restore(image: DiskImage): void {
    this.root = { kind: 'directory', children: new Map(), modifiedMs: this.nowMs() }
    for (const [path, content] of image) this.put(path, content)
  }

  /** Test and tool access: writes one file (making its directories), or a directory when `content` is undefined. */
  put(path: string, content: Uint8Array | undefined): void {
    const parts = pathParts('put', path)
    let node = this.root
    for (const [index, part] of parts.entries()) {
      const isFile = index === parts.length - 1 && content !== undefined
      let child = node.children.get(part)
      if (isFile) {
        node.children.set(part, {
          kind: 'file',
          bytes: content.slice(),
          size: content.length,
          modifiedMs: this.nowMs(),
        })
        return
      }
      if (child === undefined) {
        child = { kind: 'directory', children: new Map(), modifiedMs: this.nowMs() }
        node.children.set(part, child)
      }
      if (child.kind === 'file') throw new DiskError('NotADirectory', 'put', path)
      node = child
    }
  }

  /** Test and tool access: a copy of one file's bytes, or undefined when there is no such file. */
  peek(path: string): Uint8Array<ArrayBuffer> | undefined {
    const node = this.find('peek', path)
    return node?.kind === 'file' ? node.bytes.slice(0, node.size) : undefined
  }

  private find(operation: string, path: string): Node | undefined {
    let node: Node = this.root
    for (const part of pathParts(operation, path)) {
      if (node.kind === 'file') throw new DiskError('NotADirectory', operation, path)
      const child: Node | undefined = node.children.get(part)
      if (child === undefined) return undefined
      node = child
    }
    return node
  }

  private directory(operation: string, path: string): DirectoryNode {
    const node = this.find(operation, path)
    if (node === undefined) throw new DiskError('NotFound', operation, path)
    if (node.kind === 'file') throw new DiskError('NotADirectory', operation, path)
    return node
  }

  private locate(operation: string, path: string): { parent: DirectoryNode; name: string } {
    const parts = pathParts(operation, path)
    const name = parts.at(-1)
    if (name === undefined) throw new DiskError('Io', operation, path, new Error('is the root'))
    return { parent: this.directory(operation, parts.slice(0, -1).join('/')), name }
  }
}

class MemoryFile implements DiskFile {
  readonly path: string
  private readonly node: FileNode
  private readonly writable: boolean
  private readonly nowMs: () => number
  private closed = false

  constructor(path: string, node: FileNode, writable: boolean, nowMs: () => number) {
    this.path = path
    this.node = node
    this.writable = writable
    this.nowMs = nowMs
  }

  async read(position: number, into: Uint8Array): Promise<number> {
    this.check('read', position)
    const length = Math.max(0, Math.min(into.length, this.node.size - position))
    into.set(this.node.bytes.subarray(position, position + length))
    return length
  }

  async write(position: number, buffers: readonly Uint8Array[]): Promise<void> {
    this.check('write', position)
    let at = position
    for (const buffer of buffers) at += buffer.length
    if (at === position) return
    if (at > this.node.size) resize(this.node, at)
    at = position
    for (const buffer of buffers) {
      this.node.bytes.set(buffer, at)
      at += buffer.length
    }
    this.node.modifiedMs = this.nowMs()
  }

  async datasync(): Promise<void> {
    this.check('datasync', 0)
  }

  async sync(): Promise<void> {
    this.check('sync', 0)
  }

  async truncate(sizeBytes: number): Promise<void> {
    this.check('truncate', sizeBytes)
    resize(this.node, sizeBytes)
    this.node.modifiedMs = this.nowMs()
  }

  async preallocate(): Promise<boolean> {
    this.check('preallocate', 0)
    return false
  }

  async sizeBytes(): Promise<number> {
    this.check('size', 0)
    return this.node.size
  }

  async close(): Promise<void> {
    this.closed = true
  }

  private check(operation: string, position: number): void {
    if (this.closed) throw new DiskError('Io', operation, this.path, new Error('the file is closed'))
    if (!Number.isSafeInteger(position) || position < 0)
      throw new DiskError('Io', operation, this.path, new RangeError(`position ${position}`))
    const reads = operation === 'read' || operation === 'size' || operation === 'sync' || operation === 'datasync'
    if (!this.writable && !reads) throw new DiskError('Io', operation, this.path, new Error('opened for reading'))
  }
}

function resize(node: FileNode, size: number): void {
  if (size > node.bytes.length) {
    const grown = new Uint8Array(Math.max(size, node.bytes.length * 2))
    grown.set(node.bytes.subarray(0, node.size))
    node.bytes = grown
  } else if (size < node.size) {
    node.bytes.fill(0, size, node.size)
  }
  node.size = size
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
