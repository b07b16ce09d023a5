/**
 * The metadata log in the words of the inspection contract, from what lies in its file: for a node that tells of its own log,
 * and for a reader of a directory that no node serves (spec metadata-storage.md §2).
 */
import type { Hash } from '../bytes/hash.ts'
import { ENTRY_BYTES_MAX, type WalEntrySnapshot, type WalScanSnapshot } from '../inspection/logs.ts'
import type { WalSnapshot } from '../inspection/snapshots.ts'
import { HEADER_BYTES, type PrepareHeader, prepareLayout } from '../protocol/headers.ts'
import { prepareIdentity } from '../protocol/seal.ts'
import type { WalScan } from '../storage/wal-scan.ts'
import { hex } from './inspect-groups.ts'

/** One line of the list of entries. */
export function describeEntry(
  header: PrepareHeader,
  positionBytes: number,
  lengthBytes: number,
): WalSnapshot['entries'][number] {
  return {
    op: header.op.toString(),
    view: header.view,
    operation: header.operation,
    checksum: hex(header.checksum),
    parent: hex(header.parent),
    positionBytes,
    lengthBytes,
    timestamp: header.timestamp.toString(),
    client: header.client.toString(16),
    request: header.request.toString(),
  }
}

/**
 * What the checksums of one entry prove (§2.4, rows 4 to 8).
 * @param found its first bytes, at most ENTRY_BYTES_MAX of `lengthBytes` @param before the op before, where it is held
 */
export function entryVerdicts(
  hash: Hash,
  found: Uint8Array,
  lengthBytes: number,
  before: PrepareHeader | undefined,
): Pick<WalEntrySnapshot, 'identity' | 'body' | 'parent'> {
  const header = found.length >= HEADER_BYTES ? prepareLayout.decode(found) : undefined
  return {
    identity: !header
      ? 'bad'
      : header.checksum === 0n
        ? 'unsealed'
        : prepareIdentity(hash, found) === header.checksum
          ? 'valid'
          : 'bad',
    body: !header
      ? 'bad'
      : header.checksumBody === 0n
        ? 'unsealed'
        : found.length < lengthBytes
          ? lengthBytes > ENTRY_BYTES_MAX
            ? 'unread'
            : 'bad'
          : hash.xxh3(found.subarray(HEADER_BYTES)) === header.checksumBody
            ? 'valid'
            : 'bad',
    parent: !before
      ? 'first'
      : !header || before.checksum === 0n || header.checksum === 0n
        ? 'unsealed'
        : header.parent === before.checksum
          ? 'follows'
          : 'broken',
  }
}

/** How a scan has ended, without its reporter. */
export function describeScan(path: string, scan: WalScan): Omit<WalScanSnapshot, 'reporter'> {
  const { fileBytes, entries, unsealed, highestOp, end } = scan
  return {
    path,
    fileBytes,
    entries,
    unsealed,
    highestOp: highestOp.toString(),
    end: end.kind,
    positionBytes: end.position,
    ...(end.kind !== 'clean' && {
      problem: {
        check: end.problem.check,
        positionBytes: end.problem.position,
        message: end.problem.message,
        ...(end.problem.op !== undefined && { op: end.problem.op.toString() }),
        ...(end.problem.expected !== undefined && { expected: end.problem.expected }),
        ...(end.problem.actual !== undefined && { actual: end.problem.actual }),
      },
    }),
  }
}
