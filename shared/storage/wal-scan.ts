/**
 * The scan of a write-ahead log (spec metadata-storage.md §2.4). The log is prepares back to back, each as long as its
 * `size` says, and each was synced alone: so at most the last one can be torn, and whatever is wrong in front of a
 * complete entry is damage of something that was durable, which no boot may cut away.
 *
 * The scan changes nothing. It tells three ends apart: clean, torn (a cut at `position` would be honest) and damage.
 * A zero seal is ambiguous: an older build never sealed, and a lost sector leaves zeros too. Only the shape that a torn
 * write can leave (a sector boundary right behind the start, nothing after the entry) is taken for a tear.
 */
import type { Hash } from '../bytes/hash.ts'
import { Checksum, Op } from '../bytes/units.ts'
import { Command } from '../protocol/commands.ts'
import { HEADER_BYTES, type PrepareHeader, prepareLayout } from '../protocol/headers.ts'
import { operationName } from '../protocol/operations.ts'
import { frameSize, prepareIdentity } from '../protocol/seal.ts'
import type { DiskFile } from './disk.ts'
import { FileScanner } from './file-scanner.ts'

/** Largest entry, and therefore the widest tail that one torn append can leave. */
export const WAL_ENTRY_BYTES_MAX = 64 * 1024 * 1024
const SECTOR_BYTES = 512

export type WalCheck =
  | 'BadCommand'
  | 'BadOperation'
  | 'BadSize'
  | 'TooShort'
  | 'BadChecksum'
  | 'ReservedNotZero'
  | 'BadParent'
  | 'SealMissing'
  | 'BadBodyChecksum'
  | 'TailTooWide'

export interface WalProblem {
  readonly check: WalCheck
  /** Start of the entry that fails. */
  readonly position: number
  readonly message: string
  readonly expected?: string
  readonly actual?: string
  readonly op?: Op
  readonly operation?: number
}

export type WalEnd =
  | { readonly kind: 'clean'; readonly position: number }
  /**
   * `whole`: the entry was complete, so it may have been acknowledged, and the op must count as a gap and not as absent
   * (§6.2 step 12); its op is `problem.op`, where the header proves it, else one above the highest op held.
   */
  | {
      readonly kind: 'torn'
      readonly position: number
      readonly bytes: number
      readonly whole: boolean
      readonly op?: Op
      readonly problem: WalProblem
    }
  | {
      readonly kind: 'damage'
      readonly position: number
      readonly bytesFollowing: number
      readonly survivor?: number
      readonly problem: WalProblem
    }

export interface WalScan {
  readonly fileBytes: number
  readonly entries: number
  /** Entries without an identity or without a body checksum; a boot warns of them. */
  readonly unsealed: number
  readonly highestOp: Op
  readonly end: WalEnd
}

export interface ScannedEntry {
  readonly header: PrepareHeader
  /** Header and body; a view that is valid only during the call. */
  readonly frame: Uint8Array
  readonly position: number
}

export interface ScanOptions {
  readonly windowBytes?: number
  /** Whether bytes behind a torn tail are searched for an entry before the tail counts as one (default). */
  readonly probeTail?: boolean
}

/** Walks the log from byte 0 and hands every good entry to `onEntry`. Throws DiskError only. */
export async function scanWal(
  file: DiskFile,
  fileBytes: number,
  hash: Hash,
  onEntry: (entry: ScannedEntry) => void,
  { windowBytes, probeTail = true }: ScanOptions = {},
): Promise<WalScan> {
  const scanner = new FileScanner(file, fileBytes, windowBytes)
  const tail = (problem: WalProblem, wholeOp?: Op) => judgeTail(scanner, problem, wholeOp, probeTail)
  let position = 0
  let entries = 0
  let unsealed = 0
  let highestOp = Op(0n)
  let previous: { readonly header: PrepareHeader; readonly position: number } | undefined
  const finish = (end: WalEnd): WalScan => ({ fileBytes, entries, unsealed, highestOp, end })

  while (position < fileBytes) {
    const head = await scanner.read(position, HEADER_BYTES)
    if (head === undefined) {
      const rest = fileBytes - position
      return finish(
        await tail({
          check: 'TooShort',
          position,
          message: `${rest} bytes are left, a header needs ${HEADER_BYTES}`,
        }),
      )
    }
    const shape = structure(head, position)
    if (shape !== undefined) return finish(await tail(shape))
    const size = frameSize(head)
    const end = position + size
    if (end > fileBytes) {
      const message = `the entry needs ${size} bytes, ${fileBytes - position} are left`
      return finish(
        await tail({
          check: 'TooShort',
          position,
          message,
          expected: `${size}`,
          actual: `${fileBytes - position}`,
        }),
      )
    }

    const frame = (await scanner.read(position, size))!
    const judged = judge(frame, position, previous, hash, end === fileBytes)
    if (judged.kind === 'interior') {
      const { problem } = judged
      return finish({ kind: 'damage', position: problem.position, bytesFollowing: fileBytes - end, problem })
    }
    if (judged.kind === 'bad') {
      const { problem } = judged
      if (end < fileBytes) return finish({ kind: 'damage', position, bytesFollowing: fileBytes - end, problem })
      const op =
        problem.check === 'BadChecksum' || problem.check === 'ReservedNotZero' ? Op(highestOp + 1n) : problem.op
      return finish(await tail(problem, op))
    }
    const { header } = judged
    if (header.checksum === 0n || header.checksumBody === 0n) unsealed++
    entries++
    if (header.op > highestOp) highestOp = header.op
    previous = { header, position }
    onEntry({ header, frame, position })
    position = end
  }
  return finish({ kind: 'clean', position })
}

/** Rows 1 and 2: can these bytes be the header of an entry at all? */
function structure(head: Uint8Array, position: number): WalProblem | undefined {
  if (head[60] !== Command.Prepare) {
    return {
      check: 'BadCommand',
      position,
      message: 'the command byte is not Prepare',
      expected: `${Command.Prepare}`,
      actual: `${head[60]}`,
    }
  }
  if (operationName(head[208]!) === undefined) {
    return { check: 'BadOperation', position, message: 'the operation byte is unknown', actual: `${head[208]}` }
  }
  const size = frameSize(head)
  if (size < HEADER_BYTES || size > WAL_ENTRY_BYTES_MAX) {
    return {
      check: 'BadSize',
      position,
      message: 'the size is out of range',
      expected: `${HEADER_BYTES} to ${WAL_ENTRY_BYTES_MAX}`,
      actual: `${size}`,
    }
  }
  return undefined
}

type Judgement =
  | { readonly kind: 'good'; readonly header: PrepareHeader }
  /** Damage when anything follows, else a torn tail. */
  | { readonly kind: 'bad'; readonly problem: WalProblem }
  /** Damage wherever it stands. */
  | { readonly kind: 'interior'; readonly problem: WalProblem }

/** Rows 4 to 8 over one complete entry. */
function judge(
  frame: Uint8Array,
  position: number,
  previous: { readonly header: PrepareHeader; readonly position: number } | undefined,
  hash: Hash,
  isLast: boolean,
): Judgement {
  const fields = new DataView(frame.buffer, frame.byteOffset, HEADER_BYTES)
  const op = Op(fields.getBigUint64(176, true))
  const operation = frame[208]!
  const bad = (check: WalCheck, message: string, expected?: bigint, actual?: bigint): Judgement => ({
    kind: 'bad',
    problem: {
      check,
      position,
      message,
      op,
      operation,
      ...(expected === undefined ? {} : { expected: hex(expected) }),
      ...(actual === undefined ? {} : { actual: hex(actual) }),
    },
  })

  const checksum = u128(fields, 0)
  if (checksum !== 0n) {
    const identity = prepareIdentity(hash, frame)
    if (checksum !== identity) return bad('BadChecksum', 'the header does not match its checksum', identity, checksum)
  }
  for (let at = 62; at < 128; at++)
    if (frame[at] !== 0) return bad('ReservedNotZero', `reserved byte ${at} of the header is not zero`)
  for (let at = 228; at < 256; at++)
    if (frame[at] !== 0) return bad('ReservedNotZero', `reserved byte ${at} of the header is not zero`)
  const header = prepareLayout.decode(frame)

  if (previous !== undefined && previous.header.op + 1n === op) {
    const before = previous.header.checksum
    if (before !== 0n && checksum !== 0n && header.parent !== before) {
      return bad('BadParent', `the parent is not the checksum of op ${previous.header.op}`, before, header.parent)
    }
    if (before === 0n && header.parent !== 0n) {
      const message = `op ${previous.header.op} has no seal, but op ${op} was built on a sealed one`
      const problem: WalProblem = {
        check: 'SealMissing',
        position: previous.position,
        message,
        op: previous.header.op,
        operation: previous.header.operation,
        expected: hex(header.parent),
        actual: hex(0n),
      }
      return { kind: 'interior', problem }
    }
    if (before !== 0n && checksum === 0n && isLast && startsWithLostSector(frame, position)) {
      return bad('SealMissing', 'the first sector of the entry never landed', undefined, 0n)
    }
  }
  if (header.checksumBody !== 0n) {
    const computed = hash.xxh3(frame.subarray(HEADER_BYTES))
    if (computed !== header.checksumBody)
      return bad('BadBodyChecksum', 'the body does not match its checksum', computed, header.checksumBody)
  }
  return { kind: 'good', header }
}

/** Row 5b: only zeros up to a sector boundary that lies behind the low half of the seal and at or before the size field. */
function startsWithLostSector(frame: Uint8Array, position: number): boolean {
  const boundary = Math.ceil((position + 1) / SECTOR_BYTES) * SECTOR_BYTES - position
  if (boundary < 8 || boundary > 48) return false
  for (let at = 0; at < boundary; at++) if (frame[at] !== 0) return false
  return true
}

/**
 * Judges what lies from `problem.position` to the end of the file. A complete entry anywhere in it proves that more than
 * the last append is concerned. The probe does not verify checksums and may take bytes inside a body for a header: it errs
 * towards damage.
 */
async function judgeTail(
  scanner: FileScanner,
  problem: WalProblem,
  wholeOp: Op | undefined,
  probeTail: boolean,
): Promise<WalEnd> {
  const { position } = problem
  const bytes = scanner.sizeBytes - position
  if (bytes > WAL_ENTRY_BYTES_MAX) {
    const wide: WalProblem = {
      ...problem,
      check: 'TailTooWide',
      message: `${bytes} bytes behind the last good entry; one torn append leaves at most ${WAL_ENTRY_BYTES_MAX} (${problem.message})`,
    }
    return { kind: 'damage', position, bytesFollowing: bytes, problem: wide }
  }
  const survivor = probeTail ? await completeEntryBehind(scanner, position) : undefined
  if (survivor !== undefined) return { kind: 'damage', position, bytesFollowing: bytes, survivor, problem }
  return {
    kind: 'torn',
    position,
    bytes,
    whole: wholeOp !== undefined,
    ...(wholeOp === undefined ? {} : { op: wholeOp }),
    problem,
  }
}

async function completeEntryBehind(scanner: FileScanner, damage: number): Promise<number | undefined> {
  const last = scanner.sizeBytes - HEADER_BYTES
  let at = damage + 1
  while (at <= last) {
    // Whole windows at a time: all but one candidate in 256 fail on their command byte.
    const span = Math.min(64 * 1024, scanner.sizeBytes - at)
    const bytes = (await scanner.read(at, span))!
    for (let index = 0; index + HEADER_BYTES <= span; index++) {
      if (bytes[index + 60] !== Command.Prepare) continue
      const head = bytes.subarray(index, index + HEADER_BYTES)
      if (structure(head, at + index) === undefined && at + index + frameSize(head) <= scanner.sizeBytes)
        return at + index
    }
    at += span - HEADER_BYTES + 1
  }
  return undefined
}

const u128 = (view: DataView, at: number): Checksum =>
  Checksum(view.getBigUint64(at, true) | (view.getBigUint64(at + 8, true) << 64n))
const hex = (value: bigint): string => `0x${value.toString(16).padStart(16, '0')}`
