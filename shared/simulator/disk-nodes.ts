/** What lies on a simulated disk: files and directories, each with what is seen, what is durable, and what is between them. */
import type { Cached } from './lying-drive.ts'

export const PAGE_BYTES = 4_096
export const SECTOR_BYTES = 512

export type Change =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Uint8Array; sequence: number }
  | { readonly kind: 'truncate'; readonly size: number; sequence: number }

export type NameChange =
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

  /** The same bytes as another one. */
  become({ bytes, size }: Content): void {
    this.bytes = bytes.slice(0, size)
    this.size = size
  }

  copy(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.size)
  }
}

export interface FileNode {
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
  /** On a drive that lies: what is not where a sync said it is. */
  readonly cache: Cached<Change, Content> | undefined
}

export interface Stray {
  readonly from: number
  readonly to: number
  readonly landed: () => void
}

export interface DirectoryNode {
  readonly kind: 'directory'
  children: Map<string, Node>
  durable: Map<string, Node>
  pending: NameChange[]
  modifiedMs: number
  readonly cache: Cached<NameChange, Map<string, Node>> | undefined
}

export type Node = FileNode | DirectoryNode

/** The same writes page by page, as a drive keeps them. */
export function inPages(changes: readonly Change[]): Change[] {
  return changes.flatMap(change => {
    if (change.kind === 'truncate') return [change]
    const { position, bytes } = change
    const pages: Change[] = []
    for (let at = position; at < position + bytes.length; ) {
      const end = Math.min(position + bytes.length, (Math.floor(at / PAGE_BYTES) + 1) * PAGE_BYTES)
      pages.push({ ...change, position: at, bytes: bytes.subarray(at - position, end - position) })
      at = end
    }
    return pages
  })
}

export function applyName(names: Map<string, Node>, change: NameChange): void {
  if (change.kind === 'set') names.set(change.name, change.node)
  else if (change.kind === 'delete') names.delete(change.name)
  else {
    if (names.get(change.from) === change.node) names.delete(change.from)
    names.set(change.to, change.node)
  }
}
