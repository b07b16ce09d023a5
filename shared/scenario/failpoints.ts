/**
 * The named points at which a node can be made to fail (spec drills.md §5.3), as moments of its disk calls, so that one
 * list serves every world that sees those calls. What is armed is written `POINT` or `POINT@GLOB`: the glob narrows it to
 * paths, `*` standing for any characters but a slash and `**` for any. Beside the names below, each call has the points
 * `before.OPERATION` and `after.OPERATION`, and hosts add points of their own (`send.COMMAND`, `ack.before`).
 */
import { nameOf, parentOf } from '../storage/paths.ts'

export type DiskOperation =
  | 'create'
  | 'open'
  | 'read'
  | 'write'
  | 'datasync'
  | 'sync'
  | 'truncate'
  | 'rename'
  | 'unlink'
  | 'remove'
  | 'makeDirectory'
  | 'syncDirectory'
  | 'list'
  | 'stat'

export interface DiskMoment {
  readonly when: 'before' | 'after'
  readonly operation: DiskOperation
  readonly path: string
  /** Of a rename: the new name. */
  readonly to?: string
}

/** Every point with a name of its own, and when it is. */
export const FAILPOINTS = {
  'sb.tempCreate': 'temporary superblock file made, nothing written',
  'sb.tempHalf': 'half of the superblock record written',
  'sb.tempSync': 'temporary superblock synced, not renamed',
  'sb.rename': 'superblock renamed, its directory not synced',
  'sb.dirSync': 'superblock durable, nobody told yet',
  'wal.beforeWrite': 'before an entry of the metadata log is written',
  'wal.afterWrite': 'entry of the metadata log written, not synced',
  'wal.afterSync': 'entry of the metadata log synced, nobody told yet',
  'wal.drain.tempSync': 'shortened metadata log synced under its temporary name',
  'wal.drain.rename': 'shortened metadata log renamed, its directory not synced',
  'wal.drain.dirSync': 'shortened metadata log durable',
  'ckpt.snapSync': 'snapshot synced under its temporary name',
  'ckpt.snapRename': 'snapshot renamed, its directory not synced',
  'ckpt.snapDirSync': 'snapshot durable, not yet paired',
  'ckpt.pairing': 'superblock names the snapshot, metadata log not yet drained',
  'persist.log.beforeWrite': 'before batches are written to a segment',
  'persist.log.afterWrite': 'batches written to a segment, not synced',
  'persist.log.beforeSync': 'before a segment is synced',
  'persist.log.afterSync': 'segment synced, nobody told yet',
  'persist.index.beforeWrite': 'before index entries are written',
  'persist.index.afterWrite': 'index entries written, not synced',
  'persist.index.beforeSync': 'before an index is synced',
  'persist.index.afterSync': 'index synced, nobody told yet',
  'reserve.beforeWrite': 'before the superblock of a partition is written',
  'reserve.afterWrite': 'superblock of a partition durable, nobody told yet',
  'reanchor.unlinked': 'a segment unlinked, its directory not synced',
  'reanchor.planted': 'a segment made, its directory not synced',
  'purge.gen': 'purge generation renamed, its directory not synced',
  'recovery.truncate': 'before a log is cut',
} as const satisfies Record<string, string>
export type Failpoint = keyof typeof FAILPOINTS

type FileKind = 'superblock' | 'wal' | 'snapshot' | 'log' | 'index' | 'purge' | 'other'

/** Tells moments apart that look alike by themselves: a directory is synced for the name that changed last in it. */
export class FailpointNames {
  private readonly renamed = new Map<string, FileKind>()
  private readonly unpaired = new Set<string>()

  /** The points that this moment is. To be asked at every moment, in order, armed or not. */
  at(moment: DiskMoment): string[] {
    const { when, operation } = moment
    const names: string[] = [`${when}.${operation}`]
    const own = this.named(moment)
    if (own) names.push(...own)
    return names
  }

  private named({ when, operation, path, to }: DiskMoment): Failpoint[] | undefined {
    const kind = kindOf(to ?? path)
    const temporary = path.endsWith('.tmp')
    const before = when === 'before'
    switch (operation) {
      case 'create':
        if (kind === 'superblock' && temporary) {
          const partition = isPartition(path)
          if (before) return partition ? ['reserve.beforeWrite'] : undefined
          return ['sb.tempCreate']
        }
        return kind === 'log' && !before ? ['reanchor.planted'] : undefined
      case 'open':
        return undefined
      case 'write':
        if (kind === 'superblock') return before ? ['sb.tempHalf'] : undefined
        if (kind === 'wal' && !temporary) return [before ? 'wal.beforeWrite' : 'wal.afterWrite']
        if (kind === 'log' || kind === 'index') return [`persist.${kind}.${before ? 'beforeWrite' : 'afterWrite'}`]
        return undefined
      case 'sync':
      case 'datasync':
        if (kind === 'log' || kind === 'index') return [`persist.${kind}.${before ? 'beforeSync' : 'afterSync'}`]
        if (before) return undefined
        if (kind === 'superblock') return ['sb.tempSync']
        if (kind === 'wal') return [temporary ? 'wal.drain.tempSync' : 'wal.afterSync']
        return kind === 'snapshot' ? ['ckpt.snapSync'] : undefined
      case 'rename':
        if (before) return undefined
        this.renamed.set(parentOf(to ?? path), kind)
        if (kind === 'superblock') return ['sb.rename']
        if (kind === 'wal') return ['wal.drain.rename']
        if (kind === 'snapshot') return ['ckpt.snapRename']
        return kind === 'purge' ? ['purge.gen'] : undefined
      case 'syncDirectory':
        return before ? undefined : this.synced(path)
      case 'unlink':
        return !before && kind === 'log' ? ['reanchor.unlinked'] : undefined
      case 'truncate':
        return before && (kind === 'log' || kind === 'wal') ? ['recovery.truncate'] : undefined
      default:
        return undefined
    }
  }

  private synced(directory: string): Failpoint[] | undefined {
    const kind = this.renamed.get(directory)
    this.renamed.delete(directory)
    if (kind === 'wal') return ['wal.drain.dirSync']
    if (kind === 'snapshot') {
      this.unpaired.add(directory)
      return ['ckpt.snapDirSync']
    }
    if (kind !== 'superblock') return undefined
    if (isPartition(directory)) return ['sb.dirSync', 'reserve.afterWrite']
    return this.unpaired.delete(directory) ? ['sb.dirSync', 'ckpt.pairing'] : ['sb.dirSync']
  }
}

const isPartition = (path: string): boolean => path.startsWith('streams/')

function kindOf(path: string): FileKind {
  const name = nameOf(path).replace(/\.tmp$/, '')
  if (name === 'superblock.a' || name === 'superblock.b') return 'superblock'
  if (name === 'journal.wal') return 'wal'
  if (name === 'snapshot.bin') return 'snapshot'
  if (name === 'purge.gen') return 'purge'
  if (name.endsWith('.log')) return 'log'
  return name.endsWith('.index') ? 'index' : 'other'
}

export interface ArmedPoint {
  readonly name: string
  /** Narrows the point to paths; undefined: any. */
  readonly glob: string | undefined
}

/** Reads `POINT` or `POINT@GLOB`. */
export function parsePoint(text: string): ArmedPoint {
  const cut = text.indexOf('@')
  return cut < 0 ? { name: text, glob: undefined } : { name: text.slice(0, cut), glob: text.slice(cut + 1) }
}

/** `*` stands for any characters but a slash, `**` for any. */
export function globMatches(glob: string, path: string): boolean {
  const parts = glob.split(/(\*\*|\*)/).map(part => {
    if (part === '**') return '.*'
    return part === '*' ? '[^/]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('')}$`).test(path)
}
