/**
 * Edits of a file of a stopped node (spec drills.md §5.5): where an address lies is worked out from the bytes themselves,
 * and every edit says what it found and what it left.
 */
import type { Hash } from '../bytes/hash.ts'
import { prepareLayout } from '../protocol/headers.ts'
import type { Address, FileEdit } from './language.ts'
import { CannotAct } from './runner.ts'

const HEADER_BYTES = 256
const INDEX_ENTRY_BYTES = 24
/** Offset of the size field: in a log entry of the whole frame, in a batch see `batches`. */
const SIZE_AT = 48
const OP_AT = prepareLayout.fields.op.at

export function positionOf(bytes: Uint8Array, address: Address): number {
  if ('byte' in address) return address.byte < 0 ? bytes.length + address.byte : address.byte
  if ('fraction' in address) return Math.floor(bytes.length * address.fraction)
  if ('indexEntry' in address) {
    const count = Math.floor(bytes.length / INDEX_ENTRY_BYTES)
    return nth(count, address.indexEntry, 'index entries') * INDEX_ENTRY_BYTES + address.offset
  }
  const start = recordAt(bytes, address)
  return start + (address.part === 'body' ? HEADER_BYTES : 0) + address.offset
}

function recordAt(
  bytes: Uint8Array,
  address: Exclude<Address, { byte: number } | { fraction: number } | { indexEntry: number }>,
) {
  if ('walOp' in address) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const found = logEntries(bytes).find(at => view.getBigUint64(at + OP_AT, true) === BigInt(address.walOp))
    if (found === undefined) throw new CannotAct(`the log has no entry of op ${address.walOp}`)
    return found
  }
  const records = 'walEntry' in address ? logEntries(bytes) : batches(bytes)
  const number = 'walEntry' in address ? address.walEntry : address.batch
  return records[nth(records.length, number, 'records')]!
}

/** Positions of the entries of a metadata log. */
export function logEntries(bytes: Uint8Array): number[] {
  return walk(bytes, (view, at) => view.getUint32(at + SIZE_AT, true))
}

/** Positions of the batches of a segment (partition.md §2.2): the length of a batch is in its header. */
export function batches(bytes: Uint8Array): number[] {
  return walk(bytes, (view, at) => batchBytes(view, at))
}

/** Offset of `batch_length` in the header of a batch; it counts the header too. */
const BATCH_LENGTH_AT = 32
const batchBytes = (view: DataView, at: number): number => Number(view.getBigUint64(at + BATCH_LENGTH_AT, true))

function walk(bytes: Uint8Array, sizeAt: (view: DataView, at: number) => number): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const found: number[] = []
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const size = sizeAt(view, at)
    if (size < HEADER_BYTES || at + size > bytes.length) break
    found.push(at)
    at += size
  }
  return found
}

function nth(count: number, number: number, what: string): number {
  const index = number < 0 ? count + number : number
  if (index < 0 || index >= count) throw new CannotAct(`there are ${count} ${what}, not number ${number}`)
  return index
}

/** The file after the edit; undefined: it is to be removed. */
export function edited(bytes: Uint8Array, edit: FileEdit, hash: Hash): Uint8Array | undefined {
  switch (edit.edit) {
    case 'truncate':
      return bytes.slice(0, positionOf(bytes, edit.to))
    case 'append': {
      const tail = fromHex(edit.hex)
      const grown = new Uint8Array(bytes.length + tail.length * (edit.times ?? 1))
      grown.set(bytes)
      for (let at = bytes.length; at < grown.length; at += tail.length) grown.set(tail, at)
      return grown
    }
    case 'flip': {
      const after = bytes.slice()
      const at = inside(after, positionOf(bytes, edit.at), 1)
      after[at]! ^= edit.mask
      return after
    }
    case 'write': {
      const after = bytes.slice()
      const patch = fromHex(edit.hex)
      after.set(patch, inside(after, positionOf(bytes, edit.at), patch.length))
      return after
    }
    case 'swap': {
      const after = bytes.slice()
      const [a, b] = [edit.a, edit.b].map(address => inside(after, positionOf(bytes, address), edit.length))
      after.set(bytes.subarray(b!, b! + edit.length), a!)
      after.set(bytes.subarray(a!, a! + edit.length), b!)
      return after
    }
    case 'delete':
      return undefined
    case 'copy':
      return bytes
    case 'reseal':
      return resealed(bytes.slice(), edit, hash)
  }
}

function resealed(bytes: Uint8Array, edit: Extract<FileEdit, { edit: 'reseal' }>, hash: Hash): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (edit.kind === 'superblock') {
    view.setBigUint64(bytes.length - 8, hash.xxh3(bytes.subarray(0, bytes.length - 8)), true)
    return bytes
  }
  const at = positionOf(bytes, edit.at ?? { walEntry: -1, part: 'header', offset: 0 })
  const size = view.getUint32(at + SIZE_AT, true)
  // A body that is not sealed stays so: the surgeon may have made it that way.
  if (view.getBigUint64(at + 16, true) !== 0n)
    view.setBigUint64(at + 16, hash.xxh3(bytes.subarray(at + HEADER_BYTES, at + size)), true)
  const identity = bytes.slice(at, at + HEADER_BYTES)
  identity.fill(0, 0, 16)
  identity.fill(0, 52, 56)
  view.setBigUint64(at, hash.xxh3(identity), true)
  return bytes
}

function inside(bytes: Uint8Array, at: number, length: number): number {
  if (at < 0 || at + length > bytes.length) throw new CannotAct(`byte ${at} is outside a file of ${bytes.length} bytes`)
  return at
}

function fromHex(hex: string): Uint8Array {
  const pairs = hex.replace(/\s+/g, '').match(/../g) ?? []
  return Uint8Array.from(pairs, pair => Number.parseInt(pair, 16))
}
