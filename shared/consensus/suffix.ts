/**
 * The suffix of a DoViewChange: what a replica holds of the log above its commit, head first, with one nack and one present
 * bit per op (spec consensus.md §5.3). Building and judging it are pure functions.
 *
 * A nack says "I never prepared this op in my log"; it can license a truncation. So an op that may have been acknowledged
 * and lost (`lostTo`), and an op whose header was compacted away, is blank without bits: it abstains.
 */
import type { Hash } from '../bytes/hash.ts'
import { Checksum, ClientId, GroupId, Micros, Op, ReplicaId, View } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { decodeSuffix, encodeSuffix, SUFFIX_HEADERS_MAX } from '../protocol/frames.ts'
import { HEADER_BYTES, type PrepareHeader, prepareLayout } from '../protocol/headers.ts'
import { Operation } from '../protocol/operations.ts'
import { prepareIdentity } from '../protocol/seal.ts'

export interface SuffixEntry {
  readonly op: Op
  /** Missing: a blank slot. */
  readonly header: PrepareHeader | undefined
  readonly nack: boolean
  readonly present: boolean
}

/** Head first; entry `i` is op `head - i`. Empty: the vote contributes numbers only. */
export type DvcSuffix = readonly SuffixEntry[]

export interface SuffixSource {
  /** Header of an op that the journal holds and that belongs to the log of the sender's log view. */
  held(op: Op): PrepareHeader | undefined
  /** Header that was announced to the sender in its log view, held or not. */
  announced(op: Op): PrepareHeader | undefined
  /** Highest op that may have been acknowledged and lost. */
  readonly lostTo: Op
}

export function buildSuffix(op: Op, commit: Op, source: SuffixSource): DvcSuffix {
  if (op === 0n) return []
  let low = commit > 1n ? commit : Op(1n)
  if (low > op) return []
  if (op - low + 1n > BigInt(SUFFIX_HEADERS_MAX)) low = Op(op - BigInt(SUFFIX_HEADERS_MAX) + 1n)
  const entries: SuffixEntry[] = []
  for (let at = op; at >= low; at = Op(at - 1n)) {
    const held = source.held(at)
    // A header without a body was never prepared here, so it nacks like a missing one: with its other holders gone for
    // good, an op that nobody can serve must not stall every view (known-faults G31).
    const nack = held === undefined && at > commit && at > source.lostTo
    entries.push({ op: at, header: held ?? source.announced(at), nack, present: held !== undefined })
  }
  return entries
}

/** The slot of an op without a header: all zero but for command and op. */
export const blankHeader = (op: Op): PrepareHeader => ({
  checksum: Checksum(0n),
  checksumBody: Checksum(0n),
  cluster: 0n,
  size: 0,
  view: View(0),
  release: 0,
  command: Command.Prepare,
  replica: ReplicaId(0),
  client: ClientId(0n),
  parent: Checksum(0n),
  requestChecksum: Checksum(0n),
  op,
  commit: Op(0n),
  timestamp: Micros(0n),
  request: 0n,
  operation: Operation.Reserved,
  group: GroupId(0n),
  userId: 0,
  purgeGeneration: 0n,
})

const isBlank = (header: PrepareHeader): boolean => {
  const blank = blankHeader(header.op)
  return Object.entries(blank).every(([field, value]) => header[field as keyof PrepareHeader] === value)
}

export function encodeDvcSuffix(suffix: DvcSuffix): { body: Uint8Array; nackBitset: bigint; presentBitset: bigint } {
  let nackBitset = 0n
  let presentBitset = 0n
  suffix.forEach((entry, index) => {
    if (entry.nack) nackBitset |= 1n << BigInt(index)
    if (entry.present) presentBitset |= 1n << BigInt(index)
  })
  return { body: encodeSuffix(suffix.map(entry => entry.header ?? blankHeader(entry.op))), nackBitset, presentBitset }
}

/**
 * Headers of a DoViewChange or StartView body whose head is `head`, blank ones as undefined; undefined as a whole when
 * they contradict each other, and then the whole frame is worth nothing: an op out of order, a wrong identity, a timestamp
 * that does not rise, or a broken parent between neighbours. Views need not be monotone.
 */
export function decodeHeaders(
  hash: Hash,
  head: Op,
  body: Uint8Array,
): readonly (PrepareHeader | undefined)[] | undefined {
  if (body.length / HEADER_BYTES > SUFFIX_HEADERS_MAX) return undefined
  let decoded: PrepareHeader[]
  try {
    decoded = decodeSuffix(body)
  } catch {
    return undefined
  }
  const headers: (PrepareHeader | undefined)[] = []
  let above: PrepareHeader | undefined
  let aboveIsNeighbour = false
  for (let index = 0; index < decoded.length; index++) {
    const header = decoded[index]!
    if (header.op !== head - BigInt(index) || header.op < 1n) return undefined
    if (isBlank(header)) {
      headers.push(undefined)
      aboveIsNeighbour = false
      continue
    }
    if (header.operation === Operation.Reserved) return undefined
    if (header.checksum !== 0n) {
      const identity = prepareIdentity(hash, body, index * HEADER_BYTES)
      if (identity !== header.checksum) return undefined
    }
    if (above !== undefined) {
      if (above.timestamp <= header.timestamp) return undefined
      const sealed = above.checksum !== 0n && header.checksum !== 0n
      if (aboveIsNeighbour && sealed && above.parent !== header.checksum) return undefined
    }
    headers.push(header)
    above = header
    aboveIsNeighbour = true
  }
  return headers
}

/** Body and bits of a received DoViewChange, whose shape the frame parser has checked. */
export function decodeDvcSuffix(
  hash: Hash,
  frame: { readonly op: Op; readonly nackBitset: bigint; readonly presentBitset: bigint },
  body: Uint8Array,
): DvcSuffix | undefined {
  const headers = decodeHeaders(hash, frame.op, body)
  return headers?.map((header, index) => ({
    op: Op(frame.op - BigInt(index)),
    header,
    nack: ((frame.nackBitset >> BigInt(index)) & 1n) === 1n,
    present: ((frame.presentBitset >> BigInt(index)) & 1n) === 1n,
  }))
}

export const suffixEntry = (suffix: DvcSuffix, op: Op): SuffixEntry | undefined => {
  const head = suffix[0]?.op
  return head === undefined || op > head ? undefined : suffix[Number(head - op)]
}

/** Encodes one header, for tests and for comparing. */
export const headerBytes = (header: PrepareHeader): Uint8Array => prepareLayout.encode(header)
