/** What the end of a process, or of the power, leaves on a simulated disk (spec drills.md §2.3, 3 and 4). */
import type { Dice } from './dice.ts'
import {
  applyName,
  type Change,
  type Content,
  type DirectoryNode,
  type FileNode,
  inPages,
  PAGE_BYTES,
  SECTOR_BYTES,
} from './disk-nodes.ts'
import type { LyingDrive } from './lying-drive.ts'

/**
 * What a crash leaves of that which was not synced. `process`: all of it, only what was under way is in doubt. The others
 * are a loss of power: nothing, all, or any part, by pages or, `torn`, by sectors of files that have their new size already;
 * `last`: of each file only the page that was written last; `indexes`: all but the logs of partitions, the worst for whoever
 * believes an index; `without`: all but this page.
 */
export type CrashKind =
  | 'process'
  | 'drop'
  | 'keep'
  | 'part'
  | 'torn'
  | 'last'
  | 'indexes'
  | { readonly without: number }
export type CrashLoss = CrashKind | ((path: string) => CrashKind)

/** What a crash of this kind leaves of a file; what is left is durable. @returns how many changes it took that were said to be */
export function crashFile(node: FileNode, kind: CrashKind, dice: Dice, drive: LyingDrive | undefined): number {
  const { durable, pending, cache } = node
  const lost = kind === 'process' ? 0 : emptied(node, drive)
  const flying = [...node.flying]
  node.pending = []
  node.flying.clear()
  if (kind === 'process' || kind === 'keep') {
    const written: Change[] = [...pending]
    // A call that was under way has happened, or has not, or has in part.
    for (const change of flying) {
      if (change.kind === 'truncate') {
        if (dice.chance(0.5)) written.push(change)
      } else {
        const length = dice.pick([0, change.bytes.length, dice.below(change.bytes.length + 1)])
        if (length > 0) written.push({ ...change, bytes: change.bytes.subarray(0, length) })
      }
    }
    for (const change of written) durable.apply(change)
    // Nobody has asked the drive to keep them.
    if (cache && kind === 'process') drive?.took(cache, inPages(written), applyChange)
  } else if (typeof kind === 'object') {
    const at = kind.without * PAGE_BYTES
    const page = new Uint8Array(PAGE_BYTES)
    page.set(durable.bytes.subarray(at, Math.min(at + PAGE_BYTES, durable.size)))
    for (const change of [...pending, ...flying]) durable.apply(change)
    if (durable.size > at) durable.write(at, page.subarray(0, Math.min(PAGE_BYTES, durable.size - at)))
  } else if (kind === 'last') {
    const page = inPages([...pending, ...flying])
      .filter(change => change.kind === 'write')
      .at(-1)
    if (page) durable.apply(page)
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
  if (cache && kind !== 'process') cache.bottom.become(durable)
  node.live.become(durable)
  return lost
}

/** What only a lying drive had said it has is gone with its power. */
function emptied({ durable, cache }: FileNode, drive: LyingDrive | undefined): number {
  const lost = (cache && drive?.lost(cache, applyChange)) ?? 0
  if (cache && lost > 0) durable.become(cache.bottom)
  return lost
}

/** The same of the names in a directory. */
export function crashNames(node: DirectoryNode, kind: CrashKind, dice: Dice, drive: LyingDrive | undefined): number {
  const { cache, pending } = node
  const lost = (kind !== 'process' && cache && drive?.lost(cache, applyName)) || 0
  const names = new Map(lost > 0 ? cache!.bottom : node.durable)
  for (const change of pending)
    if (kind === 'process' || kind === 'keep' || (kind === 'part' && dice.chance(0.5))) applyName(names, change)
  if (cache && kind === 'process') drive?.took(cache, pending, applyName)
  if (cache && kind !== 'process') {
    cache.bottom.clear()
    for (const [name, child] of names) cache.bottom.set(name, child)
  }
  node.pending = []
  node.children = names
  node.durable = new Map(names)
  return lost
}

/** What a crash of one kind means for a path: who keeps indexes and loses logs keeps the names of both. */
export function kindFor(kind: CrashKind, path: string): CrashKind {
  if (kind !== 'indexes') return kind
  return path.endsWith('.log') ? 'drop' : 'keep'
}

export const applyChange = (content: Content, change: Change): void => content.apply(change)

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
