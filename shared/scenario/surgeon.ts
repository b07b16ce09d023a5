/**
 * Surgery on the files of a stopped node (spec drills.md §5.5): every edit is recorded with what stood there before and what
 * stands there now, and can be taken back while the file is as the edit left it.
 */
import type { Hash } from '../bytes/hash.ts'
import { toHex } from '../bytes/hex.ts'
import type { Address, FileEdit } from './language.ts'
import { matchPaths } from './read.ts'
import { CannotAct, type Runner } from './runner.ts'
import { newestSlot } from './superblock-field.ts'
import { edited, positionOf } from './surgery.ts'

export interface FileState {
  readonly bytes: number
  /** XXH3-64 of the whole file, hex. */
  readonly hash: string
}

export interface SurgeryRecord {
  readonly node: number
  readonly path: string
  readonly edit: FileEdit['edit'] | 'undo'
  /** Null: there was no such file, or there is none now. */
  readonly before: FileState | null
  readonly after: FileState | null
  /** First byte that differs, and what stood and stands from there on: at most 32 bytes, hex. */
  readonly at: number
  readonly from: string
  readonly to: string
  /** It was taken back. */
  readonly undone: boolean
}

/** Where an address lies, before anything is changed. */
export interface Located {
  readonly path: string
  readonly at: number
  readonly fileBytes: number
  /** From there on, at most 32 bytes, hex. */
  readonly bytes: string
}

const SHOWN_BYTES = 32

interface Kept {
  readonly before: Uint8Array | undefined
  record: SurgeryRecord
}

export class Surgeon {
  private readonly runner: Runner
  private readonly hash: Hash
  private readonly kept: Kept[] = []

  constructor(runner: Runner, hash: Hash) {
    this.runner = runner
    this.hash = hash
  }

  get records(): readonly SurgeryRecord[] {
    return this.kept.map(({ record }) => record)
  }

  /** @throws CannotAct when there is no such file or place */
  async locate(node: number, path: string, address: Address): Promise<Located> {
    const found = await this.resolve(node, path)
    const bytes = await this.read(node, found)
    const at = positionOf(bytes, address)
    if (at < 0 || at > bytes.length) throw new CannotAct(`byte ${at} is outside a file of ${bytes.length} bytes`)
    return { path: found, at, fileBytes: bytes.length, bytes: toHex(bytes.subarray(at, at + SHOWN_BYTES)) }
  }

  /** @throws CannotAct while the node has a process, and when there is no such file or place */
  async edit(node: number, edit: FileEdit): Promise<SurgeryRecord> {
    this.requireStopped(node)
    const path = await this.resolve(node, edit.path)
    const bytes = await this.read(node, path)
    const after = edited(bytes, edit, this.hash)
    const target = edit.edit === 'copy' ? edit.to : path
    const before = edit.edit === 'copy' ? await this.runner.readFile(node, target) : bytes
    await this.runner.writeFile(node, target, after)
    return this.keep(node, target, edit.edit, before, after)
  }

  /** @throws CannotAct while the node has a process, when nothing of it is left to take back, or the file has changed since */
  async undo(node: number): Promise<SurgeryRecord> {
    this.requireStopped(node)
    const last = this.kept.findLast(({ record }) => record.node === node && !record.undone && record.edit !== 'undo')
    if (!last) throw new CannotAct(`no edit of node ${node} is left to take back`)
    const { path, after } = last.record
    const now = await this.runner.readFile(node, path)
    if (this.stateOf(now)?.hash !== after?.hash) throw new CannotAct(`${path} has changed since that edit`)
    await this.runner.writeFile(node, path, last.before)
    last.record = { ...last.record, undone: true }
    return this.keep(node, path, 'undo', now, last.before)
  }

  private keep(
    node: number,
    path: string,
    edit: SurgeryRecord['edit'],
    before: Uint8Array | undefined,
    after: Uint8Array | undefined,
  ): SurgeryRecord {
    const at = firstDifference(before, after)
    const shown = (bytes: Uint8Array | undefined) => toHex(bytes?.subarray(at, at + SHOWN_BYTES) ?? new Uint8Array(0))
    const record: SurgeryRecord = {
      node,
      path,
      edit,
      before: this.stateOf(before),
      after: this.stateOf(after),
      at,
      from: shown(before),
      to: shown(after),
      undone: false,
    }
    this.kept.push({ before, record })
    return record
  }

  private stateOf(bytes: Uint8Array | undefined): FileState | null {
    return bytes ? { bytes: bytes.length, hash: this.hash.xxh3(bytes).toString(16).padStart(16, '0') } : null
  }

  private requireStopped(node: number): void {
    const { state } = this.runner.process(node)
    if (state === 'running' || state === 'paused')
      throw new CannotAct(`node ${node} has a process; its files are its own`)
  }

  private async resolve(node: number, path: string): Promise<string> {
    const slot = /^(.*superblock\.)(newest|oldest)$/.exec(path)
    if (slot) {
      const newest = await newestSlot(this.runner, node, slot[1]!)
      if (newest === undefined) throw new CannotAct(`node ${node} has no whole slot at ${slot[1]}`)
      return slot[1]! + (slot[2] === 'newest' ? newest : newest === 'a' ? 'b' : 'a')
    }
    const found = matchPaths(path, await this.runner.files(node)).at(-1)
    if (found === undefined) throw new CannotAct(`node ${node} has no file ${path}`)
    return found
  }

  private async read(node: number, path: string): Promise<Uint8Array> {
    const bytes = await this.runner.readFile(node, path)
    if (!bytes) throw new CannotAct(`node ${node} has no file ${path}`)
    return bytes
  }
}

function firstDifference(a: Uint8Array | undefined, b: Uint8Array | undefined): number {
  if (!a || !b) return 0
  const shorter = Math.min(a.length, b.length)
  for (let at = 0; at < shorter; at++) if (a[at] !== b[at]) return at
  return shorter
}
