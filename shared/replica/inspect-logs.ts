/** Logs and sessions in full, for the inspection contract (shared/inspection/logs.ts). Nothing in here changes anything. */
import { toHex } from '../bytes/hex.ts'
import { ClientId, Op } from '../bytes/units.ts'
import { ENTRY_BYTES_MAX, JOURNAL_ENTRIES_MAX } from '../inspection/logs.ts'
import { replyLayout } from '../protocol/headers.ts'
import { scanWal } from '../storage/wal-scan.ts'
import { hex } from './inspect-groups.ts'
import type { LogInspection } from './log-inspection.ts'
import type { ReplicatedPartition } from './partition-host.ts'
import type { Parts } from './parts.ts'
import { describeScan, entryVerdicts } from './wal-description.ts'

type EntryAnswer = Awaited<ReturnType<LogInspection['walEntry']>>

export function logInspection(parts: Parts): Omit<LogInspection, 'journal'> {
  return {
    walEntry: op => walEntry(parts, Op(op)),
    walScan: () => walScan(parts),
    session: client => session(parts, client),
  }
}

async function walEntry(parts: Parts, op: Op): Promise<EntryAnswer> {
  const { wal } = parts.metadata
  const held = wal.entry(op)
  if (!held) return undefined
  const { disk, hash } = parts.core.ports
  const lengthBytes = held.frame.length
  const bytes = new Uint8Array(Math.min(lengthBytes, ENTRY_BYTES_MAX))
  const file = await disk.open(wal.path, 'read')
  let read: number
  try {
    read = await file.read(held.position, bytes)
  } finally {
    await file.close()
  }
  // A drain or a truncation has moved the entry meanwhile: what was read is of another one.
  if (wal.entry(op)?.position !== held.position) return walEntry(parts, op)
  const found = bytes.subarray(0, read)
  return {
    op: op.toString(),
    slot: Number(op % BigInt(wal.slots)),
    path: wal.path,
    positionBytes: held.position,
    lengthBytes,
    hex: toHex(found),
    ...entryVerdicts(hash, found, lengthBytes, wal.header(Op(op - 1n))),
    sameAsMemory: read === bytes.length && found.every((byte, at) => byte === held.frame[at]),
  }
}

async function walScan({ core, metadata: { wal } }: Parts): ReturnType<LogInspection['walScan']> {
  const { disk, hash } = core.ports
  const file = await disk.open(wal.path, 'read')
  try {
    // Behind it an append may be under way, which would look like a torn tail.
    const sizeBytes = Math.min(wal.sizeBytes, await file.sizeBytes())
    return describeScan(wal.path, await scanWal(file, sizeBytes, hash, () => {}))
  } finally {
    await file.close()
  }
}

function session({ core }: Parts, id: bigint): ReturnType<LogInspection['session']> {
  const { clients } = core.machine
  const entry = clients.get(ClientId(id))
  if (!entry) return undefined
  return {
    client: entry.client.toString(16),
    slot: clients.slotOf(entry.client)!,
    session: entry.epoch.toString(),
    user: entry.userId,
    watermark: entry.watermark.toString(),
    watermarkChecksum: hex(entry.watermarkChecksum),
    latestCommit: entry.latestCommit.toString(),
    replies: entry.replies.map(reply => {
      const { operation, status } = replyLayout.decode(reply.frame)
      return {
        request: reply.request.toString(),
        requestChecksum: hex(reply.requestChecksum),
        commit: reply.commit.toString(),
        operation,
        status,
        lengthBytes: reply.frame.length,
      }
    }),
  }
}

export function journalOf({
  partition,
  group,
}: ReplicatedPartition): NonNullable<ReturnType<LogInspection['journal']>> {
  const { journal } = partition
  const held = journal.held()
  return {
    group: group.config.group.toString(),
    appliedOp: journal.appliedOp.toString(),
    settledOp: journal.settledOp.toString(),
    highestOp: journal.highestOp().toString(),
    ring: journal.ringUse(),
    held: held.length,
    entries: held.slice(-JOURNAL_ENTRIES_MAX).map(({ header, frame, batch }) => ({
      op: header.op.toString(),
      view: header.view,
      operation: header.operation,
      checksum: hex(header.checksum),
      parent: hex(header.parent),
      lengthBytes: frame.length,
      timestamp: header.timestamp.toString(),
      state:
        header.op > journal.appliedOp ? 'prepared' : header.op > journal.settledOp ? 'committed' : ('settled' as const),
      ...(batch && { baseOffset: batch.baseOffset.toString(), messages: batch.messages }),
    })),
  }
}
