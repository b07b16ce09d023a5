/**
 * Checks of a prepare before it enters the journal, and the stamp of the primary (spec partition.md §3.5 step 7,
 * consensus.md §3.2, §6.1). Nothing in here changes anything unless every check has passed; the stamp comes last.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { Offset, U64_MAX } from '../bytes/units.ts'
import { checkBatch, stampBatch } from '../protocol/batch.ts'
import type { PartitionKey } from '../protocol/groups.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import type { JournaledBatch } from './journal.ts'
import {
  dataView,
  RECORD_AT,
  recordBaseOffset,
  recordChecksum,
  recordMessages,
  recordPartition,
  recordTimestamp,
} from './record.ts'
import { larger } from './reservation.ts'

export type Role = 'primary' | 'backup' | 'repair'

const refuse = (code: string, message: string, header: PrepareHeader): EngineError =>
  new EngineError(code, `op ${header.op}: ${message}`, { op: header.op })

export interface MintRules {
  /** Next offset of the log. */
  readonly next: bigint
  /** A primary mints no lower, and a backup accepts this base too; 0 when no jump is due (§7.5). */
  readonly floor: bigint
  /** Lowest base of a batch that comes first after a boot, whose predecessors are in the segments; undefined for any other. */
  readonly firstFrom: bigint | undefined
  /** Whether a batch that ends with this offset may be journaled; asked last, of new batches only. */
  readonly fence: (last: bigint) => EngineError | undefined
  /** Whether the segments have held exactly this batch since before the boot. */
  readonly onDisk: (batch: Omit<JournaledBatch, 'onDisk'>) => boolean
}

/**
 * Checks a SendMessages frame and, as primary, mints: base offset, base timestamp from the header, batch checksum. A backup
 * requires exactly these stamps; a repaired batch keeps the ones it has.
 */
export function admitBatch(
  hash: Hash,
  key: PartitionKey,
  role: Role,
  header: PrepareHeader,
  frame: Uint8Array,
  rules: MintRules,
): JournaledBatch | EngineError {
  // the primary's own batch was verified when it was admitted; only its layout is walked again
  const verdict = checkBatch(frame, RECORD_AT, role === 'primary' ? undefined : hash)
  if (!verdict.ok) return refuse('InvalidBatch', `${verdict.message} (at byte ${verdict.position})`, header)
  if (verdict.end !== frame.length) {
    // bytes past the record are covered by no checksum, and would be written and desynchronise every later walk (§2.4)
    return refuse('InvalidBatch', `the record ends at byte ${verdict.end} of ${frame.length}`, header)
  }
  if (verdict.messageCount === 0) return refuse('EmptyBatch', 'a batch needs a message', header)
  const view = dataView(frame)
  const partition = recordPartition(view, RECORD_AT)
  if (role !== 'primary' && partition !== BigInt(key.partition)) {
    return refuse('ForeignBatch', `the batch is of partition ${partition}, not ${key.partition}`, header)
  }
  const messages = recordMessages(view, RECORD_AT)
  const { next, floor, firstFrom } = rules
  const baseOffset = role === 'primary' ? larger(floor, next) : (recordBaseOffset(view, RECORD_AT) as bigint)
  const timestamp = role === 'primary' ? header.timestamp : recordTimestamp(view, RECORD_AT)
  const endOffset = baseOffset + BigInt(messages)
  const placed = { baseOffset, endOffset, timestamp, messages, bytes: frame.length - RECORD_AT }
  const onDisk = role !== 'primary' && rules.onDisk({ ...placed, checksum: recordChecksum(view, RECORD_AT) })
  if (role === 'backup') {
    const continues = baseOffset === next || (floor > next && baseOffset === floor)
    const first = firstFrom !== undefined && baseOffset >= firstFrom
    // A log that is shorter than the disk is sent again from its last op on: what is there already needs no other place.
    if (!(continues || first || onDisk) || timestamp !== header.timestamp) {
      return refuse(
        'OffsetMismatch',
        `the batch starts at offset ${baseOffset} and time ${timestamp}, expected ${next} and ${header.timestamp}`,
        header,
      )
    }
  }
  if (endOffset > U64_MAX)
    return refuse('OffsetSpaceExhausted', `no ${messages} offsets are left from ${baseOffset}`, header)
  // a repaired batch was fenced when it was new (§7.4)
  const fenced = role === 'repair' ? undefined : rules.fence(endOffset - 1n)
  if (fenced) return fenced
  if (role === 'primary') {
    stampBatch(hash, frame, RECORD_AT, {
      partitionId: key.partition,
      baseOffset: Offset(baseOffset),
      baseTimestamp: header.timestamp,
    })
  }
  return { ...placed, checksum: recordChecksum(view, RECORD_AT), onDisk }
}

/**
 * Whether two frames are the same prepare, sent perhaps in different views: equal in every byte but the view field.
 * The identity checksum leaves the view out too, so it is compared like everything else.
 */
export function samePrepare(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) {
    if (a[index] !== b[index] && (index < VIEW_AT || index >= VIEW_AT + 4)) return false
  }
  return true
}

const VIEW_AT = 52
