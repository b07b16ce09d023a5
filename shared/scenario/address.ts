/**
 * Addresses that a person writes (spec drills.md §5.5): a file by what it is, a record in it, a part of the record, a field or
 * an offset. The last segment and the metadata plane are meant where nothing else is said.
 *
 *   log:chunk[3].body+17      index:entry[-1]+8      wal:op[12].header.commit      wal:entry[-1].body+4
 *   sb:newest.payload.view    partition-sb:a+40                snapshot:byte[1/2]            PATH:byte[-100]
 */
import { batchHeaderLayout } from '../protocol/batch.ts'
import { prepareLayout } from '../protocol/headers.ts'
import type { Address } from './language.ts'
import { superblockFieldAt } from './superblock-field.ts'

export interface Place {
  /** From the data directory, with `*` or `superblock.newest`. */
  readonly path: string
  readonly at: Address
}

/** Not an address, and what would be one. */
export class BadAddress extends Error {}

const INDEX_FIELDS: Readonly<Record<string, number>> = { offset: 0, timestamp: 8, position: 16 }

/**
 * @param partition directory of the partition that `log` and `index` are of
 * @throws BadAddress
 */
export function parseAddress(text: string, partition: string): Place {
  const [, file, rest] = /^([^:\s]+):(\S+)$/.exec(text.trim()) ?? bad(text, 'FILE:PLACE, e.g. log:chunk[-1].body+17')
  if (file === 'sb') return inSuperblock(text, rest!, 'metadata')
  if (file === 'partition-sb') return inSuperblock(text, rest!, partition)
  const path =
    {
      log: `${partition}/*.log`,
      index: `${partition}/*.index`,
      wal: 'metadata/journal.wal',
      snapshot: 'metadata/snapshot.bin',
    }[file!] ?? file!
  const [, unit, inside, tail] = /^(\w+)\[([^\]]+)\](.*)$/.exec(rest!) ?? bad(text, 'UNIT[NUMBER], e.g. entry[-1]')
  if (unit === 'byte') {
    if (tail !== '') bad(text, 'nothing behind byte[…]')
    const fraction = /^(\d+)\/(\d+)$/.exec(inside!)
    if (fraction && Number(fraction[2]) > 0)
      return { path, at: { fraction: Number(fraction[1]) / Number(fraction[2]) } }
    return { path, at: { byte: whole(text, inside!) } }
  }
  const number = whole(text, inside!)
  if (file === 'index' && unit === 'entry')
    return { path, at: { indexEntry: number, offset: indexOffset(text, tail!) } }
  if (file === 'log' && unit === 'chunk')
    return { path, at: { batch: number, ...partOf(text, tail!, batchHeaderLayout.fields) } }
  if (file === 'wal' && unit === 'entry')
    return { path, at: { walEntry: number, ...partOf(text, tail!, prepareLayout.fields) } }
  if (file === 'wal' && unit === 'op')
    return { path, at: { walOp: number, ...partOf(text, tail!, prepareLayout.fields) } }
  return bad(text, 'log:chunk[n], index:entry[n], wal:op[n], wal:entry[n], or byte[n] of any file')
}

function inSuperblock(text: string, rest: string, directory: string): Place {
  const [, slot, field, offset] =
    /^(newest|oldest|a|b)(?:\.payload\.(\w+))?(?:\+(\d+))?$/.exec(rest) ??
    bad(text, 'sb:newest.payload.view, or sb:a+40')
  const start = field === undefined ? { at: 0 } : superblockFieldAt(field)
  if (!start)
    return bad(text, 'a field of the record: view, logView, commitMax, checkpointOp, offsetFrontier, offsetReserved')
  return { path: `${directory}/superblock.${slot}`, at: { byte: start.at + Number(offset ?? 0) } }
}

function partOf(text: string, tail: string, fields: Readonly<Record<string, { readonly at: number }>>) {
  if (tail === '') return { part: 'header', offset: 0 } as const
  const [, part, field, offset] =
    /^\.(header|body)(?:\.(\w+))?(?:\+(\d+))?$/.exec(tail) ?? bad(text, '.header or .body, then .FIELD or +OFFSET')
  const start = field === undefined ? 0 : part === 'header' ? fields[field]?.at : undefined
  if (start === undefined) return bad(text, `a field of the header: ${Object.keys(fields).join(', ')}`)
  return { part: part as 'header' | 'body', offset: start + Number(offset ?? 0) }
}

function indexOffset(text: string, tail: string): number {
  const [, field, offset] =
    /^(?:\.(\w+))?(?:\+(\d+))?$/.exec(tail) ?? bad(text, '.offset, .timestamp, .position or +OFFSET')
  const start = field === undefined ? 0 : INDEX_FIELDS[field]
  return start === undefined ? bad(text, '.offset, .timestamp or .position') : start + Number(offset ?? 0)
}

const whole = (text: string, number: string): number =>
  /^-?\d{1,15}$/.test(number) ? Number(number) : bad(text, 'a whole number in brackets')

function bad(text: string, wanted: string): never {
  throw new BadAddress(`${text} is no address: expected ${wanted}`)
}
